/* upp/providers/openai_chat_read.c — answers of Chat Completions: chunks of a stream, or one body.
 *
 * Servers that speak this API differ in what they leave out and in where they put things; all of it is read, whoever
 * sends it. The rules for calls are at find_call.
 */
#include "base/base64.h"
#include "base/str.h"
#include "upp/providers/call_id.h"
#include "upp/providers/openai.h"
#include "upp/providers/openai_chat.h"

/* ---- Text and reasoning ----------------------------------------------------------------------------------------- */

/* A text, or (Mistral, vLLM) parts of which some are. */
static void read_content(struct upp__reader *r, yyjson_val *v)
{
    yyjson_val *part;
    yyjson_arr_iter it = yyjson_arr_iter_with(v);
    if (yyjson_is_str(v))
        upp__say_text(r, UPP_PART_TEXT, wj_text(v));
    while ((part = yyjson_arr_iter_next(&it)))
        upp__say_text(r, UPP_PART_TEXT, upp__get_str(part, "text"));
}

/* reasoning_content (DeepSeek, Moonshot, xAI, llama.cpp), else reasoning (Groq, Cerebras, OpenRouter), else the texts
 * of reasoning_details. */
static void read_reasoning(struct upp__reader *r, struct upp__chat *c, yyjson_val *delta, yyjson_val *details)
{
    struct upp_str text = upp__get_str(delta, "reasoning_content");
    yyjson_val *v;
    if (!text.n)
        text = upp__get_str(delta, "reasoning");
    upp__say_text(r, UPP_PART_REASONING, text);
    yyjson_arr_iter it = yyjson_arr_iter_with(details);
    while (!text.n && (v = yyjson_arr_iter_next(&it))) {
        upp__say_text(r, UPP_PART_REASONING, upp__get_str(v, "text"));
        upp__say_text(r, UPP_PART_REASONING, upp__get_str(v, "summary"));
    }
    if (details && r->vendor->habits & UPP__REASONING_DETAILS)
        upp__details_add(r, &c->details, details);
}

/* ---- What comes beside the text --------------------------------------------------------------------------------- */

static int add_annotations(struct upp__chat *c, yyjson_val *list, struct upp_err *err)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    struct wj_writer w;
    yyjson_val *v;
    c->annotations.max = UPP__JSON;
    wj_writer_init(&w, &c->annotations, err);
    w.comma = c->annotations.n > 0;
    while ((v = yyjson_arr_iter_next(&it)))
        wj_write_value(&w, v);
    return wj_writer_check(&w);
}

/* {"id", "transcript", "data", "expires_at"}, in pieces or whole. Each piece of the data is base64 by itself. */
static int add_audio(struct upp__reader *r, struct upp__chat *c, yyjson_val *audio, struct upp_err *err)
{
    struct upp_str id = upp__get_str(audio, "id");
    yyjson_val *expires = upp__get(audio, "expires_at");
    if (id.n)
        c->audio_id = wb_arena_dup(&r->keep, id);
    if (yyjson_is_raw(expires))
        c->audio_expires = wb_arena_dup(&r->keep, wj_text(expires));
    upp__say_text(r, UPP_PART_TEXT, upp__get_str(audio, "transcript"));
    c->audio.max = UPP__JSON;
    int e = wb_base64_decode(upp__get_str(audio, "data"), &c->audio, err);
    return e == -UPP_EINVALID ? upp_fail(err, UPP_EPROTO, "the audio of the answer is no base64") : e;
}

