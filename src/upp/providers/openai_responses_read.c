/* upp/providers/openai_responses_read.c — answers of the Responses API: events of a stream, or one body.
 *
 * A body is its items, each said as the end of a streamed one would be; a stream says the same, piece by piece. The
 * final values are those of output_item.done: what `added` holds of reasoning is another text, and what the last event
 * holds may be nothing.
 */
#include "base/str.h"
#include "upp/providers/call_id.h"
#include "upp/providers/openai.h"
#include "upp/providers/openai_responses.h"

/* ---- Pieces ----------------------------------------------------------------------------------------------------- */

static struct upp__piece *find_piece(struct upp__responses *s, uint64_t output, uint8_t what, uint64_t sub)
{
    for (size_t i = s->pieces.n; i-- > 0;) {
        struct upp__piece *p = &s->pieces.p[i];
        if (p->output == output && p->what == what && p->sub == sub)
            return p;
    }
    return NULL;
}

static struct upp__piece *new_piece(struct upp__reader *r, struct upp__responses *s, struct upp__piece p, uint8_t kind,
                                    struct upp_str id, struct upp_str name)
{
    if (!wb_vec_room(&s->pieces, UPP__OPENAI_BLOCKS)) {
        upp__note(r, s->pieces.n >= UPP__OPENAI_BLOCKS ? -UPP_ELIMIT : -UPP_ENOMEM);
        return NULL;
    }
    p.part = upp__say_part(r, kind, id, name);
    s->pieces.p[s->pieces.n++] = p;
    return &s->pieces.p[s->pieces.n - 1];
}

/* More of a text or of reasoning; the first that is not empty opens its part. */
static void say_more(struct upp__reader *r, struct upp__responses *s, struct upp__piece at, uint8_t kind,
                     struct upp_str text)
{
    struct upp__piece *p = text.n ? find_piece(s, at.output, at.what, at.sub) : NULL;
    if (text.n && !p)
        p = new_piece(r, s, at, kind, (struct upp_str){0}, (struct upp_str){0});
    if (!p || p->closed)
        return;
    p->spoke = true;
    upp__say_delta(r, p->part, text);
}

static void close_piece(struct upp__reader *r, struct upp__piece *p)
{
    if (p && !p->closed)
        upp__say_close(r, p->part);
    if (p)
        p->closed = true;
}

/* The end of a text. Where no pieces of it came, it comes whole. */
static void say_rest(struct upp__reader *r, struct upp__responses *s, struct upp__piece at, uint8_t kind,
                     struct upp_str text)
{
    struct upp__piece *p = find_piece(s, at.output, at.what, at.sub);
    if (!p || !p->spoke)
        say_more(r, s, at, kind, text);
    close_piece(r, find_piece(s, at.output, at.what, at.sub));
}

/* ---- Items ------------------------------------------------------------------------------------------------------ */

static void end_message(struct upp__reader *r, struct upp__responses *s, uint64_t output, yyjson_val *item)
{
    yyjson_val *c, *phase = upp__get(item, "phase");
    yyjson_arr_iter it = yyjson_arr_iter_with(upp__get(item, "content"));
    s->special |= yyjson_is_str(phase);
    for (uint64_t i = 0; (c = yyjson_arr_iter_next(&it)); i++) {
        struct upp_str refusal = upp__get_str(c, "refusal"), text = upp__get_str(c, "text");
        s->refused |= refusal.n > 0;
        s->special |= refusal.n || yyjson_arr_size(upp__get(c, "annotations"));
        say_rest(r, s, (struct upp__piece){.output = output, .sub = i, .what = UPP__OF_CONTENT}, UPP_PART_TEXT,
                 text.n ? text : refusal);
    }
}

static void end_texts(struct upp__reader *r, struct upp__responses *s, uint64_t output, uint8_t what, yyjson_val *list)
{
    yyjson_val *c;
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    for (uint64_t i = 0; (c = yyjson_arr_iter_next(&it)); i++)
        say_rest(r, s, (struct upp__piece){.output = output, .sub = i, .what = what}, UPP_PART_REASONING,
                 upp__get_str(c, "text"));
}

