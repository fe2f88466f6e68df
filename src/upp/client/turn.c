/* upp/client/turn.c — a turn, in progress and complete.
 *
 * Everything is in one arena, the turn itself included. A part's text grows in place while it is the last allocation in
 * the arena; else it moves to twice the room.
 */
#include "model/event.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "model/upp_json.h"
#include "upp/client/talk.h"

void *upp__grow(struct wb_arena *a, void *list, size_t n, size_t *cap, size_t item)
{
    size_t more = *cap ? 2 * *cap : 4;
    void *to = more > SIZE_MAX / 2 / item ? wb_arena_more(a, SIZE_MAX, 1)
                                          : wb_arena_alloc(a, more * item, _Alignof(max_align_t));
    if (!to)
        return NULL;
    if (n)
        memcpy(to, list, n * item);
    *cap = more;
    return to;
}

static struct wb_arena *arena_of(struct upp__making *m)
{
    return &m->turn->arena;
}

/* ---- Ids and times -------------------------------------------------------------------------------------- */

int upp__new_id(struct wb_arena *a, struct upp_str *ret, struct upp_err *err)
{
    struct wb_uuid u;
    char *p = wb_arena_alloc(a, WB_UUID_TEXT + 1, 1);
    int r = p ? wb_uuid_new(&u, err) : wb_arena_check(a, err);
    if (r >= 0)
        *ret = wb_uuid_text(u, p);
    return r;
}

int64_t upp__making_now(struct upp__making *m)
{
    int64_t now = wb_wall_ms();
    m->now_ms = WB_MAX(m->now_ms, now);
    return m->now_ms;
}

int upp__message_stamp(struct wb_arena *a, struct upp_message *m, int64_t *now_ms, struct upp_err *err)
{
    int r = m->id.n ? 0 : upp__new_id(a, &m->id, err);
    if (r < 0)
        return r;
    if (!m->time_ms && !m->time_text.p) {
        int64_t now = wb_wall_ms();
        m->time_ms = WB_MAX(*now_ms, now);
    }
    *now_ms = WB_MAX(*now_ms, m->time_ms);
    return 0;
}

int upp__message_own(struct wb_arena *a, const struct upp_message *m, int64_t *now_ms, struct upp_message *ret,
                     struct upp_err *err)
{
    int r = wm_message_copy(a, m, ret, err);
    return r < 0 ? r : upp__message_stamp(a, ret, now_ms, err);
}

/* ---- Beginning -------------------------------------------------------------------------------------------- */

static int add_path(struct upp__making *m, const struct upp_message *message, struct upp_err *err)
{
    if (!upp__room(arena_of(m), m->path, m->n_path, m->cap_path))
        return wb_arena_check(arena_of(m), err);
    m->path[m->n_path++] = message;
    return 0;
}

int upp__making_add(struct upp__making *m, struct upp_message *message, struct upp_err *err)
{
    int r = message->id.n ? 0 : upp__new_id(arena_of(m), &message->id, err);
    if (r < 0)
        return r;
    if (!message->time_ms && !message->time_text.p)
        message->time_ms = upp__making_now(m);
    m->now_ms = WB_MAX(m->now_ms, message->time_ms);
    return add_path(m, message, err);
}

static int add_history(struct upp__making *m, const struct upp_llm *llm, const struct upp_message *list, size_t n,
                       struct upp_err *err)
{
    for (size_t i = 0; i < n; i++) {
        int r = upp__llm_may_send(llm, &list[i], err);
        if (r >= 0)
            r = add_path(m, &list[i], err);
        if (r < 0)
            return r;
        m->now_ms = WB_MAX(m->now_ms, list[i].time_ms);
    }
    m->n_history += n;
    return 0;
}

/* Copies a message of the caller. */
static int add_input(struct upp__making *m, const struct upp_llm *llm, const struct upp_message *from,
                     struct upp_err *err)
{
    struct upp_message *to = wb_new(arena_of(m), struct upp_message);
    int r = to ? upp__llm_may_send(llm, from, err) : wb_arena_check(arena_of(m), err);
    if (r >= 0)
        r = wm_message_copy(arena_of(m), from, to, err);
    return r < 0 ? r : upp__making_add(m, to, err);
}

