/* server/ops/openapi.c — writes the OpenAPI document from the route tables and openapi.json.
 *
 * What follows from a route table is not written by hand: paths, their parameters, security, and the errors that every
 * route of a kind has.
 */
#include <stdio.h>

#include "base/defs.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "server/http/server.h"
#include "server/keys/table.h"
#include "server/ops/ops.h"
#include "server/ops/pages.h"

enum { DOCUMENT_MAX = 8 << 20, KEY_MAX = 160 };

static const uint8_t methods[] = {SV_GET, SV_POST, SV_PUT, SV_PATCH, SV_DELETE};

struct writing {
    const struct sv_door *const *doors;
    bool keys;
    yyjson_val *operations;
    struct wj_writer w;
};

static int load(struct wb_arena *a, yyjson_val **ret, struct upp_err *err)
{
    int r = wj_read(a, sv_page_openapi_json, NULL, ret, err);
    return r == -UPP_EINVALID ? upp_wrap(err, -UPP_EBUG, "openapi.json") : r;
}

/* The description of a route: "GET /v1/threads/{t}". */
static yyjson_val *description_of(yyjson_val *operations, uint8_t method, const char *pattern)
{
    char key[KEY_MAX];
    (void)snprintf(key, sizeof key, "%s %s", sv_method_name(method), pattern);
    return yyjson_obj_get(operations, key);
}

/* The next {name} of a pattern. */
static bool next_parameter(struct upp_str *rest, struct upp_str *name)
{
    size_t open = wb_str_find(*rest, UPP_STR("{"), 0), close = wb_str_find(*rest, UPP_STR("}"), 0);
    if (open == SIZE_MAX || close == SIZE_MAX)
        return false;
    *name = wb_str_sub(*rest, open + 1, close - open - 1);
    *rest = wb_str_sub(*rest, close + 1, SIZE_MAX);
    return true;
}

static void write_ref(struct wj_writer *w, const char *kind, struct upp_str name)
{
    char ref[KEY_MAX];
    (void)snprintf(ref, sizeof ref, "#/components/%s/%.*s", kind, UPP_FMT(name));
    wj_write_open(w, '{');
    wj_put_str(w, "$ref", wb_cstr(ref));
    wj_write_close(w, '}');
}

static void put_parameters(struct wj_writer *w, const char *pattern, yyjson_val *given)
{
    struct upp_str rest = wb_cstr(pattern), name;
    yyjson_val *one;
    size_t i, n;
    wj_put_open(w, "parameters", '[');
    while (next_parameter(&rest, &name))
        write_ref(w, "parameters", name);
    yyjson_arr_foreach(given, i, n, one) wj_write_value(w, one);
    wj_write_close(w, ']');
}

static void put_response(struct wj_writer *w, yyjson_val *given, const char *status, const char *name)
{
    if (yyjson_obj_get(given, status))
        return;
    wj_write_name(w, wb_cstr(status));
    write_ref(w, "responses", wb_cstr(name));
}

static void put_responses(struct writing *g, const struct sv_route *route, bool open, yyjson_val *op)
{
    struct wj_writer *w = &g->w;
    yyjson_val *given = yyjson_obj_get(op, "responses"), *key, *value;
    size_t i, n;
    wj_put_open(w, "responses", '{');
    yyjson_obj_foreach(given, i, n, key, value) wj_put_member(w, key);
    if (g->keys && !open)
        put_response(w, given, "401", "Unauthorized");
    if (strchr(route->pattern, '{'))
        put_response(w, given, "404", "NotFound");
    put_response(w, given, "405", "MethodNotAllowed");
    if (yyjson_obj_get(op, "requestBody"))
        put_response(w, given, "413", "TooLarge");
    put_response(w, given, "default", "Error");
    wj_write_close(w, '}');
}

