/* upp/providers/ollama_read.c — Ollama: what comes back, as the events of a step.
 *
 * A line is an object with what is new of the text and of the thoughts, and with calls, each whole. The one that is
 * `done` has the counts; no line has an id.
 */
#include "base/defs.h"
#include "base/str.h"
#include "upp/providers/body.h"
#include "upp/providers/mint.h"
#include "upp/providers/ollama.h"

enum { MAX_MINTED = 1 << 20, MAX_METADATA = 2 << 20 };

static void close_part(struct upp__reader *r, struct upp__ollama_own *o)
{
    if (o->kind)
        upp__say_close(r, o->part);
    o->kind = 0;
}

static void say_text(struct upp__reader *r, struct upp__ollama_own *o, uint8_t kind, struct upp_str text)
{
    if (!text.n)
        return;
    if (o->kind != kind) {
        close_part(r, o);
        o->part = upp__say_part(r, kind, (struct upp_str){0}, (struct upp_str){0});
        o->kind = kind;
    }
    upp__say_delta(r, o->part, text);
}

/* An object, as it is; some servers give its text, as others of that trade do. */
static struct upp_str arguments_of(struct upp__reader *r, yyjson_val *arguments)
{
    if (!arguments || yyjson_is_null(arguments))
        return UPP_STR("{}");
    if (!yyjson_is_str(arguments))
        return upp__json_text(&r->scratch, arguments);
    return wb_str_trim(wj_text(arguments)).n ? wj_text(arguments) : UPP_STR("{}");
}

static int say_call(struct upp__reader *r, struct upp__ollama_own *o, yyjson_val *call, struct upp_err *err)
{
    yyjson_val    *function = upp__get(call, "function");
    struct upp_str id       = upp__get_str(call, "id");
    if (!function)
        return 0;
    close_part(r, o);
    if (!id.n) {
        if (!o->minted.max) /* a test sets less */
            o->minted.max = MAX_MINTED;
        int e = upp__mint(r, &o->minted, &id, err);
        if (e < 0)
            return e;
    }
    uint32_t part = upp__say_part(r, UPP_PART_CALL, id, upp__get_str(function, "name"));
    upp__say_delta(r, part, arguments_of(r, upp__get(function, "arguments")));
    upp__say_close(r, part);
    return 0;
}

/* ---- The end
 * ---------------------------------------------------------------------------------------------------------- */

static const char *const counts[] = {"total_duration",       "load_duration", "prompt_eval_count",
                                     "prompt_eval_duration", "eval_count",    "eval_duration"};

static struct upp_str make_metadata(struct upp__reader *r, struct upp__ollama_own *o, yyjson_val *v)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b    = WB_BUF(MAX_METADATA);
    struct upp_str                        stop = upp__get_str(v, "done_reason");
    struct wj_writer                      w;
    wj_writer_init(&w, &b, NULL);
    wj_write_open(&w, '{');
    wj_put_text(&w, "model", o->model);
    if (stop.n)
        wj_put_str(&w, "stopReason", stop);
    wj_put_open(&w, "usage", '{');
    for (size_t i = 0; i < WB_LEN(counts); i++)
        wj_put_value(&w, counts[i], upp__get(v, counts[i])); /* what is zero is left out */
    wj_write_close(&w, '}');
    if (o->minted.n) {
        wj_put_open(&w, "minted", '[');
        wb_buf_add(&b, wb_buf_str(&o->minted));
        wj_write_close(&w, ']');
    }
    wj_write_close(&w, '}');
    int e = wj_writer_check(&w);
    upp__note(r, e);
    return wb_arena_dup(&r->keep, wb_buf_str(&b));
}

/* stop, load, unload, and nothing at all with older servers: it has ended. There is no word for calls. */
static uint8_t stop_of(struct upp_str reason)
{
    return wb_str_eq(reason, UPP_STR("length")) ? UPP_STOP_LENGTH : UPP_STOP_END;
}

static void finish(struct upp__reader *r, struct upp__ollama_own *o, yyjson_val *v)
{
    struct upp_usage usage = {.input = upp__get_u64(v, "prompt_eval_count"), .output = upp__get_u64(v, "eval_count")};
    close_part(r, o);
    upp__say_end(r, stop_of(upp__get_str(v, "done_reason")), &usage, make_metadata(r, o, v));
}

