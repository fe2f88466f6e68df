/* upp/client/stream.c — the loop: call the model, read the answer, run its tools, call it again.
 *
 * generate and stream share one state machine. `advance` does one piece of work, and may return one event or queue
 * some.
 *
 * Invariants
 *  1. A model call is retried only while none of its output is in the turn: before its first part.
 *  2. When the turn is over, no step is open and no tool is running.
 */
#include "base/clock.h"
#include "base/hooks.h"
#include "base/opts.h"
#include "upp/client/talk.h"

enum { ASK, READ, BEGIN_ROUND, ROUND, OVER };

/* ---- Events ------------------------------------------------------------------------------------------------- */

static void give(struct upp_stream *s, struct upp_event ev)
{
    s->queue[s->n_queue++] = ev;
}

static void give_start(struct upp_stream *s)
{
    if (!s->started)
        give(s, (struct upp_event){.type = UPP_MESSAGE_START});
    s->started = true;
}

static void give_part_open(struct upp_stream *s, const struct upp_step_event *ev)
{
    static const uint8_t media[] = {
        [UPP_PART_IMAGE] = UPP_IMAGE_DELTA, [UPP_PART_AUDIO] = UPP_AUDIO_DELTA, [UPP_PART_VIDEO] = UPP_VIDEO_DELTA};
    const struct upp_media *m = ev->media;
    uint8_t type = ev->part_kind < WB_LEN(media) ? media[ev->part_kind] : 0;
    give_start(s);
    give(s, (struct upp_event){.type = UPP_CONTENT_BLOCK_START, .index = ev->part});
    if (m && type && (m->source == UPP_SOURCE_BASE64 || m->source == UPP_SOURCE_BYTES))
        give(s,
             (struct upp_event){.type = type, .index = ev->part, .text = s->making.open->parts[ev->part].media->data});
}

static struct upp_event delta_event(const struct upp_stream *s, const struct upp_step_event *ev)
{
    const struct upp_part *p = &s->making.open->parts[ev->part];
    struct upp_event e = {
        .type = UPP_TOOL_CALL_DELTA, .index = ev->part, .text = ev->text, .id = p->id, .name = p->name};
    if (p->kind == UPP_PART_TEXT)
        e.type = s->llm->structure.p ? UPP_OBJECT_DELTA : UPP_TEXT_DELTA;
    else if (p->kind == UPP_PART_REASONING)
        e.type = UPP_REASONING_DELTA;
    return e;
}

/* Converts a step event for the consumer: 1 and *ret, or 0 and perhaps queued events. */
static int convert_event(struct upp_stream *s, const struct upp_step_event *ev, struct upp_event *ret)
{
    switch (ev->kind) {
    case UPP_STEP_DELTA:
        *ret = delta_event(s, ev);
        return 1;
    case UPP_STEP_PART_OPEN:
        give_part_open(s, ev);
        break;
    case UPP_STEP_PART_CLOSE:
        /* A call without arguments gets a delta too. */
        if (s->making.open->parts[ev->part].kind == UPP_PART_CALL && !s->making.growing[ev->part].has_delta)
            give(s, delta_event(s, ev));
        give(s, (struct upp_event){.type = UPP_CONTENT_BLOCK_STOP, .index = ev->part});
        break;
    case UPP_STEP_END:
        give_start(s);
        give(s, (struct upp_event){.type = UPP_MESSAGE_STOP});
        s->started = false;
        break;
    default:
        break;
    }
    return 0;
}

/* ---- Calling the model --------------------------------------------------------------------------------------- */

static int open_step(struct upp_stream *s, struct upp_err *err)
{
    struct upp_retry *retry = s->llm->model->retry;
    uint64_t ms = retry ? upp_retry_before(retry) : 0;
    int r = upp__making_open(&s->making, err);
    if (r >= 0 && ms)
        r = upp_wait_ms(s->wait, ms, err);
    if (r < 0)
        return r;
    s->request.messages = s->making.path;
    s->request.n_messages = s->making.n_path;
    return upp_step_open(s->llm->model, &s->request, s->wait, &s->step, err);
}

static void close_step(struct upp_stream *s)
{
    struct upp_step_event ev;
    while (s->step && upp__step_rest(s->step, &ev) && upp__making_take(&s->making, &ev, NULL) >= 0)
        ;
    upp_step_close(s->step);
    s->step = NULL;
}

/* After a failure of the step: 0: will be retried; else its failure. */
static int try_again(struct upp_stream *s, int r, struct upp_err *err)
{
    struct upp_retry *retry = s->llm->model->retry;
    uint64_t ms = 0;
    bool begun = s->making.open && s->making.open->n_parts;
    close_step(s);
    if (!retry || begun || s->making.turn->arena.failed || r == -UPP_ECANCELED)
        return r;
    if (upp_retry_failed(retry, err, s->request.attempt, &ms) <= 0)
        return r;
    s->request.attempt++;
    s->phase = ASK;
    *err = (struct upp_err){0}; /* later failures need not set it */
    return upp_wait_ms(s->wait, ms, err);
}

