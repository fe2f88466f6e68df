/* The search over each store: by words that were learned, and by reading the log. Both find the same. */
#include "log/search.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "log/change.h"
#include "stores/memory/memory.h"
#include "stores/sqlite/grams.h"
#include "support/stores.h"

#define S (t->s)
#define O (t->s->ops)

/* ---- Small things --------------------------------------------------------------------------------------- */

struct said {
    const char *who, *text, *tool; /* tool: a call of it */
    int64_t time_ms;
    uint8_t audience; /* 0: all */
};

/* A row with these entries at the end of a node. */
static WEFT_SUSPENDS int say_to(struct wl_store *s, struct wl_owner o, uint64_t node, struct wb_uuid run,
                                const struct said *said, size_t n, struct upp_err *err)
{
    UPP_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(1 << 20);
    static struct wm_entry entries[64]; /* too large for a stack; not kept over a wait */
    static struct upp_part parts[64][2];
    struct wl_end end;
    FAIL_UNLESS(n <= 64);
    TRY(wl_node_end(s, &o, node, &end, err));
    memset(entries, 0, sizeof entries);
    memset(parts, 0, sizeof parts);
    for (size_t i = 0; i < n; i++) {
        parts[i][0] = (struct upp_part){.kind = UPP_PART_TEXT, .text = wb_cstr(said[i].text)};
        if (said[i].tool)
            parts[i][1] = (struct upp_part){
                .kind = UPP_PART_CALL, .id = UPP_STR("call_1"), .name = wb_cstr(said[i].tool), .text = UPP_STR("{}")};
        entries[i] = (struct wm_entry){.kind = WM_ENTRY_MESSAGE,
                                       .origin = WM_ORIGIN_IMPORT,
                                       .audience = said[i].audience ? said[i].audience : WM_AUDIENCE_ALL,
                                       .who = wb_cstr(said[i].who),
                                       .message = {.role = said[i].tool ? UPP_ROLE_ASSISTANT : UPP_ROLE_USER,
                                                   .time_ms = said[i].time_ms ? said[i].time_ms : 1,
                                                   .parts = parts[i],
                                                   .n_parts = said[i].tool ? 2 : 1}};
    }
    TRY(wm_row_write(&(struct wm_row){.time_ms = 1, .entries = entries, .n_entries = n}, &body, err));
    struct wl_row row = {.node = node,
                         .pos = end.pos,
                         .n_entries = (uint32_t)n,
                         .format = WM_FORMAT,
                         .run = run,
                         .body = wb_buf_str(&body)};
    return COMMIT(s, o, NULL, err, ADD_ROW(&row));
}

static WEFT_SUSPENDS int say(struct wl_store *s, struct wl_owner o, uint64_t node, const char *who, const char *text,
                             struct upp_err *err)
{
    return say_to(s, o, node, WB_UUID_NIL, &(struct said){.who = who, .text = text}, 1, err);
}

static WEFT_SUSPENDS int learn_all(struct wl_store *s, struct upp_err *err)
{
    size_t n = 1;
    int r = 0;
    while (r >= 0 && n)
        r = wl_index_rows(s, &n, err);
    return r == -UPP_EREFUSED ? 0 : r; /* that one is read */
}

/* How many are found. */
static WEFT_SUSPENDS int count(struct wl_store *s, struct wl_owner o, struct wl_search q, size_t *ret,
                               struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
    struct wl_results x;
    q.max = WL_SEARCH_MAX;
    int r = wl_search(s, &o, &q, &a, &x, err);
    *ret = r < 0 ? 999 : x.n;
    return r;
}

#define FINDS(owner, want, ...)                                                                                        \
    do {                                                                                                               \
        size_t found_;                                                                                                 \
        TRY(count(S, (owner), (struct wl_search){__VA_ARGS__}, &found_, err));                                         \
        test_note("%zu found, not %d", found_, (want));                                                                \
        FAIL_UNLESS(found_ == (want));                                                                                 \
    } while (0)
#define WORDS(text_) .words = UPP_STR_INIT(text_)

