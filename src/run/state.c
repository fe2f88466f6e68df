/* run/state.c — the state of a run as JSON: what a strategy comes back to, and nothing else. */
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "run/internal.h"

static const struct upp_str STEP                                                            = UPP_STR_INIT("step"),
                                CYCLES                                                      = UPP_STR_INIT("cycles"),
                                    USAGE                                                   = UPP_STR_INIT("usage"),
                                        METADATA                                            = UPP_STR_INIT("metadata"),
                                                                OWN                         = UPP_STR_INIT("own"),
                                                                                   APPROVED = UPP_STR_INIT("approved");

static void raw(struct wj_writer *w, struct upp_str name, struct upp_str json)
{
    wj_write_name(w, name);
    wj_write_raw(w, json.p, json.n);
    w->comma = true;
}

int wr_state_write(const struct wr_run *run, struct wb_buf *out, struct upp_err *err)
{
    const struct weft_state *s = &run->pub.state;
    struct wj_writer         w;
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    wj_write_name(&w, STEP);
    wj_write_u64(&w, s->step);
    wj_write_name(&w, CYCLES);
    wj_write_u64(&w, s->cycles);
    wj_write_name(&w, USAGE);
    wj_write_open(&w, '[');
    wj_write_u64(&w, s->usage.input);
    wj_write_u64(&w, s->usage.output);
    wj_write_u64(&w, s->usage.cache_read);
    wj_write_u64(&w, s->usage.cache_write);
    wj_write_close(&w, ']');
    if (s->metadata.p)
        raw(&w, METADATA, s->metadata);
    if (s->own.p)
        raw(&w, OWN, s->own);
    if (run->approved.n) {
        wj_write_name(&w, APPROVED);
        wj_write_open(&w, '[');
        for (size_t i = 0; i < run->approved.n; i++)
            wj_write_str(&w, run->approved.p[i]);
        wj_write_close(&w, ']');
    }
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

static uint64_t number(yyjson_val *v)
{
    uint64_t n;
    return v && wb_str_u64(wj_text(v), &n) ? n : 0;
}

/* The text of a member that is any JSON, or no text. */
static struct upp_str text_of(struct wb_arena *a, yyjson_val *v, struct upp_err *err)
{
    struct upp_str none = {0};
    if (!v)
        return none;
    struct wb_buf  b = WB_BUF(16u << 20);
    struct upp_str s = wj_write(v, &b, err) < 0 ? none : wb_arena_dup(a, wb_buf_str(&b));
    wb_buf_done(&b);
    return s;
}

int wr_state_read(struct wr_run *run, struct upp_str json, struct upp_err *err)
{
    struct weft_state *s = &run->pub.state;
    yyjson_val        *v;
    int                r = wj_read(&run->memory, json, NULL, &v, err);
    if (r < 0)
        return r == -UPP_ENOMEM ? r : upp_fail(err, UPP_ESTORE, "the state of the run is no JSON");
    if (!yyjson_is_obj(v))
        return upp_fail(err, UPP_ESTORE, "the state of the run is no object");
    s->step              = (uint32_t)number(yyjson_obj_getn(v, STEP.p, STEP.n));
    s->cycles            = (uint32_t)number(yyjson_obj_getn(v, CYCLES.p, CYCLES.n));
    yyjson_val *usage    = yyjson_obj_getn(v, USAGE.p, USAGE.n);
    s->usage             = (struct upp_usage){number(yyjson_arr_get(usage, 0)), number(yyjson_arr_get(usage, 1)),
                                              number(yyjson_arr_get(usage, 2)), number(yyjson_arr_get(usage, 3))};
    s->metadata          = text_of(&run->memory, yyjson_obj_getn(v, METADATA.p, METADATA.n), err);
    s->own               = text_of(&run->memory, yyjson_obj_getn(v, OWN.p, OWN.n), err);
    run->approved.n      = 0;
    yyjson_val *approved = yyjson_obj_getn(v, APPROVED.p, APPROVED.n);
    for (size_t i = 0, n = yyjson_arr_size(approved); i < n; i++) {
        yyjson_val *id = yyjson_arr_get(approved, i);
        if (yyjson_is_str(id) && !wb_vec_push(&run->approved, wj_text(id), WR_CALLS))
            return upp_fail(err, UPP_ENOMEM, "no memory for the state of a run");
    }
    return wb_arena_check(&run->memory, err);
}

int weft_run_set_own(struct weft_run *pub, struct upp_str json, struct upp_err *err)
{
    struct wr_run *run = wr_of(pub);
    yyjson_val    *v;
    int            r = wj_read(&run->memory, json, NULL, &v, err);
    if (r < 0)
        return upp_wrap(err, r, "the private state");
    struct upp_str text = text_of(&run->memory, v, err);
    if (!text.p)
        return upp_fail(err, UPP_ENOMEM, "no memory for the private state");
    pub->state.own = text;
    return 0;
}
