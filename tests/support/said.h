/* support/said.h — a thread with a run that used tools, as its rows, and what can be read of it: for tests of what is
 * deleted, erased and swept. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "log/change.h"
#include "support/stores.h"
#include "support/tree.h"

/* A thread as a run with tools writes it:
 *   0 user "question secret"   1 assistant "thinking secret" c1 c2   2 results c1 c2   3 assistant "answer secret"
 * Row 0: the input, with what middleware made of it (an aside). Row 1: C2. Row 2: the result of c1. Row 3: that of c2,
 * with the message that shows both. Row 4: the answer. */
struct talk {
    struct wl_thread t;
    struct wm_run run;
    struct wb_uuid id[8]; /* by index */
};

#define O (&tree_owner)

static inline struct wb_uuid entry_id(const struct talk *k, uint32_t index)
{
    return wm_id_uuid((struct wm_id){.node = k->t.head, .index = index, .noun = WM_NOUN_ENTRY});
}

static inline struct wm_event started(struct upp_str call)
{
    return (struct wm_event){
        .kind = WM_TOOL_STARTED, .call = {call, UPP_STR("t")}, .tool_started.arguments = UPP_STR("{\"a\":\"secret\"}")};
}

static inline WEFT_SUSPENDS int write_rows(struct wl_store *s, struct talk *k, struct upp_err *err)
{
    uint64_t pos = 0;
    struct upp_part p[6];
    struct upp_str refs[] = {UPP_STR("c1"), UPP_STR("c2")};
    struct wm_entry input[2] = {tree_says(UPP_ROLE_USER, &p[0], UPP_STR("question secret")),
                                tree_says(UPP_ROLE_USER, &p[1], UPP_STR("aside secret"))};
    struct wm_entry asks = tree_says(UPP_ROLE_ASSISTANT, &p[2], UPP_STR("thinking secret"));
    struct wm_entry shows = tree_shows(refs, 2);
    struct wm_entry answer = tree_says(UPP_ROLE_ASSISTANT, &p[5], UPP_STR("answer secret"));
    struct wm_event began[] = {started(refs[0]), started(refs[1])};
    struct wm_event ended[] = {tree_ended(refs[0], UPP_STR("\"one secret\"")), tree_ended(refs[1], UPP_STR("\"two\""))};
    input[1].audience = WM_AUDIENCE_RUN;
    for (size_t i = 0; i < 2; i++)
        p[3 + i] = (struct upp_part){
            .kind = UPP_PART_CALL, .id = refs[i], .name = UPP_STR("t"), .text = began[i].tool_started.arguments};
    asks.message.n_parts = 3;
    struct wm_row rows[] = {
        {.time_ms = 5, .entries = input, .n_entries = 1},
        {.time_ms = 5, .entries = input + 1, .n_entries = 1},
        {.time_ms = 6, .step = 1, .entries = &asks, .n_entries = 1, .records = began, .n_records = 2},
        {.time_ms = 7, .step = 1, .records = ended, .n_records = 1},
        {.time_ms = 8, .step = 1, .entries = &shows, .n_entries = 1, .records = ended + 1, .n_records = 1},
        {.time_ms = 9, .step = 2, .entries = &answer, .n_entries = 1},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++)
        TRY(tree_row(s, O, k->t.head, &pos, k->run.id, &rows[i], err));
    return 0;
}

static inline WEFT_SUSPENDS int make_talk(struct wl_store *s, struct wb_arena *a, struct talk *k, struct upp_err *err)
{
    *k = (struct talk){0};
    TRY(wl_thread_new(s, O, NULL, a, &k->t, err));
    k->run = (struct wm_run){.id = test_uuid(77),
                             .root = test_uuid(77),
                             .thread = k->t.id,
                             .node = k->t.head,
                             .version = 1,
                             .status = WM_COMPLETED,
                             .started_ms = 5,
                             .ended_ms = 9};
    TRY(COMMIT(s, *O, NULL, err, ADD_RUN(&k->run)));
    TRY(write_rows(s, k, err));
    for (uint32_t i = 0; i < WB_LEN(k->id); i++)
        k->id[i] = entry_id(k, i);
    return 0;
}

/* So many ended runs of a thread more, at this node, which quote something. Their numbers go from 1000 on. */
static inline WEFT_SUSPENDS int add_runs(struct wl_store *s, struct wb_uuid thread, uint64_t node, size_t n,
                                         struct upp_err *err)
{
    enum { EACH = 256 };
    static struct wm_run runs[EACH];
    static struct wl_change list[EACH];
    for (size_t at = 0; at < n;) {
        size_t some = WB_MIN(n - at, (size_t)EACH);
        for (size_t i = 0; i < some; i++, at++) {
            runs[i] = (struct wm_run){.id = test_uuid(1000 + at),
                                      .root = test_uuid(1000 + at),
                                      .thread = thread,
                                      .node = node,
                                      .version = 1,
                                      .status = WM_COMPLETED,
                                      .options = UPP_STR("{\"instructions\":\"secret\"}"),
                                      .started_ms = 5,
                                      .ended_ms = 9};
            list[i] = (struct wl_change){.kind = WL_ADD_RUN, .run = &runs[i]};
        }
        TRY(test_commit(s, *O, list, some, NULL, err));
    }
    return 0;
}