/* ---- What is found -------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int finds(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
    struct wl_thread x, y, z, bob;
    struct wl_results r;
    TRY(wl_thread_new(S, &ALICE, NULL, &a, &x, err));
    TRY(wl_thread_new(S, &ALICE, NULL, &a, &y, err));
    TRY(wl_thread_new(S, &EVE, NULL, &a, &z, err));
    TRY(wl_thread_new(S, &BOB, NULL, &a, &bob, err));
    const struct said in_x[] = {
        {"alice", "The quick brown Fox jumps over the lazy dog", NULL, 1000, 0},
        {"coder", "I look it up", "web_search", 2000, 0},
        {"coder",
         "\xc3\x9c"
         "BER den Fluss: 100% \"quoted\" 'it''s'",
         "read\xc3\xbc", 3000, 0},
        {"coder", "a secret note of the fox", NULL, 4000, WM_AUDIENCE_RUN},
    };
    TRY(say_to(S, ALICE, x.head, WB_UUID_NIL, in_x, WB_LEN(in_x), err));
    TRY(say(S, ALICE, y.head, "alice", "another fox, no dog", err));
    TRY(say(S, EVE, z.head, "alice", "eve's fox", err));
    TRY(say(S, BOB, bob.head, "bob", "bob's fox", err));
    TRY(learn_all(S, err));

    FINDS(ALICE, 2, WORDS("fox"));
    FINDS(ALICE, 2, WORDS("  FOX   dOg "));
    FINDS(ALICE, 1, WORDS("fox quick"));
    FINDS(ALICE, 0, WORDS("fox cat"));
    FINDS(ALICE, 1, WORDS("jump")); /* within a word too */
    FINDS(ALICE, 2, WORDS("fo"));   /* fewer than three letters */
    FINDS(ALICE, 1, WORDS("up"));
    FINDS(ALICE, 2, WORDS("x"));
    FINDS(ALICE, 1,
          WORDS("\xc3\xbc"
                "ber"));
    FINDS(ALICE, 1, WORDS("\xc3\x9c"));
    FINDS(ALICE, 1, WORDS("100%"));
    FINDS(ALICE, 0, WORDS("1_0%"));
    FINDS(ALICE, 1, WORDS("\"quoted\" 'it''s'"));
    FINDS(ALICE, 0, WORDS("secret")); /* not for everybody */
    FINDS(ALICE, 0, WORDS("eve"));
    FINDS(ALICE, 0, WORDS("bob"));
    FINDS(BOB, 1, WORDS("fox"));
    FINDS(EVE, 1, WORDS("fox"));
    FINDS(OWNER("nobody", ""), 0, WORDS("fox"));
    FINDS(ALICE, 2, .who = UPP_STR_INIT("coder"));
    FINDS(ALICE, 0, .who = UPP_STR_INIT("code"));
    FINDS(ALICE, 1, .tool = UPP_STR_INIT("web_search"));
    FINDS(ALICE, 0, .tool = UPP_STR_INIT("web"));
    FINDS(ALICE, 1, .tool = UPP_STR_INIT("read\xc3\xbc"));
    FINDS(ALICE, 2, .since_ms = 2000);
    FINDS(ALICE, 1, .since_ms = 2000, .until_ms = 3000);
    FINDS(ALICE, 1, WORDS("fox"), .thread = x.id);
    FINDS(ALICE, 3, .thread = x.id);
    size_t n;
    FAIL_UNLESS(count(S, BOB, (struct wl_search){.thread = x.id}, &n, err) == -UPP_ENOTFOUND);
    FAIL_UNLESS(count(S, ALICE, (struct wl_search){.max = 1}, &n, err) == -UPP_EINVALID);
    FAIL_UNLESS(count(S, ALICE, (struct wl_search){WORDS("  ")}, &n, err) == -UPP_EINVALID);
    FAIL_UNLESS(count(S, ALICE, (struct wl_search){WORDS("1 2 3 4 5 6 7 8 9 a b c d e f g h")}, &n, err) ==
                -UPP_ELIMIT);

    /* What is said of each, newest first. */
    TRY(wl_search(S, &ALICE, &(struct wl_search){WORDS("LAZY dog")}, &a, &r, err));
    FAIL_UNLESS(r.n == 1 && r.next == 0 && !r.cut && r.upto == r.end && r.end >= 4);
    const struct wl_found *f = &r.p[0];
    struct wl_line line;
    FAIL_UNLESS(wb_str_eq(f->who, UPP_STR("alice")) && f->time_ms == 1000 && f->role == UPP_ROLE_USER);
    FAIL_UNLESS(wb_str_eq(wb_str(f->snippet.p + f->match, f->match_n), UPP_STR("lazy")));
    FAIL_UNLESS(f->n_in == 1 && wb_uuid_eq(f->in[0].thread, x.id) && !f->in[0].abandoned);
    TRY(wl_entry_find(S, &ALICE, f->entry, &a, &line, err));
    FAIL_UNLESS(line.node == f->node && line.index == 0);
    TRY(wl_search(S, &ALICE, &(struct wl_search){WORDS("fox"), .max = 1}, &a, &r, err));
    FAIL_UNLESS(r.n == 1 && r.next && wb_uuid_eq(r.p[0].in[0].thread, y.id));
    TRY(wl_search(S, &ALICE, &(struct wl_search){WORDS("fox"), .max = 1, .after = r.next}, &a, &r, err));
    FAIL_UNLESS(r.n == 1 && wb_uuid_eq(r.p[0].in[0].thread, x.id));
    if (r.next) {
        TRY(wl_search(S, &ALICE, &(struct wl_search){WORDS("fox"), .max = 1, .after = r.next}, &a, &r, err));
        FAIL_UNLESS(r.n == 0 && !r.next);
    }
    return 0;
}

