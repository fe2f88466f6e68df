/* upp/providers/google.c — Google Gemini: a request as POST /v1beta/models/MODEL:generateContent.
 *
 * What is particular to it:
 *  - The model's name stands in the address, not in the body.
 *  - What the model said goes back as it came (metadata.google.raw): each signature in the part that it came in.
 *    Gemini 3 refuses a call that begins a step without one: calls of others get the signature that Google has for it.
 *  - Calls may have no id. Ours (metadata.google.minted) are never sent; results meet their calls by name and order.
 *  - A result is an object; all else is wrapped: {"output": ...}, {"error": ...}.
 *  - A content has at least one part: the empty text where there is nothing to say.
 */
#include "upp/providers/google.h"

#include "base/str.h"
#include "upp/providers/body.h"

/* The schema of a tool without parameters is refused by some models: it is left out. */
static bool has_parameters(yyjson_val *schema)
{
    static const char *const empty[] = {"type",    "properties", "required",    "additionalProperties",
                                        "$schema", "title",      "description", NULL};
    yyjson_obj_iter it = yyjson_obj_iter_with(schema);
    yyjson_val *name;
    while ((name = yyjson_obj_iter_next(&it))) {
        bool known = false;
        for (const char *const *e = empty; *e; e++)
            known = known || wj_named(name, wb_cstr(*e));
        if (!known)
            return true;
    }
    return yyjson_obj_size(upp__get(schema, "properties")) > 0 ||
           yyjson_is_obj(upp__get(schema, "additionalProperties"));
}

static void put_tool(struct upp__body *b, const struct upp_tool_spec *t)
{
    static const char *const made[] = {"name", "description", "parametersJsonSchema", NULL};
    yyjson_val *own = upp__look_own(b, t->metadata), *schema = upp__look(b, t->parameters);
    if (t->parameters.n && !yyjson_is_obj(schema))
        wj_writer_fail(&b->w, upp_fail(b->err, UPP_EINVALID, "the parameters of tool '%.*s' are no JSON Schema",
                                       UPP_FMT(t->name)));
    wj_write_open(&b->w, '{');
    upp__put(b, "name", t->name);
    if (t->description.n)
        upp__put(b, "description", t->description);
    if (has_parameters(schema) && !upp__get(own, "parameters"))
        wj_put_value(&b->w, "parametersJsonSchema", schema);
    upp__put_rest(b, own, made);
    wj_write_close(&b->w, '}');
}

static void put_tools(struct upp__body *b)
{
    yyjson_val *native = upp__get(b->params, "tools"), *item;
    yyjson_arr_iter it = yyjson_arr_iter_with(native);
    if (!b->req->n_tools && !native)
        return;
    wj_put_open(&b->w, "tools", '[');
    if (b->req->n_tools) {
        wj_write_open(&b->w, '{');
        wj_put_open(&b->w, "functionDeclarations", '[');
        for (size_t i = 0; i < b->req->n_tools; i++)
            put_tool(b, &b->req->tools[i]);
        wj_write_close(&b->w, ']');
        wj_write_close(&b->w, '}');
    }
    while ((item = yyjson_arr_iter_next(&it)))
        wj_write_value(&b->w, item);
    wj_write_close(&b->w, ']');
}

/* What params say of it, then what a structure needs and they do not say. */
static void put_config(struct upp__body *b)
{
    yyjson_val *given = upp__get(b->params, "generationConfig");
    if (!given && !b->req->structure.p)
        return;
    wj_put_open(&b->w, "generationConfig", '{');
    upp__put_all(b, given);
    if (b->req->structure.p) {
        if (!upp__get(given, "responseMimeType"))
            upp__put(b, "responseMimeType", UPP_STR("application/json"));
        if (!upp__get(given, "responseJsonSchema") && !upp__get(given, "responseSchema")) {
            wj_write_name(&b->w, UPP_STR("responseJsonSchema"));
            upp__write_json(&b->w, b->arena, b->req->structure);
        }
    }
    wj_write_close(&b->w, '}');
}

