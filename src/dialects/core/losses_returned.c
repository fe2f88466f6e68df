/* dialects/core/losses_returned.c — finds what of a document does not come back from the converted text.
 *
 * This overrides the losses that dialects report: the text is read again, written in the document's own dialect and
 * compared with what was read. What is missing or has another value is reported as a loss with its pointer; a reported
 * loss that came back is removed. Ignored are new members, another spelling of the same time or number, and null for an
 * absent member.
 *
 * Recurses once per level; values are at most WD_DOC_DEPTH deep.
 */
#include <stdlib.h>

#include "base/err.h"
#include "base/iso8601.h"
#include "dialects/core/convert.h"
#include "dialects/core/writer.h"
#include "dialects/core/residue.h"
#include "json/compare.h"
#include "json/read.h"
#include "json/value.h"

enum {
    AHEAD = 8, /* how many items ahead a moved list item is searched for */
    ALIKE = 4, /* it is the same item if at most 1/ALIKE of its values differ */
};

struct round_trip {
    struct wd_document *d;
    struct wd_anchor **anchors; /* sorted by object */
    uint8_t *touched;           /* one bit per entry: something of its object is lost */
    bool any;
    WB_VEC(yyjson_val *) lost; /* in document order */
    size_t more;
    bool dry; /* only count */
    size_t count;
    int failed;
};

static int by_wire(const void *a, const void *b)
{
    const struct wd_anchor *x = *(struct wd_anchor *const *)a, *y = *(struct wd_anchor *const *)b;
    return (x->wire > y->wire) - (x->wire < y->wire);
}

/* Marks the entries that v became, if it is an anchored object. */
static void touch(struct round_trip *x, yyjson_val *v)
{
    size_t low = 0, high = x->d->lifting.anchors.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (x->anchors[mid]->wire < v)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < x->d->lifting.anchors.n && x->anchors[low]->wire == v; low++) {
        const struct wd_anchor *a = x->anchors[low];
        for (uint64_t i = a->entry; a->entry != WD_THREAD && i < (uint64_t)a->entry + a->entries; i++)
            if (i < x->d->doc.entries.n)
                x->touched[i / 8] |= (uint8_t)(1u << i % 8);
    }
}

static bool is_anchor(const struct round_trip *x, const yyjson_val *v)
{
    const struct wd_lifting *l = &x->d->lifting;
    size_t i = (size_t)(v - l->root);
    return l->elsewhere && (l->elsewhere[i / 8] >> i % 8 & 1);
}

static void lose(struct round_trip *x, yyjson_val *v)
{
    if (x->dry) {
        x->count++;
        return;
    }
    x->any = true;
    if (x->lost.n >= WD_MAX_LOSSES)
        x->more++;
    else if (!wb_vec_push(&x->lost, v, (size_t)WD_MAX_LOSSES))
        x->failed = -UPP_ENOMEM;
}

static bool same_moment(struct upp_str a, struct upp_str b)
{
    struct wb_time x, y;
    return wb_time_parse(a, &x, NULL) >= 0 && wb_time_parse(b, &y, NULL) >= 0 && x.naive == y.naive &&
           wb_time_cmp(&x, &y) == 0;
}

static bool same_scalar(struct round_trip *x, yyjson_val *was, yyjson_val *is)
{
    if (unsafe_yyjson_get_type(was) != unsafe_yyjson_get_type(is))
        return false;
    if (yyjson_is_str(was))
        return wb_str_eq(wj_text(was), wj_text(is)) || same_moment(wj_text(was), wj_text(is));
    int r = wj_equal(was, is, NULL);
    if (r < 0)
        x->failed = r;
    return r > 0;
}

static void compare(struct round_trip *x, yyjson_val *was, yyjson_val *is);

/* Counts the values of `was` that differ. */
static size_t differences(struct round_trip *x, yyjson_val *was, yyjson_val *is)
{
    struct round_trip before = *x;
    x->dry = true;
    x->count = 0;
    compare(x, was, is);
    size_t n = x->count;
    x->dry = before.dry;
    x->count = before.count;
    return n;
}