/* ---- For the adapter
 * -------------------------------------------------------------------------------------------------- */

/* An error is a text; proxies before hosted ones also make objects. */
static bool read_error(yyjson_val *v, struct upp__trouble *t)
{
    yyjson_val *error = upp__get(v, "error"), *code = upp__get(error, "code");
    if (!error)
        return false;
    if (yyjson_is_str(error))
        t->message = wj_text(error);
    else if (upp__get_str(error, "message").n)
        t->message = upp__get_str(error, "message");
    t->type = upp__get_str(error, "type");
    t->code = yyjson_is_raw(code) ? wj_text(code) : upp__str(code);
    return true;
}

static int fail_inside(yyjson_val *v, struct upp_err *err)
{
    struct upp__trouble t = {0};
    (void)read_error(v, &t);
    return upp__trouble_fail(&t, (struct upp_str){0}, err);
}

static int read_message(struct upp__reader *r, struct upp__ollama_own *o, yyjson_val *message, struct upp_err *err)
{
    enum { CONTENT, THINKING, CALLS, COUNT };
    static const struct upp_str names[COUNT] = {UPP_STR_INIT("content"), UPP_STR_INIT("thinking"),
                                                                                      UPP_STR_INIT("tool_calls")};
    yyjson_val                 *m[COUNT], *call;
    int                         e = 0;
    upp__pick(message, names, COUNT, m);
    say_text(r, o, UPP_PART_REASONING, upp__str(m[THINKING]));
    say_text(r, o, UPP_PART_TEXT, upp__str(m[CONTENT]));
    yyjson_arr_iter it = yyjson_arr_iter_with(m[CALLS]);
    while (e >= 0 && (call = yyjson_arr_iter_next(&it)))
        e = say_call(r, o, call, err);
    return e;
}

static int read_object(struct upp__reader *r, yyjson_val *v, struct upp_err *err)
{
    enum { MESSAGE, DONE, MODEL, ERROR, COUNT };
    static const struct upp_str names[COUNT] = {
        UPP_STR_INIT("message"), UPP_STR_INIT("done"), UPP_STR_INIT("model"), UPP_STR_INIT("error")};
    struct upp__ollama_own *o = r->own;
    yyjson_val             *m[COUNT];
    upp__pick(v, names, COUNT, m);
    if (m[ERROR])
        return fail_inside(v, err);
    upp__say_open(r, (struct upp_str){0});
    if (!o->model.p)
        o->model = wb_arena_dup(&r->keep, upp__str(m[MODEL]));
    int e = read_message(r, o, m[MESSAGE], err);
    if (e < 0)
        return e;
    if (yyjson_is_true(m[DONE]))
        finish(r, o, v);
    return upp__check(r, err);
}

int upp__ollama_event(struct upp__reader *r, const struct ww_frame *f, struct upp_err *err)
{
    yyjson_val *v;
    if (r->ended || !wb_str_trim(f->data).n)
        return 0;
    int e = upp__parse(r, f->data, &v, err);
    return e < 0 ? e : read_object(r, v, err);
}

int upp__ollama_whole(struct upp__reader *r, struct upp_str body, struct upp_err *err)
{
    yyjson_val *v;
    int         e = upp__parse(r, body, &v, err);
    if (e < 0)
        return e;
    if (!upp__get(v, "message") && !upp__get(v, "error"))
        return upp_fail(err, UPP_EPROTO, "the answer holds no message");
    e = read_object(r, v, err);
    if (e < 0 || r->ended)
        return e;
    finish(r, r->own, v); /* it is all there is, whether it says so or not */
    return upp__check(r, err);
}

int upp__ollama_eof(struct upp__reader *r, struct upp_err *err)
{
    return r->ended ? 0 : upp_fail(err, UPP_ENET, "the stream ended before a line that is done");
}

void upp__ollama_done(struct upp__reader *r)
{
    struct upp__ollama_own *o = r->own;
    wb_buf_done(&o->minted);
}

void upp__ollama_trouble(struct wb_arena *a, struct upp_str body, struct upp__trouble *t)
{
    (void)read_error(upp__trouble_read(a, body, t), t);
}
