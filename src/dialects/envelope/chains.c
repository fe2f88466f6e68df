/* dialects/envelope/chains.c — restores the whole trace.parents of recorded envelopes from the direct ones. */
#include "dialects/envelope/chains.h"

#include "dialects/envelope/envelope.h"
#include "json/number.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"

enum {
    KEPT_MAX = 512 << 20,
    KEPT_LONG = 1 << 20, /* of earlier runs: more is forgotten when the next begins */
    REQUESTS = 1 << 25,
    TEXT_MAX = 64 << 20,
};

static void forget(struct wd_chains *c)
{
    wm_names_done(&c->requests);
    wb_vec_done(&c->parents);
    if (c->begun)
        wb_arena_done(&c->kept);
    *c = (struct wd_chains){.begun = false};
}

/* A thread with many runs needs no more memory than its longest one. */
void wd_chains_begin(struct wd_chains *c)
{
    if (c->begun && c->kept.used > KEPT_LONG)
        forget(c);
}

void wd_chains_done(struct wd_chains *c)
{
    forget(c);
}

int wd_chains_add(struct wd_chains *c, yyjson_val *request, struct upp_err *err)
{
    yyjson_val *parents = yyjson_obj_get(yyjson_obj_get(request, "trace"), "parents");
    struct upp_str id = wd_envelope_id(request), text;
    uint32_t number;
    if (!id.n || !yyjson_is_arr(parents) || !yyjson_arr_size(parents))
        return 0;
    if (!c->begun)
        c->kept = (struct wb_arena)WB_ARENA(KEPT_MAX);
    c->begun = true;
    int r = wj_value_text(&c->kept, parents, &text, err);
    if (r < 0)
        return r;
    number = wm_names_find(&c->requests, id);
    if (number != UINT32_MAX) { /* a stream is read again, or two requests have one id: the reply follows the later */
        c->parents.p[number] = text;
        return 0;
    }
    id = wb_arena_dup(&c->kept, id);
    r = wb_arena_check(&c->kept, err);
    if (r >= 0 && !wb_vec_room(&c->parents, REQUESTS))
        r = upp_fail(err, UPP_ENOMEM, "no memory for the parents of an envelope");
    if (r >= 0)
        r = wm_names_add(&c->requests, id, &number, err);
    if (r > 0)
        c->parents.p[c->parents.n++] = text;
    return r < 0 ? r : 0;
}

/* How many parents are not in the log with it; 0: all are. */
static bool is_cut(yyjson_val *trace, uint64_t *above)
{
    yyjson_val *v = yyjson_obj_get(trace, WD_ENVELOPE_ABOVE);
    return v && yyjson_is_raw(v) && wj_num_u64(wj_text(v), above);
}

/* The parents of the request, or NULL. */
static int find_chain(const struct wd_chains *c, struct wb_arena *a, yyjson_val *direct, yyjson_val **ret,
                      struct upp_err *err)
{
    uint32_t number = wm_names_find(&c->requests, wj_text_of(yyjson_arr_get_last(direct)));
    *ret = NULL;
    return number == UINT32_MAX ? 0 : wj_read(a, c->parents.p[number], NULL, ret, err);
}

static void put_parents(struct wj_writer *w, yyjson_val *before, uint64_t above, yyjson_val *direct)
{
    yyjson_val *v;
    size_t i, n, all = yyjson_arr_size(before);
    wj_put_open(w, "parents", '[');
    yyjson_arr_foreach(before, i, n, v)
    {
        if (all - i <= above)
            wj_write_value(w, v);
    }
    yyjson_arr_foreach(direct, i, n, v) wj_write_value(w, v);
    wj_write_close(w, ']');
}

static void put_trace(struct wj_writer *w, yyjson_val *trace, yyjson_val *before, uint64_t above)
{
    yyjson_val *key, *value;
    size_t i, n;
    wj_put_open(w, "trace", '{');
    yyjson_obj_foreach(trace, i, n, key, value)
    {
        if (wj_named(key, UPP_STR("parents")))
            put_parents(w, before, above, value);
        else if (!wj_named(key, UPP_STR(WD_ENVELOPE_ABOVE)))
            wj_put_member(w, key);
    }
    wj_write_close(w, '}');
}

int wd_chains_restore(const struct wd_chains *c, struct wb_arena *a, yyjson_val *reply, yyjson_val **ret,
                      struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(TEXT_MAX);
    yyjson_val *trace = yyjson_obj_get(reply, "trace"), *before, *key, *value;
    struct wj_writer w;
    struct upp_str text;
    uint64_t above = 0;
    size_t i, n;
    *ret = reply;
    if (!is_cut(trace, &above))
        return 0;
    int r = find_chain(c, a, yyjson_obj_get(trace, "parents"), &before, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    yyjson_obj_foreach(reply, i, n, key, value)
    {
        if (value == trace)
            put_trace(&w, trace, before, above);
        else
            wj_put_member(&w, key);
    }
    wj_write_close(&w, '}');
    r = wj_writer_text(&w, a, &text);
    return r < 0 ? r : wj_read(a, text, UPP_OPTS(wj_read_opts, .max_bytes = WD_DOC_BYTES), ret, err);
}

int wd_chains_part(struct wd_chains *c, struct wb_arena *a, const struct upp_message *m, const struct upp_part *p,
                   yyjson_val *envelope, yyjson_val **ret, struct upp_err *err)
{
    *ret = envelope;
    if (p->kind == UPP_PART_CALL)
        return wd_chains_add(c, envelope, err);
    if (m->role != UPP_ROLE_USER)
        return wd_chains_restore(c, a, envelope, ret, err);
    wd_chains_begin(c);
    return 0;
}