/* The whole of the speech, in the format that the request asked for. */
static void say_audio(struct upp__reader *r, struct upp__chat *c)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(2 * (size_t)UPP__JSON);
    struct upp_media *m = c->audio.n ? wb_new(&r->scratch, struct upp_media) : NULL;
    yyjson_val *params = NULL;
    if (!m)
        return;
    if (r->request->params.n && wj_read(&r->scratch, r->request->params, NULL, &params, NULL) < 0)
        params = NULL;
    struct upp_str format = upp__get_str(upp__get(params, "audio"), "format");
    wb_base64_add(&text, wb_buf_str(&c->audio), WB_BASE64);
    upp__note(r, text.failed);
    m->source = UPP_SOURCE_BASE64;
    m->data = wb_arena_dup(&r->scratch, wb_buf_str(&text));
    m->mime = wb_arena_printf(&r->scratch, "audio/%.*s", UPP_FMT(format.n ? format : UPP_STR("wav")));
    upp__say_media(r, UPP_PART_AUDIO, m);
}

static void put_audio(struct wj_writer *w, const struct upp__chat *c)
{
    if (!c->audio_id.n)
        return;
    wj_put_open(w, "audio", '{');
    wj_put_str(w, "id", c->audio_id);
    if (c->audio_expires.n)
        wj_put_num(w, "expires_at", c->audio_expires);
    wj_write_close(w, '}');
}

/* ---- Calls ------------------------------------------------------------------------------------------------------ */

/* Which call a fragment belongs to; NULL: a new one. The index says it; but one server numbers all calls 0, so that
 * another id with a name is another call. Where there is no index: a new id is a new call, and so is a name without an
 * id after arguments; all else goes on with the last one. */
static struct upp__chat_call *find_call(struct upp__chat *c, yyjson_val *index, struct upp_str id, struct upp_str name,
                                        uint64_t number)
{
    for (size_t i = c->calls.n; i-- > 0;) {
        struct upp__chat_call *call = &c->calls.p[i];
        if (index) {
            if (call->index == number)
                return id.n && name.n && call->id.n && !wb_str_eq(call->id, id) ? NULL : call;
        } else if (id.n) {
            if (wb_str_eq(call->id, id))
                return call;
        } else
            return name.n && call->spoke ? NULL : call;
    }
    return NULL;
}

static bool is_used(const struct upp__chat *c, const struct upp__chat_call *except, struct upp_str id)
{
    for (size_t i = 0; i < c->calls.n; i++)
        if (&c->calls.p[i] != except && c->calls.p[i].open && wb_str_eq(c->calls.p[i].id, id))
            return true;
    return false;
}

static struct upp__chat_call *new_call(struct upp__reader *r, struct upp__chat *c, uint64_t index, struct upp_str id)
{
    struct upp__chat_call call = {.index = index, .id = wb_arena_dup(&r->keep, id)};
    if (wb_vec_push(&c->calls, call, UPP__OPENAI_BLOCKS))
        return &c->calls.p[c->calls.n - 1];
    if (!r->failed)
        r->failed = c->calls.n >= UPP__OPENAI_BLOCKS ? -UPP_ELIMIT : -UPP_ENOMEM;
    return NULL;
}

static void open_call(struct upp__reader *r, struct upp__chat *c, struct upp__chat_call *call, struct upp_str name)
{
    if (!call->id.n || is_used(c, call, call->id))
        call->id = upp__call_id_sent(r, (size_t)(call - c->calls.p));
    call->open = true;
    call->part = upp__say_part(r, UPP_PART_CALL, call->id, wb_arena_dup(&r->keep, name));
    upp__say_delta(r, call->part, call->early);
}

/* Arguments are a text, but some servers send the object itself, or null. */
static void add_arguments(struct upp__reader *r, struct upp__chat_call *call, yyjson_val *v)
{
    struct upp_str text = yyjson_is_str(v)   ? wj_text(v)
                          : yyjson_is_obj(v) ? upp__json_text(&r->keep, v)
                                             : (struct upp_str){0};
    if (!text.n)
        return;
    call->spoke = true;
    if (call->open)
        upp__say_delta(r, call->part, text);
    else
        call->early = wb_arena_printf(&r->keep, "%.*s%.*s", UPP_FMT(call->early), UPP_FMT(text));
}

