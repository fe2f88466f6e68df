/* support/decode/uap.c — AgentStreamEvents, gathered into the entries of a document. */
#include "support/decode/uap.h"

#include "base/err.h"
#include "json/read.h"
#include "json/value.h"

enum { SCRATCH = 1 << 30 }; /* json/read.h: 13 bytes for one */

/* A text of the event that outlives it; no text stays none. */
static struct upp_str keep(struct wd_uap_decoder *d, struct upp_str s)
{
    return s.p ? wb_arena_dup(d->a, s) : s;
}

static int too_many(size_t n, const char *what, struct upp_err *err)
{
    return n < WD_UAP_BLOCKS ? upp_fail(err, UPP_ENOMEM, "no memory for %s", what)
                             : upp_fail(err, UPP_ELIMIT, "more than %d %s", WD_UAP_BLOCKS, what);
}

/* ---- Entries --------------------------------------------------------------------------------------------- */

/* Whose turn it is; a new one where another agent speaks, or in another run. */
static int turn_of(struct wd_uap_decoder *d, uint32_t *agent, struct upp_err *err)
{
    struct upp_str id = d->who.p ? d->who : d->agent.p ? d->agent : UPP_STR("agent");
    struct wm_doc_agent a = {.id = id, .name = id};
    struct wm_doc_turn *turn = d->doc->turns.n > d->turns ? &d->doc->turns.p[d->doc->turns.n - 1] : NULL;
    int r = 0;
    *agent = wm_doc_agent_find(d->doc, id);
    if (*agent == WM_NO_AGENT)
        r = wm_doc_agent_add(d->doc, &a, agent, err);
    if (r < 0)
        return r;
    if (turn && turn->agent == *agent && wb_str_eq(turn->run, d->run))
        return 0;
    turn = wm_doc_turn_add(d->doc, err);
    if (!turn)
        return d->doc->turns.n < WM_DOC_ENTRIES ? -UPP_ENOMEM : -UPP_ELIMIT;
    turn->agent = *agent;
    turn->run = d->run;
    return 0;
}

static int entry_add(struct wd_uap_decoder *d, uint8_t role, struct wm_doc_entry **ret, struct upp_err *err)
{
    uint32_t agent;
    int r = turn_of(d, &agent, err);
    if (r < 0)
        return r;
    if (!wb_vec_push(&d->numbers, d->number, (size_t)WM_DOC_ENTRIES))
        return upp_fail(err, UPP_ENOMEM, "no memory for an entry");
    struct wm_doc_entry *e = wm_doc_entry_add(d->doc, err);
    if (!e) {
        d->numbers.n--;
        return d->doc->entries.n < WM_DOC_ENTRIES ? -UPP_ENOMEM : -UPP_ELIMIT;
    }
    e->agent = agent;
    e->e.who = d->doc->agents.p[agent].name;
    e->e.message.role = role;
    e->e.message.time_ms = d->now_ms;
    d->doc->turns.p[d->doc->turns.n - 1].n++;
    *ret = e;
    return 0;
}

/* Takes the last entry back. */
static void entry_drop(struct wd_uap_decoder *d)
{
    struct wm_doc *doc = d->doc;
    doc->entries.n--;
    d->numbers.n--;
    if (!--doc->turns.p[doc->turns.n - 1].n)
        doc->turns.n--;
}

/* ---- What a model says ------------------------------------------------------------------------------------- */

static void blocks_clear(struct wd_uap_decoder *d)
{
    for (size_t i = 0; i < d->blocks.n; i++)
        wb_buf_done(&d->blocks.p[i].text);
    d->blocks.n = 0;
    d->speaking = false;
}

/* The block of an index, made where there is none. Where no event says that blocks begin, their deltas do. */
static int block_of(struct wd_uap_decoder *d, uint64_t index, uint8_t kind, struct wd_uap_block **ret,
                    struct upp_err *err)
{
    struct wd_uap_block made = {.index = index, .kind = kind, .open = true, .text = WB_BUF(WD_UAP_EVENT)};
    for (size_t i = d->blocks.n; i--;) {
        struct wd_uap_block *b = &d->blocks.p[i];
        if (b->index != index || (b->kind && kind && b->kind != kind))
            continue;
        if (kind)
            b->kind = kind;
        *ret = b;
        return 0;
    }
    if (!wb_vec_push(&d->blocks, made, (size_t)WD_UAP_BLOCKS))
        return too_many(d->blocks.n, "blocks in a message", err);
    *ret = &d->blocks.p[d->blocks.n - 1];
    return 0;
}

