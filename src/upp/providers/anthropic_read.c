/* upp/providers/anthropic_read.c — Anthropic Messages: the events of a stream, and whole answers.
 *
 *     message_start, then for each block content_block_start, _delta ..., _stop, then message_delta, message_stop
 *
 * What is particular to it:
 *  - Texts, thinking and calls become parts; all other blocks (searches that the vendor ran, what is not known yet) are
 *    kept for the way back only: anthropic_blocks.c.
 *  - Counts of usage replace the earlier ones, and those of the input leave out what came from the cache or went there.
 *  - message_start may come twice. Once something was said, that is another answer: it fails.
 */
#include "base/str.h"
#include "upp/providers/anthropic.h"

enum { MAX_COUNTS = 256 }; /* of usage */

static struct upp__anthropic_own *own_of(struct upp__reader *r)
{
    return r->own;
}

static struct upp_str make_metadata(struct upp__reader *r)
{
    struct upp__anthropic_own *own = own_of(r);
    struct upp__metadata m;
    upp__metadata_begin(&m);
    upp__metadata_str(&m, "model", own->model);
    upp__metadata_str(&m, "stopReason", own->stop_reason);
    upp__metadata_json(&m, "stopSequence", own->stop_sequence);
    upp__metadata_json(&m, "stopDetails", own->stop_details);
    upp__metadata_json(&m, "container", own->container);
    upp__metadata_value(&m, "usage", own->usage);
    upp__anthropic_blocks_write(r, &m.w);
    return upp__metadata_end(&m, r);
}

static const struct upp__stop stops[] = {
    {"end_turn", UPP_STOP_END},
    {"stop_sequence", UPP_STOP_END},
    {"max_tokens", UPP_STOP_LENGTH},
    {"model_context_window_exceeded", UPP_STOP_LENGTH},
    {"tool_use", UPP_STOP_TOOLS},
    {"pause_turn", UPP_STOP_END}, /* the vendor's own tools took long: asked again, it goes on */
    {"refusal", UPP_STOP_FILTER},
    {0},
};

/* Nothing at all was said. */
static int filtered(struct upp__reader *r, struct upp_err *err)
{
    struct upp_str json = own_of(r)->stop_details;
    yyjson_val *why = NULL;
    struct upp__provider_error t = {.type = own_of(r)->stop_reason, .code = UPP_STR("content_filter")};
    if (json.p && wj_read(&r->scratch, json, NULL, &why, NULL) == 0)
        t.message = upp__get_str(why, "explanation");
    if (!t.message.n)
        t.message = UPP_STR("the answer was filtered");
    return upp__provider_fail(&t, (struct upp_str){0}, err);
}

static int say_end(struct upp__reader *r, struct upp_err *err)
{
    struct upp__anthropic_own *own = own_of(r);
    yyjson_val *out = upp__get(own->usage, "output_tokens_details");
    struct upp_usage usage = {.output = upp__get_u64(own->usage, "output_tokens"),
                              .cache_read = upp__get_u64(own->usage, "cache_read_input_tokens"),
                              .cache_write = upp__get_u64(own->usage, "cache_creation_input_tokens"),
                              .reasoning = upp__get_u64(out, "thinking_tokens")};
    usage.input = upp__sum(upp__get_u64(own->usage, "input_tokens"), upp__sum(usage.cache_read, usage.cache_write));
    uint8_t stop = upp__stop_of(stops, own->stop_reason, UPP_STOP_END);
    if (stop == UPP_STOP_FILTER && !r->parts)
        return filtered(r, err);
    upp__anthropic_blocks_stop(r, upp__is_cut(stop));
    upp__say_end(r, stop, &usage, make_metadata(r));
    return upp__check(r, err);
}

/* Counts replace those of before, one by one; null says nothing. */
static int take_usage(struct upp__reader *r, yyjson_val *now, struct upp_err *err)
{
    struct upp__anthropic_own *own = own_of(r);
    struct wj_writer w;
    yyjson_val *name;
    yyjson_obj_iter it = yyjson_obj_iter_with(own->usage);
    if (!yyjson_is_obj(now))
        return 0;
    if (yyjson_obj_size(now) + yyjson_obj_size(own->usage) > MAX_COUNTS) /* each is looked for among the others */
        return upp_fail(err, UPP_ELIMIT, "usage of more than %d counts", MAX_COUNTS);
    own->json.max = UPP__ANTHROPIC_BYTES;
    wb_buf_clear(&own->json);
    wj_writer_init(&w, &own->json, err);
    wj_write_open(&w, '{');
    while ((name = yyjson_obj_iter_next(&it))) {
        yyjson_val *newer = upp__member(now, wj_text(name));
        wj_write_name(&w, wj_text(name));
        wj_write_value(&w, newer && !yyjson_is_null(newer) ? newer : yyjson_obj_iter_get_val(name));
    }
    it = yyjson_obj_iter_with(now);
    while ((name = yyjson_obj_iter_next(&it)))
        if (!upp__member(own->usage, wj_text(name)))
            wj_put_member(&w, name);
    wj_write_close(&w, '}');
    int e = wj_writer_check(&w);
    return e < 0 ? e : wj_read(&r->keep, wb_buf_str(&own->json), NULL, &own->usage, err);
}

