/* upp/client/signature.c — removes signatures from metadata. Recurses once per level of the metadata. */
#include "upp/client/signature.h"

#include "json/compare.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"

enum { METADATA_BYTES = 64 << 20, DEPTH = 64 };

static bool is_signature(yyjson_val *name)
{
    return wj_named(name, UPP_STR("signature")) || wj_named(name, UPP_STR("thoughtSignature"));
}

/* Masking changes texts, and not what stands where. `was` NULL: all of it differs. */
static void put_signature(struct wj_writer *w, yyjson_val *was, yyjson_val *is)
{
    yyjson_val *name, *item;
    size_t i, n;
    if (!yyjson_is_ctn(is) || (was && wj_equal(was, is, NULL) > 0)) {
        wj_write_value(w, is);
        return;
    }
    yyjson_val *before = was ? unsafe_yyjson_get_first(was) : NULL;
    if (yyjson_is_arr(is)) {
        wj_write_open(w, '[');
        yyjson_arr_foreach(is, i, n, item)
        {
            put_signature(w, before, item);
            before = before ? unsafe_yyjson_get_next(before) : NULL;
        }
        wj_write_close(w, ']');
        return;
    }
    wj_write_open(w, '{');
    yyjson_obj_foreach(is, i, n, name, item)
    {
        if (!is_signature(name)) {
            wj_write_name(w, wj_text(name));
            put_signature(w, before ? before + 1 : NULL, item);
        }
        before = before ? unsafe_yyjson_get_next(before + 1) : NULL;
    }
    wj_write_close(w, '}');
}

static int read_metadata(struct wb_arena *a, struct upp_str text, yyjson_val **ret, struct upp_err *err)
{
    return wj_read(a, text, UPP_OPTS(wj_read_opts, .max_bytes = METADATA_BYTES, .depth = DEPTH), ret, err);
}

int upp__signatures_drop(struct wb_arena *scratch, struct upp_str was, struct upp_str is, struct wb_buf *out,
                         struct upp_err *err)
{
    yyjson_val *before = NULL, *after;
    struct wj_writer w;
    int r = was.n ? read_metadata(scratch, was, &before, err) : 0;
    if (r >= 0)
        r = read_metadata(scratch, is, &after, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, out, err);
    put_signature(&w, before, after);
    return wj_writer_check(&w);
}
