/* upp/providers/google_read.c — Google Gemini: what comes back, as the events of a step.
 *
 * Every event of a stream is a whole answer that holds only what is new. There is no last event: the stream is complete
 * where a finishReason was seen, and some models say one with every piece; so END is said when the bytes are over.
 */
#include "base/defs.h"
#include "base/str.h"
#include "base/utf8.h"
#include "upp/providers/body.h"
#include "upp/providers/google.h"
#include "upp/providers/google_args.h"
#include "upp/providers/call_id.h"

/* A buffer begins all zero; a test sets less. */
static void limit(struct wb_buf *b)
{
    if (!b->max)
        b->max = UPP__GOOGLE_MAX_RAW;
}

/* ---- The vendor's own parts ------------------------------------------------------------------ */

/* A writer that goes on in raw. */
static struct wj_writer raw_writer(struct upp__google_own *g)
{
    struct wj_writer w;
    limit(&g->raw);
    wj_writer_init(&w, &g->raw, NULL);
    w.comma = g->raw.n > 0;
    return w;
}

/* The text that has been growing is one part now. */
static void raw_text_ends(struct upp__reader *r, struct upp__google_own *g)
{
    if (!g->text.n)
        return;
    struct wj_writer w = raw_writer(g);
    wj_write_open(&w, '{');
    wj_put_str(&w, "text", wb_buf_str(&g->text));
    if (g->thought)
        wj_put_bool(&w, "thought", true);
    wj_write_close(&w, '}');
    upp__note(r, wj_writer_check(&w));
    wb_buf_clear(&g->text);
}

static void raw_text(struct upp__reader *r, struct upp__google_own *g, struct upp_str text, bool thought)
{
    if (thought != g->thought)
        raw_text_ends(r, g);
    g->thought = thought;
    limit(&g->text);
    wb_wtf8_add(&g->text, text);
    upp__note(r, g->text.failed);
    g->odd |= thought;
}

/* As it is. */
static void raw_part(struct upp__reader *r, struct upp__google_own *g, yyjson_val *part)
{
    raw_text_ends(r, g);
    struct wj_writer w = raw_writer(g);
    wj_write_value(&w, part);
    upp__note(r, wj_writer_check(&w));
}

/* ---- Parts ----------------------------------------------------------------------------------- */

static int say_call(struct upp__reader *r, struct upp_str id, struct upp_str name, struct upp_str args,
                    struct upp_err *err)
{
    int e = id.n ? 0 : upp__call_id_new(r, &id, err);
    if (e < 0)
        return e;
    uint32_t part = upp__say_part(r, UPP_PART_CALL, id, name);
    upp__say_delta(r, part, args);
    upp__say_close(r, part);
    return 0;
}

static uint8_t media_kind(struct upp_str mime)
{
    static const struct {
        const char *begin;
        uint8_t kind;
    } rows[] = {{"image/", UPP_PART_IMAGE},
                {"audio/", UPP_PART_AUDIO},
                {"video/", UPP_PART_VIDEO},
                {"application/pdf", UPP_PART_DOCUMENT}};
    for (size_t i = 0; i < WB_LEN(rows); i++)
        if (wb_str_starts(mime, wb_cstr(rows[i].begin)))
            return rows[i].kind;
    return UPP_PART_BINARY;
}

static void say_media(struct upp__reader *r, yyjson_val *data)
{
    struct upp_media *m = wb_new(&r->scratch, struct upp_media);
    if (!m)
        return;
    m->source = UPP_SOURCE_BASE64;
    m->data = upp__get_str(data, "data");
    m->mime = upp__get_str(data, "mimeType");
    if (m->data.n)
        (void)upp__say_media(r, media_kind(m->mime), m);
}

/* ---- Calls in pieces (Vertex) ---------------------------------------------------------------- */

