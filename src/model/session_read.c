/* model/session_read.c — SessionJSON: sessions, their checkpoints, and nested sessions. */
#include "base/err.h"
#include "json/read.h"
#include "model/names.h"
#include "model/session_get.h"

struct session {
    struct wm_getting *d;
    struct wm_session *s;
    struct wm_names nodes, checkpoints;
};

static void read_session(struct wm_getting *d, yyjson_val *v, struct wm_session *s);

/* Adds an id that must be new; a duplicate is refused as one of `what`. */
static void add_id(struct wm_getting *d, struct wm_names *ids, yyjson_val *v, const char *what)
{
    uint32_t at;
    int r = d->failed ? 1 : wm_names_add(ids, wj_text(v), &at, d->err);
    if (r < 0)
        d->failed = r;
    else if (r == 0)
        wm_getting_fail(d, v, UPP_EINVALID, "%s %u has this id too", what, at);
}

/* Allocates room for the list's n items, of at most `most`. */
static void *room(struct wm_getting *d, yyjson_val *list, size_t item, size_t most, size_t *n)
{
    *n = unsafe_yyjson_get_len(list);
    if (*n > most)
        wm_getting_fail(d, list, UPP_ELIMIT, "expected at most %zu of them, found %zu", most, *n);
    void *p = *n && !d->failed ? wb_arena_zero(d->a, *n * item, _Alignof(max_align_t)) : NULL;
    if (*n && !p)
        (void)wm_doc_out_of_memory(d);
    return p;
}

/* ---- Plans ---------------------------------------------------------------------------------------- */

static void check_status(struct wm_getting *d, yyjson_val *v)
{
    static const struct upp_str words[] = {UPP_STR_INIT("pending"), UPP_STR_INIT("in_progress"),
                                           UPP_STR_INIT("completed"), UPP_STR_INIT("failed")};
    char quoted[WJ_QUOTED];
    for (size_t i = 0; i < WB_LEN(words); i++)
        if (wb_str_eq(wj_text(v), words[i]))
            return;
    wm_getting_fail(d, v, UPP_EINVALID, "expected 'pending', 'in_progress', 'completed' or 'failed', found %s",
                    wj_quote(wj_text(v), quoted, sizeof quoted));
}

/* *after is its dependsOn. */
static void check_step(struct wm_getting *d, yyjson_val *v, struct wm_names *ids, yyjson_val **after)
{
    enum { ID, DESCRIPTION, TOOL, AFTER, STATUS, N };
    static const struct wm_member table[] = {
        [ID] = {UPP_STR_INIT("id"), WM_ID, 0},
        [DESCRIPTION] = {UPP_STR_INIT("description"), WM_STR, 0},
        [TOOL] = {UPP_STR_INIT("tool"), WM_STR, WM_MAY_MISS | WM_MAY_BE_NULL},
        [AFTER] = {UPP_STR_INIT("dependsOn"), WM_ARR, 0},
        [STATUS] = {UPP_STR_INIT("status"), WM_STR, 0},
    };
    yyjson_val *m[N];
    if (!wm_getting_members(d, v, table, N, m))
        return;
    check_status(d, m[STATUS]);
    add_id(d, ids, m[ID], "step");
    *after = m[AFTER];
}

static void check_after(struct wm_getting *d, yyjson_val *list, const struct wm_names *ids)
{
    char quoted[WJ_QUOTED];
    yyjson_val *item = unsafe_yyjson_get_first(list);
    for (size_t n = unsafe_yyjson_get_len(list); n && !d->failed; n--, item = unsafe_yyjson_get_next(item))
        if (!yyjson_is_str(item))
            wm_getting_refuse(d, item, "a string: the id of a step");
        else if (wm_names_find(ids, wj_text(item)) == UINT32_MAX)
            wm_getting_fail(d, item, UPP_EINVALID, "there is no step %s",
                            wj_quote(wj_text(item), quoted, sizeof quoted));
}

/* A step during the depth-first search: its remaining dependencies, and the step it was reached from. */
struct walk {
    yyjson_val *next;
    size_t left;
    uint32_t up;
    uint8_t state;
};
enum { WALK_NEW, WALK_OPEN, WALK_DONE };

