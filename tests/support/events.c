/* support/events.c — events of a run from a terse script. */
#include "support/events.h"

#include <upp/model.h>

#include "model/id.h"

enum { NODE = 0x5eed };

void events_init(struct events *e)
{
    *e = (struct events){.memory = WB_ARENA(256u << 20)};
    e->runs = wb_new_n(&e->memory, struct events_run, EVENTS_RUNS);
    for (uint16_t i = 0; e->runs && i < EVENTS_RUNS; i++) {
        struct wm_source *s = &e->runs[i].from;
        s->node = NODE + i;
        s->epoch = 1;
        s->depth = i ? 1 : 0;
        s->agent = i ? UPP_STR("helper") : UPP_STR("main");
        s->run = wb_uuid_v8(1, i);
        s->root = wb_uuid_v8(1, 0);
        s->agent_id = wb_uuid_v8(2, i);
        e->runs[i].index = 1; /* behind the input */
        e->runs[i].now = s;
    }
}

void events_done(struct events *e)
{
    wb_vec_done(&e->list);
    wb_arena_done(&e->memory);
}

/* ---- Words ----------------------------------------------------------------------------------------------- */

struct word {
    const char *word;
    uint8_t value;
};

static const struct word kinds[] = {{"text", UPP_PART_TEXT},   {"reasoning", UPP_PART_REASONING},
                                    {"call", UPP_PART_CALL},   {"image", UPP_PART_IMAGE},
                                    {"audio", UPP_PART_AUDIO}, {"document", UPP_PART_DOCUMENT}};
static const struct word sources[] = {
    {"base64", UPP_SOURCE_BASE64}, {"url", UPP_SOURCE_URL}, {"text", UPP_SOURCE_TEXT}};
static const struct word stops[] = {
    {"length", UPP_STOP_LENGTH}, {"tools", UPP_STOP_TOOLS}, {"filter", UPP_STOP_FILTER}};
static const struct word outcomes[] = {{"done", WM_DONE},     {"error", WM_ERROR},     {"unknown", WM_UNKNOWN},
                                       {"denied", WM_DENIED}, {"stopped", WM_STOPPED}, {"invalid", WM_INVALID}};
static const struct word statuses[] = {
    {"queued", WM_QUEUED},       {"running", WM_RUNNING}, {"waiting", WM_WAITING},    {"cancelling", WM_CANCELING},
    {"completed", WM_COMPLETED}, {"failed", WM_FAILED},   {"cancelled", WM_CANCELED}, {"expired", WM_EXPIRED}};

#define LOOK(table, s) look((table), WB_LEN(table), (s))
static uint8_t look(const struct word *table, size_t n, struct upp_str s)
{
    for (size_t i = 0; i < n; i++)
        if (wb_str_eq(wb_cstr(table[i].word), s))
            return table[i].value;
    return 0;
}

static struct upp_str next(struct upp_str *line)
{
    struct upp_str word = {0};
    return line->p && wb_str_split(line, ' ', &word) ? word : UPP_STR("");
}

static struct upp_str unescape(struct wb_arena *a, struct upp_str s)
{
    char *p = wb_arena_alloc(a, s.n + 1, 1);
    if (!p)
        return UPP_STR("");
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '\\' && i + 1 < s.n && s.p[i + 1] == 'n') {
            p[n++] = '\n';
            i++;
        } else
            p[n++] = s.p[i];
    return wb_str(p, n);
}

static struct upp_str join(struct wb_arena *a, struct upp_str x, struct upp_str y)
{
    char *p = wb_arena_alloc(a, x.n + y.n + 1, 1);
    if (!p)
        return x;
    if (x.n)
        memcpy(p, x.p, x.n);
    if (y.n)
        memcpy(p + x.n, y.p, y.n);
    return wb_str(p, x.n + y.n);
}

/* The newest call of this id in a message, of any run. */
static struct upp_part find_call(const struct events *e, struct upp_str id)
{
    for (size_t k = e->list.n; k-- > 0;) {
        const struct wm_event *ev = &e->list.p[k];
        for (size_t i = 0; ev->kind == WM_MESSAGE && ev->message.entry && i < ev->message.entry->message.n_parts; i++)
            if (ev->message.entry->message.parts[i].kind == UPP_PART_CALL &&
                wb_str_eq(ev->message.entry->message.parts[i].id, id))
                return ev->message.entry->message.parts[i];
    }
    return (struct upp_part){.name = UPP_STR("tool"), .text = UPP_STR("{}")};
}

/* ---- Lines ----------------------------------------------------------------------------------------------- */

