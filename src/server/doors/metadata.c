/* server/doors/metadata.c — reads metadata and tool_resources, and checks their limits. */
#include "server/doors/metadata.h"

#include "server/doors/options.h"

int sv_metadata_read(const struct sv_body *b, yyjson_val *object, struct wb_arena *a, struct upp_str *ret,
                     struct upp_err *err)
{
    yyjson_val *given = NULL;
    struct upp_str text;
    int r = sv_body_object(b, object, UPP_STR("metadata"), &given, err);
    if (r <= 0)
        return r;
    r = sv_metadata_check(b, given, err);
    if (r >= 0)
        r = sv_body_text(a, given, &text, err);
    if (r < 0)
        return r;
    *ret = text;
    return 1;
}

int sv_resources_read(const struct sv_body *b, yyjson_val *object, struct wb_arena *a, struct upp_str *ret,
                      struct upp_err *err)
{
    yyjson_val *given = NULL, *key, *v;
    size_t i, max;
    struct upp_str text;
    int r = sv_body_object(b, object, UPP_STR("tool_resources"), &given, err);
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