/* The call is complete: now it is said. */
static int end_pieces(struct upp__reader *r, struct upp__google_own *g, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(UPP__GOOGLE_MAX_RAW);
    struct upp__google_args *args = g->args;
    struct wj_writer w;
    if (!args)
        return 0;
    g->args = NULL;
    wj_writer_init(&w, &b, NULL);
    upp__google_args_write(args, &w);
    upp__note(r, wj_writer_check(&w));
    struct upp_str text = wb_arena_dup(&r->scratch, wb_buf_str(&b));
    raw_text_ends(r, g);
    w = raw_writer(g);
    wj_write_open(&w, '{');
    wj_put_open(&w, "functionCall", '{');
    if (g->call_id.n)
        wj_put_str(&w, "id", g->call_id);
    wj_put_str(&w, "name", g->call_name);
    wj_write_name(&w, UPP_STR("args"));
    upp__google_args_write(args, &w);
    wj_write_close(&w, '}');
    if (g->call_signature.n) {
        wj_put_str(&w, "thoughtSignature", g->call_signature);
        g->odd = true;
    }
    wj_write_close(&w, '}');
    upp__note(r, wj_writer_check(&w));
    return say_call(r, g->call_id, g->call_name, text, err);
}

static int begin_pieces(struct upp__reader *r, struct upp__google_own *g, yyjson_val *call, struct upp_err *err)
{
    int e = end_pieces(r, g, err);
    if (e < 0)
        return e;
    g->args = upp__google_args_new(&r->keep);
    g->call_id = wb_arena_dup(&r->keep, upp__get_str(call, "id"));
    g->call_name = wb_arena_dup(&r->keep, upp__get_str(call, "name"));
    g->call_signature = (struct upp_str){0};
    return wb_arena_check(&r->keep, err);
}

static int call_piece(struct upp__reader *r, struct upp__google_own *g, yyjson_val *part, yyjson_val *call,
                      struct upp_err *err)
{
    yyjson_val *pieces = upp__get(call, "partialArgs"), *item;
    yyjson_arr_iter it = yyjson_arr_iter_with(pieces);
    int e = upp__get_str(call, "name").n ? begin_pieces(r, g, call, err) : 0;
    if (e < 0 || !g->args)
        return e; /* a piece of nothing is passed over */
    if (!g->call_signature.n)
        g->call_signature = wb_arena_dup(&r->keep, upp__get_str(part, "thoughtSignature"));
    while ((item = yyjson_arr_iter_next(&it)))
        if ((e = upp__google_args_add(g->args, item, err)) < 0)
            return e;
    return upp__get_true(call, "willContinue") ? 0 : end_pieces(r, g, err);
}

/* ---- What a part is -------------------------------------------------------------------------- */

/* Nothing in the object but these members? */
static bool is_plain(yyjson_val *object, const char *const *members)
{
    size_t known = 0;
    for (; *members; members++)
        known += upp__get(object, *members) != NULL;
    return known == yyjson_obj_size(object);
}

static int read_call(struct upp__reader *r, struct upp__google_own *g, yyjson_val *part, yyjson_val *call,
                     struct upp_err *err)
{
    static const char *const part_members[] = {"functionCall", NULL}, *const members[] = {"id", "name", "args", NULL};
    yyjson_val *args = upp__get(call, "args");
    struct upp_str text = UPP_STR("{}");
    if (upp__get(call, "partialArgs") || upp__get_true(call, "willContinue") || !upp__get_str(call, "name").n)
        return call_piece(r, g, part, call, err);
    int e = end_pieces(r, g, err);
    if (e < 0)
        return e;
    if (args && !yyjson_is_null(args))
        text = upp__json_text(&r->scratch, args);
    g->odd |= !is_plain(part, part_members) || !is_plain(call, members);
    raw_part(r, g, part);
    return say_call(r, upp__get_str(call, "id"), upp__get_str(call, "name"), text, err);
}

static int read_part(struct upp__reader *r, struct upp__google_own *g, yyjson_val *part, struct upp_err *err)
{
    static const char *const data_members[] = {"inlineData", NULL};
    yyjson_val *text = upp__get(part, "text"), *call, *data;
    bool thought = yyjson_obj_size(part) > 1 && upp__get_true(part, "thought");
    if (!yyjson_obj_size(part) || (yyjson_is_null(text) && yyjson_obj_size(part) == 1))
        return 0; /* nothing; Google itself would not take it back */
    if (yyjson_is_str(text)) {
        upp__say_text(r, thought ? UPP_PART_REASONING : UPP_PART_TEXT, wj_text(text));
        if (yyjson_obj_size(part) == (thought ? 2 : 1))
            raw_text(r, g, wj_text(text), thought);
        else {
            g->odd = true; /* signed, even where the text is empty */
            raw_part(r, g, part);
        }
        return 0;
    }
    if ((call = upp__get(part, "functionCall")))
        return read_call(r, g, part, call, err);
    data = upp__get(part, "inlineData");
    if (data && !thought) /* pictures on the way to a picture are thoughts */
        say_media(r, data);
    g->odd |= !data || thought || !is_plain(part, data_members);
    raw_part(r, g, part);
    return 0;
}