static int ask(struct upp_stream *s, struct upp_err *err)
{
    int r = upp__stream_check(s, err);
    if (r < 0)
        return r;
    r = open_step(s, err);
    if (r < 0)
        return try_again(s, r, err);
    s->phase = READ;
    return 0;
}

/* ---- After an answer ------------------------------------------------------------------------------------------- */

static int too_many_rounds(struct upp_stream *s, int max, struct upp_err *err)
{
    const struct upp_tool_strategy *h = &s->llm->strategy;
    int r = h->on_max_iterations ? h->on_max_iterations(h->arg, max, err) : 0;
    return r < 0 ? r : upp__llm_refuse(s->llm, err, "Tool execution exceeded maximum iterations (%d)", max);
}

/* Runs after the events of the answer were delivered: the answer is complete, whatever its calls do. */
static int begin_round(struct upp_stream *s, struct upp_err *err)
{
    int max = s->llm->strategy.max_iterations ? s->llm->strategy.max_iterations : UPP__ITERATIONS;
    if (s->rounds >= (unsigned)max)
        return too_many_rounds(s, max, err);
    s->rounds++;
    s->phase = ROUND;
    return upp__round_begin(s, err);
}

static void answered(struct upp_stream *s, const struct upp_step_event *end)
{
    const struct upp_message *answer = s->making.path[s->making.n_path - 1];
    bool data = end->data.p && s->llm->structure.p;
    close_step(s);
    if (s->llm->model->retry)
        upp_retry_succeeded(s->llm->model->retry);
    s->request.attempt = 1;
    bool runs = !data && s->llm->strategy.max_iterations >= 0 && s->llm->n_tools;
    s->phase = runs && upp_part_next(answer, NULL, UPP_PARTS_CALLS) ? BEGIN_ROUND : OVER;
}

static int read_answer(struct upp_stream *s, struct upp_event *ret, struct upp_err *err)
{
    struct upp_step_event ev;
    int r = upp_step_next(s->step, &ev, err);
    if (WB_UNLIKELY(r <= 0))
        return try_again(s, r ? r : upp_fail(err, UPP_EBUG, "a step ended twice"), err);
    r = upp__making_take(&s->making, &ev, err);
    if (WB_UNLIKELY(r < 0))
        return r;
    int has_event = s->quiet ? 0 : convert_event(s, &ev, ret);
    if (ev.kind == UPP_STEP_END)
        answered(s, &ev);
    else if (s->watched)
        r = upp__stream_check(s, err);
    return r < 0 ? r : has_event;
}

/* ---- The machine ------------------------------------------------------------------------------------------------ */

/* The turn failed: ends everything in progress. */
static int stop(struct upp_stream *s, int r)
{
    s->phase = OVER;
    s->failed = r;
    s->at = s->n_queue = 0;
    if (s->why.code == 0)
        s->why.code = -r;
    close_step(s);
    if (s->guarded) /* running tools need not continue */
        upp_stream_abort(s);
    upp__round_close(s);
    upp__making_cut(&s->making);
    s->done = upp__making_end(&s->making, true);
    return r;
}

/* Does one piece of work: 1: *ret is an event; 0: none (but perhaps in the queue). */
static int advance(struct upp_stream *s, struct upp_event *ret)
{
    int r;
    switch (s->phase) {
    case ASK:
        r = ask(s, &s->why);
        break;
    case READ:
        r = read_answer(s, ret, &s->why);
        break;
    case BEGIN_ROUND:
        r = begin_round(s, &s->why);
        break;
    default:
        r = upp__round_next(s, ret, &s->why);
        if (r == 0)
            s->phase = ASK;
        break;
    }
    if (WB_UNLIKELY(r < 0))
        return stop(s, r);
    if (s->phase == OVER) {
        if (!s->llm->structure.p)
            s->making.turn->pub.data = (struct upp_str){0};
        s->done = upp__making_end(&s->making, false);
        if (!s->done)
            return s->failed = upp_fail(&s->why, UPP_ENOMEM, "no memory for the turn");
    }
    return r;
}

/* Chooses the wait table: the caller's, wrapped in the guard if there is a deadline or the turn can be aborted. */
static int choose_wait(struct upp_stream *s, const struct upp_wait *given, struct upp_err *err)
{
    uint64_t turn_ms = s->llm->model->turn_ms;
    s->wait = NULL;
    s->cancel = NULL;
    s->guarded = !s->quiet || turn_ms;
    if (given) {
        wb_opts(&s->given, sizeof s->given, given);
        s->wait = &s->given;
    }
    s->watched = turn_ms || (given && s->given.stopped);
    if (!s->guarded)
        return 0;
    int r = s->quiet || given ? 0 : upp_cancel_new(&s->cancel, err);
    upp__guard_init(&s->guard, s->cancel ? upp_cancel_wait(s->cancel) : s->wait, turn_ms);
    s->guard.ours = s->cancel;
    s->wait = &s->guard.table;
    return r;
}

