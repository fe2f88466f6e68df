/* dialects/ui/decode.c — chunks of a UI message stream, gathered into what the message says.
 *
 * As the AI SDK's own reader does it, but lenient: a delta without a start opens its text, and thinking is reasoning.
 * What a chunk says that is no part (sources, errors, aborts, files at addresses) is a system event.
 */
#include "dialects/ui/decode.h"

#include <inttypes.h>
#include <upp/model.h>

#include "base/err.h"
#include "dialects/core/convert.h"
#include "dialects/core/lift.h"
#include "dialects/core/usage.h"
#include "dialects/ui/doc.h"
#include "json/read.h"
#include "json/value.h"

enum { SCRATCH = 1 << 30 }; /* json/read.h: 13 bytes for one */

/* A text of the chunk that outlives it; no text stays none. */
static struct upp_str copy_text(struct wd_ui_decoder *d, struct upp_str s)
{
    return s.p ? wb_arena_dup(d->a, s) : s;
}

static int keep_metadata(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_str *ret, struct upp_err *err)
{
    yyjson_val *v = yyjson_obj_get(chunk, "providerMetadata");
    return yyjson_is_obj(v) ? wj_value_text(d->a, v, ret, err) : 0;
}

static struct wd_ui_slot *slot_add(struct wd_ui_decoder *d, struct upp_err *err)
{
    struct wd_ui_slot s = {.text = WB_BUF(WD_UI_CHUNK), .time_ms = d->now_ms};
    if (wb_vec_push(&d->slots, s, (size_t)WD_UI_SLOTS))
        return &d->slots.p[d->slots.n - 1];
    (void)(d->slots.n < WD_UI_SLOTS ? upp_fail(err, UPP_ENOMEM, "no memory for a part")
                                    : upp_fail(err, UPP_ELIMIT, "a message of more than %d parts", WD_UI_SLOTS));
    return NULL;
}

static int no_slot(const struct wd_ui_decoder *d)
{
    return d->slots.n < WD_UI_SLOTS ? -UPP_ENOMEM : -UPP_ELIMIT;
}

/* ---- Texts ----------------------------------------------------------------------------------------------- */

static struct wd_ui_slot *find_block(struct wd_ui_decoder *d, uint8_t kind, struct upp_str id)
{
    for (size_t i = d->slots.n; i--;) {
        struct wd_ui_slot *s = &d->slots.p[i];
        if (s->open && s->part.kind == kind && wb_str_eq(s->block, id))
            return s;
    }
    return NULL;
}

static int on_block(struct wd_ui_decoder *d, yyjson_val *chunk, uint8_t kind, struct upp_str verb, struct upp_err *err)
{
    struct upp_str id = wj_text_at(chunk, "id");
    bool start = wb_str_eq(verb, UPP_STR("start"));
    struct wd_ui_slot *s = start ? NULL : find_block(d, kind, id);
    if (!s && wb_str_eq(verb, UPP_STR("end")))
        return 0;
    if (!s) {
        s = slot_add(d, err);
        if (!s)
            return no_slot(d);
        s->part.kind = kind;
        s->block = copy_text(d, id);
        s->open = true;
    }
    if (wb_str_eq(verb, UPP_STR("delta")))
        wb_buf_add(&s->text, wj_text_at(chunk, "delta"));
    s->open = s->open && !wb_str_eq(verb, UPP_STR("end"));
    int r = keep_metadata(d, chunk, &s->part.metadata, err);
    return r < 0 ? r : wb_buf_check(&s->text, err);
}

/* ---- Tools ----------------------------------------------------------------------------------------------- */

static bool in_step(const struct wd_ui_decoder *d, size_t i)
{
    for (; i < d->slots.n; i++)
        if (!d->slots.p[i].part.kind && !d->slots.p[i].event)
            return false;
    return true;
}

/* The latest call of that id; one of another step only for an outcome. */
static struct wd_ui_slot *find_call(struct wd_ui_decoder *d, struct upp_str id, bool anywhere)
{
    for (size_t i = d->slots.n; i--;) {
        struct wd_ui_slot *s = &d->slots.p[i];
        if (s->part.kind == UPP_PART_CALL && wb_str_eq(s->part.id, id))
            return anywhere || in_step(d, i) ? s : NULL;
    }
    return NULL;
}

