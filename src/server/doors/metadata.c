/* server/doors/metadata.c — see metadata.h. */
#include "server/doors/metadata.h"

#include "base/utf8.h"
#include "json/value.h"

int sv_metadata_read(const struct sv_body *b, yyjson_val *object, struct wb_arena *a, struct upp_str *ret,
                     struct upp_err *err)
{
    yyjson_val    *given = NULL, *key, *v;
    size_t         i, max;
    struct upp_str text;
    int            r = sv_body_object(b, object, UPP_STR("metadata"), &given, err);
    if (r <= 0)
        return r;
    if (yyjson_obj_size(given) > SV_METADATA_PAIRS)
        return sv_body_wrong(b, given, err, "metadata has at most %d pairs", SV_METADATA_PAIRS);
    yyjson_obj_foreach(given, i, max, key, v)
    {
        if (wb_utf8_count(wj_text(key)) > SV_METADATA_KEY)
            return sv_body_wrong(b, v, err, "a key of metadata has at most %d characters", SV_METADATA_KEY);
        if (yyjson_is_str(v) && wb_utf8_count(wj_text(v)) > SV_METADATA_VALUE)
            return sv_body_wrong(b, v, err, "a string in metadata has at most %d characters", SV_METADATA_VALUE);
    }
    r = sv_body_text(a, given, &text, err);
    if (r < 0)
        return r;
    *ret = text;
    return 1;
}

int sv_resources_read(const struct sv_body *b, yyjson_val *object, struct wb_arena *a, struct upp_str *ret,
                      struct upp_err *err)
{
    yyjson_val    *given = NULL, *key, *v;
    size_t         i, max;
    struct upp_str text;
    int            r = sv_body_object(b, object, UPP_STR("tool_resources"), &given, err);
    if (r <= 0)
        return r;
    yyjson_obj_foreach(given, i, max, key, v)
    {
        if (!yyjson_is_obj(v) && !yyjson_is_null(v))
            return sv_body_wrong(b, v, err, "the resources of a tool are an object");
    }
    r = sv_body_text(a, given, &text, err);
    if (r >= 0 && text.n > SV_RESOURCES_MAX)
        return sv_body_wrong(b, given, err, "tool_resources has at most %d bytes", SV_RESOURCES_MAX);
    if (r < 0)
        return r;
    *ret = text;
    return 1;
}
