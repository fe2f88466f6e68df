/* runtime/agentapi_message.c — weft/agentapi.h: dialects/agentapi/decode.h for C programs, with contents as JSON text.
 */
#include <weft/agentapi.h>

#include "base/err.h"
#include "base/hooks.h"
#include "base/opts.h"
#include "base/uuid.h"
#include "dialects/agentapi/decode.h"
#include "json/read.h"
#include "json/value.h"
#include "upp/client/talk.h"

_Static_assert((int)WEFT_AGENTAPI_CONTENTS == (int)WD_AAP_CONTENTS, "the same limit");
_Static_assert((int)WEFT_AGENTAPI_CONTENT == (int)WD_AAP_TEXT, "the same limit");

struct weft_agentapi_message {
    struct wb_arena a; /* id, type and role; types of contents */
    struct wd_aap_building b;
};

static struct upp_str text_or(struct wb_arena *a, const char *given, const char *otherwise)
{
    return wb_arena_dup(a, wb_cstr(given ? given : otherwise));
}

static int set_id(struct weft_agentapi_message *m, const char *id, struct upp_err *err)
{
    struct wb_uuid u;
    char text[WB_UUID_TEXT + 1];
    int r = id ? 0 : wb_uuid_new(&u, err);
    if (r >= 0)
        m->b.id = id ? wb_arena_dup(&m->a, wb_cstr(id)) : wb_arena_printf(&m->a, "msg_%s", wb_uuid_text(u, text).p);
    return r;
}

int weft_agentapi_message_new(const struct weft_agentapi_message_opts *opts, struct weft_agentapi_message **ret,
                              struct upp_err *err)
{
    struct weft_agentapi_message_opts o;
    wb_opts(&o, sizeof o, opts);
    UPP_CLEANUP(weft_agentapi_message_freep) struct weft_agentapi_message *m = wb_calloc(1, sizeof *m);
    if (!m)
        return upp_fail(err, UPP_ENOMEM, "no memory for a message");
    m->a = (struct wb_arena)WB_ARENA(WD_DOC_MEMORY);
    m->b = (struct wd_aap_building){.a = &m->a, .status = WD_AAP_CREATED};
    m->b.type = text_or(&m->a, o.type, "message");
    m->b.role = text_or(&m->a, o.role, "assistant");
    int r = set_id(m, o.id, err);
    if (r >= 0)
        r = wb_arena_check(&m->a, err);
    if (r < 0)
        return r;
    *ret = WB_TAKE(m);
    return 0;
}

void weft_agentapi_message_free(struct weft_agentapi_message *m)
{
    if (!m)
        return;
    wd_aap_building_done(&m->b);
    wb_arena_done(&m->a);
    wb_free(m);
}

void weft_agentapi_message_freep(struct weft_agentapi_message **m)
{
    weft_agentapi_message_free(*m);
}

static int read_content(struct wb_arena *a, struct upp_str text, yyjson_val **ret, struct upp_err *err)
{
    int r = wj_read(a, text, UPP_OPTS(wj_read_opts, .max_bytes = 2 * (size_t)WD_AAP_TEXT), ret, err);
    if (r < 0)
        return upp_wrap(err, r, "a content");
    return yyjson_is_obj(*ret) ? 0 : upp_fail(err, UPP_EINVALID, "a content must be an object");
}

int weft_agentapi_message_add_delta_content(struct weft_agentapi_message *m, size_t index, struct upp_str content,
                                            struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WD_DOC_MEMORY);
    yyjson_val *v = NULL;
    int r = read_content(&a, content, &v, err);
    if (r >= 0)
        r = wd_aap_add_delta_content(&m->b, index, v, err);
    if (r >= 0)
        m->b.status = WD_AAP_IN_PROGRESS;
    return r;
}

int weft_agentapi_message_content_completed(struct weft_agentapi_message *m, size_t index, struct upp_err *err)
{
    return wd_aap_content_completed(&m->b, index, NULL, err);
}

int weft_agentapi_message_add_content(struct weft_agentapi_message *m, struct upp_str content, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WD_DOC_MEMORY);
    yyjson_val *v = NULL;
    int r = read_content(&a, content, &v, err);
    if (r >= 0)
        r = wd_aap_add_content(&m->b, v, err);
    if (r >= 0)
        m->b.status = WD_AAP_IN_PROGRESS;
    return r;
}

int weft_agentapi_message_end(struct weft_agentapi_message *m, const char *status, struct upp_err *err)
{
    enum wd_aap_status now = wd_aap_status(wb_cstr(status ? status : ""));
    char quoted[WJ_QUOTED];
    if (now < WD_AAP_COMPLETED)
        return upp_fail(err, UPP_EINVALID, "%s is not a status that ends a message",
                        wj_quote(wb_cstr(status ? status : ""), quoted, sizeof quoted));
    if (m->b.status >= WD_AAP_COMPLETED)
        return upp_fail(err, UPP_EINVALID, "the message has ended: it is %s", wd_aap_status_word(m->b.status));
    wd_aap_building_end(&m->b, now);
    return 0;
}

int weft_agentapi_message_json(const struct weft_agentapi_message *m, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_DOC_BYTES);
    struct wj_writer w;
    wj_writer_init(&w, &b, err);
    wd_aap_built_write(&w, &m->b);
    int r = wj_writer_check(&w);
    return r < 0 ? r : upp__text_take(&b, ret, err);
}