static struct walk walk_from(yyjson_val *after, uint32_t up)
{
    return (struct walk){unsafe_yyjson_get_first(after), unsafe_yyjson_get_len(after), up, WALK_OPEN};
}

/* Visits everything reachable from step `at`. Uses no recursion. */
static void walk(struct wm_getting *d, const struct wm_names *ids, yyjson_val **after, struct walk *all, uint32_t at)
{
    all[at] = walk_from(after[at], UINT32_MAX);
    while (at != UINT32_MAX && !d->failed) {
        struct walk *w = &all[at];
        if (w->left == 0) {
            w->state = WALK_DONE;
            at = w->up;
            continue;
        }
        uint32_t on = wm_names_find(ids, wj_text(w->next));
        if (all[on].state == WALK_OPEN)
            wm_getting_fail(d, w->next, UPP_EINVALID, "the steps depend on each other in a circle");
        w->next = unsafe_yyjson_get_next(w->next);
        w->left--;
        if (all[on].state == WALK_NEW) {
            all[on] = walk_from(after[on], at);
            at = on;
        }
    }
}

/* Checks that no step depends on itself, directly or indirectly. */
static void check_order(struct wm_getting *d, const struct wm_names *ids, yyjson_val **after, size_t n)
{
    struct walk *all = n ? wb_new_n(d->a, struct walk, n) : NULL;
    if (n && !all)
        (void)wm_doc_out_of_memory(d);
    for (uint32_t i = 0; i < n && !d->failed; i++)
        if (all[i].state == WALK_NEW)
            walk(d, ids, after, all, i);
}

static struct upp_str read_plan(struct wm_getting *d, yyjson_val *list)
{
    struct wm_names ids = {0};
    size_t n;
    if (!list)
        return (struct upp_str){0};
    yyjson_val **after = room(d, list, sizeof *after, WM_SESSION_PLAN, &n), *item = unsafe_yyjson_get_first(list);
    for (size_t i = 0; i < n && !d->failed; i++, item = unsafe_yyjson_get_next(item))
        check_step(d, item, &ids, &after[i]);
    for (size_t i = 0; i < n && !d->failed; i++)
        check_after(d, after[i], &ids);
    if (!d->failed)
        check_order(d, &ids, after, n);
    wm_names_done(&ids);
    return wm_getting_json(d, list);
}

/* ---- Checkpoints ---------------------------------------------------------------------------------- */

static void read_reasoning(struct wm_getting *d, yyjson_val *list, struct wm_checkpoint *c)
{
    if (!list)
        return;
    yyjson_val *item = unsafe_yyjson_get_first(list);
    c->has_reasoning = true;
    c->reasoning = room(d, list, sizeof c->reasoning[0], WM_SESSION_MESSAGES, &c->n_reasoning);
    for (size_t i = 0; i < c->n_reasoning && !d->failed; i++, item = unsafe_yyjson_get_next(item))
        if (yyjson_is_str(item))
            c->reasoning[i] = wj_text(item);
        else
            wm_getting_refuse(d, item, "a string");
}

static void read_state(struct wm_getting *d, yyjson_val *v, struct wm_checkpoint *c)
{
    enum { STEP, MESSAGES, METADATA, REASONING, PLAN, N };
    static const struct wm_member table[] = {
        [STEP] = {UPP_STR_INIT("step"), WM_U32, 0},
        [MESSAGES] = {UPP_STR_INIT("messages"), WM_ARR, 0},
        [METADATA] = {UPP_STR_INIT("metadata"), WM_OBJ, 0},
        [REASONING] = {UPP_STR_INIT("reasoning"), WM_ARR, WM_MAY_MISS | WM_MAY_BE_NULL},
        [PLAN] = {UPP_STR_INIT("plan"), WM_ARR, WM_MAY_MISS | WM_MAY_BE_NULL},
    };
    yyjson_val *m[N];
    if (!wm_getting_members(d, v, table, N, m))
        return;
    c->state_step = wm_doc_u32(m[STEP]);
    c->state_metadata = wm_getting_json(d, m[METADATA]);
    if (unsafe_yyjson_get_len(m[MESSAGES]) > WM_SESSION_MESSAGES)
        wm_getting_fail(d, m[MESSAGES], UPP_ELIMIT, "expected at most %d messages", WM_SESSION_MESSAGES);
    if (!d->failed)
        d->failed = wm_messages_read(d->a, d->root, m[MESSAGES], &c->messages, &c->n_messages, d->err);
    if (!d->failed)
        read_reasoning(d, m[REASONING], c);
    if (!d->failed)
        c->plan = read_plan(d, m[PLAN]);
}