static void read_call(struct upp__reader *r, struct upp__chat *c, yyjson_val *v, size_t at, bool whole)
{
    yyjson_val *function = upp__get(v, "function"), *index = upp__get(v, "index");
    struct upp_str id = upp__get_str(v, "id"), name = upp__get_str(function, "name");
    uint64_t number = yyjson_is_raw(index) ? upp__get_u64(v, "index") : c->calls.n;
    struct upp__chat_call *call = whole ? NULL : find_call(c, yyjson_is_raw(index) ? index : NULL, id, name, number);
    if (!call)
        call = new_call(r, c, whole ? at : number, id);
    if (!call)
        return;
    if (!call->open && !call->id.n && id.n)
        call->id = wb_arena_dup(&r->keep, id);
    if (!call->open && name.n)
        open_call(r, c, call, name);
    add_arguments(r, call, upp__get(function, "arguments"));
}

static void read_calls(struct upp__reader *r, struct upp__chat *c, yyjson_val *list, bool whole)
{
    yyjson_val *v;
    size_t at = 0;
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    while ((v = yyjson_arr_iter_next(&it)) && !r->failed)
        read_call(r, c, v, at++, whole);
}

/* ---- The end ---------------------------------------------------------------------------------------------------- */

static const struct upp__stop stops[] = {
    {"stop", UPP_STOP_END},
    {"length", UPP_STOP_LENGTH},
    {"tool_calls", UPP_STOP_TOOLS},
    {"function_call", UPP_STOP_TOOLS},
    {"content_filter", UPP_STOP_FILTER},
    {"error", UPP_STOP_ERROR},
    {0},
};

static void close_calls(struct upp__reader *r, struct upp__chat *c, uint8_t stop)
{
    for (size_t i = 0; i < c->calls.n; i++) {
        struct upp__chat_call *call = &c->calls.p[i];
        if (!call->open) /* it never got a name */
            open_call(r, c, call, UPP_STR(""));
        if (!call->spoke && i + 1 == c->calls.n && upp__is_cut(stop))
            upp__say_cut(r, call->part, (struct upp_str){0});
        else if (!call->spoke)
            upp__say_delta(r, call->part, UPP_STR("{}"));
        upp__say_close(r, call->part);
    }
}

/* What the parts do not say: OpenRouter's details, and the calls that they led to. */
static void put_raw(struct wj_writer *w, const struct upp__chat *c)
{
    if (!c->details.list.n)
        return;
    wj_put_open(w, "raw", '{');
    wj_write_name(w, UPP_STR("reasoning_details"));
    upp__details_write(w, &c->details);
    if (c->calls.n) {
        wj_put_open(w, "calls", '[');
        for (size_t i = 0; i < c->calls.n; i++)
            wj_write_str(w, c->calls.p[i].id);
        wj_write_close(w, ']');
    }
    wj_write_close(w, '}');
}

static int conclude(struct upp__reader *r, struct upp__chat *c, struct upp_err *err)
{
    uint8_t stop = c->refused ? UPP_STOP_FILTER : upp__stop_of(stops, c->finish, UPP_STOP_END);
    if (stop == UPP_STOP_ERROR)
        return upp__openai_fail(&(struct upp__provider_error){.type = UPP_STR("error")}, err);
    if (stop == UPP_STOP_FILTER && !r->parts && !c->calls.n)
        return upp__openai_fail(
            &(struct upp__provider_error){.code = c->finish, .message = UPP_STR("the answer was filtered")}, err);
    struct upp__metadata m;
    upp__end_text(r);
    say_audio(r, c);
    close_calls(r, c, stop);
    upp__metadata_begin(&m);
    upp__metadata_str(&m, "model", c->model);
    upp__metadata_str(&m, "stopReason", c->finish.p ? c->finish : UPP_STR("stop"));
    upp__metadata_json(&m, "usage", c->usage_json);
    upp__metadata_list(&m, "annotations", &c->annotations);
    put_audio(&m.w, c);
    put_raw(&m.w, c);
    upp__say_end(r, stop, &c->usage, upp__metadata_end(&m, r));
    return upp__check(r, err);
}

