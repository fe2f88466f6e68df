/* model/uap_json.c — writes a call and the results of calls as UAP's stream events have them. */
#include "model/uap_json.h"

/* Parses and writes instead of copying: the text may have several lines, but a frame must be one. */
bool wm_json_write(struct wj_writer *w, struct wb_arena *scratch, const struct wj_read_opts *opts, struct upp_str text)
{
    struct upp_err err;
    yyjson_val *v;
    int r = wj_read(scratch, text.p ? text : UPP_STR("null"), opts, &v, &err);
    if (r == 0)
        wj_write_value(w, v);
    else if (r == -UPP_ENOMEM) {
        if (w->err)
            *w->err = err;
        wj_writer_fail(w, r);
    }
    wb_arena_reset(scratch);
    return r == 0 || r == -UPP_ENOMEM;
}

bool wm_uap_call(struct wj_writer *w, struct wb_arena *scratch, const struct wj_read_opts *opts, struct upp_str id,
                 struct upp_str name, struct upp_str arguments)
{
    wj_put_str_or_empty(w, "toolCallId", id);
    wj_put_str_or_empty(w, "toolName", name);
    wj_write_name(w, UPP_STR("arguments"));
    if (arguments.n == 0)
        wj_write_raw(w, "{}", 2);
    else if (!wm_json_write(w, scratch, opts,
                            arguments)) { /* UPP requires an object here; the text goes into argumentsJson */
        wj_write_raw(w, "{}", 2);
        wj_put_str(w, "argumentsJson", arguments);
        return false;
    }
    return true;
}

void wm_uap_results(struct wj_writer *w, struct wb_arena *scratch, const struct wj_read_opts *opts,
                    const struct upp_message *m)
{
    wj_put_open(w, "results", '[');
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, UPP_PARTS_RESULTS));) {
        wj_write_open(w, '{');
        wj_put_str_or_empty(w, "toolCallId", p->id);
        wj_write_name(w, UPP_STR("result"));
        if (!wm_json_write(w, scratch, opts, p->text))
            wj_write_str(w, p->text);
        wj_put_bool(w, "isError", p->is_error);
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
}