/* covers: TP-53 */
TEST(search_finds_by_words_agent_tool_time_and_thread)
{
    CHECK(test_each_store(finds, NULL));
}

/* ---- Branches, deleted threads, erased rows --------------------------------------------------------------- */

static WEFT_SUSPENDS int branches(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
    struct wl_thread x, y;
    struct wl_results r;
    struct wb_uuid id = test_uuid(5);
    TRY(wl_thread_new(S, &ALICE, NULL, &a, &x, err));
    struct wm_run run = {.id = id, .root = id, .thread = x.id, .node = x.head, .version = 1, .status = WM_COMPLETED};
    TRY(COMMIT(S, ALICE, NULL, err, ADD_RUN(&run)));
    TRY(say(S, ALICE, x.head, "alice", "apple shared", err));
    TRY(say_to(S, ALICE, x.head, id, &(struct said){.who = "coder", .text = "apple left behind"}, 1, err));
    TRY(wl_fork(S, &x, x.head, 1, &a, &y, err));
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("apple of the fork")};
    struct wm_entry entry = {.kind = WM_ENTRY_MESSAGE,
                             .origin = WM_ORIGIN_CLIENT,
                             .audience = WM_AUDIENCE_ALL,
                             .message = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1}};
    uint32_t index;
    TRY(wl_append(S, &ALICE, &y, &entry, 1, &index, err));
    x.at = 2; /* one entry counts: the rest was left behind */
    TRY(COMMIT(S, ALICE, NULL, err, SET_THREAD(&x)));
    TRY(learn_all(S, err));

    TRY(wl_search(S, &ALICE, &(struct wl_search){WORDS("apple")}, &a, &r, err));
    FAIL_UNLESS(r.n == 3);
    FAIL_UNLESS(r.p[0].n_in == 1 && wb_uuid_eq(r.p[0].in[0].thread, y.id) && !r.p[0].in[0].abandoned);
    FAIL_UNLESS(r.p[1].n_in == 1 && wb_uuid_eq(r.p[1].in[0].thread, x.id) && r.p[1].in[0].abandoned);
    FAIL_UNLESS(r.p[2].n_in == 2 && !r.p[2].in[0].abandoned && !r.p[2].in[1].abandoned);
    FINDS(ALICE, 2, WORDS("apple"), .thread = x.id);
    FINDS(ALICE, 2, WORDS("apple"), .thread = y.id);

    x.version = 2; /* x is deleted: what is only its own is not found, also not as left behind */
    TRY(COMMIT(S, ALICE, NULL, err, DROP_THREAD(&x)));
    FINDS(ALICE, 2, WORDS("apple"));
    FINDS(ALICE, 0, WORDS("behind"));
    y.version = 2; /* what was said moved it to a node of its own */
    TRY(COMMIT(S, ALICE, NULL, err, DROP_THREAD(&y)));
    FINDS(ALICE, 0, WORDS("apple"));
    return 0;
}

/* covers: TP-53 */
TEST(search_knows_branches_and_what_was_deleted)
{
    CHECK(test_each_store(branches, NULL));
}

/* A row whose first entry says something else, as erasing does it. */
static WEFT_SUSPENDS int erase(struct wl_store *s, uint64_t node, struct upp_err *err)
{
    UPP_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(1 << 20);
    struct wm_entry e = {.kind = WM_ENTRY_MESSAGE,
                         .origin = WM_ORIGIN_CLIENT,
                         .audience = WM_AUDIENCE_ALL,
                         .message = {.role = UPP_ROLE_USER, .time_ms = 1}};
    TRY(wm_row_write(&(struct wm_row){.time_ms = 1, .entries = &e, .n_entries = 1}, &body, err));
    struct wl_row row = {.node = node, .n_entries = 1, .format = WM_FORMAT, .body = wb_buf_str(&body)};
    return COMMIT(s, ALICE, NULL, err, SET_ROW(&row));
}