/* ---- Answers --------------------------------------------------------------------------------- */

static const char *const extra_names[UPP__GOOGLE_EXTRAS] = {
    [UPP__GOOGLE_MESSAGE] = "finishMessage",       [UPP__GOOGLE_TOKEN] = "continuationToken",
    [UPP__GOOGLE_GROUNDING] = "groundingMetadata", [UPP__GOOGLE_CITATION] = "citationMetadata",
    [UPP__GOOGLE_URLS] = "urlContextMetadata",
};

/* The newest of each counts. */
static void read_extras(struct upp__reader *r, struct upp__google_own *g, yyjson_val *candidate)
{
    for (size_t i = 0; i < UPP__GOOGLE_EXTRAS; i++) {
        yyjson_val *v = upp__get(candidate, extra_names[i]);
        if (v)
            g->extras[i] = upp__json_text(&r->keep, v);
    }
}

static int read_candidate(struct upp__reader *r, struct upp__google_own *g, yyjson_val *candidate, struct upp_err *err)
{
    enum { CONTENT, INDEX, FINISH, COUNT };
    static const struct upp_str names[COUNT] = {UPP_STR_INIT("content"), UPP_STR_INIT("index"),
                                                UPP_STR_INIT("finishReason")};
    yyjson_val *m[COUNT];
    int e = 0;
    upp__pick(candidate, names, COUNT, m);
    if (upp__u64(m[INDEX]) != 0)
        return 0; /* one answer was asked for; others are passed over */
    g->answered = true;
    yyjson_arr_iter it = yyjson_arr_iter_with(upp__get(m[CONTENT], "parts"));
    struct upp_str word = upp__str(m[FINISH]);
    yyjson_val *part;
    while (e >= 0 && (part = yyjson_arr_iter_next(&it)))
        e = read_part(r, g, part, err);
    if (yyjson_obj_size(candidate) > 2)
        read_extras(r, g, candidate);
    if (word.n && !wb_str_eq(word, g->finish))
        g->finish = wb_arena_dup(&r->keep, word);
    return e;
}

/* An error inside of an answer, or of another status. */
void upp__google_error(yyjson_val *v, struct upp__provider_error *t)
{
    yyjson_val *error = upp__get(v, "error");
    yyjson_arr_iter it = yyjson_arr_iter_with(upp__get(error, "details"));
    yyjson_val *detail, *violation;
    t->type = upp__get_str(error, "status");
    if (upp__get_str(error, "message").n)
        t->message = upp__get_str(error, "message");
    else if (yyjson_is_str(error)) /* what a proxy says in its own words */
        t->message = wj_text(error);
    if (yyjson_is_raw(upp__get(error, "code")))
        t->code = wj_text(upp__get(error, "code"));
    while ((detail = yyjson_arr_iter_next(&it))) {
        struct upp_str type = upp__get_str(detail, "@type");
        if (wb_str_ends(type, UPP_STR("google.rpc.RetryInfo")))
            (void)upp__duration_ms(upp__get_str(detail, "retryDelay"), &t->retry_ms);
        else if (wb_str_ends(type, UPP_STR("google.rpc.ErrorInfo")) && !t->reason.p)
            t->reason = upp__get_str(detail, "reason");
        else if (wb_str_ends(type, UPP_STR("google.rpc.QuotaFailure"))) {
            yyjson_arr_iter of = yyjson_arr_iter_with(upp__get(detail, "violations"));
            while ((violation = yyjson_arr_iter_next(&of))) {
                struct upp_str quota = upp__get_str(violation, "quotaId");
                if (wb_str_find(quota, UPP_STR("PerDay"), 0) != SIZE_MAX) /* waiting does not help */
                    t->reason = quota;
            }
        }
    }
}

/* The prompt was refused: there is no candidate then. */
static int blocked(yyjson_val *feedback, struct upp_err *err)
{
    struct upp_str why = upp__get_str(feedback, "blockReason"), more = upp__get_str(feedback, "blockReasonMessage");
    return upp_fail(err, UPP_EFILTERED, "Google refused the prompt: %.*s%s%.*s", UPP_FMT(why), more.n ? ": " : "",
                    UPP_FMT(more));
}

