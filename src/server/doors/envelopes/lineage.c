/* server/doors/envelopes/lineage.c — GET /v1/envelopes/{e}/lineage: what an envelope follows from, what follows from
 * it, and what that cost. Read from the envelopes of its exchange; nothing is stored for it. */
#include "envelope/lineage.h"

#include "base/defs.h"
#include "server/doors/envelopes/routes.h"

struct form {
    const char *name, *type;
    int (*write)(const struct we_lineage_view *v, struct wb_arena *a, struct wb_buf *out, struct upp_err *err);
};

static int write_json(const struct we_lineage_view *v, struct wb_arena *a, struct wb_buf *out, struct upp_err *err)
{
    (void)a;
    return we_lineage_json(v, out, err);
}

static int write_dot(const struct we_lineage_view *v, struct wb_arena *a, struct wb_buf *out, struct upp_err *err)
{
    (void)a;
    return we_lineage_dot(v, out, err);
}

static int write_text(const struct we_lineage_view *v, struct wb_arena *a, struct wb_buf *out, struct upp_err *err)
{
    return we_lineage_text(v, true, 0, a, out, err);
}

static const struct form forms[] = {{"json", NULL, write_json},
                                    {"svg", "image/svg+xml", we_lineage_svg},
                                    {"dot", "text/vnd.graphviz; charset=utf-8", write_dot},
                                    {"text", "text/plain; charset=utf-8", write_text}};

static int read_form(struct sv_exchange *x, const struct form **ret, struct upp_err *err)
{
    struct upp_str text;
    int r = sv_query(x, UPP_STR("as"), &text, err);
    *ret = &forms[0];
    if (r <= 0)
        return r;
    for (size_t i = 0; i < WB_LEN(forms); i++)
        if (wb_str_eq(text, wb_cstr(forms[i].name))) {
            *ret = &forms[i];
            return 0;
        }
    return upp_fail(err, UPP_EINVALID, "'as' is json, svg, dot or text");
}

static int read_which(struct sv_exchange *x, unsigned *ret, struct upp_err *err)
{
    struct upp_str text;
    int r = sv_query(x, UPP_STR("which"), &text, err);
    *ret = WE_ANCESTORS | WE_DESCENDANTS;
    if (r <= 0 || wb_str_eq(text, UPP_STR("all")))
        return WB_MIN(r, 0);
    *ret = wb_str_eq(text, UPP_STR("ancestors"))     ? WE_ANCESTORS
           : wb_str_eq(text, UPP_STR("descendants")) ? WE_DESCENDANTS
                                                     : 0;
    return *ret ? 0 : upp_fail(err, UPP_EINVALID, "'which' is all, ancestors or descendants");
}

static int add_envelope(void *arg, yyjson_val *envelope, struct upp_err *err)
{
    int r = we_lineage_add(arg, envelope, err);
    return r < 0 ? r : 0;
}

int sv_get_lineage(struct sv_exchange *x, struct upp_err *err)
{
    WB_CLEANUP(we_lineage_freep) struct we_lineage *l = NULL;
    const struct form *form;
    struct we_lineage_view view;
    struct wl_thread t;
    unsigned which;
    int r = read_form(x, &form, err);
    if (r >= 0)
        r = read_which(x, &which, err);
    if (r >= 0)
        r = sv_envelope_thread(x, x->params[0], true, &t, err);
    if (r >= 0)
        r = we_lineage_new(&l, err);
    if (r >= 0)
        r = sv_envelopes_each(x, &t, add_envelope, l, err);
    if (r >= 0)
        r = we_lineage_end(l, err);
    if (r < 0)
        return r;
    uint32_t self = we_lineage_find(l, x->params[0]);
    if (self == WE_NO_NODE || !we_lineage_node(l, self)->known) /* not there yet, or deleted */
        return upp_fail(err, UPP_ENOTFOUND, "there is no envelope '%.*s'", UPP_FMT(x->params[0]));
    r = we_lineage_view(l, self, which, &x->arena, &view, err);
    if (r >= 0)
        r = form->write(&view, &x->arena, &x->reply.body, err);
    x->reply.status = 200;
    x->reply.type = form->type;
    if (form->type) /* a picture that is opened by itself runs nothing */
        sv_reply_header(&x->reply, "Content-Security-Policy", UPP_STR("sandbox; default-src 'none'"));
    return r;
}
