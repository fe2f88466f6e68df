/* dialects/upp_doc_values.c — times and metadata as messages of UPP have them. */
#include "base/err.h"
#include "base/iso8601.h"
#include "dialects/upp_doc.h"
#include "json/read.h"
#include "json/value.h"
#include "model/upp_weft.h"

/* ---- Times ----------------------------------------------------------------------------------------------- */

struct upp_str wd_upp_time(struct wd_lowering *l, struct upp_str text, int64_t ms)
{
    char           upp[WB_TIME_TEXT];
    int64_t        unused;
    struct wb_time t, m;
    if (text.p && wb_time_parse_upp(text, &unused))
        return text;
    if (text.p && wb_time_parse(text, &t, NULL) >= 0) {
        m = wb_time_from_ms(wb_time_ms(&t));
        if (t.naive || wb_time_cmp(&t, &m) != 0)
            return text;
        ms = wb_time_ms(&t);
    }
    t                = wb_time_from_ms(ms);
    struct upp_str s = wb_time_upp(&t, upp);
    return s.p ? wb_arena_dup(&l->keep, s) : UPP_STR("1970-01-01T00:00:00.000Z");
}

/* One that has its zone: threads and sessions say no other. */
static struct upp_str zoned(struct wd_lowering *l, struct upp_str text, int64_t ms)
{
    struct wb_time t;
    if (!text.p || wb_time_parse(text, &t, NULL) < 0)
        return wd_upp_time(l, (struct upp_str){0}, ms);
    return t.naive ? wd_upp_time(l, (struct upp_str){0}, wb_time_ms(&t)) : text;
}

struct upp_str wd_upp_created(struct wd_lowering *l)
{
    const struct wm_doc *d = l->doc;
    return zoned(l, d->created, d->entries.n ? d->entries.p[0].e.message.time_ms : l->now_ms);
}

struct upp_str wd_upp_updated(struct wd_lowering *l)
{
    const struct wm_doc *d = l->doc;
    return zoned(l, d->updated, d->entries.n ? d->entries.p[d->entries.n - 1].e.message.time_ms : l->now_ms);
}

/* ---- Metadata -------------------------------------------------------------------------------------------- */

static void fail(struct wd_lowering *l, int r)
{
    if (r < 0)
        wj_writer_fail(&l->w, r);
}

static bool is_in(struct upp_str name, const char *const *names)
{
    for (; *names; names++)
        if (wb_str_eq(name, wb_cstr(*names)))
            return true;
    return wm_weft_is_ours(name);
}

/* The members of an object, without some. */
static size_t put_without(struct wj_writer *w, yyjson_val *obj, const char *const *names)
{
    yyjson_val *key, *value;
    size_t      i, max, n = 0;
    yyjson_obj_foreach(obj, i, max, key, value)
    {
        if (is_in(wj_text(key), names))
            continue;
        wj_write_name(w, wj_text(key));
        wj_write_value(w, value);
        n++;
    }
    return n;
}

/* What others have in a map, and ours as its "weft" behind it; what others have in theirs stays, but for names of ours.
 */
static size_t put_merged(struct wj_writer *w, yyjson_val *map, yyjson_val *ours, const char *const *names)
{
    static const char *const none[] = {NULL};
    yyjson_val              *key, *value, *weft = NULL;
    size_t                   i, max, n          = 0;
    if (yyjson_is_obj(map))
        yyjson_obj_foreach(map, i, max, key, value)
        {
            if (wm_weft_is_weft(key)) {
                weft = weft ? weft : value;
                continue;
            }
            wj_write_name(w, wj_text(key));
            wj_write_value(w, value);
            n++;
        }
    size_t at    = w->out->n;
    bool   comma = w->comma;
    wj_write_name(w, UPP_STR("weft"));
    wj_write_open(w, '{');
    size_t in = (weft ? put_without(w, weft, names) : 0) + put_without(w, ours, none);
    wj_write_close(w, '}');
    if (!in && !w->out->failed) {
        w->out->n = at;
        w->comma  = comma;
    }
    return n + in;
}

struct upp_str wd_upp_metadata(struct wd_lowering *l, struct upp_str metadata, struct upp_str ours,
                               const char *const *names)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a   = WB_ARENA(WD_DOC_MEMORY);
    WB_CLEANUP(wb_buf_done) struct wb_buf     b   = WB_BUF(WD_DOC_BYTES);
    yyjson_val                               *map = NULL, *mine = NULL;
    const struct wj_read_opts opts = {.size = sizeof opts, .max_bytes = WD_DOC_BYTES, .depth = WD_DOC_DEPTH};
    struct upp_str            none = {0};
    struct wj_writer          w;
    int                       r = metadata.n ? wj_read(&a, metadata, &opts, &map, l->w.err) : 0;
    if (r >= 0)
        r = wj_read(&a, ours, &opts, &mine, l->w.err);
    if (r < 0) {
        fail(l, r);
        return none;
    }
    wj_writer_init(&w, &b, l->w.err);
    wj_write_open(&w, '{');
    size_t n = put_merged(&w, map, mine, names);
    wj_write_close(&w, '}');
    fail(l, wj_writer_check(&w));
    return n ? wb_arena_dup(&l->keep, wb_buf_str(&b)) : none;
}
