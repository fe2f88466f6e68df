/* run/ask/structure.c — checks a structured response against its schema, and writes the correction that the model
 * gets. */
#include "run/ask/structure.h"

#include <upp/schema.h>

#include <string.h>

#include "model/upp_json.h"

int wr_structure_fits(struct wb_arena *a, struct upp_str schema, struct upp_str data, struct upp_str *why,
                      struct upp_err *err)
{
    UPP_CLEANUP(upp_schema_freep) struct upp_schema *s = NULL;
    struct upp_schema_report *report = wb_new(a, struct upp_schema_report); /* large */
    struct upp_err bad = {0};
    if (!report)
        return wb_arena_check(a, err);
    int r = upp_schema_new(schema, &s, err);
    if (r < 0)
        return r;
    r = data.n ? upp_schema_check(s, data, NULL, report, &bad) : upp_fail(&bad, UPP_EINVALID, "it is not JSON");
    if (r == 0)
        return 1;
    if (r == -UPP_ENOMEM) {
        if (err)
            *err = bad;
        return r;
    }
    *why = wb_arena_dup(a, wb_cstr(r < 0 ? bad.msg : report->text));
    return wb_arena_check(a, err);
}

int wr_structure_correct(struct wb_arena *a, const struct upp_message *response, struct upp_str why,
                         struct upp_request *request, struct upp_err *err)
{
    size_t n = request->n_messages;
    const struct upp_message **list = wb_new_n(a, const struct upp_message *, n + 2);
    struct upp_message *said = wb_new_n(a, struct upp_message, 2);
    struct upp_part *part = wb_new(a, struct upp_part);
    int r = list && said && part ? 0 : wb_arena_check(a, err);
    if (r >= 0)
        r = wm_message_copy(a, response, &said[0], err);
    if (r < 0)
        return r;
    part->kind = UPP_PART_TEXT;
    part->text = wb_arena_printf(a, "This response does not fit the schema:\n%.*s\nRespond again, with all of it.",
                                 UPP_FMT(why));
    said[1] = (struct upp_message){.role = UPP_ROLE_USER, .parts = part, .n_parts = 1};
    if (n)
        memcpy(list, request->messages, n * sizeof *list);
    list[n] = &said[0];
    list[n + 1] = &said[1];
    request->messages = list;
    request->n_messages += 2;
    return wb_arena_check(a, err);
}
