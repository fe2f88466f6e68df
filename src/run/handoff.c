/* run/handoff.c — one agent hands over the thread to another, within one run.
 *
 * The request is part of the state from the next commit on. When its step has ended, one row holds the event, the
 * boundary between the two turns, the prompt of the other agent, and a state that names the other agent. So after a
 * crash the run is before or after the handoff, never between.
 */
#include <ctype.h>

#include "base/crash.h"
#include "base/vec_add.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "run/event.h"
#include "run/path.h"
#include "run/step.h"
#include "run/tools.h"
#include "run/run.h"

enum { HANDOFFS = 8 };

const struct upp_str wr_handoff_parameters = UPP_STR_INIT(
    "{\"type\":\"object\",\"properties\":{\"reason\":{\"type\":\"string\",\"description\":\"Why it is handed over\"},"
    "\"message\":{\"type\":\"string\",\"description\":\"What the other agent is asked\"}}}");

struct upp_str wr_agent_now(const struct wr_run *run)
{
    return run->def && !wb_str_eq(run->def->name, run->row.agent) ? run->def->name : (struct upp_str){0};
}

static int request_handoff(struct wr_run *run, struct upp_str to, struct upp_str reason, struct upp_str message,
                           struct upp_err *err)
{
    if (run->handoff.n >= HANDOFFS)
        return upp_fail(err, UPP_ELIMIT, "the thread was handed over %d times in this run already", HANDOFFS);
    if (!wr_agent(run->engine, to))
        return wr_no_agent(run->engine, to, err);
    int r = wr_may_tell_agent(run, true, err);
    if (r < 0)
        return r;
    run->handoff.passing = (struct wr_handoff_request){.to = wb_arena_dup(&run->memory, to),
                                                       .reason = wb_arena_dup(&run->memory, reason),
                                                       .message = wb_arena_dup(&run->memory, message)};
    run->draft.state = true; /* its step may commit more before it ends */
    return wb_arena_check(&run->memory, err);
}

int weft_run_handoff(struct weft_run *pub, const struct weft_handoff_to *to, struct upp_err *err)
{
    struct wr_run *run = wr_of(pub)->hook_branch ? wr_of(pub)->hook_branch : wr_of(pub);
    return request_handoff(run, to->agent, to->reason.n ? to->reason : UPP_STR("program"), to->message, err);
}

static struct upp_str prompt_for(const struct wr_run *run, struct upp_str agent)
{
    for (size_t i = 0; i < run->def->n_handoffs; i++)
        if (wb_str_eq(run->def->handoffs[i].agent, agent))
            return run->def->handoffs[i].prompt;
    return (struct upp_str){0};
}

int wr_handoff_again(struct wr_run *run, const struct wr_tool *tool, struct upp_str arguments, struct upp_err *err)
{
    yyjson_val *v = NULL;
    if (wj_read(&run->memory, arguments, NULL, &v, NULL) < 0)
        v = NULL; /* a handoff needs no arguments */
    struct upp_str reason = wj_text_at(v, "reason"), message = wj_text_at(v, "message");
    return request_handoff(run, tool->agent, reason.n ? reason : UPP_STR("tool_call"),
                           message.n ? message : prompt_for(run, tool->agent), err);
}

int wr_handoff_call(struct wr_run *run, const struct wr_tool *tool, struct upp_call *call, struct upp_value *ret,
                    struct upp_err *err)
{
    int r = wr_handoff_again(run, tool, call->arguments, err);
    return r < 0 ? r : upp_value_printf(ret, err, "%.*s goes on from here", UPP_FMT(tool->agent));
}

/* Does the text contain the name, as whole words? */
static bool mentions(struct upp_str text, struct upp_str name)
{
    for (size_t i = 0; name.n && i + name.n <= text.n; i++) {
        if (memcmp(text.p + i, name.p, name.n) != 0)
            continue;
        bool begins = i == 0 || !isalnum((unsigned char)text.p[i - 1]);
        bool ends = i + name.n == text.n || !isalnum((unsigned char)text.p[i + name.n]);
        if (begins && ends)
            return true;
    }
    return false;
}

/* A mention may do no more than a call of the handoff tool. */
static bool may_hand_over(const struct wr_run *run, struct upp_str to)
{
    for (size_t i = 0; i < run->def->n_tools; i++) {
        const struct wr_tool *t = &run->def->tools[i];
        if (t->kind == WR_TOOL_HANDOFF && wb_str_eq(t->agent, to))
            return wr_offers(run, t) && wr_allowed(run, t);
    }
    return true;
}

/* Requests a handoff if the last answer mentions an agent with on_mention. */
static int by_mention(struct wr_run *run, struct upp_err *err)
{
    const struct upp_message *m = run->mine.n ? run->mine.p[run->mine.n - 1] : NULL;
    if (!m || m->role != UPP_ROLE_ASSISTANT || run->handoff.n >= HANDOFFS || wr_may_tell_agent(run, true, NULL) < 0)
        return 0;
    for (size_t i = 0; i < run->def->n_handoffs; i++) {
        const struct wr_handoff *h = &run->def->handoffs[i];
        for (const struct upp_part *p = NULL; h->on_mention && (p = upp_part_next(m, p, 1u << UPP_PART_TEXT));)
            if (mentions(p->text, h->title) && may_hand_over(run, h->agent))
                return request_handoff(run, h->agent, UPP_STR("explicit_mention"), h->prompt, err);
    }
    return 0;
}