static void read_subs(struct wm_getting *d, yyjson_val *map, struct wm_checkpoint *c)
{
    struct wm_names calls = {0};
    if (!map || d->failed)
        return;
    yyjson_val *key = unsafe_yyjson_get_first(map);
    c->subs = room(d, map, sizeof c->subs[0], WM_SESSION_NODES, &c->n_subs);
    if (c->n_subs && d->nested == WM_SESSION_NESTED)
        wm_getting_fail(d, map, UPP_ELIMIT, "expected at most %d sessions in one another", WM_SESSION_NESTED);
    d->nested++;
    for (size_t i = 0; i < c->n_subs && !d->failed; i++, key = unsafe_yyjson_get_next(key + 1)) {
        struct wm_session *s = wb_new(d->a, struct wm_session);
        add_id(d, &calls, key, "member");
        c->subs[i] = (struct wm_sub_session){wj_text(key), s};
        if (!wm_doc_out_of_memory(d))
            read_session(d, key + 1, s);
    }
    d->nested--;
    wm_names_done(&calls);
}

static void read_checkpoint(struct session *s, yyjson_val *v, struct wm_checkpoint *c)
{
    enum { ID, SESSION, TIME, STEP, THREAD, STATE, SUBS, METADATA, N };
    static const struct wm_member table[] = {
        [ID] = {UPP_STR_INIT("id"), WM_ID, 0},
        [SESSION] = {UPP_STR_INIT("sessionId"), WM_ID, 0},
        [TIME] = {UPP_STR_INIT("timestamp"), WM_TIME, 0},
        [STEP] = {UPP_STR_INIT("step"), WM_U32, 0},
        [THREAD] = {UPP_STR_INIT("threadId"), WM_ID, 0},
        [STATE] = {UPP_STR_INIT("state"), WM_OBJ, 0},
        [SUBS] = {UPP_STR_INIT("subAgentStates"), WM_OBJ, WM_MAY_MISS},
        [METADATA] = {UPP_STR_INIT("metadata"), WM_OBJ, WM_MAY_MISS},
    };
    static const struct upp_str keys[] = {UPP_STR_INIT("uap.threadLength"), UPP_STR_INIT("uap.own")};
    struct wm_getting *d = s->d;
    yyjson_val *m[N], *ours[2];
    char quoted[WJ_QUOTED];
    if (!wm_getting_members(d, v, table, N, m))
        return;
    add_id(d, &s->checkpoints, m[ID], "checkpoint");
    if (!wb_str_eq(wj_text(m[SESSION]), s->s->id))
        wm_getting_fail(d, m[SESSION], UPP_EINVALID, "the checkpoint is of another session");
    c->node = wm_names_find(&s->nodes, wj_text(m[THREAD]));
    if (c->node == UINT32_MAX)
        wm_getting_fail(d, m[THREAD], UPP_EINVALID, "there is no node %s",
                        wj_quote(wj_text(m[THREAD]), quoted, sizeof quoted));
    c->id = wj_text(m[ID]);
    c->time = wj_text(m[TIME]);
    c->step = wm_doc_u32(m[STEP]);
    if (d->failed)
        return;
    c->metadata = wm_getting_map(d, m[METADATA], keys, WB_LEN(keys), ours);
    c->length = wm_getting_length(d, ours[0], s->s->tree.nodes[c->node].thread.n);
    c->own = wm_getting_json(d, ours[1]);
    read_state(d, m[STATE], c);
    read_subs(d, m[SUBS], c);
}

/* ---- Sessions ------------------------------------------------------------------------------------- */