/* ---- Chunks ----------------------------------------------------------------------------------------------------- */

static void read_usage(struct upp__reader *r, struct upp__chat *c, yyjson_val *u)
{
    if (!yyjson_is_obj(u))
        return;
    yyjson_val *in = upp__get(u, "prompt_tokens_details"), *out = upp__get(u, "completion_tokens_details");
    c->usage = (struct upp_usage){.input = upp__get_u64(u, "prompt_tokens"),
                                  .output = upp__get_u64(u, "completion_tokens"),
                                  .cache_read = upp__get_u64(in, "cached_tokens"),
                                  .cache_write = upp__get_u64(in, "cache_write_tokens"),
                                  .reasoning = upp__get_u64(out, "reasoning_tokens")};
    if (!c->usage.cache_read)
        c->usage.cache_read = upp__get_u64(u, "prompt_cache_hit_tokens"); /* DeepSeek */
    if (r->vendor->habits & UPP__REASONING_APART)
        c->usage.output = upp__sum(c->usage.output, c->usage.reasoning);
    c->usage_json = upp__json_text(&r->keep, u);
}

/* What was said: the delta of a chunk, or the message of a body. */
static int read_said(struct upp__reader *r, struct upp__chat *c, yyjson_val *said, bool whole, struct upp_err *err)
{
    yyjson_val *key, *content = NULL, *refusal = NULL, *calls = NULL, *details = NULL, *sources = NULL, *audio = NULL;
    int e = 0;
    bool reasons = false;
    yyjson_obj_iter it = yyjson_obj_iter_with(said);
    while ((key = yyjson_obj_iter_next(&it))) {
        yyjson_val *v = yyjson_obj_iter_get_val(key);
        if (wj_named(key, UPP_STR("content")))
            content = v;
        else if (wj_named(key, UPP_STR("tool_calls")))
            calls = v;
        else if (wj_named(key, UPP_STR("refusal")))
            refusal = v;
        else if (wj_named(key, UPP_STR("reasoning_details")))
            details = v;
        else if (wj_named(key, UPP_STR("annotations")))
            sources = v;
        else if (wj_named(key, UPP_STR("audio")))
            audio = v;
        else
            reasons |= wj_text(key).n >= 9 && wj_same(wj_text(key).p, "reasoning", 9);
    }
    if (reasons || details)
        read_reasoning(r, c, said, details);
    read_content(r, content);
    if (yyjson_is_str(refusal) && wj_text(refusal).n) {
        c->refused = true;
        upp__say_text(r, UPP_PART_TEXT, wj_text(refusal));
    }
    if (audio)
        e = add_audio(r, c, audio, err);
    if (sources && e == 0)
        e = add_annotations(c, sources, err);
    if (calls && e == 0)
        read_calls(r, c, calls, whole);
    return e;
}

/* A choice: the first one. Others, where somebody asked for several, are passed over. */
static int read_choice(struct upp__reader *r, struct upp__chat *c, yyjson_val *choice, struct upp_err *err)
{
    enum { INDEX, DELTA, FINISH, MESSAGE, ERROR, USAGE, COUNT };
    static const struct upp_str names[COUNT] = {UPP_STR_INIT("index"),         UPP_STR_INIT("delta"),
                                                UPP_STR_INIT("finish_reason"), UPP_STR_INIT("message"),
                                                UPP_STR_INIT("error"),         UPP_STR_INIT("usage")};
    yyjson_val *m[COUNT];
    struct upp__provider_error t = {0};
    upp__pick(choice, names, COUNT, m);
    struct upp_str finish = upp__str(m[FINISH]);
    if (upp__openai_index(m[INDEX]))
        return 0;
    c->chosen |= yyjson_is_obj(choice);
    if (m[ERROR] && upp__openai_error(choice, &t)) /* OpenRouter */
        return upp__openai_fail(&t, err);
    bool whole = !yyjson_is_obj(m[DELTA]);
    int e = read_said(r, c, whole ? m[MESSAGE] : m[DELTA], whole, err);
    if (e < 0)
        return e;
    if (m[USAGE])
        read_usage(r, c, m[USAGE]); /* Moonshot, at times */
    if (finish.n)
        c->finish = wb_arena_dup(&r->keep, finish);
    return 0;
}

