/* dialects/envelope/recorded.c — recognises recorded envelopes in the log, and writes them as they are. */
#include "dialects/envelope/recorded.h"

#include "json/read.h"
#include "json/value.h"
#include "json/write.h"

yyjson_val *wd_envelope_recorded(struct wb_arena *a, struct upp_str text)
{
    yyjson_val *v;
    text = wb_str_trim(text);
    if (!text.n || text.p[0] != '{' ||
        wj_read(a, text, UPP_OPTS(wj_read_opts, .max_bytes = WD_DOC_BYTES), &v, NULL) < 0)
        return NULL;
    return wb_str_eq(wj_text_at(v, "protocol"), UPP_STR(WD_ENVELOPE_PROTOCOL)) ? v : NULL;
}

struct upp_str wd_envelope_id(yyjson_val *envelope)
{
    return wj_text_at(yyjson_obj_get(envelope, "trace"), "id");
}

void wd_envelope_put_as_text(struct wj_writer *w, struct wb_arena *scratch, yyjson_val *envelope)
{
    yyjson_val *content = yyjson_obj_get(envelope, "content"), *data = yyjson_obj_get(content, "data"), *key;
    struct upp_str text = wj_text_at(content, "text");
    yyjson_obj_iter it = yyjson_obj_iter_with(envelope);
    int r = !text.p && data ? wj_value_text(scratch, data, &text, w->err) : 0;
    if (r < 0)
        wj_writer_fail(w, r);
    wj_write_open(w, '{');
    while ((key = yyjson_obj_iter_next(&it))) {
        if (!wj_named(key, UPP_STR("content"))) {
            wj_put_member(w, key);
            continue;
        }
        wj_put_open(w, "content", '{');
        wj_put_str(w, "type", UPP_STR("text"));
        wj_put_str(w, "text", text.p ? text : UPP_STR(""));
        wj_write_close(w, '}');
    }
    wj_write_close(w, '}');
}

struct upp_str wd_envelope_part_text(const struct upp_part *p)
{
    bool has = p->kind == UPP_PART_TEXT || p->kind == UPP_PART_CALL || p->kind == UPP_PART_RESULT;
    return has ? p->text : (struct upp_str){NULL, 0};
}
