/* agent/middleware/memory.c — UAP-10.4: shortens what the model receives of a long conversation.
 *
 * The log does not change. Tokens are estimated (run/settings/window.h). The remaining list begins with a user message;
 * a call and its result are omitted together, and the input of this run always stays.
 */
#include "agent/middleware/middleware.h"
#include "base/hooks.h"
#include "model/upp_json.h"
#include "run/settings/window.h"
#include "upp/client/call.h"

enum { MAX_TOKENS = 8000, KEEP_LAST = 4, SUMMARY_BYTES = 1 << 20 };

struct memory {
    struct weft_memory_opts opts;
};

static uint64_t tokens_from(const struct upp_request *q, size_t from)
{
    uint64_t n = 0;
    for (size_t i = from; i < q->n_messages; i++)
        n += wr_message_tokens(q->messages[i]);
    return n;
}

/* What always stays: the input and the text retrieved for it, from the first to the last message. */
struct input_span {
    size_t first, last; /* SIZE_MAX: there is no input */
};

static struct input_span input_span_of(struct weft_run *run)
{
    struct input_span q = {SIZE_MAX, SIZE_MAX};
    if (wr_run_enriched(run)) {
        (void)weft_run_history(run, &q.first);
        q.last = wr_run_enriched_at(run);
    }
    return q;
}

/* True if the list may begin here: before the input with a user message; after it, where the input is put in front,
 * with a message of the model. So no result is without its call. */
static bool may_begin(const struct upp_request *q, size_t at, struct input_span input_span)
{
    if (at <= input_span.first)
        return q->messages[at]->role == UPP_ROLE_USER;
    return at > input_span.last && q->messages[at]->role == UPP_ROLE_ASSISTANT;
}

/* The index where the list begins: as early as the tokens fit, but not later than the last `keep` messages. */
static size_t begin_at(const struct upp_request *q, struct input_span input_span, uint64_t room, size_t keep)
{
    size_t last = q->n_messages > keep ? q->n_messages - keep : 0, best = 0;
    uint64_t left = tokens_from(q, 0), always = 0;
    for (size_t i = input_span.first; i <= input_span.last && i < q->n_messages; i++)
        always += wr_message_tokens(q->messages[i]);
    for (size_t at = 0; at <= last && at < q->n_messages; at++) {
        if (at == 0 || may_begin(q, at, input_span)) {
            best = at;
            if (left + (at > input_span.last ? always : 0) <= room)
                break;
        }
        left -= wr_message_tokens(q->messages[at]);
    }
    return best;
}

static int truncate_list(const struct memory *m, struct weft_context *c, struct upp_request *q, struct upp_err *err)
{
    struct input_span input_span = input_span_of(c->run);
    uint64_t frame = wr_frame_tokens(q);
    uint64_t room = frame < m->opts.max_tokens ? m->opts.max_tokens - frame : 0;
    size_t from = begin_at(q, input_span, room, m->opts.keep_last);
    if (!from)
        return 0;
    const struct upp_message **list = wb_new_n(wa_context_memory(c), const struct upp_message *, q->n_messages);
    if (!list)
        return wb_arena_check(wa_context_memory(c), err);
    size_t n = 0;
    for (size_t i = input_span.first; from > input_span.last && i <= input_span.last; i++)
        list[n++] = q->messages[i];
    for (size_t i = from; i < q->n_messages; i++)
        list[n++] = q->messages[i];
    q->messages = list;
    q->n_messages = n;
    return 0;
}

static const struct upp_str instruction =
    UPP_STR_INIT("Summarise the conversation that follows for yourself, so that it can be gone on with: facts, names, "
                 "numbers, decisions, open questions. Answer with the summary alone.");

static void add_text(struct wb_buf *out, const struct upp_message *m)
{
    static const char *const roles[] = {"", "User", "Assistant", "Tool"};
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        if (p->kind == UPP_PART_CALL)
            wb_buf_addf(out, "Assistant calls %.*s: %.*s\n", UPP_FMT(p->name), UPP_FMT(p->text));
        else if (p->kind == UPP_PART_TEXT || p->kind == UPP_PART_RESULT)
            wb_buf_addf(out, "%s: %.*s\n", roles[m->role], UPP_FMT(p->text));
    }
}

/* The model's reply to one message, as text. */
static WEFT_SUSPENDS int ask(const struct upp_model *model, struct weft_context *c, struct upp_str text,
                             struct wb_buf *ret, struct upp_usage *usage, struct upp_err *err)
{
    UPP_CLEANUP(upp_step_closep) struct upp_step *step = NULL;
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = text};
    struct upp_message m = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    const struct upp_message *list = &m;
    struct upp_request q = {.messages = &list, .n_messages = 1, .system = instruction, .attempt = 1, .whole = true};
    struct upp_step_event ev;
    bool texts = false;
    int r = upp_step_open(model, &q, wr_run_wait(c->run), &step, err);
    while (r >= 0 && (r = upp_step_next(step, &ev, err)) > 0) {
        if (ev.kind == UPP_STEP_PART_OPEN)
            texts = ev.part_kind == UPP_PART_TEXT;
        if (ev.kind == UPP_STEP_DELTA && texts)
            wb_buf_add(ret, ev.text);
        if (ev.kind == UPP_STEP_END)
            *usage = ev.usage;
    }
    return r < 0 ? r : wb_buf_check(ret, err);
}

