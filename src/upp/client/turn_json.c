/* upp/client/turn_json.c — TurnJSON, as the reference's proxy writes it: writing and reading. */
#include "base/clock.h"
#include "base/hooks.h"
#include "json/number.h"
#include "json/pointer.h"
#include "json/read.h"
#include "json/write.h"
#include "model/session_get.h"
#include "model/upp_json.h"
#include "upp/client/talk.h"

enum { JSON_BYTES = 64 << 20, ITEMS = 1 << 20 };

int upp__text_take(struct wb_buf *b, struct upp_str *ret, struct upp_err *err)
{
    wb_buf_addc(b, 0);
    int r = wb_buf_check(b, err);
    if (r < 0)
        return r;
    *ret = wb_str(b->p, b->n - 1);
    *b = (struct wb_buf){.max = b->max};
    return 0;
}

void upp_text_free(struct upp_str text)
{
    union {
        const char *from;
        char *to;
    } p = {.from = text.p};
    wb_free(p.to);
}

static void put_usage(struct wj_writer *w, const struct upp_turn *t)
{
    wj_write_name(w, UPP_STR("usage"));
    wm_usage_open(w, &t->usage, true);
    wj_put_open(w, "cycles", '[');
    for (size_t i = 0; i < t->n_cycles; i++) {
        wm_usage_open(w, &t->cycles[i], false);
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
    wj_write_close(w, '}');
}

static void put_json(struct wj_writer *w, struct upp_str name, struct upp_str json, struct upp_str fallback)
{
    struct wj_syntax seen;
    bool ok = json.p && wj_syntax(json, WJ_MAX_DEPTH, &seen, NULL) >= 0;
    struct upp_str s = ok ? wb_str_trim(json) : fallback;
    wj_write_name(w, name);
    wj_write_raw(w, s.p, s.n);
}

static void put_execution(struct wj_writer *w, const struct upp_execution *e)
{
    wj_write_open(w, '{');
    wj_put_str_or_empty(w, "toolName", e->name);
    wj_put_str_or_empty(w, "toolCallId", e->id);
    put_json(w, UPP_STR("arguments"), upp__arguments_ok(e->arguments) ? e->arguments : UPP_STR(""), UPP_STR("{}"));
    put_json(w, UPP_STR("result"), e->result, UPP_STR("null"));
    wj_put_bool(w, "isError", e->is_error);
    wj_put_u64(w, "duration", e->duration_ms);
    if (e->approved != UPP_APPROVED_UNASKED)
        wj_put_bool(w, "approved", e->approved == UPP_APPROVED_YES);
    wj_write_close(w, '}');
}

int upp_turn_to_json(const struct upp_turn *t, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(8u * JSON_BYTES);
    struct wj_writer w;
    wj_writer_init(&w, &b, err);
    wj_write_open(&w, '{');
    wj_put_open(&w, "messages", '[');
    for (size_t i = 0; i < t->n_messages && !b.failed; i++)
        wm_message_write(&w, &t->messages[i]);
    wj_write_close(&w, ']');
    wj_put_open(&w, "toolExecutions", '[');
    for (size_t i = 0; i < t->n_executions && !b.failed; i++)
        put_execution(&w, &t->executions[i]);
    wj_write_close(&w, ']');
    put_usage(&w, t);
    wj_put_u64(&w, "cycles", t->n_cycles);
    if (t->data.p)
        put_json(&w, UPP_STR("data"), t->data, UPP_STR("null"));
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    return r < 0 ? r : upp__text_take(&b, ret, err);
}

struct get {
    struct upp__turn *turn;
    struct wm_getting in; /* texts go to the turn's arena */
};

/* The items of an optional array: how many. */
static size_t items(struct get *g, yyjson_val *object, const char *name, yyjson_val **first)
{
    yyjson_val *v = yyjson_obj_get(object, name);
    if (v && !yyjson_is_arr(v))
        wm_getting_refuse(&g->in, v, "an array");
    if (!v || g->in.failed)
        return 0;
    *first = unsafe_yyjson_get_first(v);
    if (unsafe_yyjson_get_len(v) > ITEMS)
        g->in.failed = upp_fail(g->in.err, UPP_ELIMIT, "%s: more than %d", name, ITEMS);
    return g->in.failed ? 0 : unsafe_yyjson_get_len(v);
}

/* A whole number >= 0; missing: 0. */
static uint64_t number(struct get *g, yyjson_val *object, const char *name)
{
    yyjson_val *v = yyjson_obj_get(object, name);
    uint64_t n = 0;
    double f;
    if (!v || (yyjson_is_raw(v) && wj_num_u64(wj_text(v), &n)))
        return n;
    if (yyjson_is_raw(v) && wj_num_f64(wj_text(v), &f) && f >= 0 && f < 9e15)
        return (uint64_t)f;
    wm_getting_refuse(&g->in, v, "a number that is 0 or more");
    return 0;
}

static struct upp_usage usage(struct get *g, yyjson_val *v)
{
    return (struct upp_usage){.input = number(g, v, "inputTokens"),
                              .output = number(g, v, "outputTokens"),
                              .cache_read = number(g, v, "cacheReadTokens"),
                              .cache_write = number(g, v, "cacheWriteTokens")};
}

static struct upp_str string(struct get *g, yyjson_val *object, const char *name)
{
    yyjson_val *v = yyjson_obj_get(object, name);
    if (v && yyjson_is_str(v))
        return wb_arena_dup(&g->turn->arena, wj_text(v));
    if (v)
        wm_getting_refuse(&g->in, v, "a string");
    else
        wm_getting_fail(&g->in, object, UPP_EINVALID, "expected the member '%s'", name);
    return (struct upp_str){0};
}

static void get_executions(struct get *g)
{
    yyjson_val *item = NULL;
    size_t n = items(g, g->in.root, "toolExecutions", &item);
    struct upp_execution *list = n ? wb_new_n(&g->turn->arena, struct upp_execution, n) : NULL;
    for (size_t i = 0; list && i < n && !g->in.failed; i++, item = unsafe_yyjson_get_next(item)) {
        yyjson_val *approved = yyjson_obj_get(item, "approved");
        list[i] = (struct upp_execution){
            .name = string(g, item, "toolName"),
            .id = string(g, item, "toolCallId"),
            .arguments = wm_getting_json(&g->in, yyjson_obj_get(item, "arguments")),
            .result = wm_getting_json(&g->in, yyjson_obj_get(item, "result")),
            .is_error = yyjson_is_true(yyjson_obj_get(item, "isError")),
            .duration_ms = number(g, item, "duration"),
        };
        if (approved && yyjson_is_bool(approved))
            list[i].approved = yyjson_is_true(approved) ? UPP_APPROVED_YES : UPP_APPROVED_NO;
    }
    g->turn->pub.executions = list;
    g->turn->pub.n_executions = list ? n : 0;
}

/* Ignores `response`: it is the last message of the assistant. */
static void get_messages(struct get *g)
{
    struct wb_arena *a = &g->turn->arena;
    yyjson_val *item = NULL;
    size_t n = items(g, g->in.root, "messages", &item);
    struct upp_message *list = n ? wb_new_n(a, struct upp_message, n) : NULL;
    int64_t now = wb_wall_ms();
    for (size_t i = 0; list && i < n && !g->in.failed; i++, item = unsafe_yyjson_get_next(item)) {
        struct upp_message m;
        int r = wm_message_read_untimed(a, item, now, &m, g->in.err);
        if (r >= 0) /* its texts may be in the parsed value, which is freed */
            r = wm_message_copy(a, &m, &list[i], g->in.err);
        else
            wj_pointer_err(g->in.err, g->in.root, item);
        g->in.failed = r;
        if (r >= 0 && list[i].role == UPP_ROLE_ASSISTANT)
            g->turn->pub.response = &list[i];
    }
    g->turn->pub.messages = list;
    g->turn->pub.n_messages = list ? n : 0;
    if (!g->in.failed && !g->turn->pub.response && !a->failed)
        g->in.failed = upp_fail(g->in.err, UPP_EINVALID, "a turn needs a message of the assistant");
}

static void get_usage(struct get *g)
{
    yyjson_val *v = yyjson_obj_get(g->in.root, "usage"), *item = NULL;
    size_t n = items(g, v, "cycles", &item);
    struct upp_usage *list = n ? wb_new_n(&g->turn->arena, struct upp_usage, n) : NULL;
    g->turn->pub.usage = usage(g, v);
    for (size_t i = 0; list && i < n && !g->in.failed; i++, item = unsafe_yyjson_get_next(item))
        list[i] = usage(g, item);
    if (!n && !g->in.failed) { /* older ones have only their number; each had output */
        n = (size_t)WB_MIN(number(g, g->in.root, "cycles"), (uint64_t)g->turn->pub.n_messages);
        list = n ? wb_new_n(&g->turn->arena, struct upp_usage, n) : NULL;
        if (list && n == 1)
            list[0] = g->turn->pub.usage;
    }
    g->turn->pub.cycles = list;
    g->turn->pub.n_cycles = list ? n : 0;
}

static int read_turn(struct get *g, struct upp_str text)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA((size_t)16 * JSON_BYTES);
    int r = wj_read(&a, text, UPP_OPTS(wj_read_opts, .max_bytes = JSON_BYTES), &g->in.root, g->in.err);
    if (r < 0)
        return r;
    if (!yyjson_is_obj(g->in.root))
        wm_getting_refuse(&g->in, g->in.root, "an object");
    if (!g->in.failed)
        get_messages(g);
    if (!g->in.failed)
        get_executions(g);
    if (!g->in.failed)
        get_usage(g);
    if (!g->in.failed)
        g->turn->pub.data = wm_getting_json(&g->in, yyjson_obj_get(g->in.root, "data"));
    if (g->in.failed)
        return g->in.failed;
    g->turn->text = wm_message_text(&g->turn->arena, g->turn->pub.response).p;
    return wb_arena_check(&g->turn->arena, g->in.err);
}

int upp_turn_from_json(struct upp_str text, struct upp_turn **ret, struct upp_err *err)
{
    struct wb_arena a = WB_ARENA(UPP__TURN_BYTES);
    struct upp__turn *t = wb_new(&a, struct upp__turn);
    if (!t)
        return wb_arena_check(&a, err);
    t->arena = a;
    WB_CLEANUP(wb_buf_done) struct wb_buf scratch = WB_BUF(8u * JSON_BYTES);
    struct get g = {.turn = t, .in = {.a = &t->arena, .scratch = &scratch, .err = err}};
    int r = read_turn(&g, text);
    if (r < 0) {
        upp_turn_free(&t->pub);
        return r;
    }
    *ret = &t->pub;
    return 0;
}