static struct {
    const struct wl_store_ops *ops;
    uint64_t node;
    bool done, refuse_commit;
} between;

static WEFT_SUSPENDS int follow_and_erase(struct wl_store *s, uint64_t after, size_t max_rows, size_t max_bytes,
                                          struct wb_arena *a, struct wl_followed **ret, size_t *n, struct upp_err *err)
{
    TRY(between.ops->follow ? between.ops->follow(s, after, max_rows, max_bytes, a, ret, n, err)
                            : wl_store_follow(s->inner, after, max_rows, max_bytes, a, ret, n, err));
    if (!between.done)
        TRY(erase(s, between.node, err));
    between.done = true;
    return 0;
}

static WEFT_SUSPENDS int no_learning(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    if (between.refuse_commit && c->n && c->changes[0].kind == WL_INDEX_ADD)
        return upp_fail(err, UPP_ESTORE, "the power is gone");
    return between.ops->commit ? between.ops->commit(s, c, err) : wl_store_commit(s->inner, c, err);
}

/* The words are learned while a search that has not seen them goes on. */
static WEFT_SUSPENDS int learns_behind(struct wl_store *s, const struct wl_owner *o, const struct wl_query *q,
                                       struct wb_arena *a, struct wl_hit **ret, size_t *n, struct upp_err *err)
{
    size_t rows;
    TRY(between.ops->search ? between.ops->search(s, o, q, a, ret, n, err)
                            : wl_store_search(s->inner, o, q, a, ret, n, err));
    return wl_index_rows(s, &rows, err);
}

static WEFT_SUSPENDS int erased(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
    struct wl_thread x, y;
    TRY(wl_thread_new(S, &ALICE, NULL, &a, &x, err));
    TRY(wl_thread_new(S, &ALICE, NULL, &a, &y, err));
    TRY(say(S, ALICE, x.head, "alice", "a secret that goes", err));
    TRY(learn_all(S, err));
    FINDS(ALICE, 1, WORDS("secret"));
    TRY(erase(S, x.head, err));
    FINDS(ALICE, 0, WORDS("secret"));

    /* While it is being learned: read before, learned behind. */
    TRY(say(S, ALICE, y.head, "alice", "a second secret", err));
    struct wl_store_ops ops = *O;
    between.ops = O;
    between.node = y.head;
    between.done = false;
    ops.follow = follow_and_erase;
    S->ops = &ops;
    int r = learn_all(S, err);
    S->ops = between.ops;
    TRY(r);
    FINDS(ALICE, 0, WORDS("second"));
    struct wl_hit *hits;
    size_t n = 0;
    r = wl_store_search(S, &ALICE, &(struct wl_query){.words = UPP_STR("second"), .max = 9}, &a, &hits, &n, err);
    FAIL_UNLESS(r == -UPP_EREFUSED || (r == 0 && n == 0)); /* the store itself does not know it */
    return 0;
}

/* covers: TP-53 */
TEST(search_does_not_find_what_was_erased)
{
    CHECK(test_each_store(erased, NULL));
}

/* A row of several of which one is deleted: the process dies before the others are learned again. */
static WEFT_SUSPENDS int relearns(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
    const bool words = !strstr(t->kind, "memory") && !strstr(t->kind, "sealed");
    const struct said three[] = {
        {"alice", "first plum", NULL, 1, 0}, {"alice", "second plum", NULL, 2, 0}, {"alice", "third plum", NULL, 3, 0}};
    struct wl_thread x;
    struct wl_value *notes;
    size_t n;
    TRY(wl_thread_new(S, &ALICE, NULL, &a, &x, err));
    TRY(say_to(S, ALICE, x.head, WB_UUID_NIL, three, 3, err));
    TRY(learn_all(S, err));
    FINDS(ALICE, 3, WORDS("plum"));
    for (int i = 0; i < 2; i++) { /* once the next start does it, once the sweep */
        struct wl_store_ops ops = *O;
        struct wl_swept swept;
        between.ops = O;
        between.refuse_commit = true;
        ops.commit = no_learning;
        S->ops = &ops;
        struct wm_id id = {.node = x.head, .index = i, .noun = WM_NOUN_ENTRY};
        int r = wl_message_delete(S, &ALICE, &x, wm_id_uuid(id), (struct upp_str){0}, err);
        S->ops = between.ops;
        TRY(r);
        if (words)
            FINDS(ALICE, 0, WORDS("plum"));
        TRY(i ? wl_sweep(S, &ALICE, 1, NULL, &swept, err) : wl_reindex_pending_all(S, err));
        if (i)
            FINDS(ALICE, 1, WORDS("plum"));
        else
            FINDS(ALICE, 2, WORDS("plum"));
        TRY(wl_list_values(S, &ALICE, UPP_STR(WL_REINDEX), (struct upp_str){0}, 9, &a, &notes, &n, err));
        FAIL_UNLESS(n == 0);
    }
    FINDS(ALICE, 1, WORDS("third"));
    return 0;
}