static void end_reasoning(struct upp__reader *r, struct upp__responses *s, uint64_t output, yyjson_val *item)
{
    s->special = true;
    end_texts(r, s, output, UPP__OF_SUMMARY, upp__get(item, "summary"));
    end_texts(r, s, output, UPP__OF_CONTENT, upp__get(item, "content"));
}

static struct upp__piece *begin_call(struct upp__reader *r, struct upp__responses *s, uint64_t output, yyjson_val *item)
{
    struct upp__piece *p = find_piece(s, output, UPP__OF_CALL, 0);
    struct upp_str id = upp__get_str(item, "call_id");
    if (p)
        return p;
    if (!id.n)
        id = upp__call_id_sent(r, s->pieces.n);
    return new_piece(r, s, (struct upp__piece){.output = output, .what = UPP__OF_CALL}, UPP_PART_CALL, id,
                     upp__get_str(item, "name"));
}

static bool is_member(yyjson_val *object, const char *name)
{
    yyjson_val *v = upp__get(object, name);
    return v && !yyjson_is_null(v);
}

static void end_call(struct upp__reader *r, struct upp__responses *s, uint64_t output, yyjson_val *item)
{
    struct upp__piece *p = begin_call(r, s, output, item);
    struct upp_str arguments = upp__get_str(item, "arguments"), status = upp__get_str(item, "status");
    bool half = wb_str_eq(status, UPP_STR("incomplete")) || wb_str_eq(status, UPP_STR("in_progress"));
    if (!p || p->closed)
        return;
    s->half |= half;
    s->special |= is_member(item, "namespace") || is_member(item, "caller");
    if (!p->spoke && half)
        upp__say_cut(r, p->part, arguments);
    else if (!p->spoke)
        upp__say_delta(r, p->part, wb_str_trim(arguments).n ? arguments : UPP_STR("{}"));
    close_piece(r, p);
}

/* An image that the model made: whole, when its item is. */
static void end_image(struct upp__reader *r, struct upp__responses *s, uint64_t output, yyjson_val *item)
{
    struct upp_str data = upp__get_str(item, "result"), format = upp__get_str(item, "output_format");
    struct upp_media *m = data.n ? wb_new(&r->scratch, struct upp_media) : NULL;
    (void)output;
    s->special = true;
    if (!m)
        return;
    m->source = UPP_SOURCE_BASE64;
    m->data = data;
    m->mime = wb_arena_printf(&r->scratch, "image/%.*s", UPP_FMT(format.n ? format : UPP_STR("png")));
    upp__say_media(r, UPP_PART_IMAGE, m);
}

static const struct item_type {
    const char *type;
    void (*end)(struct upp__reader *r, struct upp__responses *s, uint64_t output, yyjson_val *item);
} item_types[] = {
    {"message", end_message},
    {"reasoning", end_reasoning},
    {"function_call", end_call},
    {"image_generation_call", end_image},
}; /* all others are the business of OpenAI's own tools: kept, and sent back */

/* Where the item of this place stands, or would stand. */
static size_t item_place(const struct upp__responses *s, uint64_t output)
{
    size_t i = s->items.n;
    while (i > 0 && s->items.p[i - 1].output >= output)
        i--;
    return i;
}

static void end_item(struct upp__reader *r, struct upp__responses *s, uint64_t output, yyjson_val *item)
{
    size_t at = item_place(s, output);
    struct upp_str type = upp__get_str(item, "type");
    const struct item_type *t = NULL;
    if (!yyjson_is_obj(item) || (at < s->items.n && s->items.p[at].output == output))
        return;
    for (size_t i = 0; i < WB_LEN(item_types); i++)
        if (wb_str_eq(type, wb_cstr(item_types[i].type)))
            t = &item_types[i];
    if (t)
        t->end(r, s, output, item);
    else
        s->special = true;
    if (!wb_vec_room(&s->items, UPP__OPENAI_BLOCKS)) {
        upp__note(r, s->items.n >= UPP__OPENAI_BLOCKS ? -UPP_ELIMIT : -UPP_ENOMEM);
        return;
    }
    memmove(s->items.p + at + 1, s->items.p + at, (s->items.n++ - at) * sizeof *s->items.p);
    s->items.p[at] = (struct upp__item){output, upp__json_text(&r->keep, item)};
}

