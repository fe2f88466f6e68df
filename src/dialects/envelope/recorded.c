/* dialects/envelope/recorded.c — see recorded.h. */
#include "dialects/envelope/recorded.h"

#include "json/read.h"
#include "json/value.h"

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

struct upp_str wd_envelope_part_text(const struct upp_part *p)
{
    bool has = p->kind == UPP_PART_TEXT || p->kind == UPP_PART_CALL || p->kind == UPP_PART_RESULT;
    return has ? p->text : (struct upp_str){NULL, 0};
}