/* Must be 1.0.x, where x is a number. */
static void check_version(struct wm_getting *d, yyjson_val *v)
{
    struct upp_str s = wj_text(v), last = wb_str_sub(s, 4, s.n);
    uint64_t n;
    char quoted[WJ_QUOTED];
    if (!wb_str_starts(s, UPP_STR("1.0.")) || !wb_str_u64(last, &n))
        wm_getting_fail(d, v, UPP_EINVALID, "expected version 1.0.x, found %s", wj_quote(s, quoted, sizeof quoted));
}

static void read_checkpoints(struct session *s, yyjson_val *list)
{
    struct wm_getting *d = s->d;
    uint32_t at;
    for (size_t i = 0; i < s->s->tree.n && !d->failed; i++) {
        int r = wm_names_add(&s->nodes, s->s->tree.nodes[i].id, &at, d->err);
        if (r < 0)
            d->failed = r;
    }
    yyjson_val *item = unsafe_yyjson_get_first(list);
    if (!d->failed)
        s->s->checkpoints = room(d, list, sizeof s->s->checkpoints[0], WM_SESSION_CHECKPOINTS, &s->s->n_checkpoints);
    for (size_t i = 0; i < s->s->n_checkpoints && !d->failed; i++, item = unsafe_yyjson_get_next(item))
        read_checkpoint(s, item, &s->s->checkpoints[i]);
}

static void read_session(struct wm_getting *d, yyjson_val *v, struct wm_session *s)
{
    enum { VERSION, ID, AGENT, CREATED, UPDATED, TREE, CHECKPOINTS, METADATA, N };
    static const struct wm_member table[] = {
        [VERSION] = {UPP_STR_INIT("version"), WM_STR, 0},
        [ID] = {UPP_STR_INIT("id"), WM_ID, 0},
        [AGENT] = {UPP_STR_INIT("agentId"), WM_STR, 0},
        [CREATED] = {UPP_STR_INIT("createdAt"), WM_TIME, 0},
        [UPDATED] = {UPP_STR_INIT("updatedAt"), WM_TIME, 0},
        [TREE] = {UPP_STR_INIT("threadTree"), WM_OBJ, 0},
        [CHECKPOINTS] = {UPP_STR_INIT("checkpoints"), WM_ARR, 0},
        [METADATA] = {UPP_STR_INIT("metadata"), WM_OBJ, WM_MAY_MISS},
    };
    struct session reading = {.d = d, .s = s};
    yyjson_val *m[N];
    if (!wm_getting_members(d, v, table, N, m))
        return;
    check_version(d, m[VERSION]);
    s->id = wj_text(m[ID]);
    s->agent_id = wj_text(m[AGENT]);
    s->created = wj_text(m[CREATED]);
    s->updated = wj_text(m[UPDATED]);
    s->metadata = wm_getting_json(d, m[METADATA]);
    if (!d->failed)
        wm_getting_tree(d, m[TREE], s->created, s->updated, &s->tree);
    if (!d->failed)
        read_checkpoints(&reading, m[CHECKPOINTS]);
    wm_names_done(&reading.nodes);
    wm_names_done(&reading.checkpoints);
}

static int read_value(struct wb_arena *a, yyjson_val *root, bool messages_read, struct wm_session *ret,
                      struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf scratch = WB_BUF((size_t)WM_SESSION_BYTES + 64);
    struct wm_getting d = {.a = a, .root = root, .scratch = &scratch, .err = err, .read = messages_read};
    struct wm_session s = {0};
    read_session(&d, root, &s);
    if (d.failed)
        return d.failed;
    *ret = s;
    return 0;
}

int wm_session_read(struct wb_arena *a, struct upp_str json, struct wm_session *ret, struct upp_err *err)
{
    yyjson_val *root;
    int r =
        wj_read(a, json, UPP_OPTS(wj_read_opts, .max_bytes = WM_SESSION_BYTES, .depth = WM_SESSION_JSON), &root, err);
    return r < 0 ? r : read_value(a, root, false, ret, err);
}

int wm_session_check(struct wb_arena *a, yyjson_val *root, struct upp_err *err)
{
    struct wm_session s;
    return read_value(a, root, true, &s, err);
}