/* ---- The end ---------------------------------------------------------------------------------------------------- */

static struct upp_usage read_usage(yyjson_val *u)
{
    yyjson_val *in = upp__get(u, "input_tokens_details"), *out = upp__get(u, "output_tokens_details");
    return (struct upp_usage){.input = upp__get_u64(u, "input_tokens"),
                              .output = upp__get_u64(u, "output_tokens"),
                              .cache_read = upp__get_u64(in, "cached_tokens"),
                              .cache_write = upp__get_u64(in, "cache_write_tokens"),
                              .reasoning = upp__get_u64(out, "reasoning_tokens")};
}

static void put_raw(struct wj_writer *w, const struct upp__responses *s)
{
    if (!s->special || s->half)
        return;
    wj_put_open(w, "raw", '[');
    for (size_t i = 0; i < s->items.n; i++)
        wj_write_raw(w, s->items.p[i].json.p, s->items.p[i].json.n);
    wj_write_close(w, ']');
}

static void begin_response(struct upp__reader *r, struct upp__responses *s, yyjson_val *response)
{
    if (!s->id.n)
        s->id = wb_arena_dup(&r->keep, upp__get_str(response, "id"));
    if (!s->model.n)
        s->model = wb_arena_dup(&r->keep, upp__get_str(response, "model"));
    if (s->id.n)
        upp__say_open(r, s->id);
}

static int fail_response(yyjson_val *response, struct upp_str status, struct upp_err *err)
{
    struct upp__provider_error t = {0};
    if (!upp__openai_error(response, &t))
        t.message = wb_str_eq(status, UPP_STR("cancelled")) ? UPP_STR("the response was cancelled")
                                                            : UPP_STR("the response failed, and nothing says why");
    return upp__openai_fail(&t, err);
}

/* The stop that a status stands for, and the vendor's own word for it. 0: the response is not over. */
static uint8_t stop_of(const struct upp__responses *s, yyjson_val *response, struct upp_str *word)
{
    struct upp_str status = upp__get_str(response, "status");
    struct upp_str reason = upp__get_str(upp__get(response, "incomplete_details"), "reason");
    if (wb_str_eq(status, UPP_STR("incomplete"))) {
        *word = reason.n ? reason : status;
        return wb_str_eq(reason, UPP_STR("content_filter")) ? UPP_STOP_FILTER : UPP_STOP_LENGTH;
    }
    *word = status.n ? status : UPP_STR("completed");
    if (status.n && !wb_str_eq(status, UPP_STR("completed")))
        return 0;
    return s->refused ? UPP_STOP_FILTER : UPP_STOP_END;
}