/* Which of the next items is the same one; `rest`: none. */
static size_t look_ahead(struct round_trip *x, yyjson_val *item, yyjson_val *next, size_t rest)
{
    size_t best = rest, least = wj_size(item) / ALIKE + 1;
    for (size_t i = 0; i < AHEAD && i < rest && least; i++, next = unsafe_yyjson_get_next(next)) {
        size_t n = differences(x, item, next);
        if (n < least) {
            least = n;
            best = i;
        }
    }
    return best;
}

static void compare_objects(struct round_trip *x, yyjson_val *was, yyjson_val *is)
{
    yyjson_val *key = unsafe_yyjson_get_first(was), *next = unsafe_yyjson_get_first(is),
               *end = unsafe_yyjson_get_next(is);
    for (size_t n = unsafe_yyjson_get_len(was); n && !x->failed; n--, key = unsafe_yyjson_get_next(key + 1)) {
        yyjson_val *found = next < end && wj_named(next, wj_text(key)) ? next + 1 : wd_residue_member(is, wj_text(key));
        if (found)
            next = unsafe_yyjson_get_next(found);
        if (wj_named(key, UPP_STR("x_weft"))) /* residue of other dialects is not content */
            continue;
        if (found)
            compare(x, key + 1, found);
        else if (!unsafe_yyjson_is_null(key + 1))
            lose(x, key + 1);
    }
}

/* Lists of equal length are compared item by item; otherwise items may be missing or new. */
static void compare_lists(struct round_trip *x, yyjson_val *was, yyjson_val *is)
{
    size_t n = unsafe_yyjson_get_len(was), rest = unsafe_yyjson_get_len(is);
    yyjson_val *item = unsafe_yyjson_get_first(was), *next = unsafe_yyjson_get_first(is);
    if (x->dry && n != rest) { /* no look-ahead within look-ahead: the cost would be exponential */
        lose(x, was);
        return;
    }
    for (; n && !x->failed; n--, item = unsafe_yyjson_get_next(item)) {
        size_t skip = n == rest ? 0 : look_ahead(x, item, next, rest);
        if (skip >= rest) {
            lose(x, item);
            continue;
        }
        for (rest -= skip + 1; skip; skip--)
            next = unsafe_yyjson_get_next(next);
        compare(x, item, next);
        next = unsafe_yyjson_get_next(next);
    }
}

static void compare(struct round_trip *x, yyjson_val *was, yyjson_val *is)
{
    size_t before = x->lost.n + x->more;
    if (!unsafe_yyjson_is_ctn(was) || unsafe_yyjson_get_type(was) != unsafe_yyjson_get_type(is)) {
        if (!same_scalar(x, was, is))
            lose(x, was);
    } else if (unsafe_yyjson_is_obj(was))
        compare_objects(x, was, is);
    else
        compare_lists(x, was, is);
    if (x->lost.n + x->more > before && is_anchor(x, was))
        touch(x, was);
}

/* An object may come back as a list: of itself, or the list that it had as a member. Reports that, and compares the
 * content. */
static void compare_roots(struct round_trip *x, yyjson_val *was, yyjson_val *is)
{
    yyjson_val *key, *value, *first = yyjson_arr_get_first(is);
    size_t i, n;
    if (!yyjson_is_obj(was) || !yyjson_is_arr(is)) {
        compare(x, was, is);
        return;
    }
    lose(x, was);
    if (yyjson_is_obj(first) && differences(x, was, first) < wj_size(was) / 2) {
        compare(x, was, first);
        return;
    }
    yyjson_obj_foreach(was, i, n, key, value)
    {
        if (yyjson_is_arr(value))
            compare(x, value, is);
        else if (!yyjson_is_null(value))
            lose(x, value);
    }
}