/* covers: TP-53 */
TEST(search_learns_again_what_stands_beside_what_was_erased)
{
    CHECK(test_each_store(relearns, NULL));
}

/* ---- Learning ------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int learning(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
    struct wl_thread x;
    struct wl_results r;
    size_t n;
    if (strstr(t->kind, "memory") || strstr(t->kind, "sealed"))
        return 0; /* they keep no words: what is looked for is read from the log */
    TRY(wl_thread_new(S, &ALICE, NULL, &a, &x, err));
    for (int i = 0; i < 300; i++)
        TRY(say(S, ALICE, x.head, "alice", i % 2 ? "odd plum" : "even plum", err));
    TRY(wl_search(S, &ALICE, &(struct wl_search){WORDS("plum")}, &a, &r, err));
    FAIL_UNLESS(r.n == 0 && r.upto == 0 && r.end == 300 && !r.scanned);

    /* The commit is lost: nothing of it is there, and the next one begins where it began. */
    struct wl_store_ops ops = *O;
    between.ops = O;
    between.refuse_commit = true;
    ops.commit = no_learning;
    S->ops = &ops;
    int lost = wl_index_rows(S, &n, err);
    S->ops = between.ops;
    FAIL_UNLESS(lost == -UPP_ESTORE);
    TRY(wl_search(S, &ALICE, &(struct wl_search){WORDS("plum")}, &a, &r, err));
    FAIL_UNLESS(r.n == 0 && r.upto == 0);

    /* What an answer says to know was known before it was looked for. */
    ops = *O;
    ops.search = learns_behind;
    S->ops = &ops;
    int behind = wl_search(S, &ALICE, &(struct wl_search){WORDS("plum")}, &a, &r, err);
    S->ops = between.ops;
    TRY(behind);
    FAIL_UNLESS(r.n == 0 && r.upto == 0 && r.end == 300);
    TRY(wl_search(S, &ALICE, &(struct wl_search){WORDS("plum")}, &a, &r, err));
    FAIL_UNLESS(r.n == 20 && r.upto == 256 && r.end == 300);
    TRY(learn_all(S, err));
    FINDS(ALICE, 100, WORDS("odd plum"));
    TRY(wl_index_reset(S, err));
    FINDS(ALICE, 0, WORDS("odd plum"));
    TRY(learn_all(S, err));
    TRY(learn_all(S, err)); /* twice is once */
    uint64_t after = 0;
    size_t all = 0;
    do {
        TRY(wl_search(S, &ALICE, &(struct wl_search){WORDS("odd plum"), .max = 64, .after = after}, &a, &r, err));
        all += r.n;
        after = r.next;
    } while (after);
    FAIL_UNLESS(all == 150);
    return 0;
}

TEST_WITH(search_learns_the_log_and_can_begin_anew, .no_torture = "the calls of the others, often", .seconds = 300)
{
    CHECK(test_each_store(learning, NULL));
}

/* ---- A corpus, and an oracle ------------------------------------------------------------------------------ */

enum { THREADS = 20, ROWS = 10, EACH = 50, ALL = THREADS * ROWS * EACH };

static const char *const vocabulary[] = {
    "Apfel", "birne", "CHERRY", "d\xc3\xa4mmerung", "elder", "Fig", "grape", "huckle", "iceplum", "Jack", "kiwi",
    "Lemon", "mango", "nut"};

static uint64_t spin(uint64_t *x)
{
    *x = *x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *x >> 33;
}

/* The text of the i-th message. */
static void text_of(unsigned i, char *p, size_t size)
{
    uint64_t x = i + 77;
    size_t at = 0;
    for (uint64_t n = 2 + spin(&x) % 6; n; n--)
        at += (size_t)snprintf(p + at, size - at, "%s%s", at ? " " : "", vocabulary[spin(&x) % WB_LEN(vocabulary)]);
}

static bool oracle(unsigned i, const char *words)
{
    char text[512], all[128], *save = NULL;
    text_of(i, text, sizeof text);
    wl__fold(text, strlen(text));
    (void)snprintf(all, sizeof all, "%s", words);
    wl__fold(all, strlen(all));
    for (char *w = strtok_r(all, " ", &save); w; w = strtok_r(NULL, " ", &save))
        if (!strstr(text, w))
            return false;
    return true;
}