static struct wb_uuid id_of(const struct events_run *r, enum wm_noun noun)
{
    return wm_id_uuid(
        (struct wm_id){.node = r->from.node, .index = r->index, .noun = (uint8_t)noun, .attempt = r->attempt});
}

static bool run_line(struct events *e, struct wm_event *ev, struct upp_str rest)
{
    ev->run.status = LOOK(statuses, next(&rest));
    if (ev->run.status == WM_FAILED && rest.n)
        ev->run.error =
            wb_arena_printf(&e->memory, "{\"message\":\"%.*s\",\"code\":\"PROVIDER_ERROR\"}", UPP_FMT(rest));
    if (wm_status_ended(ev->run.status))
        ev->run.usage = (struct upp_usage){.input = 10, .output = 5};
    struct wm_pending *p = wb_new_n(&e->memory, struct wm_pending, EVENTS_PARTS);
    if (!p)
        return true;
    while (ev->run.status == WM_WAITING && rest.p && ev->run.n_pending < EVENTS_PARTS) {
        struct upp_str word = next(&rest);
        bool asks = wb_str_starts(word, UPP_STR("?"));
        struct upp_str call = asks ? wb_str_sub(word, 1, word.n) : word;
        struct upp_part of = find_call(e, call);
        p[ev->run.n_pending++] =
            (struct wm_pending){.call = call, .name = of.name, .arguments = of.text, .approval = asks};
    }
    ev->run.pending = p;
    return ev->run.status != 0;
}

static bool part_line(struct events_run *r, struct wm_event *ev, struct upp_str rest)
{
    if (r->n_parts == EVENTS_PARTS)
        return false;
    struct upp_part *p = &r->parts[r->n_parts];
    *p = (struct upp_part){.kind = LOOK(kinds, next(&rest))};
    p->id = rest.p ? next(&rest) : (struct upp_str){0};
    p->name = rest.p ? next(&rest) : (struct upp_str){0};
    p->text = UPP_STR("");
    if (wb_str_eq(rest.p ? next(&rest) : UPP_STR(""), UPP_STR("client")))
        ev->part.metadata = p->metadata = UPP_STR("{\"weft\":{\"source\":\"client\"}}");
    ev->part.index = (uint32_t)r->n_parts;
    ev->part.kind = p->kind;
    ev->part.call = p->id;
    ev->part.name = p->name;
    r->open[r->n_parts++] = true;
    return p->kind != 0;
}

static bool media_line(struct events *e, struct events_run *r, struct wm_event *ev, struct upp_str rest)
{
    bool late = wb_str_starts(rest, UPP_STR("late "));
    if (late)
        (void)next(&rest);
    if (r->n_parts == EVENTS_PARTS)
        return false;
    struct upp_media *m = wb_new(&e->memory, struct upp_media);
    struct upp_part *p = &r->parts[r->n_parts];
    *p = (struct upp_part){.kind = LOOK(kinds, next(&rest)), .media = m};
    if (!m)
        return true;
    m->source = LOOK(sources, next(&rest));
    m->mime = next(&rest);
    m->data = rest;
    ev->part.index = (uint32_t)r->n_parts;
    ev->part.kind = p->kind;
    ev->part.media = late ? NULL : m;
    r->open[r->n_parts++] = true;
    return p->kind && m->source;
}

static bool delta_line(struct events *e, struct events_run *r, struct wm_event *ev, struct upp_str rest)
{
    uint64_t part;
    if (!wb_str_u64(next(&rest), &part) || part >= r->n_parts)
        return false;
    ev->part.index = (uint32_t)part;
    ev->part.kind = r->parts[part].kind;
    ev->part.text = unescape(&e->memory, rest);
    r->parts[part].text = join(&e->memory, r->parts[part].text, ev->part.text);
    return true;
}

static bool close_line(struct events_run *r, struct wm_event *ev, struct upp_str rest)
{
    uint64_t part;
    if (!wb_str_u64(next(&rest), &part) || part >= r->n_parts)
        return false;
    ev->part.index = (uint32_t)part;
    ev->part.kind = r->parts[part].kind;
    r->open[part] = false;
    return true;
}

static struct wm_entry *new_entry(struct events *e, const struct events_run *r, uint8_t role,
                                  const struct upp_part *parts, size_t n)
{
    struct wm_entry *entry = wb_new(&e->memory, struct wm_entry);
    struct upp_part *copy = wb_new_n(&e->memory, struct upp_part, n ? n : 1);
    if (!entry || !copy)
        return NULL;
    if (n)
        memcpy(copy, parts, n * sizeof *copy);
    *entry = (struct wm_entry){.kind = WM_ENTRY_MESSAGE,
                               .audience = r->phase.n ? WM_AUDIENCE_RUN : WM_AUDIENCE_ALL,
                               .phase = r->phase,
                               .step = r->step,
                               .attempt = r->attempt,
                               .message = {.role = role, .parts = copy, .n_parts = n}};
    return entry;
}