/* A loss that a dialect reported for an entry or for the thread stays if something of that is really lost. */
static bool still_applies(const struct round_trip *x, const struct wd_loss *loss)
{
    static const struct upp_str entries = UPP_STR_INIT("entries/");
    uint64_t i;
    if (!loss->pointer.n)
        return x->any;
    if (!wb_str_starts(loss->pointer, entries) || !wb_str_u64(wb_str_sub(loss->pointer, entries.n, SIZE_MAX), &i))
        return false; /* reported again, with its pointer */
    return i < x->d->doc.entries.n && (x->touched[i / 8] >> i % 8 & 1);
}

static void report(struct round_trip *x, struct wd_losses *losses)
{
    struct wd_losses reported = *losses;
    memset(&losses->list, 0, sizeof losses->list);
    wd_lost_report(&x->d->lifting, x->lost.p, x->lost.n, losses);
    losses->more = x->more;
    for (size_t i = 0; i < reported.list.n; i++)
        if (still_applies(x, &reported.list.p[i]))
            wd_loss_add(losses, reported.list.p[i].pointer, reported.list.p[i].what, reported.list.p[i].why);
    wd_losses_done(&reported);
}

static void round_trip_done(struct round_trip *x)
{
    wb_vec_done(&x->lost);
}

static int prepare(struct round_trip *x, struct upp_err *err)
{
    struct wd_lifting *l = &x->d->lifting;
    x->anchors = wb_new_n(&x->d->a, struct wd_anchor *, l->anchors.n + 1);
    x->touched = wb_new_n(&x->d->a, uint8_t, x->d->doc.entries.n / 8 + 1);
    if (!x->anchors || !x->touched)
        return wb_arena_check(&x->d->a, err);
    for (size_t i = 0; i < l->anchors.n; i++)
        x->anchors[i] = &l->anchors.p[i];
    if (l->anchors.n)
        qsort(x->anchors, l->anchors.n, sizeof *x->anchors, by_wire);
    return 0;
}

/* Converts the text back to the dialect of d. */
static int write_back(struct wd_document *d, const struct wd_document_ops *to, struct upp_str text,
                      const struct wd_convert_opts *opts, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wd_document_done) struct wd_document there = {0};
    struct wd_convert_opts again = {.size = sizeof again, .now_ms = opts->now_ms, .seed = opts->seed};
    again.agent = opts->agent;
    int r = wd_document_read(&there, to, text, &again, err);
    return r < 0 ? r : wd_document_write(&there, d->ops, &again, out, NULL, err);
}

int wd_document_returns(struct wd_document *d, const struct wd_document_ops *to, struct upp_str text,
                        const struct wd_convert_opts *opts, struct wd_losses *losses, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WD_DOC_MEMORY);
    WB_CLEANUP(wb_buf_done) struct wb_buf back = WB_BUF(2u * WD_DOC_BYTES);
    WB_CLEANUP(round_trip_done) struct round_trip x = {.d = d};
    struct upp_err why = {0};
    yyjson_val *is;
    int r = write_back(d, to, text, opts, &back, &why);
    if (r == -UPP_EINVALID || r == -UPP_ELIMIT) { /* nothing comes back */
        wd_loss_add(losses, UPP_STR(""), UPP_STR("all of it"), wb_cstr(why.msg));
        return 0;
    }
    if (r >= 0)
        r = wj_read(&a, wb_buf_str(&back),
                    UPP_OPTS(wj_read_opts, .max_bytes = 2u * WD_DOC_BYTES, .depth = 2 * WD_DOC_DEPTH), &is, &why);
    if (r >= 0)
        r = prepare(&x, &why);
    if (r < 0) {
        if (err)
            *err = why;
        return r;
    }
    compare_roots(&x, d->root, is);
    if (x.failed)
        return upp_fail(err, UPP_ENOMEM, "no memory to compare");
    report(&x, losses);
    return losses->failed ? upp_fail(err, UPP_ENOMEM, "no memory for losses") : 0;
}
