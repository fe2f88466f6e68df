/* agent/strategy/observation.c — formats tool results as markdown, JSON or text. */
#include "agent/strategy/observation.h"

#include <string.h>

#include "base/arena.h"
#include "base/defs.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"

static const char *const formats[] = {[WA_MARKDOWN] = "markdown", [WA_JSON] = "json", [WA_TEXT] = "text"};

int wa_format(const char *name, uint8_t *ret, struct upp_err *err)
{
    *ret = WA_MARKDOWN;
    if (!name)
        return 0;
    for (uint8_t i = WA_MARKDOWN; i < WB_LEN(formats); i++)
        if (strcmp(name, formats[i]) == 0)
            return *ret = i, 0;
    return upp_fail(err, UPP_EINVALID, "observation_format '%s': expected markdown, json or text", name);
}

enum { RESULT_BYTES = 64 << 20 };

static void as_markdown(struct wb_buf *out, const struct upp_part *p, yyjson_val *v, struct wj_writer *w)
{
    wb_buf_addf(out, "### %.*s%s\n\n", UPP_FMT(p->name), p->is_error ? " (error)" : "");
    if (yyjson_is_str(v))
        wb_buf_add(out, wj_text(v));
    else {
        wb_buf_addf(out, "```json\n");
        wj_write_value(w, v);
        wb_buf_addf(out, "\n```");
    }
    wb_buf_addf(out, "\n\n");
}

static void as_text(struct wb_buf *out, const struct upp_part *p, yyjson_val *v, struct wj_writer *w)
{
    wb_buf_addf(out, "%.*s%s: ", UPP_FMT(p->name), p->is_error ? " (error)" : "");
    if (yyjson_is_str(v))
        wb_buf_add(out, wj_text(v));
    else
        wj_write_value(w, v);
    wb_buf_addc(out, '\n');
}

static void as_json(const struct upp_part *p, yyjson_val *v, struct wj_writer *w)
{
    wj_write_open(w, '{');
    wj_put_str_or_empty(w, "tool", p->name);
    wj_put_value(w, "result", v);
    wj_put_bool(w, "isError", p->is_error);
    wj_write_close(w, '}');
}

static int one(struct wb_buf *out, const struct upp_part *p, uint8_t format, struct wj_writer *list,
               struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(RESULT_BYTES);
    struct wj_writer w;
    yyjson_val *v;
    int r = wj_read(&a, p->text, NULL, &v, err);
    if (r < 0)
        return upp_wrap(err, r, "the result of '%.*s'", UPP_FMT(p->name));
    if (format == WA_JSON) {
        as_json(p, v, list);
        return wj_writer_check(list);
    }
    wj_writer_init(&w, out, err);
    if (format == WA_MARKDOWN)
        as_markdown(out, p, v, &w);
    else
        as_text(out, p, v, &w);
    return wj_writer_check(&w);
}

int wa_observe(struct wb_buf *out, const struct upp_message *results, uint8_t format, struct upp_err *err)
{
    struct wj_writer list;
    int r = 0;
    wj_writer_init(&list, out, err);
    wb_buf_addf(out, format == WA_MARKDOWN ? "## Observations\n\n" : "Observations:\n");
    if (format == WA_JSON)
        wj_write_open(&list, '[');
    for (const struct upp_part *p = NULL; r >= 0 && (p = upp_part_next(results, p, UPP_PARTS_RESULTS));)
        r = one(out, p, format, &list, err);
    if (r >= 0 && format == WA_JSON) {
        wj_write_close(&list, ']');
        wb_buf_addf(out, "\n\n");
    } else if (format == WA_TEXT)
        wb_buf_addc(out, '\n');
    return r < 0 ? r : wj_writer_check(&list);
}
