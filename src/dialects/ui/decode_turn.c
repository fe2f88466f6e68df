/* dialects/ui/decode_turn.c — a message that was gathered from a stream as a turn of the model.
 *
 * As lift.c cuts a UI message: each step is what was said, then the results, then the events that came
 * meanwhile; events before anything was said stand before it.
 */
#include "dialects/ui/decode.h"

#include "base/err.h"
#include "dialects/core/lift.h"
#include "json/value.h"

struct turn {
    struct wd_ui_decoder *d;
    struct upp_err *err;
    uint32_t agent, first;
};

static struct wm_doc_entry *entry_add(struct turn *t, uint8_t role, int64_t now_ms)
{
    struct wm_doc *doc = t->d->doc;
    struct wm_doc_entry *e = wm_doc_entry_add(doc, t->err);
    if (!e)
        return NULL;
    e->agent = t->agent;
    e->e.who = doc->agents.p[t->agent].name;
    e->e.message.role = role;
    wd_entry_time(t->d->time, now_ms, &e->e.message);
    doc->turns.p[doc->turns.n - 1].n++;
    return e;
}

static int event_add(struct turn *t, const struct wd_ui_slot *s)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(2 * (size_t)WD_UI_CHUNK);
    struct wj_writer w;
    struct wm_doc_entry *e = entry_add(t, 0, s->time_ms);
    if (!e)
        return wd_error_of(t->err);
    wj_writer_init(&w, &b, t->err);
    wj_write_open(&w, '{');
    wj_write_name(&w, UPP_STR("type"));
    wj_write_str(&w, s->part.name);
    wj_write_name(&w, UPP_STR("data"));
    wj_write_raw(&w, s->part.text.p, s->part.text.n);
    if (s->source.p) {
        wj_write_name(&w, UPP_STR("source"));
        wj_write_raw(&w, s->source.p, s->source.n);
    }
    if (s->targets.p) {
        wj_write_name(&w, UPP_STR("targets"));
        wj_write_raw(&w, s->targets.p, s->targets.n);
    }
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r < 0)
        return r;
    e->e.kind = WM_ENTRY_EVENT;
    e->e.data = wb_arena_dup(t->d->a, wb_buf_str(&b));
    e->e.message.id = s->part.id;
    e->e.message.time_ms = s->time_ms;
    e->e.message.time_text = (struct upp_str){0};
    return wb_arena_check(t->d->a, t->err);
}

/* What is open has what came of it. */
static void close_slot(struct turn *t, struct wd_ui_slot *s)
{
    bool text = s->part.kind == UPP_PART_TEXT || s->part.kind == UPP_PART_REASONING;
    if (text || (s->open && s->part.kind == UPP_PART_CALL))
        s->part.text = wb_arena_dup(t->d->a, s->text.n ? wb_buf_str(&s->text) : UPP_STR(""));
    s->part.cut = s->open;
    wb_buf_done(&s->text);
}

/* The said parts, or the results, of a step as one message. */
static int message_add(struct turn *t, struct wd_ui_slot *slots, size_t n, bool results)
{
    size_t count = 0, k = 0;
    for (size_t i = 0; i < n; i++)
        count += !slots[i].event && (!results || slots[i].result.kind);
    if (!count)
        return 0;
    struct wm_doc_entry *e = entry_add(t, results ? UPP_ROLE_TOOL : UPP_ROLE_ASSISTANT, slots[0].time_ms);
    struct upp_part *parts = e ? wb_new_n(t->d->a, struct upp_part, count) : NULL;
    if (!parts)
        return e ? wb_arena_check(t->d->a, t->err) : wd_error_of(t->err);
    for (size_t i = 0; i < n; i++) {
        if (slots[i].event || (results && !slots[i].result.kind))
            continue;
        if (!results)
            close_slot(t, &slots[i]);
        parts[k++] = results ? slots[i].result : slots[i].part;
    }
    e->e.message.parts = parts;
    e->e.message.n_parts = count;
    if (!results) {
        e->said.model = t->d->model;
        e->said.provider = t->d->provider;
    }
    return wb_arena_check(t->d->a, t->err);
}

static int step_add(struct turn *t, struct wd_ui_slot *slots, size_t n)
{
    size_t before = 0;
    int r = 0;
    while (before < n && slots[before].event)
        before++;
    for (size_t i = 0; r >= 0 && i < before; i++)
        r = event_add(t, &slots[i]);
    for (int results = 0; r >= 0 && results < 2; results++)
        r = message_add(t, slots, n, results);
    for (size_t i = before; r >= 0 && i < n; i++)
        if (slots[i].event)
            r = event_add(t, &slots[i]);
    return r;
}

static bool is_step(const struct wd_ui_slot *s)
{
    return !s->part.kind && !s->event;
}

static int begin_turn(struct turn *t)
{
    struct wd_ui_decoder *d = t->d;
    struct upp_str id = d->who.p ? d->who : d->agent.p ? d->agent : UPP_STR("agent");
    struct wm_doc_agent a = {.id = id, .name = d->name.p ? d->name : id, .model = d->model, .provider = d->provider};
    int r = 0;
    t->agent = wm_doc_agent_find(d->doc, id);
    if (t->agent == WM_NO_AGENT)
        r = wm_doc_agent_add(d->doc, &a, &t->agent, t->err);
    struct wm_doc_turn *turn = r < 0 ? NULL : wm_doc_turn_add(d->doc, t->err);
    if (!turn)
        return r < 0 ? r : wd_error_of(t->err);
    turn->agent = t->agent;
    turn->id = d->id;
    turn->ended = d->ended;
    turn->has_usage = d->usage.has_usage;
    turn->usage = d->usage.usage;
    return 0;
}

/* Why the last step ended is said of the whole. */
static void end_turn(struct turn *t)
{
    struct wm_doc *doc = t->d->doc;
    if (doc->entries.n == t->first) {
        doc->turns.n--; /* nothing came */
        return;
    }
    doc->entries.p[t->first].id = t->d->id;
    for (size_t i = doc->entries.n; i-- > t->first;)
        if (doc->entries.p[i].e.message.role == UPP_ROLE_ASSISTANT) {
            doc->entries.p[i].said.stop = t->d->stop;
            return;
        }
}

int wd_ui_decode_turn(struct wd_ui_decoder *d, struct upp_err *err)
{
    struct upp_err why = {0};
    struct turn t = {.d = d, .err = &why, .first = (uint32_t)d->doc->entries.n};
    int r = begin_turn(&t);
    for (size_t i = 0; r >= 0 && i < d->slots.n;) {
        size_t n = 0;
        i += is_step(&d->slots.p[i]);
        while (i + n < d->slots.n && !is_step(&d->slots.p[i + n]))
            n++;
        r = n ? step_add(&t, &d->slots.p[i], n) : 0;
        i += n;
    }
    if (r >= 0)
        end_turn(&t);
    if (r < 0 && err)
        *err = why;
    return r;
}