static struct wd_ui_slot *call_of(struct wd_ui_decoder *d, yyjson_val *chunk, bool anywhere, struct upp_err *err)
{
    struct upp_str id = wj_text_at(chunk, "toolCallId"), name = wj_text_at(chunk, "toolName");
    struct wd_ui_slot *s = find_call(d, id, anywhere);
    if (!s) {
        s = slot_add(d, err);
        if (!s)
            return NULL;
        s->part = (struct upp_part){.kind = UPP_PART_CALL, .id = copy_text(d, id), .text = UPP_STR("{}")};
    }
    if (!s->part.name.p)
        s->part.name = copy_text(d, name);
    return s;
}

static int on_input_start(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    struct wd_ui_slot *s = call_of(d, chunk, false, err);
    if (!s)
        return no_slot(d);
    s->open = true;
    return keep_metadata(d, chunk, &s->part.metadata, err);
}

static int on_input_delta(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    struct wd_ui_slot *s = call_of(d, chunk, false, err);
    if (!s)
        return no_slot(d);
    s->open = true;
    wb_buf_add(&s->text, wj_text_at(chunk, "inputTextDelta"));
    return wb_buf_check(&s->text, err);
}

static int on_input(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    struct wd_ui_slot *s = call_of(d, chunk, false, err);
    if (!s)
        return no_slot(d);
    s->open = false;
    int r = wj_value_text(d->a, yyjson_obj_get(chunk, "input"), &s->part.text, err);
    return r < 0 ? r : keep_metadata(d, chunk, &s->part.metadata, err);
}

/* The outcome of a call; `error` NULL: it is a value. */
static int outcome(struct wd_ui_decoder *d, yyjson_val *chunk, const struct upp_str *error, const char *metadata,
                   struct upp_err *err)
{
    struct wd_ui_slot *s = call_of(d, chunk, true, err);
    if (!s)
        return no_slot(d);
    s->open = false;
    s->result = (struct upp_part){.kind = UPP_PART_RESULT,
                                  .id = s->part.id,
                                  .name = s->part.name,
                                  .is_error = error != NULL,
                                  .text = UPP_STR("null"),
                                  .metadata = metadata ? wb_cstr(metadata) : (struct upp_str){0}};
    int r = error ? wd_string_text(d->a, *error, &s->result.text, err)
                  : wj_value_text(d->a, yyjson_obj_get(chunk, "output"), &s->result.text, err);
    return r < 0 || metadata ? r : keep_metadata(d, chunk, &s->result.metadata, err);
}

static int on_output(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    return outcome(d, chunk, NULL, NULL, err);
}

static int on_output_error(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    struct upp_str text = wj_text_at(chunk, "errorText");
    return outcome(d, chunk, text.p ? &text : &UPP_STR(""), NULL, err);
}

static int on_output_denied(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    return outcome(d, chunk, &UPP_STR(WD_UI_DENIED), "{\"pydantic_ai\":{\"outcome\":\"denied\"}}", err);
}

/* A call that could not be read, and that it shall be tried again. */
static int on_input_error(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    int r = on_input(d, chunk, err);
    struct upp_str error = wj_text_at(chunk, "errorText"), input = wj_text_at(chunk, "input");
    if (r < 0)
        return r;
    struct wd_ui_slot *s = find_call(d, wj_text_at(chunk, "toolCallId"), false);
    if (s && input.p) { /* as it was written */
        s->part.text = copy_text(d, input);
        s->part.metadata = UPP_STR("{\"pydantic_ai\":{\"raw_args\":true}}");
    }
    return outcome(d, chunk, error.p ? &error : &UPP_STR(""), "{\"pydantic_ai\":{\"retry\":true}}", err);
}

/* ---- Events ---------------------------------------------------------------------------------------------- */

static struct wd_ui_slot *find_event(struct wd_ui_decoder *d, struct upp_str id, struct upp_str type)
{
    for (size_t i = d->slots.n; id.p && i--;) {
        struct wd_ui_slot *s = &d->slots.p[i];
        if (s->event && s->part.id.p && wb_str_eq(s->part.id, id) && (!type.p || wb_str_eq(s->part.name, type)))
            return s;
    }
    return NULL;
}

static int on_data(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_str type, struct upp_err *err)
{
    struct upp_str id = wj_text_at(chunk, "id");
    struct wd_ui_slot *s = find_event(d, id, type);
    if (yyjson_is_true(yyjson_obj_get(chunk, "transient")))
        return 0;
    if (!s) {
        s = slot_add(d, err);
        if (!s)
            return no_slot(d);
        s->event = true;
        s->part.id = copy_text(d, id);
        s->part.name = copy_text(d, type);
    }
    s->part.text = UPP_STR("null");
    return wj_value_text(d->a, yyjson_obj_get(chunk, "data"), &s->part.text, err);
}