/* The newest counts. It comes with every piece: that piece is kept as it is, which costs least. */
static void keep_usage(struct upp__reader *r, struct upp__google_own *g, yyjson_val *usage, struct upp_str kept)
{
    limit(&g->usage);
    wb_buf_clear(&g->usage);
    wb_buf_add(&g->usage, kept.p ? kept : UPP_STR("{\"usageMetadata\":"));
    if (!kept.p) {
        upp__note(r, wj_write(usage, &g->usage, NULL));
        wb_buf_addc(&g->usage, '}');
    }
    upp__note(r, g->usage.failed);
}

/* `kept`: the text that v was read from, where there is one. */
static int read_answer(struct upp__reader *r, yyjson_val *v, struct upp_str kept, struct upp_err *err)
{
    enum { CANDIDATES, USAGE, MODEL, ID, FEEDBACK, ERROR, COUNT };
    static const struct upp_str names[COUNT] = {UPP_STR_INIT("candidates"),     UPP_STR_INIT("usageMetadata"),
                                                UPP_STR_INIT("modelVersion"),   UPP_STR_INIT("responseId"),
                                                UPP_STR_INIT("promptFeedback"), UPP_STR_INIT("error")};
    yyjson_val *m[COUNT];
    struct upp__google_own *g = r->own;
    int e = 0;
    upp__pick(v, names, COUNT, m);
    if (m[ERROR])
        return upp__fail_inside(r, v, err);
    if (!r->begun)
        upp__say_open(r, upp__str(m[ID]));
    if (!g->model.p && yyjson_is_str(m[MODEL]))
        g->model = wb_arena_dup(&r->keep, wj_text(m[MODEL]));
    if (m[USAGE])
        keep_usage(r, g, m[USAGE], kept);
    if (!yyjson_arr_size(m[CANDIDATES]) && upp__get_str(m[FEEDBACK], "blockReason").n)
        return blocked(m[FEEDBACK], err);
    yyjson_arr_iter it = yyjson_arr_iter_with(m[CANDIDATES]);
    yyjson_val *candidate;
    while (e >= 0 && (candidate = yyjson_arr_iter_next(&it)))
        e = read_candidate(r, g, candidate, err);
    return e < 0 ? e : upp__check(r, err);
}

/* ---- The end ---------------------------------------------------------------------------------------------------- */

static const struct finish {
    const char *word;
    uint8_t stop;
    uint8_t code; /* it is no answer */
} finishes[] = {
    {"STOP", UPP_STOP_END, 0},
    {"MAX_TOKENS", UPP_STOP_LENGTH, 0},
    {"CONTINUATION", UPP_STOP_LENGTH, 0}, /* the same request with metadata.google.continuationToken goes on */
    {"SAFETY", UPP_STOP_FILTER, 0},
    {"RECITATION", UPP_STOP_FILTER, 0},
    {"BLOCKLIST", UPP_STOP_FILTER, 0},
    {"PROHIBITED_CONTENT", UPP_STOP_FILTER, 0},
    {"SPII", UPP_STOP_FILTER, 0},
    {"IMAGE_SAFETY", UPP_STOP_FILTER, 0},
    {"IMAGE_PROHIBITED_CONTENT", UPP_STOP_FILTER, 0},
    {"IMAGE_RECITATION", UPP_STOP_FILTER, 0},
    {"MALFORMED_FUNCTION_CALL", 0, UPP_EPROTO},
    {"UNEXPECTED_TOOL_CALL", 0, UPP_EPROTO},
    {"LANGUAGE", UPP_STOP_ERROR, 0},
    {"TOO_MANY_TOOL_CALLS", UPP_STOP_ERROR, 0},
    {"IMAGE_OTHER", UPP_STOP_ERROR, 0},
    {"NO_IMAGE", UPP_STOP_ERROR, 0},
    {"OTHER", UPP_STOP_ERROR, 0},
}; /* what is new: an error */

static struct finish find_finish(struct upp_str word)
{
    for (size_t i = 0; i < WB_LEN(finishes); i++)
        if (wb_str_eq(word, wb_cstr(finishes[i].word)))
            return finishes[i];
    return (struct finish){.stop = word.n ? UPP_STOP_ERROR : UPP_STOP_END};
}