static int add_inputs(struct upp__making *m, const struct upp_llm *llm, const struct upp_input *in, struct upp_err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < in->n_messages; i++)
        r = add_input(m, llm, &in->messages[i], err);
    if (r >= 0 && in->n_parts) {
        union { /* a message has mutable parts; these are only copied */
            const struct upp_part *from;
            struct upp_part *to;
        } parts = {.from = in->parts};
        r = add_input(m, llm, &(struct upp_message){.role = UPP_ROLE_USER, .parts = parts.to, .n_parts = in->n_parts},
                      err);
    }
    if (r >= 0 && in->text.p) {
        struct upp_part text = {.kind = UPP_PART_TEXT, .text = in->text};
        r = add_input(m, llm, &(struct upp_message){.role = UPP_ROLE_USER, .parts = &text, .n_parts = 1}, err);
    }
    if (r >= 0 && m->n_path == 0)
        return upp__llm_refuse(llm, err, "there is nothing to ask: no history and no input");
    return r;
}

int upp__making_begin(struct upp__making *m, const struct upp_llm *llm, const struct upp_input *in, struct upp_err *err)
{
    struct wb_arena a = WB_ARENA(UPP__TURN_BYTES);
    struct upp__turn *t = wb_new(&a, struct upp__turn);
    size_t n = in->n_history;
    const struct upp_message *list = in->history;
    if (in->thread)
        list = upp_thread_messages(in->thread, &n);
    *m = (struct upp__making){.turn = t};
    if (!t)
        return wb_arena_check(&a, err);
    t->arena = a;
    m->cap_path = n + in->n_messages + 6;
    m->path = wb_arena_alloc(arena_of(m), m->cap_path * sizeof m->path[0], _Alignof(max_align_t));
    int r = m->path ? add_history(m, llm, list, n, err) : wb_arena_check(arena_of(m), err);
    return r < 0 ? r : add_inputs(m, llm, in, err);
}

/* ---- The answer ---------------------------------------------------------------------------------------------- */

int upp__making_open(struct upp__making *m, struct upp_err *err)
{
    if (!m->open)
        m->open = wb_arena_alloc(arena_of(m), sizeof *m->open, _Alignof(struct upp_message));
    if (!m->open)
        return wb_arena_check(arena_of(m), err);
    *m->open = (struct upp_message){.role = UPP_ROLE_ASSISTANT, .time_ms = upp__making_now(m)};
    m->cap_parts = 0;
    m->growing = NULL;
    m->loss = 0;
    return 0;
}

/* Bloom filter bit of an id (of 1024), from its end, where ids differ. */
static size_t id_bit(struct upp_str id)
{
    uint64_t end = 0;
    size_t n = WB_MIN(id.n, sizeof end);
    memcpy(&end, id.p + id.n - n, n);
    return (end * UINT64_C(0x9e3779b97f4a7c15)) >> 54;
}

static bool call_id_taken(struct upp__making *m, struct upp_str id)
{
    size_t bit = id_bit(id);
    uint64_t *word = &m->call_ids[bit / 64], mask = (uint64_t)1 << bit % 64;
    bool seen = *word & mask;
    *word |= mask;
    if (!seen)
        return false;
    for (size_t i = m->n_history; i <= m->n_path; i++) {
        const struct upp_message *answer = i < m->n_path ? m->path[i] : m->open;
        for (size_t k = 0; answer->role == UPP_ROLE_ASSISTANT && k < answer->n_parts; k++)
            if (answer->parts[k].kind == UPP_PART_CALL && wb_str_eq(answer->parts[k].id, id))
                return true;
    }
    return false;
}

/* Makes an id for a call whose own is empty or already used in this turn: results refer to it. */
static int make_call_id(struct upp__making *m, struct upp_str *ret, struct upp_err *err)
{
    static const struct upp_str head = UPP_STR_INIT("call_");
    struct wb_uuid u;
    char *p = wb_arena_alloc(arena_of(m), head.n + WB_UUID_HEX + 1, 1);
    int r = p ? wb_uuid_new(&u, err) : wb_arena_check(arena_of(m), err);
    if (r < 0)
        return r;
    memcpy(p, head.p, head.n);
    (void)wb_uuid_hex(u, p + head.n);
    *ret = wb_str(p, head.n + WB_UUID_HEX);
    return 0;
}