static WEFT_SUSPENDS int summarise(const struct memory *m, struct weft_context *c, size_t covers, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf transcript = WB_BUF(64u << 20), summary = WB_BUF(SUMMARY_BYTES);
    const struct upp_model *model = m->opts.model ? m->opts.model : wr_run_model(c->run);
    struct upp_usage usage = {0};
    size_t n;
    const struct upp_message *const *history = weft_run_history(c->run, &n);
    for (size_t i = 0; i < covers && i < n; i++)
        add_text(&transcript, history[i]);
    wb_buf_add(&summary, UPP_STR("Summary of the conversation so far: "));
    size_t front = summary.n;
    int r = wb_buf_check(&transcript, err);
    if (r >= 0)
        r = ask(model, c, wb_buf_str(&transcript), &summary, &usage, err);
    if (r >= 0 && summary.n == front)
        r = upp_fail(err, UPP_EPROVIDER, "the model said nothing");
    if (r < 0)
        return upp_wrap(err, r, "summary of the conversation");
    return wr_run_summarise(c->run, covers, wb_buf_str(&summary), &usage, err);
}

/* The number of messages of the history to summarise: up to the last index where a list may begin, without the last
 * `keep_last`. 0: none, or nothing beyond the present summary. */
static size_t messages_to_summarise(const struct memory *m, struct weft_context *c, const struct upp_request *q)
{
    size_t n;
    const struct upp_message *const *history = weft_run_history(c->run, &n);
    if (!n || n > q->n_messages || q->messages[0] != history[0])
        return 0; /* the list was truncated already */
    size_t last = q->n_messages > m->opts.keep_last ? q->n_messages - m->opts.keep_last : 0;
    for (size_t at = WB_MIN(last, n); at > 1; at--)
        if (at == n || q->messages[at]->role == UPP_ROLE_USER)
            return at;
    return 0;
}

static WEFT_SUSPENDS int view(void *own, struct weft_context *c, struct upp_request *q, struct upp_err *err)
{
    const struct memory *m = own;
    if (wr_frame_tokens(q) + tokens_from(q, 0) <= m->opts.max_tokens)
        return 0;
    size_t covers = m->opts.mode == WEFT_SUMMARISE ? messages_to_summarise(m, c, q) : 0;
    if (covers) {
        /* A copy: the request has the run's own list, which is about to change. */
        const struct upp_message **list = wb_new_n(wa_context_memory(c), const struct upp_message *, q->n_messages);
        size_t n = q->n_messages - covers + 1;
        if (!list)
            return wb_arena_check(wa_context_memory(c), err);
        for (size_t i = 1; i < n; i++)
            list[i] = q->messages[i + covers - 1];
        int r = summarise(m, c, covers, err);
        if (r < 0)
            return r;
        list[0] = weft_run_history(c->run, &covers)[0];
        q->messages = list;
        q->n_messages = n;
    }
    return truncate_list(m, c, q, err);
}

static WEFT_SUSPENDS int before(void *own, struct weft_context *c, struct upp_err *err)
{
    const struct memory *m = own;
    if (m->opts.mode != WEFT_RETRIEVE || !c->input)
        return 0;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct upp_value value = UPP__VALUE;
    struct upp_str input = wm_message_text(&a, c->input);
    int r = wb_arena_check(&a, err);
    if (r >= 0)
        r = m->opts.retriever(m->opts.arg, input, &value, err);
    if (r >= 0 && value.set) {
        /* Formatted like a tool result: a string verbatim, other values as JSON. */
        struct upp_part part = {.kind = UPP_PART_RESULT, .text = upp_value_get(&value)};
        struct upp_message result = {.role = UPP_ROLE_TOOL, .parts = &part, .n_parts = 1};
        struct upp_str text = wm_message_text(&a, &result);
        r = wb_arena_check(&a, err);
        if (r >= 0 && text.n)
            r = wr_run_remember(c->run, text, err);
    }
    upp__value_done(&value);
    return r < 0 ? upp_wrap(err, r, "memory") : 0;
}

static int make(const void *opts, void **own, struct upp_err *err)
{
    void *copy = NULL;
    int r = wa_opts_copy(opts, sizeof(struct weft_memory_opts), &copy, err);
    if (r < 0)
        return r;
    struct weft_memory_opts *o = copy;
    o->max_tokens = o->max_tokens ? o->max_tokens : MAX_TOKENS;
    o->keep_last = o->keep_last ? o->keep_last : KEEP_LAST;
    o->mode = o->mode ? o->mode : WEFT_TRUNCATE;
    if (o->mode > WEFT_RETRIEVE)
        r = upp_fail(err, UPP_EINVALID, "mode %u is none of truncate, summarise, retrieve", o->mode);
    else if (o->mode == WEFT_RETRIEVE && !o->retriever)
        r = upp_fail(err, UPP_EINVALID, "mode retrieve needs a retriever");
    if (r < 0)
        return wb_free(copy), r;
    *own = copy;
    return 0;
}

static void drop(void *own)
{
    wb_free(own);
}

/* A summary is made of the whole history. */
static struct wr_window window(const void *own)
{
    const struct memory *m = own;
    if (m->opts.mode == WEFT_SUMMARISE)
        return (struct wr_window){0};
    return (struct wr_window){.tokens = m->opts.max_tokens, .keep = m->opts.keep_last};
}

const struct weft_middleware_kind wa_memory = {
    .name = "memory", .make = make, .free = drop, .before = before, .view = view, .window = window};

struct weft_middleware weft_memory_with(const struct weft_memory_opts *opts)
{
    return (struct weft_middleware){.name = "memory", .kind = &wa_memory, .opts = opts};
}
