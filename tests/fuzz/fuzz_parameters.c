/* fuzz/fuzz_parameters.c — any text as the parameters of a tool: what is taken becomes JSON, and the short form a
 * schema of an object in which every name stands once. */
#include "base/str.h"
#include "fuzz/fuzz.h"
#include "json/read.h"
#include "upp/client/talk.h"

static size_t count_named(yyjson_val *object, yyjson_val *name)
{
    size_t n = 0;
    yyjson_obj_iter it = yyjson_obj_iter_with(object);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&it));)
        n += wb_str_eq(wj_text(key), wj_text(name));
    return n;
}

static void look_at(yyjson_val *schema, unsigned depth);

static void look_at_object(yyjson_val *schema, unsigned depth)
{
    yyjson_val *properties = yyjson_obj_get(schema, "properties"), *required = yyjson_obj_get(schema, "required"), *v;
    REQUIRE(yyjson_is_obj(properties));
    yyjson_obj_iter it = yyjson_obj_iter_with(properties);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&it));) {
        REQUIRE(count_named(properties, key) == 1);
        look_at(yyjson_obj_iter_get_val(key), depth + 1);
    }
    REQUIRE(!required || (yyjson_is_arr(required) && yyjson_arr_size(required)));
    yyjson_arr_iter names = yyjson_arr_iter_with(required);
    while ((v = yyjson_arr_iter_next(&names)))
        REQUIRE(yyjson_is_str(v) && count_named(properties, v) == 1);
    REQUIRE(!required || yyjson_arr_size(required) <= yyjson_obj_size(properties));
}

static void look_at(yyjson_val *schema, unsigned depth)
{
    REQUIRE(yyjson_is_obj(schema) && depth < 300);
    yyjson_val *type = yyjson_obj_get(schema, "type"), *of;
    if (!type) /* any */
        REQUIRE(yyjson_obj_size(schema) == 0);
    else if (wb_str_eq(wj_text(type), UPP_STR("object")) && yyjson_obj_size(schema) > 1)
        look_at_object(schema, depth);
    else if ((of = yyjson_obj_get(schema, "items"))) {
        REQUIRE(wb_str_eq(wj_text(type), UPP_STR("array")));
        look_at(of, depth + 1);
    } else if ((of = yyjson_obj_get(schema, "enum")))
        REQUIRE(wb_str_eq(wj_text(type), UPP_STR("string")) && yyjson_arr_size(of) >= 1);
}

FUZZ(parameters)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
    struct upp_err err = {0};
    struct upp_str got = {0}, bare;
    yyjson_val *v;
    int r = upp__parameters(&a, in, &got, &err);
    REQUIRE_SHOWN(err.msg);
    if (r < 0) {
        REQUIRE((r == -UPP_EINVALID || r == -UPP_ELIMIT) && err.code == -r && err.msg[0]);
        return;
    }
    REQUIRE(wj_read(&a, got, NULL, &v, &err) == 0 && yyjson_is_obj(v));
    bare = wb_str_trim(wb_str_sub(wb_str_trim(in), 1, SIZE_MAX));
    if (!bare.n || bare.p[0] != '"') /* else it was JSON, and is what it was */
        look_at_object(v, 0);
    else
        REQUIRE(wb_str_eq(got, wb_str_trim(in)));
}