/* All pages; each is one of the oracle's, and they come newest first. */
static WEFT_SUSPENDS int ask_all(struct wl_store *s, const char *words, size_t want, struct upp_err *err)
{
    uint64_t after = 0;
    int64_t last = INT64_MAX;
    size_t n = 0;
    do {
        UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16 << 20);
        struct wl_results r;
        struct wl_search q = {.words = wb_cstr(words), .max = WL_SEARCH_MAX, .after = after};
        TRY(wl_search(s, &ALICE, &q, &a, &r, err));
        for (size_t i = 0; i < r.n; i++, n++) { /* the time is the message's number */
            FAIL_UNLESS(r.p[i].time_ms < last && oracle((unsigned)r.p[i].time_ms - 1, words));
            last = r.p[i].time_ms;
        }
        after = r.next;
    } while (after);
    test_note("'%s': %zu found, not %zu", words, n, want);
    FAIL_UNLESS(n == want);
    return 0;
}

static WEFT_SUSPENDS int fill(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
    static struct wl_thread x[THREADS]; /* too large for a stack */
    static char texts[EACH][512];
    static struct said said[EACH];
    for (unsigned i = 0; i < THREADS; i++)
        TRY(wl_thread_new(S, &ALICE, NULL, &a, &x[i], err));
    for (unsigned i = 0; i < THREADS * ROWS; i++) {
        for (unsigned k = 0; k < EACH; k++) {
            text_of(i * EACH + k, texts[k], sizeof texts[k]);
            said[k] = (struct said){.who = "a", .text = texts[k], .time_ms = i * EACH + k + 1};
        }
        TRY(say_to(S, ALICE, x[i % THREADS].head, WB_UUID_NIL, said, EACH, err));
    }
    return learn_all(S, err);
}

static WEFT_SUSPENDS int refuse(struct wl_store *s, const struct wl_owner *o, const struct wl_query *q,
                                struct wb_arena *a, struct wl_hit **ret, size_t *n, struct upp_err *err)
{
    (void)s, (void)o, (void)q, (void)a, (void)ret, (void)n;
    return upp_fail(err, UPP_EREFUSED, "no words here");
}

static WEFT_SUSPENDS int corpus(struct test_store *t, struct upp_err *err)
{
    static const char *const queries[] = {
        "apfel birne cherry", "D\xc3\x84MMER nut kiwi",      "ic huckle fig", "cele ele elder jack", "zzz",
        "k l m n o p",        "grape grape lemon kiwi mango"};
    if (strncmp(t->kind, "blobs", 5) == 0)
        return 0; /* as those below them */
    TRY(fill(t, err));
    struct wl_store_ops ops = *O;
    const uint64_t asked = test_times("WEFT_QUERIES", WB_LEN(queries));
    ops.search = refuse;
    for (size_t i = 0; i < asked && i < WB_LEN(queries); i++) {
        size_t want = 0;
        for (unsigned k = 0; k < ALL; k++)
            want += oracle(k, queries[i]);
        TRY(ask_all(S, queries[i], want, err));
        const struct wl_store_ops *real = S->ops;
        S->ops = &ops; /* and by reading */
        int r = want <= 300 ? ask_all(S, queries[i], want, err) : 0;
        S->ops = real;
        TRY(r);
    }
    /* Under a limit of rows the newest are read, and it says so. */
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16 << 20);
    struct wl_results r;
    const struct wl_store_ops *real = S->ops;
    S->ops = &ops;
    int b = wl_search(S, &ALICE, &(struct wl_search){WORDS("apfel"), .max_rows = 1}, &a, &r, err);
    S->ops = real;
    TRY(b);
    FAIL_UNLESS(r.scanned && r.cut && r.n && r.p[r.n - 1].time_ms > ALL - EACH);
    return 0;
}

/* covers: TP-53 */
TEST_WITH(search_agrees_with_an_oracle, .no_torture = "10,000 messages", .seconds = 300)
{
    CHECK(test_each_store(corpus, NULL));
}

/* ---- Large rows --------------------------------------------------------------------------------------------- */