/* All that the chunk says, but its type. */
static int on_other(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_str type, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_UI_CHUNK);
    struct wj_writer w;
    struct wd_ui_slot *s = slot_add(d, err);
    yyjson_val *key, *value;
    size_t i, n;
    if (!s)
        return no_slot(d);
    wj_writer_init(&w, &b, err);
    wj_write_open(&w, '{');
    yyjson_obj_foreach(chunk, i, n, key, value)
    {
        if (wj_named(key, UPP_STR("type")))
            continue;
        wj_write_name(&w, wj_text(key));
        wj_write_value(&w, value);
    }
    wj_write_close(&w, '}');
    s->event = true;
    s->part.name = type;
    s->part.text = wb_arena_dup(d->a, wb_buf_str(&b));
    int r = wj_writer_check(&w);
    return r < 0 ? r : wb_arena_check(d->a, err);
}

static int on_file(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    struct upp_str url = wj_text_at(chunk, "url"), mime = wj_text_at(chunk, "mediaType");
    if (!wb_str_starts(url, UPP_STR("data:")))
        return on_other(d, chunk, UPP_STR("ui.file"), err);
    struct wd_ui_slot *s = slot_add(d, err);
    if (!s)
        return no_slot(d);
    int r = wd_url_media(d->a, copy_text(d, url), copy_text(d, mime), copy_text(d, wj_text_at(chunk, "filename")),
                         &s->part, err);
    return r < 0 ? r : keep_metadata(d, chunk, &s->part.metadata, err);
}

static int on_source(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    return on_other(d, chunk, UPP_STR("ui.source"), err);
}

static int on_custom(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    return on_other(d, chunk, UPP_STR("ui.custom"), err);
}

static int on_thought_file(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    return on_other(d, chunk, UPP_STR("ui.reasoning-file"), err);
}

static int on_error(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    return on_other(d, chunk, UPP_STR("stream.error"), err);
}

static int on_abort(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    return on_other(d, chunk, UPP_STR("stream.abort"), err);
}

/* ---- The message ----------------------------------------------------------------------------------------- */

static void take_text(struct wd_ui_decoder *d, struct upp_str *to, yyjson_val *from, const char *name)
{
    struct upp_str said = wj_text_at(from, name);
    if (said.p)
        *to = copy_text(d, said);
}

static int take_metadata(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    yyjson_val *m = yyjson_obj_get(chunk, "messageMetadata"), *weft = yyjson_obj_get(m, "weft"), *key, *value;
    size_t i, n;
    int r = 0;
    take_text(d, &d->who, weft, "agent");
    take_text(d, &d->name, weft, "name");
    take_text(d, &d->model, weft, "model");
    take_text(d, &d->provider, weft, "provider");
    take_text(d, &d->time, yyjson_obj_get(m, "pydantic_ai"), "timestamp");
    take_text(d, &d->ended, weft, "ended");
    d->usage.has_usage |= wd_usage_read(yyjson_obj_get(m, "usage"), wd_usage_upp, &d->usage.usage);
    yyjson_val *events = yyjson_obj_get(m, "weft_events");
    if (!events)
        return r;
    yyjson_obj_foreach(events, i, n, key, value)
    {
        struct wd_ui_slot *s = find_event(d, wj_text(key), (struct upp_str){0});
        if (s && r >= 0) {
            yyjson_val *source = yyjson_obj_get(value, "sourceAgent"), *targets = yyjson_obj_get(value, "targetAgents");
            uint64_t time = wd_number_at(value, "timestamp");
            if (time && time < (uint64_t)1 << 47)
                s->time_ms = (int64_t)time;
            r = source && yyjson_is_str(source) ? wj_value_text(d->a, source, &s->source, err) : 0;
            r = r < 0 || !yyjson_is_arr(targets) ? r : wj_value_text(d->a, targets, &s->targets, err);
        }
    }
    return r < 0 ? r : wb_arena_check(d->a, err);
}