static bool message_line(struct events *e, struct events_run *r, struct wm_event *ev, struct upp_str rest)
{
    struct upp_str how = next(&rest);
    bool cut = wb_str_eq(how, UPP_STR("cut"));
    ev->message.stop = cut ? UPP_STOP_ERROR : LOOK(stops, how) ? LOOK(stops, how) : UPP_STOP_END;
    ev->message.usage = (struct upp_usage){.input = 4, .output = 2};
    for (size_t i = 0; i < r->n_parts; i++)
        r->parts[i].cut = cut && r->open[i];
    struct wm_entry *entry = new_entry(e, r, UPP_ROLE_ASSISTANT, r->parts, r->n_parts);
    if (entry)
        entry->message.interrupted = cut;
    ev->message.entry = entry;
    ev->message.id = id_of(r, WM_NOUN_ENTRY);
    r->index++;
    r->attempt = 0;
    r->n_parts = 0;
    r->phase = (struct upp_str){0};
    return true;
}

static bool system_line(struct events *e, struct events_run *r, struct wm_event *ev, struct upp_str rest)
{
    struct wm_entry *entry = new_entry(e, r, 0, NULL, 0);
    if (entry) {
        entry->kind = WM_ENTRY_EVENT;
        entry->data = rest;
    }
    ev->system.entry = entry;
    ev->system.id = id_of(r, WM_NOUN_ENTRY);
    r->index++;
    return true;
}

static bool end_line(const struct events *e, struct events_run *r, struct wm_event *ev, struct upp_str rest)
{
    ev->call.id = next(&rest);
    ev->call.name = find_call(e, ev->call.id).name;
    ev->tool_ended.outcome = LOOK(outcomes, next(&rest));
    ev->tool_ended.result = rest;
    ev->tool_ended.ms = 7;
    if (r->n_results < EVENTS_PARTS)
        r->results[r->n_results++] = (struct upp_part){
            .kind = UPP_PART_RESULT, .id = ev->call.id, .text = rest, .is_error = ev->tool_ended.outcome != WM_DONE};
    return ev->tool_ended.outcome != 0;
}

static bool step_line(struct events_run *r, struct wm_event *ev, struct upp_str rest)
{
    ev->step_start.plan_step = rest;
    r->step += r->again ? 0 : 1;
    r->again = false;
    ev->step = r->step;
    ev->step_start.id = id_of(r, WM_NOUN_STEP);
    return true;
}

static bool endstep_line(struct events *e, struct events_run *r, struct wm_event *ev)
{
    ev->step_end.usage = (struct upp_usage){.input = 4, .output = 2};
    ev->step_end.id = id_of(r, WM_NOUN_STEP);
    if (r->n_results) {
        ev->step_end.results = new_entry(e, r, UPP_ROLE_TOOL, r->results, r->n_results);
        r->index++;
    }
    r->n_results = 0;
    return true;
}

/* The step goes on after them. */
static bool results_line(struct events *e, struct events_run *r, struct wm_event *ev)
{
    ev->message.entry = new_entry(e, r, UPP_ROLE_TOOL, r->results, r->n_results);
    ev->message.id = id_of(r, WM_NOUN_ENTRY);
    r->index++;
    r->n_results = 0;
    return true;
}

/* Numbers go back to the last record. */
static bool void_line(struct events *e, struct wm_event *ev)
{
    ev->voided.last = e->record;
    e->number = e->record;
    for (size_t i = 0; i < EVENTS_RUNS; i++) {
        struct events_run *r = &e->runs[i];
        r->from.epoch++;
        r->attempt = (uint8_t)((r->attempt + 1) % WM_ATTEMPTS);
        r->n_parts = 0;
        r->phase = (struct upp_str){0};
    }
    for (size_t k = e->list.n; k-- > 0 && !wm_is_record(e->list.p[k].kind);)
        if (e->list.p[k].kind == WM_STEP_START)
            for (size_t i = 0; i < EVENTS_RUNS; i++)
                if (wb_uuid_eq(e->list.p[k].from->run, e->runs[i].from.run))
                    e->runs[i].again = true;
    return true;
}

