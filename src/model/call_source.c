/* model/call_source.c — the source of a call's tool, in the metadata of its part. */
#include "model/call_source.h"

#include "base/err.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "model/upp_weft.h"

enum { METADATA_MAX = 64 << 20 };

static const char *const sources[] = {
    [WM_TOOL_CLIENT] = "client", [WM_TOOL_MCP] = "mcp", [WM_TOOL_COMPONENT] = "component"};

int wm_call_source_write(struct wb_arena *a, struct wm_call_source source, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(METADATA_MAX);
    struct wj_writer w;
    *ret = (struct upp_str){0};
    if (source.source == WM_TOOL_PLUGIN)
        return 0;
    wj_writer_init(&w, &b, err);
    wj_write_open(&w, '{');
    wj_put_open(&w, "weft", '{');
    wj_put_str(&w, "source", wb_cstr(sources[source.source]));
    if (source.server.n)
        wj_put_str(&w, "server", source.server);
    wj_write_close(&w, '}');
    wj_write_close(&w, '}');
    return wj_writer_text(&w, a, ret);
}

/* Most metadata has none, and is not parsed. Its name may have escapes. */
static bool may_have_source(struct upp_str metadata)
{
    return metadata.n && (wb_str_find(metadata, UPP_STR("\"weft\""), 0) != SIZE_MAX ||
                          wb_str_find(metadata, UPP_STR("\\u"), 0) != SIZE_MAX);
}

struct wm_call_source wm_call_source_in(yyjson_val *weft)
{
    struct wm_call_source ret = {.source = wm_upp_word(wj_text_at(weft, "source"), sources, WB_LEN(sources))};
    if (ret.source == WM_TOOL_MCP)
        ret.server = wj_text_at(weft, "server");
    return ret;
}

struct wm_call_source wm_call_source_of(yyjson_val *metadata)
{
    return wm_call_source_in(yyjson_obj_get(metadata, "weft"));
}

int wm_call_source_read(struct wb_arena *a, struct upp_str metadata, struct wm_call_source *ret, struct upp_err *err)
{
    yyjson_val *v = NULL;
    if (may_have_source(metadata) && wj_read(a, metadata, NULL, &v, NULL) == -UPP_ENOMEM)
        return upp_fail(err, UPP_ENOMEM, "no memory for the metadata of a call");
    *ret = wm_call_source_of(v);
    return 0;
}

/* Writes the members of an object, but for a source. Returns how many. */
static size_t put_others(struct wj_writer *w, yyjson_val *object)
{
    yyjson_val *key, *value;
    size_t i, max, n = 0;
    yyjson_obj_foreach(object, i, max, key, value)
    {
        if (wj_named(key, UPP_STR("weft")))
            continue;
        wj_put_member(w, key);
        n++;
    }
    return n;
}

/* Metadata that is not a JSON object is dropped: there is no place for the source in it. */
static int join(struct wb_arena *a, struct upp_str provider, struct upp_str source, struct upp_str *ret,
                struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(METADATA_MAX);
    struct wj_writer w;
    yyjson_val *v = NULL, *own = NULL;
    if (wj_read(a, provider, NULL, &v, NULL) == -UPP_ENOMEM)
        return upp_fail(err, UPP_ENOMEM, "no memory for the metadata of a call");
    if (!yyjson_is_obj(v) || (!source.n && !yyjson_obj_get(v, "weft"))) {
        *ret = source.n ? source : provider;
        return 0;
    }
    int r = source.n ? wj_read(a, source, NULL, &own, err) : 0;
    if (r < 0)
        return r;
    yyjson_val *weft = yyjson_obj_get(own, "weft");
    wj_writer_init(&w, &b, err);
    wj_write_open(&w, '{');
    if (!put_others(&w, v)) {
        *ret = source;
        return wj_writer_check(&w);
    }
    if (weft)
        wj_put_member(&w, weft - 1); /* its name */
    wj_write_close(&w, '}');
    return wj_writer_text(&w, a, ret);
}

int wm_call_source_join(struct wb_arena *a, struct upp_str provider, struct upp_str source, struct upp_str *ret,
                        struct upp_err *err)
{
    bool any = wb_str_trim(provider).n > 2; /* more than {} */
    if (any && (source.n || may_have_source(provider)))
        return join(a, provider, source, ret, err);
    *ret = any ? provider : source;
    return 0;
}