static int part_open(struct upp__making *m, const struct upp_step_event *ev, struct upp_err *err)
{
    struct wb_arena *a = arena_of(m);
    size_t cap = m->cap_parts, n = m->open->n_parts;
    if (!upp__room(a, m->open->parts, n, m->cap_parts) || !upp__room(a, m->growing, n, cap))
        return wb_arena_check(a, err);
    struct upp_part *p = &m->open->parts[n];
    m->growing[n] = (struct upp__growing){0};
    *p = (struct upp_part){.kind = ev->part_kind};
    if (p->kind == UPP_PART_CALL) {
        p->name = wb_arena_dup(a, ev->name);
        p->id = wb_arena_dup(a, ev->id);
        int r = ev->id.n && !call_id_taken(m, ev->id) ? 0 : make_call_id(m, &p->id, err);
        if (r < 0)
            return r;
    }
    if (p->kind <= UPP_PART_REASONING || p->kind == UPP_PART_CALL)
        p->text = UPP_STR("");
    if (ev->media) {
        struct upp_part with = {.kind = ev->part_kind, .media = ev->media};
        struct upp_message one = {.parts = &with, .n_parts = 1}, copy;
        int r = wm_message_copy(a, &one, &copy, err);
        if (r < 0)
            return r;
        p->media = copy.parts[0].media;
    }
    m->open->n_parts++;
    return wb_arena_check(a, err);
}

/* Makes room for the text, `more` bytes and a NUL. */
static char *text_room(struct wb_arena *a, struct upp_part *p, size_t *cap, size_t more)
{
    union {
        const char *from;
        char *to;
    } text = {.from = p->text.p};
    size_t need = p->text.n + more + 1;
    if (need <= *cap)
        return text.to;
    if (*cap && text.to + *cap == a->p && need - *cap <= (size_t)(a->end - a->p)) { /* last allocation in the arena */
        size_t add = WB_MIN((size_t)(a->end - a->p), WB_MAX(need - *cap, *cap));
        a->p += add;
        *cap += add;
        return text.to;
    }
    size_t size = *cap ? WB_MAX(2 * *cap, need) : need;
    char *to = wb_arena_alloc(a, size, 1);
    if (!to)
        return NULL;
    if (p->text.n)
        memcpy(to, p->text.p, p->text.n);
    *cap = size;
    return to;
}

static int delta(struct upp__making *m, const struct upp_step_event *ev, struct upp_err *err)
{
    struct upp_part *p = &m->open->parts[ev->part];
    struct upp__growing *g = &m->growing[ev->part];
    char *to = text_room(arena_of(m), p, &g->cap, ev->text.n);
    if (WB_UNLIKELY(!to))
        return wb_arena_check(arena_of(m), err);
    char pair[4]; /* a vendor may split a UTF-16 surrogate pair between two deltas */
    struct upp_str had = wb_str(to, p->text.n), more = ev->text;
    if (WB_UNLIKELY(more.n >= 3 && (unsigned char)more.p[0] == 0xed) && wb_wtf8_join(had, more, pair)) {
        memcpy(to + had.n - 3, pair, sizeof pair);
        had.n += 1;
        more = wb_str_sub(more, 3, more.n);
    }
    memcpy(to + had.n, more.p, more.n);
    to[had.n + more.n] = 0;
    p->text = wb_str(to, had.n + more.n);
    g->has_delta = true;
    return 0;
}

static int end(struct upp__making *m, const struct upp_step_event *ev, struct upp_err *err)
{
    struct wb_arena *a = arena_of(m);
    struct upp_turn *pub = &m->turn->pub;
    if (!upp__room(a, m->cycles, pub->n_cycles, m->cap_cycles))
        return wb_arena_check(a, err);
    m->cycles[pub->n_cycles++] = ev->usage;
    wm_usage_add(&pub->usage, &ev->usage);
    m->open->metadata = wb_arena_dup(a, ev->metadata);
    if (ev->data.p)
        pub->data = wb_arena_dup(a, ev->data);
    struct upp_message *answer = m->open;
    int r = wb_arena_check(a, err);
    if (r >= 0)
        r = upp__making_add(m, answer, err);
    if (r >= 0)
        m->open = NULL;
    return r;
}

int upp__making_take(struct upp__making *m, const struct upp_step_event *ev, struct upp_err *err)
{
    switch (ev->kind) {
    case UPP_STEP_DELTA:
        return delta(m, ev, err);
    case UPP_STEP_OPEN:
        m->open->id = wb_arena_dup(arena_of(m), ev->text);
        return wb_arena_check(arena_of(m), err);
    case UPP_STEP_PART_OPEN:
        return part_open(m, ev, err);
    case UPP_STEP_PART_CLOSE:
        m->open->parts[ev->part].metadata = wb_arena_dup(arena_of(m), ev->metadata);
        m->growing[ev->part].closed = true;
        return wb_arena_check(arena_of(m), err);
    default:
        return end(m, ev, err);
    }
}

void upp__making_cut(struct upp__making *m)
{
    struct upp_message *answer = m->open;
    if (!answer)
        return;
    m->open = NULL;
    if (!answer->n_parts || m->turn->arena.failed)
        return;
    answer->interrupted = true;
    for (size_t i = 0; i < answer->n_parts; i++)
        answer->parts[i].cut = answer->parts[i].kind == UPP_PART_CALL || !m->growing[i].closed;
    (void)(upp__making_add(m, answer, NULL) < 0); /* ignores lack of memory: the failure that led here counts */
}