/* Another id is another message. */
static int on_start(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    struct upp_str id = wj_text_at(chunk, "messageId");
    int r = 0;
    if (d->begun && id.p && d->id.p && !wb_str_eq(id, d->id))
        r = wd_ui_decode_end(d, err);
    d->begun = true;
    if (id.p)
        d->id = copy_text(d, id);
    return r < 0 ? r : take_metadata(d, chunk, err);
}

static int on_step(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    (void)chunk;
    return slot_add(d, err) ? 0 : no_slot(d);
}

static int on_finish_step(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    (void)d, (void)chunk, (void)err;
    return 0;
}

static int on_reset_step(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    (void)chunk, (void)err;
    while (d->slots.n && (d->slots.p[d->slots.n - 1].part.kind || d->slots.p[d->slots.n - 1].event))
        wb_buf_done(&d->slots.p[--d->slots.n].text);
    return 0;
}

static int on_finish(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    static const struct {
        struct upp_str word;
        uint8_t stop;
    } reasons[] = {{UPP_STR_INIT("stop"), UPP_STOP_END},
                   {UPP_STR_INIT("length"), UPP_STOP_LENGTH},
                   {UPP_STR_INIT("tool-calls"), UPP_STOP_TOOLS},
                   {UPP_STR_INIT("content-filter"), UPP_STOP_FILTER},
                   {UPP_STR_INIT("error"), UPP_STOP_ERROR}};
    for (size_t i = 0; i < WB_LEN(reasons); i++)
        if (wb_str_eq(wj_text_at(chunk, "finishReason"), reasons[i].word))
            d->stop = reasons[i].stop;
    return take_metadata(d, chunk, err);
}

/* What is decided about a call is in its output. */
static int on_approval(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err)
{
    (void)d, (void)chunk, (void)err;
    return 0;
}

/* ---- The table ------------------------------------------------------------------------------------------- */

static const struct {
    const char *type;
    int (*on)(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_err *err);
} chunks[] = {
    {"tool-input-delta", on_input_delta},
    {"tool-input-start", on_input_start},
    {"tool-input-available", on_input},
    {"tool-input-error", on_input_error},
    {"tool-output-available", on_output},
    {"tool-output-error", on_output_error},
    {"tool-output-denied", on_output_denied},
    {"tool-approval-request", on_approval},
    {"tool-approval-response", on_approval},
    {"start", on_start},
    {"start-step", on_step},
    {"finish-step", on_finish_step},
    {"reset-step", on_reset_step},
    {"message-metadata", take_metadata},
    {"finish", on_finish},
    {"file", on_file},
    {"reasoning-file", on_thought_file},
    {"source-url", on_source},
    {"source-document", on_source},
    {"custom", on_custom},
    {"error", on_error},
    {"abort", on_abort},
};

static const struct {
    struct upp_str prefix;
    uint8_t kind;
} blocks[] = {
    {UPP_STR_INIT("text-"), UPP_PART_TEXT},
    {UPP_STR_INIT("reasoning-"), UPP_PART_REASONING},
    {UPP_STR_INIT("thinking-"), UPP_PART_REASONING},
};

static bool is_verb(struct upp_str s)
{
    return wb_str_eq(s, UPP_STR("delta")) || wb_str_eq(s, UPP_STR("start")) || wb_str_eq(s, UPP_STR("end"));
}

static int chunk_of(struct wd_ui_decoder *d, yyjson_val *chunk, struct upp_str type, struct upp_err *err)
{
    for (size_t i = 0; i < WB_LEN(blocks); i++) {
        struct upp_str verb = wb_str_sub(type, blocks[i].prefix.n, SIZE_MAX);
        if (wb_str_starts(type, blocks[i].prefix) && is_verb(verb))
            return on_block(d, chunk, blocks[i].kind, verb, err);
    }
    for (size_t i = 0; i < WB_LEN(chunks); i++)
        if (wb_str_eq(type, wb_cstr(chunks[i].type)))
            return chunks[i].on(d, chunk, err);
    if (wb_str_starts(type, UPP_STR("data-")))
        return on_data(d, chunk, wb_str_sub(type, 5, SIZE_MAX), err);
    d->skipped++;
    return 0;
}