/* Each hit reads its whole row, of about 5 KB: a page ends after 12 KB, and those after it have the rest, each once. */
static WEFT_SUSPENDS int large_rows(struct test_store *t, struct upp_err *err)
{
    enum { BIG = 20, IN_ONE = 8, LIMIT = 12 << 10, HITS = 3 };
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
    struct wl_search q = {.size = sizeof q, .words = UPP_STR("needle"), .max = WL_SEARCH_MAX, .max_bytes = LIMIT};
    static char text[600];
    struct said said[IN_ONE];
    struct wl_thread x;
    uint64_t before = UINT64_MAX;
    size_t n = 0, pages = 0;
    TRY(wl_thread_new(S, &ALICE, NULL, &a, &x, err));
    (void)snprintf(text, sizeof text, "needle %590d", 1);
    for (size_t i = 0; i < IN_ONE; i++)
        said[i] = (struct said){.who = "user", .text = text};
    for (unsigned i = 0; i < BIG; i++)
        TRY(say_to(S, ALICE, x.head, WB_UUID_NIL, said, IN_ONE, err));
    TRY(learn_all(S, err));
    do {
        struct wl_results r;
        wb_arena_reset(&a);
        TRY(wl_search(S, &ALICE, &q, &a, &r, err));
        FAIL_UNLESS(r.n <= HITS && pages++ < 2 * BIG * IN_ONE);
        for (size_t i = 0; i < r.n; before = r.p[i++].number)
            FAIL_UNLESS(r.p[i].number < before);
        n += r.n;
        q.after = r.next;
    } while (q.after);
    test_note("%zu found on %zu pages", n, pages);
    FAIL_UNLESS(n == BIG * IN_ONE);
    return 0;
}

TEST_WITH(search_goes_on_when_it_has_read_enough, .no_torture = "hundreds of searches", .seconds = 300)
{
    CHECK(test_each_store(large_rows, NULL));
}

/* ---- A tree of many threads --------------------------------------------------------------------------------- */

/* A branch behind the first entry, with a message and a thread of its own. */
static WEFT_SUSPENDS int branch_off(struct wl_store *s, const struct wl_thread *t, const struct wl_node *root,
                                    unsigned i, struct wb_uuid *ret, struct upp_err *err)
{
    struct wl_thread fork = *t;
    struct wl_node node;
    char text[64];
    TRY(wl_branch_make(root, 1, &node, err));
    TRY(wl_id_new(wl_family(t->tree), &fork.id, err));
    fork.head = node.key;
    *ret = fork.id;
    TRY(COMMIT(s, t->owner, NULL, err, ADD_NODE(&node), ADD_THREAD(&fork)));
    (void)snprintf(text, sizeof text, "needle %u", i);
    return say(s, t->owner, node.key, "user", text, err);
}

/* Every message of 1,300 threads, and the one that they share. */
static WEFT_SUSPENDS int many_threads(struct test_store *t, struct upp_err *err)
{
    enum { MANY = 1300 };
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64 << 20);
    static struct wb_uuid ids[MANY];
    struct wl_search q = {.size = sizeof q, .words = UPP_STR("needle"), .max = WL_SEARCH_MAX};
    struct wl_thread root;
    struct wl_node node;
    struct wl_results x;
    size_t n = 0;
    TRY(wl_thread_new(S, &ALICE, NULL, &a, &root, err));
    TRY(say(S, ALICE, root.head, "user", "shared haystack", err));
    TRY(wl_get_node(S, &ALICE, root.head, &node, err));
    for (unsigned i = 0; i < MANY; i++)
        TRY(branch_off(S, &root, &node, i, &ids[i], err));
    do {
        wb_arena_reset(&a);
        TRY(wl_search(S, &ALICE, &q, &a, &x, err));
        for (size_t i = 0; i < x.n; i++)
            FAIL_UNLESS(x.p[i].n_in == 1 && !x.p[i].more);
        n += x.n;
        q.after = x.next;
    } while (q.after);
    test_note("%zu found", n);
    FAIL_UNLESS(n == MANY);
    q.after = 0;
    q.words = UPP_STR("haystack");
    TRY(wl_search(S, &ALICE, &q, &a, &x, err));
    FAIL_UNLESS(x.n == 1 && x.p[0].n_in == WL_SEARCH_IN && x.p[0].more);
    for (size_t i = 0; i < MANY; i += MANY / 7) { /* asked inside a thread: its own, and what it shares */
        q.thread = ids[i];
        q.words = UPP_STR("needle");
        TRY(wl_search(S, &ALICE, &q, &a, &x, err));
        FAIL_UNLESS(x.n == 1 && x.p[0].n_in == 1 && wb_uuid_eq(x.p[0].in[0].thread, ids[i]));
        q.words = UPP_STR("haystack");
        TRY(wl_search(S, &ALICE, &q, &a, &x, err));
        FAIL_UNLESS(x.n == 1 && x.p[0].n_in == 1 && !x.p[0].more);
    }
    return 0;
}