static int on_delta(struct wd_uap_decoder *d, uint64_t index, uint8_t kind, yyjson_val *delta, struct upp_err *err)
{
    struct wd_uap_block *b;
    int r = block_of(d, index, kind, &b, err);
    if (r < 0)
        return r;
    d->speaking = true;
    if (kind == UPP_PART_CALL) {
        if (!b->id.n)
            b->id = keep(d, wj_text_at(delta, "toolCallId"));
        if (!b->name.n)
            b->name = keep(d, wj_text_at(delta, "toolName"));
    }
    wb_buf_add(&b->text, wj_text_at(delta, kind == UPP_PART_CALL    ? "argumentsJson"
                                           : kind >= UPP_PART_IMAGE ? "data"
                                                                    : "text"));
    return wb_buf_check(&b->text, err);
}

static int part_of(struct wd_uap_decoder *d, struct wd_uap_block *b, bool stopped, struct upp_part *to,
                   struct upp_err *err)
{
    struct upp_str text = wb_arena_dup(d->a, b->text.n ? wb_buf_str(&b->text) : UPP_STR(""));
    *to = (struct upp_part){.kind = b->kind, .cut = !stopped && b->open};
    if (b->kind >= UPP_PART_IMAGE && b->kind <= UPP_PART_VIDEO) {
        struct upp_media *m = wb_new(d->a, struct upp_media);
        if (m)
            *m = (struct upp_media){.source = UPP_SOURCE_BASE64, .data = text};
        to->media = m;
        return wb_arena_check(d->a, err);
    }
    to->text = text;
    if (b->kind != UPP_PART_CALL)
        return wb_arena_check(d->a, err);
    to->id = b->id;
    to->name = b->name;
    int r = wb_arena_check(d->a, err);
    return r < 0 ? r : wd_upp_call_note(&d->calls, to, err);
}

/* The message that was open. Its calls are cut until an action says that they can be run. */
static int message_end(struct wd_uap_decoder *d, bool stopped, struct upp_err *err)
{
    struct wm_doc_entry *e;
    size_t n = 0;
    bool called = false;
    for (size_t i = 0; i < d->blocks.n; i++)
        n += d->blocks.p[i].kind != 0;
    if (!d->speaking || (!n && !stopped)) {
        blocks_clear(d);
        return 0;
    }
    struct upp_part *parts = n ? wb_new_n(d->a, struct upp_part, n) : NULL;
    int r = wb_arena_check(d->a, err);
    for (size_t i = 0, k = 0; r >= 0 && i < d->blocks.n; i++)
        if (d->blocks.p[i].kind) {
            r = part_of(d, &d->blocks.p[i], stopped, &parts[k], err);
            called |= parts[k].kind == UPP_PART_CALL;
            parts[k].cut |= parts[k].kind == UPP_PART_CALL;
            k++;
        }
    if (r >= 0)
        r = entry_add(d, UPP_ROLE_ASSISTANT, &e, err);
    if (r < 0)
        return r;
    e->e.message.parts = parts;
    e->e.message.n_parts = n;
    e->e.message.interrupted = !stopped;
    d->last = (uint32_t)(d->doc->entries.n - 1);
    d->asked = called;
    blocks_clear(d);
    return 0;
}

/* ---- Tools ----------------------------------------------------------------------------------------------- */

static int result_of(struct wd_uap_decoder *d, yyjson_val *v, struct upp_part *to, struct upp_err *err)
{
    struct upp_str id = wj_text_at(v, "toolCallId"), name = wj_text_at(v, "toolName");
    *to = (struct upp_part){.kind = UPP_PART_RESULT,
                            .id = keep(d, id.p ? id : UPP_STR("")),
                            .name = name.p ? keep(d, name) : wd_upp_call_tool(&d->calls, id),
                            .text = UPP_STR("null"),
                            .is_error = yyjson_is_true(yyjson_obj_get(v, "isError"))};
    int r = wb_arena_check(d->a, err);
    return r < 0 ? r : wj_value_text(d->a, yyjson_obj_get(v, "result"), &to->text, err);
}