int wd_ui_decode(struct wd_ui_decoder *d, struct upp_str data, int64_t now_ms, struct upp_err *err)
{
    yyjson_val *chunk;
    if (wb_str_eq(data, UPP_STR("[DONE]")))
        return 0;
    d->now_ms = now_ms;
    wb_arena_reset(&d->scratch);
    int r = wj_read(&d->scratch, data, UPP_OPTS(wj_read_opts, .max_bytes = WD_UI_CHUNK), &chunk, err);
    if (r < 0)
        return r;
    struct upp_str type = wj_text_at(chunk, "type");
    if (!type.p)
        return upp_fail(err, UPP_EINVALID, "a chunk is an object with a type");
    d->chunks++;
    d->begun = true;
    r = chunk_of(d, chunk, type, err);
    return r < 0 ? r : wb_arena_check(d->a, err);
}

void wd_ui_decoder_init(struct wd_ui_decoder *d, struct wm_doc *doc, struct wb_arena *a, struct upp_str agent)
{
    *d = (struct wd_ui_decoder){.doc = doc, .a = a, .scratch = WB_ARENA(SCRATCH), .agent = agent};
}

void wd_ui_decoder_done(struct wd_ui_decoder *d)
{
    for (size_t i = 0; i < d->slots.n; i++)
        wb_buf_done(&d->slots.p[i].text);
    wb_vec_done(&d->slots);
    wb_arena_done(&d->scratch);
}

int wd_ui_decode_end(struct wd_ui_decoder *d, struct upp_err *err)
{
    int r = d->begun ? wd_ui_decode_turn(d, err) : 0;
    for (size_t i = 0; i < d->slots.n; i++)
        wb_buf_done(&d->slots.p[i].text);
    d->slots.n = 0;
    d->begun = false;
    d->stop = 0;
    d->usage = (struct wm_doc_turn){0};
    d->id = d->who = d->name = d->model = d->provider = d->time = d->ended = (struct upp_str){0};
    return r;
}

/* ---- Whole streams ------------------------------------------------------------------------------------- */

/* The chunk of a line; empty: another line of Server-Sent Events, or none at all. */
static struct upp_str chunk_in(struct upp_str line)
{
    line = wb_str_trim(line);
    if (wb_str_starts(line, UPP_STR("data:")))
        return wb_str_trim(wb_str_sub(line, 5, SIZE_MAX));
    return line.n && line.p[0] == '{' ? line : (struct upp_str){0};
}

bool wd_ui_is_stream(struct upp_str lines)
{
    static const char *const firsts[] = {"start", "start-step", "text-start", "reasoning-start"};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WD_DOC_MEMORY);
    struct upp_str line, first = {0};
    yyjson_val *v;
    while (!first.n && wb_str_split(&lines, '\n', &line))
        first = chunk_in(line);
    if (!first.n || wj_read(&a, first, UPP_OPTS(wj_read_opts, .max_bytes = WD_UI_CHUNK), &v, NULL) < 0)
        return false;
    struct upp_str type = wj_text_at(v, "type");
    for (size_t i = 0; i < WB_LEN(firsts); i++)
        if (wb_str_eq(type, wb_cstr(firsts[i])))
            return true;
    return false;
}

static int decode_lines(struct wd_ui_decoder *d, struct upp_str lines, int64_t now_ms, struct upp_err *err)
{
    struct upp_str line;
    for (uint64_t number = 1; wb_str_split(&lines, '\n', &line); number++) {
        struct upp_str chunk = chunk_in(line);
        int r = chunk.n ? wd_ui_decode(d, chunk, now_ms, err) : 0;
        if (r < 0)
            return upp_wrap(err, r, "line %" PRIu64, number);
    }
    return wd_ui_decode_end(d, err);
}

int wd_ui_stream_document(struct upp_str lines, struct upp_str agent, int64_t now_ms, struct wb_buf *out,
                          size_t *skipped, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WD_DOC_MEMORY);
    WB_CLEANUP(wm_doc_done) struct wm_doc doc = {0};
    struct wd_ui_decoder d;
    wd_ui_decoder_init(&d, &doc, &a, agent);
    int r = decode_lines(&d, lines, now_ms, err);
    if (r >= 0 && !doc.entries.n)
        r = upp_fail(err, UPP_EINVALID, "there is no message in the stream");
    /* A stream says when its events were, and of nothing else: what came before an event is no later. */
    for (uint32_t i = doc.entries.n; i-- > 1;) {
        struct upp_message *before = &doc.entries.p[i - 1].e.message;
        before->time_ms = WB_MIN(before->time_ms, doc.entries.p[i].e.message.time_ms);
    }
    *skipped = d.skipped;
    wd_ui_decoder_done(&d);
    return r < 0 ? r : wd_doc_write(&doc, &wd_document_ui, NULL, out, NULL, err);
}