static int read_chunk(struct upp__reader *r, struct upp__chat *c, yyjson_val *v, struct upp_err *err)
{
    enum { ID, OBJECT, MODEL, CHOICES, USAGE, X_GROQ, ERROR, COUNT };
    static const struct upp_str names[COUNT] = {UPP_STR_INIT("id"),      UPP_STR_INIT("object"), UPP_STR_INIT("model"),
                                                UPP_STR_INIT("choices"), UPP_STR_INIT("usage"),  UPP_STR_INIT("x_groq"),
                                                UPP_STR_INIT("error")};
    struct upp__provider_error t = {0};
    yyjson_val *m[COUNT], *choice;
    int e = 0;
    upp__pick(v, names, COUNT, m);
    if ((m[ERROR] || wb_str_eq(upp__str(m[OBJECT]), UPP_STR("error"))) && upp__openai_error(v, &t))
        return upp__openai_fail(&t, err);
    if (!r->begun && upp__str(m[ID]).n) /* Azure's first is empty */
        upp__say_open(r, wj_text(m[ID]));
    if (!c->model.n && upp__str(m[MODEL]).n)
        c->model = wb_arena_dup(&r->keep, wj_text(m[MODEL]));
    if (m[X_GROQ] && !c->usage_json.p)
        read_usage(r, c, upp__get(m[X_GROQ], "usage"));
    if (m[USAGE])
        read_usage(r, c, m[USAGE]);
    yyjson_arr_iter list = yyjson_arr_iter_with(m[CHOICES]);
    while (e == 0 && (choice = yyjson_arr_iter_next(&list)))
        e = read_choice(r, c, choice, err);
    return e;
}

/* ---- The adapter ------------------------------------------------------------------------------------------------ */

int upp__chat_event(struct upp__reader *r, const struct ww_frame *f, struct upp_err *err)
{
    struct upp__chat *c = r->own;
    yyjson_val *v;
    if (r->ended || !f->data.n)
        return 0;
    if (f->data.p[0] == '[' && wb_str_starts(f->data, UPP_STR("[DONE]"))) {
        if (!c->finish.p && !r->parts)
            return upp_fail(err, UPP_EPROTO, "the stream said nothing before [DONE]");
        return conclude(r, c, err);
    }
    int e = upp__parse(r, f->data, &v, err);
    if (e == 0)
        e = read_chunk(r, c, v, err);
    return e < 0 ? e : upp__check(r, err);
}

int upp__chat_whole(struct upp__reader *r, struct upp_str body, struct upp_err *err)
{
    struct upp__chat *c = r->own;
    yyjson_val *v;
    int e = upp__parse(r, body, &v, err);
    if (e == 0)
        e = read_chunk(r, c, v, err);
    if (e < 0)
        return e;
    if (!c->chosen)
        return upp_fail(err, UPP_EPROTO, "the answer holds no choices");
    return conclude(r, c, err);
}

int upp__chat_eof(struct upp__reader *r, struct upp_err *err)
{
    struct upp__chat *c = r->own;
    if (r->ended)
        return 0;
    if (!c->finish.p)
        return upp_fail(err, UPP_ENET, "the stream ended before its finish_reason");
    return conclude(r, c, err);
}

void upp__chat_done(struct upp__reader *r)
{
    struct upp__chat *c = r->own;
    upp__details_done(&c->details);
    wb_buf_done(&c->annotations);
    wb_buf_done(&c->audio);
    wb_vec_done(&c->calls);
}