/* A response that is over: what of its items was not said yet, and the end. */
static int end_response(struct upp__reader *r, struct upp__responses *s, yyjson_val *response, struct upp_err *err)
{
    struct upp__metadata m;
    yyjson_val *item, *error = upp__get(response, "error"), *u = upp__get(response, "usage");
    struct upp_usage usage = read_usage(u);
    struct upp_str word, status = upp__get_str(response, "status");
    yyjson_arr_iter it = yyjson_arr_iter_with(upp__get(response, "output"));
    if (wb_str_eq(status, UPP_STR("failed")) || wb_str_eq(status, UPP_STR("cancelled")) || yyjson_is_obj(error))
        return fail_response(response, status, err);
    begin_response(r, s, response);
    for (uint64_t i = 0; (item = yyjson_arr_iter_next(&it)); i++)
        end_item(r, s, i, item);
    uint8_t stop = stop_of(s, response, &word);
    if (!stop)
        return upp_fail(err, UPP_EPROTO, "the response is not over: its status is '%.*s'", UPP_FMT(status));
    if (stop == UPP_STOP_FILTER && !r->parts)
        return upp__openai_fail(
            &(struct upp__provider_error){.code = word, .message = UPP_STR("the answer was filtered")}, err);
    for (size_t i = 0; i < s->pieces.n; i++) { /* an item that was begun and never done */
        struct upp__piece *p = &s->pieces.p[i];
        bool half = !p->closed && p->what == UPP__OF_CALL;
        s->half |= half;
        if (half && !p->spoke)
            upp__say_cut(r, p->part, (struct upp_str){0});
        close_piece(r, p);
    }
    upp__metadata_begin(&m);
    upp__metadata_str(&m, "id", s->id);
    upp__metadata_str(&m, "model", s->model);
    upp__metadata_str(&m, "stopReason", word);
    upp__metadata_value(&m, "usage", yyjson_is_obj(u) ? u : NULL);
    put_raw(&m.w, s);
    upp__say_end(r, stop, &usage, upp__metadata_end(&m, r));
    return upp__check(r, err);
}

/* ---- Events ----------------------------------------------------------------------------------------------------- */

struct event_type;
struct at {
    struct upp__reader *r;
    struct upp__responses *s;
    yyjson_val *event;
    const struct event_type *type;
    uint64_t output, content, summary; /* indexes */
    struct upp_str delta;
    struct upp_err *err;
};
struct event_type {
    struct upp_str type;
    int (*read)(struct at *at);
    uint8_t kind, what; /* of texts: which part, and by which index it is found */
};

static struct upp__piece piece_at(const struct at *at)
{
    return (struct upp__piece){.output = at->output,
                               .sub = at->type->what == UPP__OF_SUMMARY ? at->summary : at->content,
                               .what = at->type->what};
}

static int on_text_delta(struct at *at)
{
    say_more(at->r, at->s, piece_at(at), at->type->kind, at->delta);
    return 0;
}

static int on_text_done(struct at *at)
{
    struct upp_str text = upp__get_str(at->event, "text");
    say_rest(at->r, at->s, piece_at(at), at->type->kind, text.p ? text : upp__get_str(at->event, "refusal"));
    return 0;
}

static int on_refusal(struct at *at)
{
    at->s->refused = true;
    return on_text_delta(at);
}

static int on_arguments(struct at *at)
{
    struct upp__piece *p = find_piece(at->s, at->output, UPP__OF_CALL, 0);
    if (p && !p->closed && at->delta.n) { /* a call without its beginning comes whole, when its item is done */
        p->spoke = true;
        upp__say_delta(at->r, p->part, at->delta);
    }
    return 0;
}

static int on_begin(struct at *at)
{
    begin_response(at->r, at->s, upp__get(at->event, "response"));
    return 0;
}

static int on_item(struct at *at)
{
    yyjson_val *item = upp__get(at->event, "item");
    if (wb_str_eq(upp__get_str(item, "type"), UPP_STR("function_call")))
        (void)begin_call(at->r, at->s, at->output, item);
    return 0;
}

static int on_item_done(struct at *at)
{
    end_item(at->r, at->s, at->output, upp__get(at->event, "item"));
    return 0;
}

static int on_end(struct at *at)
{
    return end_response(at->r, at->s, upp__get(at->event, "response"), at->err);
}

static int on_failed(struct at *at)
{
    return fail_response(upp__get(at->event, "response"), UPP_STR("failed"), at->err);
}

/* Followed by response.failed, which nobody reads any more. */
static int on_error(struct at *at)
{
    struct upp__provider_error t = {0};
    (void)upp__openai_error(at->event, &t);
    return upp__openai_fail(&t, at->err);
}