/* How it ended: members of message_delta.delta, or of a whole message. */
static void take_stop(struct upp__reader *r, yyjson_val *from)
{
    struct upp__anthropic_own *own = own_of(r);
    struct upp_str reason = upp__get_str(from, "stop_reason");
    struct {
        const char *name;
        struct upp_str *ret;
    } rows[] = {
        {"stop_sequence", &own->stop_sequence}, {"stop_details", &own->stop_details}, {"container", &own->container}};
    if (reason.p)
        own->stop_reason = wb_arena_dup(&r->keep, reason);
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        yyjson_val *v = upp__get(from, rows[i].name);
        if (v && !yyjson_is_null(v))
            *rows[i].ret = upp__json_text(&r->keep, v);
    }
}

static int begin_message(struct upp__reader *r, yyjson_val *message, struct upp_err *err)
{
    struct upp__anthropic_own *own = own_of(r);
    if (r->parts)
        return upp_fail(err, UPP_EPROVIDER, "the answer began again");
    upp__anthropic_blocks_free(r);
    own->usage = NULL;
    own->model = wb_arena_dup(&r->keep, upp__get_str(message, "model"));
    upp__say_open(r, upp__get_str(message, "id"));
    take_stop(r, message);
    return take_usage(r, upp__get(message, "usage"), err);
}

/* {"type":"error","error":{"type","message","details":{"error_code"}},"request_id"}, or what others make of it. */
void upp__anthropic_error(yyjson_val *v, struct upp__provider_error *t)
{
    yyjson_val *error = upp__get(v, "error");
    t->type = upp__get_str(error, "type");
    t->code = upp__get_str(upp__get(error, "details"), "error_code");
    if (upp__get_str(error, "message").n)
        t->message = upp__get_str(error, "message");
    else if (yyjson_is_str(error))
        t->message = wj_text(error);
    if (upp__get_str(v, "request_id").n)
        t->request_id = upp__get_str(v, "request_id");
}

static int on_block_delta(struct upp__reader *r, yyjson_val *v, struct upp_err *err)
{
    enum { INDEX, DELTA, COUNT };
    static const struct upp_str names[COUNT] = {UPP_STR_INIT("index"), UPP_STR_INIT("delta")};
    yyjson_val *m[COUNT];
    upp__pick(v, names, COUNT, m);
    return upp__anthropic_block_delta(r, upp__u64(m[INDEX]), m[DELTA], err);
}

static int on_block_start(struct upp__reader *r, yyjson_val *v, struct upp_err *err)
{
    return upp__anthropic_block_start(r, upp__get_u64(v, "index"), upp__get(v, "content_block"), false, err);
}

static int on_block_stop(struct upp__reader *r, yyjson_val *v, struct upp_err *err)
{
    upp__anthropic_block_stop(r, upp__get_u64(v, "index"));
    return upp__check(r, err);
}

static int on_message_start(struct upp__reader *r, yyjson_val *v, struct upp_err *err)
{
    int e = begin_message(r, upp__get(v, "message"), err);
    return e < 0 ? e : upp__check(r, err);
}

static int on_message_delta(struct upp__reader *r, yyjson_val *v, struct upp_err *err)
{
    take_stop(r, upp__get(v, "delta"));
    int e = take_usage(r, upp__get(v, "usage"), err);
    return e < 0 ? e : upp__check(r, err);
}

static int on_message_stop(struct upp__reader *r, yyjson_val *v, struct upp_err *err)
{
    (void)v;
    return say_end(r, err);
}

static const struct {
    struct upp_str type;
    int (*on)(struct upp__reader *r, yyjson_val *v, struct upp_err *err);
} events[] = {
    {UPP_STR_INIT("content_block_delta"), on_block_delta},
    {UPP_STR_INIT("content_block_start"), on_block_start},
    {UPP_STR_INIT("content_block_stop"), on_block_stop},
    {UPP_STR_INIT("message_start"), on_message_start},
    {UPP_STR_INIT("message_delta"), on_message_delta},
    {UPP_STR_INIT("message_stop"), on_message_stop},
    {UPP_STR_INIT("error"), upp__fail_inside},
};

int upp__anthropic_event(struct upp__reader *r, const struct ww_frame *f, struct upp_err *err)
{
    yyjson_val *v;
    if (r->ended || !f->data.n || wb_str_eq(f->data, UPP_STR("[DONE]"))) /* proxies add it */
        return 0;
    int e = upp__parse(r, f->data, &v, err);
    if (e < 0)
        return e;
    struct upp_str type = upp__get_str(v, "type");
    if (!type.n)
        type = f->name;
    for (size_t i = 0; i < WB_LEN(events); i++)
        if (wb_str_eq(type, events[i].type))
            return events[i].on(r, v, err);
    /* ping, and what is not known yet; what a proxy says in its own words has no type at all */
    return !type.n && upp__get(v, "error") ? upp__fail_inside(r, v, err) : 0;
}

int upp__anthropic_whole(struct upp__reader *r, struct upp_str body, struct upp_err *err)
{
    yyjson_val *v, *content, *block;
    size_t i, n;
    int e = upp__parse(r, body, &v, err);
    if (e < 0)
        return e;
    content = upp__get(v, "content");
    if (!content && upp__get(v, "error"))
        return upp__fail_inside(r, v, err);
    if (!yyjson_is_arr(content))
        return upp_fail(err, UPP_EPROTO, "the answer has no content");
    e = begin_message(r, v, err);
    yyjson_arr_foreach(content, i, n, block)
    {
        if (e == 0)
            e = upp__anthropic_block_start(r, i, block, true, err);
        if (e == 0)
            upp__anthropic_block_stop(r, i);
    }
    return e < 0 ? e : say_end(r, err);
}

void upp__anthropic_done(struct upp__reader *r)
{
    struct upp__anthropic_own *own = own_of(r);
    upp__anthropic_blocks_free(r);
    wb_buf_done(&own->json);
}