static void closep(struct wl_store **s)
{
    if (*s)
        (*s)->ops->close(*s);
}

TEST_WITH(search_finds_in_every_thread_of_a_tree, .no_torture = "thousands of commits", .seconds = 300)
{
    WB_CLEANUP(closep) struct wl_store *s = NULL;
    struct upp_err err = {0};
    CHECK_INT(ws_memory_open(&s, &err), 0);
    CHECK_INT(many_threads(&(struct test_store){.s = s}, &err), 0);
}

TEST(search_folds_case)
{
    static const struct {
        const char *in, *want;
    } cases[] = {
        {"ABC xyz", "abc xyz"},
        {"\xc3\x84\xc3\x96\xc3\x9c\xc3\x9f\xc3\x97", "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\x97"},
        {"\xce\xa3\xcf\x82\xcf\x83\xce\x86", "\xcf\x83\xcf\x83\xcf\x83\xce\xac"},
        {"\xd0\x9f\xd0\xa0\xd0\x81", "\xd0\xbf\xd1\x80\xd1\x91"},
        {"\xc5\xb8\xc4\xb0\xc5\xbd", "\xc3\xbf\xc4\xb0\xc5\xbe"},
        {"a\tb\nc", "a b c"},
        {"\xe4\xbd\xa0\xf0\x9f\x98\x80Z", "\xe4\xbd\xa0\xf0\x9f\x98\x80z"},
        {"\xc3", "\xc3"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        char p[64];
        size_t n = strlen(cases[i].in);
        memcpy(p, cases[i].in, n);
        wl__fold(p, n);
        CHECK_STR(wb_str(p, n), wb_cstr(cases[i].want));
    }
}

/* ---- What is forgotten ------------------------------------------------------------------------------------- */

/* How many blocks of the index hold what stands for these three characters, which no other text has. (Words that begin
 * alike share their beginning there.) */
static int blocks_with(const char *path, const char *letters, int *ret)
{
    UPP_CLEANUP(wb_buf_done) struct wb_buf word = WB_BUF(64);
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    *ret = -1;
    FAIL_UNLESS(ws_grams_words(wb_cstr(letters), false, 9, &word) == 1 && word.n == WS_GRAM_WORD + 1);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "SELECT count(*) FROM words_text_data WHERE instr(block, CAST(?1 AS BLOB)) > 0", -1, &st,
                           NULL) == SQLITE_OK &&
        sqlite3_bind_text(st, 1, word.p + 1, WS_GRAM_WORD - 1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        *ret = sqlite3_column_int(st, 0);
    (void)sqlite3_finalize(st);
    (void)sqlite3_close(db);
    FAIL_UNLESS(*ret >= 0);
    return 0;
}

static WEFT_SUSPENDS int tidies(struct test_store *t, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
    struct wl_thread x;
    struct wl_line *lines;
    struct wl_path path;
    struct upp_str *tenants;
    size_t n;
    int blocks;
    bool more = true;
    const bool words = !strstr(t->kind, "memory") && !strstr(t->kind, "sealed");
    TRY(wl_thread_new(S, &ALICE, NULL, &a, &x, err));
    for (int i = 0; i < 40; i++) { /* each learned in a piece of its own */
        TRY(say(S, ALICE, x.head, "alice", i == 7 ? "☃☄★" : "plums and more plums", err));
        TRY(learn_all(S, err));
    }
    TRY(wl_thread_path(S, &ALICE, &x, &a, &path, err));
    TRY(wl_path_tail(S, &ALICE, &path, 8, 1, &a, &lines, &n, err));
    TRY(wl_message_delete(S, &ALICE, &x, lines[0].id, (struct upp_str){0}, err));
    TRY(learn_all(S, err));
    if (words) {
        TRY(blocks_with(t->path, "☃☄★", &blocks));
        FAIL_UNLESS(blocks > 0); /* forgotten, and still there */
    }
    for (int i = 0; more && i < 1000; i++)
        TRY(wl_index_compact(S, &more, err));
    FAIL_UNLESS(!more);
    if (words) {
        TRY(blocks_with(t->path, "☃☄★", &blocks));
        FAIL_UNLESS(blocks == 0);
    }
    FINDS(ALICE, 39, WORDS("plums"), .max = 100);
    TRY(wl_list_tenants(S, (struct upp_str){0}, 9, &a, &tenants, &n, err));
    FAIL_UNLESS(n == 1);
    return 0;
}

TEST(search_index_is_tidied_of_what_was_erased)
{
    CHECK(test_each_store(tidies, NULL));
}