static struct upp_usage count(yyjson_val *u)
{
    return (struct upp_usage){
        .input = upp__sum(upp__get_u64(u, "promptTokenCount"), upp__get_u64(u, "toolUsePromptTokenCount")),
        .output = upp__sum(upp__get_u64(u, "candidatesTokenCount"), upp__get_u64(u, "thoughtsTokenCount")),
        .cache_read = upp__get_u64(u, "cachedContentTokenCount"),
        .reasoning = upp__get_u64(u, "thoughtsTokenCount"),
    };
}

static struct upp_str make_metadata(struct upp__reader *r, struct upp__google_own *g, yyjson_val *usage)
{
    static const struct wb_buf none = {0};
    struct upp__metadata m;
    upp__metadata_begin(&m);
    upp__metadata_str(&m, "model", g->model);
    upp__metadata_str(&m, "stopReason", g->finish);
    upp__metadata_value(&m, "usage", usage);
    for (size_t i = 0; i < UPP__GOOGLE_EXTRAS; i++)
        upp__metadata_json(&m, extra_names[i], g->extras[i]);
    upp__metadata_list(&m, "minted", &r->own_ids);
    upp__metadata_list(&m, "raw", g->odd ? &g->raw : &none);
    return upp__metadata_end(&m, r);
}

static int finish(struct upp__reader *r, struct upp_err *err)
{
    struct upp__google_own *g = r->own;
    struct finish how = find_finish(g->finish);
    yyjson_val *usage = NULL;
    int e = 0;
    if (how.code)
        return upp_fail(err, (enum upp_code)how.code, "Google ended with %.*s%s%.*s", UPP_FMT(g->finish),
                        g->extras[UPP__GOOGLE_MESSAGE].n ? ": " : "", UPP_FMT(g->extras[UPP__GOOGLE_MESSAGE]));
    if (g->args && how.stop == UPP_STOP_END) /* else it was cut off, and never was one */
        e = end_pieces(r, g, err);
    if (e >= 0 && g->usage.n)
        e = upp__parse(r, wb_buf_str(&g->usage), &usage, err);
    if (e < 0)
        return e;
    if (how.stop == UPP_STOP_FILTER && !r->parts)
        return upp_fail(err, UPP_EFILTERED, "Google held the answer back: %.*s", UPP_FMT(g->finish));
    raw_text_ends(r, g);
    usage = upp__get(usage, "usageMetadata");
    struct upp_usage total = count(usage);
    upp__say_end(r, how.stop, &total, make_metadata(r, g, usage));
    return upp__check(r, err);
}

/* ---- For the adapter ------------------------------------------------------------------------- */

int upp__google_event(struct upp__reader *r, const struct ww_frame *f, struct upp_err *err)
{
    yyjson_val *v;
    if (!f->data.n || wb_str_eq(f->data, UPP_STR("[DONE]"))) /* proxies add it */
        return 0;
    int e = upp__parse(r, f->data, &v, err);
    return e < 0 ? e : read_answer(r, v, f->data, err);
}

/* One answer; or, where a stream was asked for without alt=sse, its events in an array. */
int upp__google_whole(struct upp__reader *r, struct upp_str body, struct upp_err *err)
{
    struct upp__google_own *g = r->own;
    yyjson_val *v, *item;
    int e = upp__parse(r, body, &v, err);
    if (e < 0)
        return e;
    if (yyjson_is_arr(v)) {
        yyjson_arr_iter it = yyjson_arr_iter_with(v);
        while (e >= 0 && (item = yyjson_arr_iter_next(&it))) {
            e = read_answer(r, item, (struct upp_str){0}, err);
        }
    } else {
        e = read_answer(r, v, (struct upp_str){0}, err);
    }
    if (e < 0)
        return e;
    if (!g->answered)
        return upp_fail(err, UPP_EPROTO, "the answer holds no candidate");
    return finish(r, err);
}

int upp__google_eof(struct upp__reader *r, struct upp_err *err)
{
    struct upp__google_own *g = r->own;
    if (!g->finish.n)
        return upp_fail(err, UPP_ENET, "the stream ended before a finishReason");
    return finish(r, err);
}

void upp__google_done(struct upp__reader *r)
{
    struct upp__google_own *g = r->own;
    wb_buf_done(&g->text);
    wb_buf_done(&g->raw);
    wb_buf_done(&g->usage);
}