static int stream_begin(struct upp_stream *s, struct upp_llm *llm, const struct upp_input *given, bool quiet,
                        struct upp_err *err)
{
    struct upp_input in;
    wb_opts(&in, sizeof in, given);
    s->llm = llm;
    s->quiet = quiet;
    s->at = s->n_queue = 0;
    s->phase = ASK;
    s->rounds = 0;
    s->started = false;
    s->step = NULL;
    s->done = NULL;
    s->failed = 0;
    s->why.code = 0;
    s->why.msg[0] = 0;
    s->why.provider[0] = 0;
    s->making.turn = NULL;
    s->round = (struct upp__round){0};
    s->value = (struct upp_value)UPP__VALUE;
    s->request = (struct upp_request){.system = llm->system,
                                      .params = llm->params,
                                      .tools = llm->specs,
                                      .n_tools = llm->n_tools,
                                      .structure = llm->structure,
                                      .attempt = 1,
                                      .whole = quiet,
                                      .on_loss = upp__making_loss,
                                      .on_loss_arg = &s->making};
    int r = choose_wait(s, in.wait, err);
    return r < 0 ? r : upp__making_begin(&s->making, llm, &in, err);
}

static void end(struct upp_stream *s)
{
    close_step(s);
    upp__round_close(s);
    upp__making_done(&s->making);
    upp__value_done(&s->value);
    upp_cancel_free(s->cancel);
}

/* ---- generate --------------------------------------------------------------------------------------------------- */

int upp_generate(struct upp_llm *llm, const struct upp_input *in, struct upp_turn **ret, struct upp_err *err)
{
    struct upp_stream s;
    int r = stream_begin(&s, llm, in, true, err);
    *ret = NULL;
    if (r >= 0) {
        while (s.phase != OVER && (r = advance(&s, NULL)) >= 0)
            ;
        *ret = s.done;
        if (r < 0 && err)
            *err = s.why;
    }
    end(&s);
    return r < 0 ? r : 0;
}

int upp_ask(struct upp_llm *llm, struct upp_str text, struct upp_turn **ret, struct upp_err *err)
{
    return upp_generate(llm, UPP_OPTS(upp_input, .text = text), ret, err);
}

/* ---- stream ----------------------------------------------------------------------------------------------------- */

int upp_stream_open(struct upp_llm *llm, const struct upp_input *in, struct upp_stream **ret, struct upp_err *err)
{
    int r = upp__llm_may(llm, true, err);
    if (r < 0)
        return r;
    struct upp_stream *s = wb_alloc(sizeof *s);
    if (!s)
        return upp_fail(err, UPP_ENOMEM, "no memory for a stream");
    r = stream_begin(s, llm, in, false, err);
    if (r < 0) {
        upp_stream_close(s);
        return r;
    }
    *ret = s;
    return 0;
}

int upp_stream_next(struct upp_stream *s, struct upp_event *ret, struct upp_err *err)
{
    for (;;) {
        if (WB_UNLIKELY(atomic_load_explicit(&s->guard.aborted, memory_order_relaxed)) && !s->done && !s->failed) {
            int r = upp__guard_check(&s->guard, &s->why);
            r = stop(s, r);
            if (err)
                *err = s->why;
            return r;
        }
        if (s->at < s->n_queue) {
            *ret = s->queue[s->at++];
            return 1;
        }
        s->at = s->n_queue = 0;
        if (s->phase == OVER)
            return 0;
        int r = advance(s, ret);
        if (r > 0)
            return 1;
        if (r < 0) {
            if (err)
                *err = s->why;
            return r;
        }
    }
}

int upp_stream_turn(struct upp_stream *s, const struct upp_turn **ret, struct upp_err *err)
{
    struct upp_event ev;
    int r;
    while ((r = upp_stream_next(s, &ev, err)) > 0)
        ;
    *ret = s->done;
    if (s->failed && err)
        *err = s->why;
    return s->failed;
}

void upp_stream_abort(struct upp_stream *s)
{
    atomic_store_explicit(&s->guard.aborted, true, memory_order_relaxed);
    if (s->cancel)
        upp_cancel_fire(s->cancel);
}

void upp_stream_close(struct upp_stream *s)
{
    if (!s)
        return;
    upp_stream_abort(s); /* running tools see it; they are waited for below */
    end(s);
    upp_turn_free(s->done);
    wb_free(s);
}

void upp_stream_closep(struct upp_stream **s)
{
    upp_stream_close(*s);
}