static void put_body(struct upp__body *b)
{
    static const char *const made[] = {"tools", "generationConfig", NULL};
    wj_write_open(&b->w, '{');
    upp__google_contents(b);
    if (b->req->system.n && !upp__get(b->params, "systemInstruction")) {
        wj_put_open(&b->w, "systemInstruction", '{');
        wj_put_open(&b->w, "parts", '[');
        wj_write_open(&b->w, '{');
        upp__put(b, "text", b->req->system);
        wj_write_close(&b->w, '}');
        wj_write_close(&b->w, ']');
        wj_write_close(&b->w, '}');
    }
    put_tools(b);
    put_config(b);
    upp__put_rest(b, b->params, made);
    wj_write_close(&b->w, '}');
}

/* A name as a segment of a path; a slash stays one ("tunedModels/x"). */
static struct upp_str escaped(struct wb_arena *a, struct upp_str name)
{
    static const char hex[] = "0123456789ABCDEF";
    char *to = name.n > SIZE_MAX / 3 ? NULL : wb_arena_alloc(a, 3 * name.n + 1, 1);
    size_t n = 0;
    for (size_t i = 0; to && i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("-._~/", c)))
            to[n++] = (char)c;
        else {
            to[n++] = '%';
            to[n++] = hex[c >> 4];
            to[n++] = hex[c & 15];
        }
    }
    return wb_str(to, n);
}

/* base_url is the API's root, or an endpoint: that of a model, with or without what is to be done (Vertex has another
 * path before "models"). */
static struct upp_str make_url(const struct upp__vendor *v, struct wb_arena *a, bool whole)
{
    struct upp_str base = v->base_url;
    size_t mark = wb_str_find(base, UPP_STR("?"), 0);
    struct upp_str query = mark == SIZE_MAX ? UPP_STR("") : wb_str_sub(base, mark, SIZE_MAX);
    struct upp_str root = wb_str_sub(base, 0, mark), method = UPP_STR(":generateContent"), path;
    while (root.n && root.p[root.n - 1] == '/')
        root.n--;
    if (wb_str_ends(root, method))
        root.n -= method.n;
    else if (wb_str_ends(root, UPP_STR(":streamGenerateContent")))
        root.n -= sizeof ":streamGenerateContent" - 1;
    else {
        struct upp_str version = v->api_version.n ? v->api_version : UPP_STR("v1beta"), name = escaped(a, v->model);
        bool full = wb_str_find(name, UPP_STR("/"), 0) != SIZE_MAX;
        path = wb_arena_printf(a, "/%.*s/%s%.*s", UPP_FMT(version), full ? "" : "models/", UPP_FMT(name));
        root = upp__endpoint(a, root, path);
    }
    if (whole)
        return wb_arena_printf(a, "%.*s:generateContent%.*s", UPP_FMT(root), UPP_FMT(query));
    bool sse = wb_str_find(query, UPP_STR("alt=sse"), 0) != SIZE_MAX;
    return wb_arena_printf(a, "%.*s:streamGenerateContent%.*s%s%s", UPP_FMT(root), UPP_FMT(query),
                           sse       ? ""
                           : query.n ? "&"
                                     : "?",
                           sse ? "" : "alt=sse");
}

static int write_request(const struct upp__vendor *v, const struct upp_request *req, struct upp_str key,
                         struct upp__outgoing *out, struct upp_err *err)
{
    struct upp__body b;
    int r = upp__body_init(&b, v, req, out, "contents", err);
    upp__header(out, "content-type", UPP_STR("application/json"));
    if (r == 0)
        r = upp__put_key(out, v, key, "x-goog-api-key", "bearer", err);
    if (r < 0)
        return r;
    yyjson_val *config = upp__get(b.params, "generationConfig");
    if (config && !yyjson_is_obj(config))
        return upp_fail(err, UPP_EINVALID, "params: 'generationConfig' is an object");
    out->url = make_url(v, out->arena, req->whole);
    put_body(&b);
    return upp__body_check(&b);
}

const struct upp__adapter upp__google = {
    .name = "google",
    .can = UPP_CAN_ALL,
    .framing = WW_SSE,
    .own_size = sizeof(struct upp__google_own),
    .write = write_request,
    .event = upp__google_event,
    .whole = upp__google_whole,
    .eof = upp__google_eof,
    .done = upp__google_done,
    .error = upp__google_error,
};