static bool line_event(struct events *e, struct events_run *r, struct wm_event *ev, struct upp_str verb,
                       struct upp_str rest)
{
    static const struct word verbs[] = {
        {"run", WM_RUN},          {"step", WM_STEP_START},  {"open", WM_MESSAGE_OPEN},
        {"part", WM_PART_OPEN},   {"media", WM_PART_OPEN},  {"+", WM_DELTA},
        {"close", WM_PART_CLOSE}, {"message", WM_MESSAGE},  {"start", WM_TOOL_STARTED},
        {"end", WM_TOOL_ENDED},   {"endstep", WM_STEP_END}, {"checkpoint", WM_CHECKPOINT},
        {"void", WM_VOID},        {"event", WM_SYSTEM},     {"results", WM_MESSAGE}};
    ev->kind = LOOK(verbs, verb);
    switch (ev->kind) {
    case WM_RUN:
        return run_line(e, ev, rest);
    case WM_STEP_START:
        return step_line(r, ev, rest);
    case WM_MESSAGE_OPEN:
        ev->message_open.id = id_of(r, WM_NOUN_ENTRY);
        r->phase = rest;
        ev->message_open.phase = rest.n ? rest : UPP_STR("act");
        ev->message_open.aside = rest.n > 0;
        r->n_parts = 0;
        return true;
    case WM_PART_OPEN:
        return wb_str_eq(verb, UPP_STR("part")) ? part_line(r, ev, rest) : media_line(e, r, ev, rest);
    case WM_DELTA:
        return delta_line(e, r, ev, rest);
    case WM_PART_CLOSE:
        return close_line(r, ev, rest);
    case WM_MESSAGE:
        return wb_str_eq(verb, UPP_STR("results")) ? results_line(e, r, ev) : message_line(e, r, ev, rest);
    case WM_TOOL_STARTED:
        ev->call.id = next(&rest);
        ev->call.name = next(&rest);
        ev->tool_started.arguments = rest;
        return true;
    case WM_TOOL_ENDED:
        return end_line(e, r, ev, rest);
    case WM_STEP_END:
        return endstep_line(e, r, ev);
    case WM_CHECKPOINT:
        ev->checkpoint.id = wb_uuid_v8(3, e->number);
        return true;
    case WM_VOID:
        return void_line(e, ev);
    case WM_SYSTEM:
        return system_line(e, r, ev, rest);
    default:
        return false;
    }
}

/* Another agent has the run from here on. */
static bool agent_line(struct events *e, struct events_run *r, struct upp_str rest)
{
    struct wm_source *s = wb_new(&e->memory, struct wm_source);
    uint64_t n;
    if (!wb_str_u64(rest, &n))
        return false;
    if (!s)
        return true;
    *s = r->from;
    s->agent = wb_arena_printf(&e->memory, "agent%u", (unsigned)n);
    s->agent_id = wb_uuid_v8(2, 100 + n);
    r->now = s;
    return true;
}

static bool play_line(struct events *e, struct upp_str line)
{
    struct events_run *r = &e->runs[0];
    struct upp_str verb = next(&line);
    if (wb_str_eq(verb, UPP_STR("child"))) {
        uint64_t n;
        if (!wb_str_u64(next(&line), &n) || n == 0 || n >= EVENTS_RUNS)
            return false;
        r = &e->runs[n];
        verb = next(&line);
    }
    if (wb_str_eq(verb, UPP_STR("whole"))) {
        if (r->n_parts == EVENTS_PARTS)
            return false;
        struct upp_part *p = &r->parts[r->n_parts++];
        *p = (struct upp_part){.kind = LOOK(kinds, next(&line))};
        if (p->kind == UPP_PART_CALL) {
            p->id = next(&line);
            p->name = next(&line);
        }
        p->text = line;
        return p->kind != 0;
    }
    if (wb_str_eq(verb, UPP_STR("agent")))
        return agent_line(e, r, line);
    if (wb_str_eq(verb, UPP_STR("aside"))) {
        r->phase = line;
        return line.n > 0;
    }
    struct wm_event ev = {.from = r->now, .step = r->step};
    if (!line_event(e, r, &ev, verb, line))
        return false;
    ev.number = ++e->number;
    if (wm_is_record(ev.kind)) {
        ev.time_ms = 1770091507000 + (int64_t)ev.number;
        e->record = ev.number;
    }
    if (!wb_vec_push(&e->list, ev, EVENTS_MAX))
        e->memory.failed = -UPP_ENOMEM;
    return true;
}

int events_play(struct events *e, struct upp_str script, struct upp_err *err)
{
    struct upp_str line, copy = wb_arena_dup(&e->memory, script);
    while (e->runs && wb_str_split(&copy, '\n', &line))
        if (wb_str_trim(line).n && !play_line(e, line))
            return upp_fail(err, UPP_EINVALID, "no event: '%.*s'", UPP_FMT(line));
    return wb_arena_check(&e->memory, err);
}