/* A call of which there is a result was run. */
static void was_run(struct wd_uap_decoder *d, struct upp_str id)
{
    struct upp_message *m = d->asked ? &d->doc->entries.p[d->last].e.message : NULL;
    for (size_t i = 0; m && i < m->n_parts; i++)
        if (m->parts[i].kind == UPP_PART_CALL && wb_str_eq(m->parts[i].id, id))
            m->parts[i].cut = false;
}

static int results_add(struct wd_uap_decoder *d, struct upp_part *parts, size_t n, struct upp_err *err)
{
    struct wm_doc_entry *e;
    int r = n ? entry_add(d, UPP_ROLE_TOOL, &e, err) : 0;
    if (r < 0 || !n)
        return r;
    e->e.message.parts = parts;
    e->e.message.n_parts = n;
    return 0;
}

/* Results that nothing has gathered. */
static int results_flush(struct wd_uap_decoder *d, struct upp_err *err)
{
    size_t n = d->results.n;
    struct upp_part *parts = n ? wb_new_n(d->a, struct upp_part, n) : NULL;
    int r = wb_arena_check(d->a, err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        parts[i] = d->results.p[i].part;
    if (r >= 0)
        r = results_add(d, parts, n, err);
    if (r >= 0)
        d->results.n = 0;
    return r;
}

static int on_tool_end(struct wd_uap_decoder *d, yyjson_val *delta, struct upp_err *err)
{
    struct wd_uap_result result = {.number = d->number};
    int r = result_of(d, delta, &result.part, err);
    if (r < 0)
        return r;
    was_run(d, result.part.id);
    return wb_vec_push(&d->results, result, (size_t)WD_UAP_BLOCKS) ? 0 : too_many(d->results.n, "results", err);
}

/* All results of a round, in the order in which a model gets them. */
static int on_observation(struct wd_uap_decoder *d, yyjson_val *data, struct upp_err *err)
{
    yyjson_val *list = yyjson_obj_get(data, "results"), *v;
    size_t n = yyjson_arr_size(list), i, max;
    if (n > WD_UAP_BLOCKS)
        return too_many(n, "results", err);
    struct upp_part *parts = n ? wb_new_n(d->a, struct upp_part, n) : NULL;
    int r = wb_arena_check(d->a, err);
    yyjson_arr_foreach(list, i, max, v)
    {
        if (r >= 0)
            r = result_of(d, v, &parts[i], err);
        if (r >= 0)
            was_run(d, parts[i].id);
    }
    if (r >= 0)
        r = results_add(d, parts, n, err);
    if (r >= 0)
        d->results.n = 0;
    return r;
}

static int on_action(struct wd_uap_decoder *d, yyjson_val *data, struct upp_err *err)
{
    yyjson_val *v;
    size_t i, max;
    (void)err;
    yyjson_arr_foreach(yyjson_obj_get(data, "toolCalls"), i, max, v)
    {
        if (i < WD_UAP_BLOCKS)
            was_run(d, wj_text_at(v, "toolCallId"));
    }
    return 0;
}

/* ---- Events ---------------------------------------------------------------------------------------------- */

static void put(struct wj_writer *w, const char *name, yyjson_val *v)
{
    if (!v)
        return;
    wj_write_name(w, wb_cstr(name));
    wj_write_value(w, v);
}

static int event_add(struct wd_uap_decoder *d, struct upp_str type, yyjson_val *data, yyjson_val *source,
                     yyjson_val *targets, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(2 * (size_t)WD_UAP_EVENT);
    struct wj_writer w;
    struct wm_doc_entry *e;
    wj_writer_init(&w, &b, err);
    wj_write_open(&w, '{');
    wj_write_name(&w, UPP_STR("type"));
    wj_write_str(&w, type.p ? type : UPP_STR(""));
    put(&w, "data", data);
    put(&w, "source", source);
    put(&w, "targets", targets);
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    struct upp_str text = r < 0 ? (struct upp_str){0} : wb_arena_dup(d->a, wb_buf_str(&b));
    if (r >= 0)
        r = wb_arena_check(d->a, err);
    if (r >= 0)
        r = entry_add(d, 0, &e, err);
    if (r < 0)
        return r;
    e->e.kind = WM_ENTRY_EVENT;
    e->e.data = text;
    return 0;
}

static int on_system_event(struct wd_uap_decoder *d, yyjson_val *data, struct upp_err *err)
{
    return event_add(d, wj_text_at(data, "eventType"), yyjson_obj_get(data, "eventData"),
                     yyjson_obj_get(data, "sourceAgent"), yyjson_obj_get(data, "targetAgents"), err);
}

/* What came after the last event that counts is taken back. */
static int on_void(struct wd_uap_decoder *d, yyjson_val *data, struct upp_err *err)
{
    uint64_t last = wd_number_at(data, "last");
    (void)err;
    blocks_clear(d);
    if (!d->number || !yyjson_obj_get(data, "last"))
        return 0;
    while (d->numbers.n && d->numbers.p[d->numbers.n - 1] > last)
        entry_drop(d);
    while (d->results.n && d->results.p[d->results.n - 1].number > last)
        d->results.n--;
    d->asked = d->asked && d->last < d->doc->entries.n;
    return 0;
}

/* ---- Runs ------------------------------------------------------------------------------------------------ */

static bool has_ended(struct upp_str status)
{
    static const struct upp_str words[] = {UPP_STR_INIT("completed"), UPP_STR_INIT("incomplete"),
                                           UPP_STR_INIT("failed"), UPP_STR_INIT("cancelled"), UPP_STR_INIT("expired")};
    for (size_t i = 0; i < WB_LEN(words); i++)
        if (wb_str_eq(status, words[i]))
            return true;
    return false;
}

static void usage_of(struct wd_uap_decoder *d, yyjson_val *v)
{
    struct wm_doc_turn *turn = d->doc->turns.n > d->turns ? &d->doc->turns.p[d->doc->turns.n - 1] : NULL;
    if (!turn || !yyjson_is_obj(v))
        return;
    turn->has_usage = true;
    turn->usage = (struct upp_usage){.input = wd_number_at(v, "inputTokens"),
                                     .output = wd_number_at(v, "outputTokens"),
                                     .cache_read = wd_number_at(v, "cacheReadTokens"),
                                     .cache_write = wd_number_at(v, "cacheWriteTokens")};
}

static int on_run(struct wd_uap_decoder *d, yyjson_val *data, struct upp_err *err)
{
    struct upp_str status = wj_text_at(data, "status"), run = wj_text_at(data, "runId");
    if (run.p && !wb_str_eq(run, d->run))
        d->run = keep(d, run);
    if (!has_ended(status))
        return 0;
    int r = message_end(d, false, err);
    if (r >= 0)
        r = results_flush(d, err);
    if (r >= 0 && wb_str_eq(status, UPP_STR("failed")))
        r = event_add(d, UPP_STR("stream.error"), yyjson_obj_get(data, "error"), NULL, NULL, err);
    else if (r >= 0 && !wb_str_eq(status, UPP_STR("completed")) && !wb_str_eq(status, UPP_STR("incomplete")))
        r = event_add(d, UPP_STR("stream.abort"), yyjson_obj_get(data, "status"), NULL, NULL, err);
    if (r >= 0)
        usage_of(d, yyjson_obj_get(data, "usage"));
    return r;
}

static int on_step_start(struct wd_uap_decoder *d, yyjson_val *data, struct upp_err *err)
{
    (void)data;
    return results_flush(d, err);
}

static int on_nothing(struct wd_uap_decoder *d, yyjson_val *data, struct upp_err *err)
{
    (void)d, (void)data, (void)err;
    return 0;
}

/* ---- The tables ------------------------------------------------------------------------------------------ */

static const struct {
    const char *type;
    int (*on)(struct wd_uap_decoder *d, yyjson_val *data, struct upp_err *err);
} uap_events[] = {
    {"run", on_run},
    {"step_start", on_step_start},
    {"step_end", on_nothing},
    {"reasoning", on_nothing},
    {"action", on_action},
    {"observation", on_observation},
    {"checkpoint", on_nothing},
    {"system_event", on_system_event},
    {"attempt_void", on_void},
};

static int uap_event(struct wd_uap_decoder *d, yyjson_val *uap, struct upp_err *err)
{
    struct upp_str type = wj_text_at(uap, "type"), who = wj_text_at(uap, "agentId");
    yyjson_val *data = yyjson_obj_get(uap, "data");
    if (!type.p)
        return upp_fail(err, UPP_EINVALID, "an event of UAP has a type");
    if (wd_number_at(data, "depth"))
        return 0;
    if (who.p && !wb_str_eq(who, d->who))
        d->who = keep(d, who);
    for (size_t i = 0; i < WB_LEN(uap_events); i++)
        if (wb_str_eq(type, wb_cstr(uap_events[i].type)))
            return uap_events[i].on(d, data, err);
    d->skipped++;
    return 0;
}

static int block_event(struct wd_uap_decoder *d, uint64_t index, bool start, struct upp_err *err)
{
    struct wd_uap_block *b;
    int r = block_of(d, index, 0, &b, err);
    if (r < 0)
        return r;
    d->speaking = true;
    if (!start)
        b->open = false;
    return 0;
}

static int upp_event(struct wd_uap_decoder *d, yyjson_val *upp, struct upp_err *err)
{
    static const struct {
        const char *type;
        uint8_t kind;
    } deltas[] = {
        {"text_delta", UPP_PART_TEXT},      {"reasoning_delta", UPP_PART_REASONING}, {"object_delta", UPP_PART_TEXT},
        {"tool_call_delta", UPP_PART_CALL}, {"image_delta", UPP_PART_IMAGE},         {"audio_delta", UPP_PART_AUDIO},
        {"video_delta", UPP_PART_VIDEO},
    };
    struct upp_str type = wj_text_at(upp, "type");
    uint64_t index = wd_number_at(upp, "index");
    yyjson_val *delta = yyjson_obj_get(upp, "delta");
    if (!type.p)
        return upp_fail(err, UPP_EINVALID, "an event of UPP has a type");
    for (size_t i = 0; i < WB_LEN(deltas); i++)
        if (wb_str_eq(type, wb_cstr(deltas[i].type)))
            return on_delta(d, index, deltas[i].kind, delta, err);
    if (wb_str_eq(type, UPP_STR("message_start"))) {
        int r = message_end(d, false, err);
        if (r >= 0)
            r = results_flush(d, err);
        d->speaking = r >= 0;
        return r;
    }
    if (wb_str_eq(type, UPP_STR("message_stop")))
        return message_end(d, true, err);
    if (wb_str_eq(type, UPP_STR("content_block_start")) || wb_str_eq(type, UPP_STR("content_block_stop")))
        return block_event(d, index, wb_str_eq(type, UPP_STR("content_block_start")), err);
    if (wb_str_eq(type, UPP_STR("tool_execution_end")))
        return on_tool_end(d, delta, err);
    d->skipped += !wb_str_eq(type, UPP_STR("tool_execution_start"));
    return 0;
}

int wd_uap_decode(struct wd_uap_decoder *d, struct upp_str data, uint64_t number, int64_t now_ms, struct upp_err *err)
{
    yyjson_val *v;
    wb_arena_reset(&d->scratch);
    int r = wj_read(&d->scratch, data, UPP_OPTS(wj_read_opts, .max_bytes = WD_UAP_EVENT), &v, err);
    if (r < 0)
        return r;
    yyjson_val *uap = yyjson_obj_get(v, "uap"), *upp = yyjson_obj_get(v, "upp");
    if (!yyjson_is_obj(uap) && !yyjson_is_obj(upp))
        return upp_fail(err, UPP_EINVALID, "an event is an object with one of UAP or one of UPP");
    d->now_ms = now_ms;
    d->number = number;
    d->events++;
    if (wj_text_at(v, "aside").p || wd_number_at(v, "depth"))
        return 0; /* what nobody is told */
    r = yyjson_is_obj(uap) ? uap_event(d, uap, err) : upp_event(d, upp, err);
    return r < 0 ? r : wb_arena_check(d->a, err);
}

int wd_uap_decode_end(struct wd_uap_decoder *d, struct upp_err *err)
{
    int r = message_end(d, false, err);
    return r < 0 ? r : results_flush(d, err);
}

void wd_uap_decoder_init(struct wd_uap_decoder *d, struct wm_doc *doc, struct wb_arena *a, struct upp_str agent)
{
    *d = (struct wd_uap_decoder){.doc = doc,
                                 .a = a,
                                 .scratch = WB_ARENA(SCRATCH),
                                 .agent = agent,
                                 .first = doc->entries.n,
                                 .turns = doc->turns.n};
}

void wd_uap_decoder_done(struct wd_uap_decoder *d)
{
    blocks_clear(d);
    wb_vec_done(&d->blocks);
    wb_vec_done(&d->results);
    wb_vec_done(&d->numbers);
    wd_upp_calls_done(&d->calls);
    wb_arena_done(&d->scratch);
}