static int event_data(struct wr_run *run, const struct wr_handoff_request *p, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct wj_writer w;
    wj_writer_init(&w, &b, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "from", run->def->name);
    wj_put_str(&w, "to", p->to);
    wj_put_str(&w, "reason", p->reason);
    wj_write_close(&w, '}');
    return wj_writer_text(&w, &run->memory, ret);
}

static int draft_event(struct wr_run *run, const struct wr_handoff_request *p, struct upp_err *err)
{
    struct weft_system_event ev = {
        .type = UPP_STR("agent.handoff"), .source = run->def->name, .targets = &p->to, .n_targets = 1};
    struct upp_str json;
    int r = event_data(run, p, &ev.data, err);
    if (r >= 0)
        r = wr_event_write(run, &ev, &json, err);
    return r < 0 ? r : wr_event_add(run, json, err);
}

static int draft_turn(struct wr_run *run, const struct wr_handoff_request *p, struct upp_err *err)
{
    struct wm_entry *e = wr_draft_entry(run, err);
    if (!e)
        return wr_draft_failed(run, err);
    e->kind = WM_ENTRY_TURN;
    e->who = p->to;
    return 0;
}

/* The other agent's prompt is part of the thread: a message with the role user, from the run. */
static int draft_message(struct wr_run *run, const struct wr_handoff_request *p, struct upp_err *err)
{
    if (!p->message.n)
        return 0;
    struct upp_part *part = wb_new(&run->memory, struct upp_part);
    struct upp_message *m = wb_new(&run->memory, struct upp_message);
    struct wm_entry *e = part && m ? wr_draft_entry(run, err) : NULL;
    if (!e)
        return wr_draft_failed(run, err);
    *part = (struct upp_part){.kind = UPP_PART_TEXT, .text = p->message};
    e->who = p->to;
    e->message.role = UPP_ROLE_USER;
    e->message.parts = part;
    e->message.n_parts = 1;
    *m = e->message;
    return wr_mine_add(run, m, err);
}

static WEFT_SUSPENDS int hand_over(struct wr_run *run, struct upp_err *err)
{
    struct wr_handoff_request p = run->handoff.passing;
    struct wr_speaker speaker = {.until = run->mine.n, .who = run->def->name};
    int r = draft_event(run, &p, err);
    if (r >= 0)
        r = draft_turn(run, &p, err);
    if (r >= 0)
        r = draft_message(run, &p, err);
    if (r >= 0)
        r = wb_vec_add(&run->speakers, speaker, (size_t)HANDOFFS, "handoffs in one run", err);
    if (r < 0)
        return r;
    run->handoff.passing = (struct wr_handoff_request){0};
    run->pub.state.own = (struct upp_str){0};
    run->pub.state.plan = (struct upp_str){0};
    run->middleware.request = (struct upp_str){0}; /* the other agent has its own middleware */
    run->middleware.slot = NULL;
    run->handoff.becomes = p.to; /* for the state of this row, which itself is still the first agent's */
    run->handoff.n++;
    wr_agent_message(run);
    wb_crashpoint("handoff.before");
    r = wr_flush(run, NULL, err);
    wb_crashpoint("handoff.after");
    run->handoff.becomes = (struct upp_str){0};
    run->handoff.turn_begins = true;
    if (r >= 0)
        r = wr_become(run, p.to, err);
    return r < 0 ? r : wr_path_reload(run, err);
}

int wr_handoff(struct wr_run *run, struct upp_err *err)
{
    if (run->branch) /* its run hands over, after adopting it */
        return 0;
    int r = run->handoff.passing.to.n ? 0 : by_mention(run, err);
    if (r < 0 || !run->handoff.passing.to.n)
        return r;
    if (run->step.dirty) {
        r = wr_last_step(run, err);
        if (r >= 0)
            r = wr_flush(run, NULL, err);
    }
    if (r >= 0)
        r = hand_over(run, err);
    run->budget.done = false;
    return r < 0 ? r : 1;
}

/* An agent of a C program without a name is known by its id, which is another one in the program's next life. So an id
 * that nobody has now is the past of the agent that goes on. */
static bool is_former_id(const struct wr_run *run, struct upp_str who)
{
    struct wb_uuid id;
    return who.n == WB_UUID_TEXT && wb_uuid_parse(who, &id) && !wr_agent(run->engine, who);
}

int wr_message_for_agent(struct wr_run *run, const struct upp_message *m, struct upp_str who,
                         const struct upp_message **ret, struct upp_err *err)
{
    *ret = m;
    if (m->role != UPP_ROLE_ASSISTANT || !who.n || !run->def || wb_str_eq(who, run->def->name) ||
        !upp_part_next(m, NULL, 1u << UPP_PART_TEXT) || is_former_id(run, who))
        return 0;
    struct upp_message *seen = wb_new(&run->memory, struct upp_message);
    struct upp_part *parts = wb_new_n(&run->memory, struct upp_part, m->n_parts);
    if (!seen || !parts)
        return wb_arena_check(&run->memory, err);
    const struct wr_agent_def *author = wr_agent(run->engine, who);
    struct upp_str title = author && author->title.n ? author->title : who;
    *seen = *m;
    seen->parts = parts;
    for (size_t i = 0; i < m->n_parts; i++) {
        parts[i] = m->parts[i];
        if (parts[i].kind == UPP_PART_TEXT)
            parts[i].text = wb_arena_printf(&run->memory, "{agent:%.*s}: %.*s", UPP_FMT(title), UPP_FMT(parts[i].text));
    }
    *ret = seen;
    return wb_arena_check(&run->memory, err);
}