static void put_operation(struct writing *g, const struct sv_door *door, const struct sv_route *route, uint8_t method,
                          yyjson_val *op)
{
    static const char *const schemes[] = {"key", "x-api-key"}; /* either will do */
    static const char *const made[] = {"parameters", "responses", "security"};
    struct wj_writer *w = &g->w;
    bool open = (route->flags | door->flags) & SV_ROUTE_OPEN;
    yyjson_val *key, *value;
    size_t i, n;
    char name[16];
    (void)snprintf(name, sizeof name, "%s", sv_method_name(method));
    for (char *p = name; *p; p++)
        *p = (char)(*p | 0x20); /* methods are ASCII letters */
    wj_put_open(w, name, '{');
    yyjson_obj_foreach(op, i, n, key, value)
    {
        bool own = true;
        for (size_t k = 0; k < WB_LEN(made); k++)
            own &= !yyjson_equals_str(key, made[k]);
        if (own)
            wj_put_member(w, key);
    }
    put_parameters(w, route->pattern, yyjson_obj_get(op, "parameters"));
    put_responses(g, route, open, op);
    wj_put_open(w, "security", '[');
    for (i = 0; g->keys && !open && i < WB_LEN(schemes); i++) {
        wj_write_open(w, '{');
        wj_put_open(w, schemes[i], '[');
        wj_write_close(w, ']');
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
    wj_write_close(w, '}');
}

static bool is_first(const struct sv_door *const *doors, const struct sv_route *route)
{
    for (; *doors; doors++)
        for (size_t i = 0; i < (*doors)->n_routes; i++)
            if (strcmp((*doors)->routes[i].pattern, route->pattern) == 0)
                return &(*doors)->routes[i] == route;
    return true;
}

/* Every method of one path, whichever tables have it. */
static int put_path(struct writing *g, const char *pattern, struct upp_err *err)
{
    wj_put_open(&g->w, pattern, '{');
    for (const struct sv_door *const *d = g->doors; *d; d++)
        for (size_t i = 0; i < (*d)->n_routes; i++) {
            const struct sv_route *route = &(*d)->routes[i];
            if (strcmp(route->pattern, pattern) != 0)
                continue;
            for (size_t k = 0; k < WB_LEN(methods); k++) {
                if (!(route->methods & methods[k]))
                    continue;
                yyjson_val *op = description_of(g->operations, methods[k], pattern);
                if (!op)
                    return upp_fail(err, UPP_EBUG, "the route %s %s has no description in openapi.json",
                                    sv_method_name(methods[k]), pattern);
                put_operation(g, *d, route, methods[k], op);
            }
        }
    wj_write_close(&g->w, '}');
    return 0;
}

static int put_paths(struct writing *g, struct upp_err *err)
{
    int r = 0;
    wj_put_open(&g->w, "paths", '{');
    for (const struct sv_door *const *d = g->doors; *d && r >= 0; d++)
        for (size_t i = 0; i < (*d)->n_routes && r >= 0; i++)
            if (is_first(g->doors, &(*d)->routes[i]))
                r = put_path(g, (*d)->routes[i].pattern, err);
    wj_write_close(&g->w, '}');
    return r;
}

static void put_info(struct wj_writer *w, yyjson_val *info)
{
    yyjson_val *key, *value;
    size_t i, n;
    wj_put_open(w, "info", '{');
    yyjson_obj_foreach(info, i, n, key, value) wj_put_member(w, key);
    wj_put_str(w, "version", UPP_STR(UPP_VERSION));
    wj_write_close(w, '}');
}

int sv_openapi_write(const struct sv_door *const *doors, bool keys, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(DOCUMENT_MAX);
    struct writing g = {.doors = doors, .keys = keys};
    yyjson_val *root, *key, *value;
    size_t i, n;
    int r = load(&a, &root, err);
    if (r < 0)
        return r;
    g.operations = yyjson_obj_get(root, "operations");
    wj_writer_init(&g.w, out, err);
    wj_write_open(&g.w, '{');
    yyjson_obj_foreach(root, i, n, key, value)
    {
        if (yyjson_equals_str(key, "info"))
            put_info(&g.w, value);
        else if (yyjson_equals_str(key, "operations"))
            r = put_paths(&g, err);
        else
            wj_put_member(&g.w, key);
        if (r < 0)
            return r;
    }
    wj_write_close(&g.w, '}');
    return wj_writer_check(&g.w);
}

static bool has_route(const struct sv_door *const *doors, struct upp_str key)
{
    char text[KEY_MAX];
    for (; *doors; doors++)
        for (size_t i = 0; i < (*doors)->n_routes; i++)
            for (size_t k = 0; k < WB_LEN(methods); k++) {
                const struct sv_route *route = &(*doors)->routes[i];
                (void)snprintf(text, sizeof text, "%s %s", sv_method_name(methods[k]), route->pattern);
                if (route->methods & methods[k] && wb_str_eq(key, wb_cstr(text)))
                    return true;
            }
    return false;
}

int sv_openapi_check(const struct sv_door *const *doors, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(DOCUMENT_MAX);
    yyjson_val *root, *key, *value;
    size_t i, n;
    int r = load(&a, &root, err);
    if (r < 0)
        return r;
    yyjson_obj_foreach(yyjson_obj_get(root, "operations"), i, n, key, value)
    {
        if (!has_route(doors, wj_text(key)))
            return upp_fail(err, UPP_EBUG, "openapi.json describes %s, and there is no such route",
                            yyjson_get_str(key));
    }
    return 0;
}

int sv_get_openapi(struct sv_exchange *x, struct upp_err *err)
{
    x->reply.status = 200;
    return sv_openapi_write(x->server->doors, sv_keys_required(x->server->opts.keys), &x->reply.body, err);
}