#define EVENT(name) UPP_STR_INIT("response." name)
static const struct event_type event_types[] = {
    {EVENT("output_text.delta"), on_text_delta, UPP_PART_TEXT, UPP__OF_CONTENT},
    {EVENT("function_call_arguments.delta"), on_arguments, 0, 0},
    {EVENT("reasoning_summary_text.delta"), on_text_delta, UPP_PART_REASONING, UPP__OF_SUMMARY},
    {EVENT("reasoning_text.delta"), on_text_delta, UPP_PART_REASONING, UPP__OF_CONTENT},
    {EVENT("refusal.delta"), on_refusal, UPP_PART_TEXT, UPP__OF_CONTENT},
    {EVENT("output_text.done"), on_text_done, UPP_PART_TEXT, UPP__OF_CONTENT},
    {EVENT("reasoning_summary_text.done"), on_text_done, UPP_PART_REASONING, UPP__OF_SUMMARY},
    {EVENT("reasoning_text.done"), on_text_done, UPP_PART_REASONING, UPP__OF_CONTENT},
    {EVENT("refusal.done"), on_text_done, UPP_PART_TEXT, UPP__OF_CONTENT},
    {EVENT("created"), on_begin, 0, 0},
    {EVENT("queued"), on_begin, 0, 0},
    {EVENT("in_progress"), on_begin, 0, 0},
    {EVENT("output_item.added"), on_item, 0, 0},
    {EVENT("output_item.done"), on_item_done, 0, 0},
    {EVENT("completed"), on_end, 0, 0},
    {EVENT("incomplete"), on_end, 0, 0},
    {EVENT("failed"), on_failed, 0, 0},
    {UPP_STR_INIT("error"), on_error, 0, 0},
};

static const struct event_type *find_type(struct upp_str type)
{
    for (size_t i = 0; i < WB_LEN(event_types); i++)
        if (event_types[i].type.n == type.n && wj_same(event_types[i].type.p, type.p, type.n))
            return &event_types[i];
    return NULL;
}

/* What the events of texts hold, and all of the others look at. */
static struct upp_str pick(struct at *at)
{
    enum { TYPE, OUTPUT, CONTENT, DELTA, SUMMARY, COUNT };
    static const struct upp_str names[COUNT] = {UPP_STR_INIT("type"), UPP_STR_INIT("output_index"),
                                                UPP_STR_INIT("content_index"), UPP_STR_INIT("delta"),
                                                UPP_STR_INIT("summary_index")};
    yyjson_val *m[COUNT];
    upp__pick(at->event, names, COUNT, m);
    at->output = upp__openai_index(m[OUTPUT]);
    at->content = upp__openai_index(m[CONTENT]);
    at->summary = upp__openai_index(m[SUMMARY]);
    at->delta = upp__str(m[DELTA]);
    return upp__str(m[TYPE]);
}

int upp__responses_event(struct upp__reader *r, const struct ww_frame *f, struct upp_err *err)
{
    struct at at = {.r = r, .s = r->own, .err = err};
    struct upp_str type;
    if (r->ended || !f->data.n || wb_str_starts(f->data, UPP_STR("[DONE]"))) /* proxies add that */
        return 0;
    int e = upp__parse(r, f->data, &at.event, err);
    if (e < 0)
        return e;
    type = pick(&at);
    at.type = find_type(type.p ? type : f->name);
    if (!at.type && !type.p && upp__get(at.event, "error")) /* what a proxy says in its own words */
        return on_error(&at);
    e = at.type ? at.type->read(&at) : 0;
    return e < 0 ? e : upp__check(r, err);
}

int upp__responses_whole(struct upp__reader *r, struct upp_str body, struct upp_err *err)
{
    struct upp__provider_error t = {0};
    yyjson_val *v;
    int e = upp__parse(r, body, &v, err);
    if (e < 0)
        return e;
    if (upp__openai_error(v, &t))
        return upp__openai_fail(&t, err);
    if (!yyjson_is_arr(upp__get(v, "output")))
        return upp_fail(err, UPP_EPROTO, "the answer holds no output");
    return end_response(r, r->own, v, err);
}

void upp__responses_done(struct upp__reader *r)
{
    struct upp__responses *s = r->own;
    wb_vec_done(&s->pieces);
    wb_vec_done(&s->items);
}