/* All entries as one line: role, then its parts; a stroke where it is hidden. */
static inline WEFT_SUSPENDS int say(struct wl_store *s, const struct wl_thread *t, char *out, size_t room,
                                    struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_path path;
    struct wl_line *lines;
    size_t n, at = 0;
    TRY(wl_thread_path(s, O, t, &a, &path, err));
    TRY(wl_path_tail(s, O, &path, UINT32_MAX, 100, &a, &lines, &n, err));
    for (size_t i = 0; i < n; i++) {
        const struct wm_entry *e = &lines[i].entry;
        at += (size_t)snprintf(out + at, room - at, "%s%s", at ? " " : "",
                               e->kind == WM_ENTRY_EVENT ? "e"
                               : wm_is_hidden(e)         ? "-"
                               : wm_is_erased(e)         ? "x"
                                                         : "m");
        for (size_t k = 0; k < e->message.n_parts; k++)
            at += (size_t)snprintf(out + at, room - at, "<%.*s>", UPP_FMT(e->message.parts[k].text));
    }
    return 0;
}

#define SAYS(store, thread, expected)                                                                                  \
    do {                                                                                                               \
        static char said_[4096];                                                                                       \
        TRY(say((store), (thread), said_, sizeof said_, err));                                                         \
        test_note("%s", said_);                                                                                        \
        FAIL_UNLESS(strcmp(said_, (expected)) == 0);                                                                   \
    } while (0)

/* In no row of the node is this text any more. */
static inline WEFT_SUSPENDS int nowhere(struct wl_store *s, uint64_t node, const char *text, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wl_range range = {.node = node, .to = UINT64_MAX >> 1};
    struct wl_rows rows;
    TRY(wl_store_rows(s, O, &range, &a, &rows, err));
    for (size_t i = 0; i < rows.n; i++)
        FAIL_UNLESS(wb_str_find(rows.p[i].body, wb_cstr(text), 0) == SIZE_MAX);
    return 0;
}

#define Q      "m<question secret>"
#define ASIDE  " m<aside secret>"
#define ASKS   " m<thinking secret><{\"a\":\"secret\"}><{\"a\":\"secret\"}>"
#define SHOWS  " m<\"one secret\"><\"two\">"
#define ANSWER " m<answer secret>"

static inline int in_memory(WEFT_SUSPENDS int (*fn)(struct test_store *t, struct upp_err *err), struct upp_err *err)
{
    WB_CLEANUP(tree_closep) struct wl_store *s = NULL;
    int r = ws_memory_open(&s, err);
    return r < 0 ? r : fn(&(struct test_store){.s = s}, err);
}

/* The process dies with its n-th commit: that one is written or is not, and nothing after it is. */
struct mortal {
    const struct wl_store_ops *real;
    struct wl_store_ops ops;
    unsigned dies_in; /* 0: it lives */
    bool applies, dead;
};

static inline struct mortal *mortal(void)
{
    static struct mortal m;
    return &m;
}

static inline WEFT_SUSPENDS int mortal_commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    struct mortal *m = mortal();
    bool last = m->dies_in && --m->dies_in == 0;
    if (m->dead || (last && !m->applies)) {
        m->dead = true;
        return upp_fail(err, UPP_ESTORE, "the process is dead");
    }
    int r = m->real->commit(s, c, err);
    if (last)
        m->dead = true;
    return last ? upp_fail(err, UPP_ESTORE, "the process is dead") : r;
}

static inline void mortal_begin(struct wl_store *s, unsigned dies_in, bool applies)
{
    struct mortal *m = mortal();
    *m = (struct mortal){.real = s->ops, .ops = *s->ops, .dies_in = dies_in, .applies = applies};
    m->ops.commit = mortal_commit;
    s->ops = &m->ops;
}

/* Did it die? From here on it lives again. */
static inline bool mortal_end(struct wl_store *s)
{
    s->ops = mortal()->real;
    return mortal()->dead;
}

/* Does `act` once, dying at each of its commits in turn, and then once more without: `check` must hold after that, and
 * `anytime` after each death. */
struct dying {
    WEFT_SUSPENDS int (*make)(struct wl_store *s, struct wb_arena *a, void *world, struct upp_err *err);
    WEFT_SUSPENDS int (*act)(struct wl_store *s, void *world, struct upp_err *err);
    WEFT_SUSPENDS int (*anytime)(struct wl_store *s, void *world, struct upp_err *err);
    WEFT_SUSPENDS int (*check)(struct wl_store *s, void *world, struct upp_err *err);
    void *world;
    unsigned deaths;
};

static inline WEFT_SUSPENDS int die_once(struct dying *d, unsigned n, bool applies, bool *died, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    WB_CLEANUP(tree_closep) struct wl_store *s = NULL;
    TRY(ws_memory_open(&s, err));
    TRY(d->make(s, &a, d->world, err));
    mortal_begin(s, n, applies);
    int r = d->act(s, d->world, err);
    *died = mortal_end(s);
    if (!*died)
        TRY(r);
    TRY(d->anytime(s, d->world, err));
    if (*died) {
        d->deaths++;
        r = d->act(s, d->world, err);
        if (r < 0 && r != -UPP_ENOTFOUND) /* it was done when it died */
            return r;
    }
    return d->check(s, d->world, err);
}

static inline WEFT_SUSPENDS int die_everywhere(struct dying *d, struct upp_err *err)
{
    bool died = true;
    for (unsigned n = 1; died && n < 200; n++) {
        test_note("commit %u", n);
        TRY(die_once(d, n, false, &died, err));
        if (died)
            TRY(die_once(d, n, true, &died, err));
    }
    return 0;
}