/* ---- Executions and losses -------------------------------------------------------------------------------------- */

int upp__making_execution(struct upp__making *m, const struct upp_execution *e, struct upp_err *err)
{
    struct upp_turn *pub = &m->turn->pub;
    if (!upp__room(arena_of(m), m->executions, pub->n_executions, m->cap_executions))
        return wb_arena_check(arena_of(m), err);
    m->executions[pub->n_executions++] = *e;
    return 0;
}

static bool same_loss(const struct upp_loss *a, const struct upp_loss *b)
{
    return a->message == b->message && a->part == b->part && strcmp(a->what, b->what) == 0;
}

/* Each cycle reports the same losses in the same order, then new ones: so looks first where the next is expected. */
void upp__making_loss(void *making, const struct upp_loss *loss)
{
    struct upp__making *m = making;
    struct upp_turn *pub = &m->turn->pub;
    struct wb_arena *a = arena_of(m);
    if (a->failed)
        return;
    if (m->loss < pub->n_losses && same_loss(&m->losses[m->loss], loss)) {
        m->loss++;
        return;
    }
    for (size_t i = 0; i < m->loss; i++)
        if (same_loss(&m->losses[i], loss))
            return;
    for (size_t i = m->loss; i < pub->n_losses; i++)
        if (same_loss(&m->losses[i], loss)) {
            m->loss = i + 1;
            return;
        }
    if (!upp__room(a, m->losses, pub->n_losses, m->cap_losses))
        return; /* the arena has failed, which its next user reports */
    m->losses[pub->n_losses++] = (struct upp_loss){.message = loss->message,
                                                   .part = loss->part,
                                                   .what = wb_arena_dup(a, wb_cstr(loss->what)).p,
                                                   .why = wb_arena_dup(a, wb_cstr(loss->why)).p};
    m->loss = pub->n_losses;
}

/* ---- The end ---------------------------------------------------------------------------------------------------- */

static void set_losses(struct upp_turn *pub, struct upp_loss *losses, bool whole)
{
    pub->losses = losses;
    while (!whole && pub->n_losses && (!losses[pub->n_losses - 1].what || !losses[pub->n_losses - 1].why))
        pub->n_losses--;
}

const char *upp__text_of(struct wb_arena *a, const struct upp_message *m)
{
    const struct upp_part *p = m ? upp_part_next(m, NULL, 1u << UPP_PART_TEXT) : NULL;
    if (!p)
        return "";
    if (!upp_part_next(m, p, 1u << UPP_PART_TEXT))
        return p->text.p ? p->text.p : "";
    return wm_message_text(a, m).p;
}

struct upp_turn *upp__making_end(struct upp__making *m, bool failed)
{
    struct upp__turn *t = m->turn;
    if (!t)
        return NULL;
    size_t n = m->n_path - m->n_history;
    struct upp_message *list = n ? wb_arena_alloc(&t->arena, n * sizeof *list, _Alignof(struct upp_message)) : NULL;
    if (t->arena.failed || (failed && !t->pub.n_cycles && (!n || !m->path[m->n_path - 1]->interrupted))) {
        upp__making_done(m);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        list[i] = *m->path[m->n_history + i];
        if (list[i].role == UPP_ROLE_ASSISTANT)
            t->pub.response = &list[i];
    }
    t->pub.messages = list;
    t->pub.n_messages = n;
    t->pub.cycles = m->cycles;
    t->pub.executions = m->executions;
    set_losses(&t->pub, m->losses, !failed);
    t->text = upp__text_of(&t->arena, t->pub.response);
    if (!t->text) {
        upp__making_done(m);
        return NULL;
    }
    m->turn = NULL;
    return &t->pub;
}

void upp__making_done(struct upp__making *m)
{
    if (m->turn)
        upp_turn_free(&m->turn->pub);
    m->turn = NULL;
}

void upp_turn_free(struct upp_turn *t)
{
    if (!t)
        return;
    struct wb_arena a = WB_OUTER(t, struct upp__turn, pub)->arena; /* contains the turn itself */
    wb_arena_done(&a);
}

void upp_turn_freep(struct upp_turn **t)
{
    upp_turn_free(*t);
}

const char *upp_turn_text(const struct upp_turn *t)
{
    const struct upp__turn *made = (const void *)((const char *)t - offsetof(struct upp__turn, pub));
    return made->text;
}
