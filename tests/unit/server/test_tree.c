/* The tree of a thread over HTTP: looking at it, forks, restores, checkouts. */
#include <stdio.h>
#include <string.h>

#include "thread/position.h"
#include "base/defs.h"
#include "server/desk.h"

#define NOWHERE "thread_00000000000000000000000000000001"

/* POST of one member. */
static WEFT_SUSPENDS int go(struct desk *d, const char *thread, const char *how, const char *member, const char *value,
                            struct upp_err *err)
{
    char body[256];
    (void)snprintf(body, sizeof body, "{\"%s\":\"%s\"}", member, value);
    return desk_ask(d, body, err, "POST /v1/threads/%s/%s", thread, how);
}

/* The texts of a thread's messages, the oldest first, as "a|b|". */
static WEFT_SUSPENDS int history(struct desk *d, const char *thread, const char *expected, struct upp_err *err)
{
    char got[512] = "";
    size_t n = 0;
    GET("/v1/threads/%s/messages?order=asc&limit=100", thread);
    FAIL_UNLESS(d->reply.status == 200);
    for (size_t i = 0; i < desk_count(d, "data"); i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "data/%zu/content/0/text/value", i);
        n += (size_t)snprintf(got + n, sizeof got - n, "%s|", desk_text(d, path));
    }
    test_note("%s", got);
    FAIL_UNLESS(strcmp(got, expected) == 0);
    return 0;
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int looks(struct desk *d, struct upp_err *err)
{
    struct desk_id t, first;
    TRY(desk_thread(d, &t, err));
    GET("/v1/threads/%s/tree", t.s);
    FAIL_UNLESS(d->reply.status == 200 && desk_count(d, "nodes") == 1 && desk_count(d, "nodes/0/checkpoints") == 0);
    IS("object", "thread.tree");
    IS("thread_id", t.s);
    COUNTS("nodes/0/messages", 0);
    FAIL_UNLESS(yyjson_is_null(desk_get(d, "nodes/0/parent_id")) && yyjson_is_null(desk_get(d, "nodes/0/text")));
    GET("/v1/threads/%s/checkpoints", t.s);
    FAIL_UNLESS(desk_count(d, "data") == 0 && yyjson_is_null(desk_get(d, "first_id")));
    TRY(desk_run(d, t.s, "echo", "one \\u00fc", err));
    TRY(desk_run(d, t.s, "echo", "two", err));
    TRY(desk_run(d, t.s, "echo", "three", err));
    GET("/v1/threads/%s/tree", t.s);
    FAIL_UNLESS(desk_count(d, "nodes") == 1 && desk_count(d, "nodes/0/checkpoints") == 3);
    FAIL_UNLESS(desk_count(d, "nodes/0/threads") == 1 && yyjson_is_false(desk_get(d, "put_back")));
    COUNTS("nodes/0/messages", 6);
    COUNTS("current_messages", 6);
    COUNTS("nodes/0/checkpoints/1/messages", 4);
    COUNTS("nodes/0/checkpoints/1/step", 1);
    COUNTS("nodes/0/threads/0/messages", 6);
    IS("nodes/0/text", "one \xc3\xbc");
    IS("nodes/0/role", "user");
    IS("nodes/0/threads/0/id", t.s);
    first = desk_id(d, "nodes/0/checkpoints/0/id");
    GET("/v1/threads/%s/checkpoints?order=asc&limit=2", t.s);
    FAIL_UNLESS(desk_count(d, "data") == 2 && yyjson_is_true(desk_get(d, "has_more")));
    IS("data/0/id", first.s);
    IS("first_id", first.s);
    COUNTS("data/0/messages", 2);
    struct desk_id second = desk_id(d, "last_id");
    GET("/v1/threads/%s/checkpoints?order=asc&after=%s", t.s, second.s);
    FAIL_UNLESS(desk_count(d, "data") == 1 && yyjson_is_false(desk_get(d, "has_more")));
    GET("/v1/threads/%s/checkpoints?after=%s", t.s, second.s); /* the latest come first */
    FAIL_UNLESS(desk_count(d, "data") == 1);
    IS("data/0/id", first.s);
    return 0;
}

TEST(server_tree_is_looked_at)
{
    DESK(.act = looks);
}

static WEFT_SUSPENDS int looks_wrongly(struct desk *d, struct upp_err *err)
{
    struct desk_id t;
    TRY(desk_thread(d, &t, err));
    static const struct {
        const char *query, *words;
    } cases[] = {{"limit=0", "limit is 1 to 100"},
                 {"limit=101", "limit is 1 to 100"},
                 {"limit=x", "limit is 1 to 100"},
                 {"order=up", "order is asc or desc"},
                 {"after=x", "'after' names no checkpoint of this thread: 'x'"},
                 {"after=", "'after' names no checkpoint"}};
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        GET("/v1/threads/%s/checkpoints?%s", t.s, cases[i].query);
        REFUSED(400, cases[i].words);
    }
    GET("/v1/threads/x/tree");
    REFUSED(404, "there is no thread 'x'");
    GET("/v1/threads/" NOWHERE "/tree");
    REFUSED(404, "there is no thread");
    return 0;
}

TEST(server_tree_says_what_is_wrong_with_a_look)
{
    DESK(.act = looks_wrongly);
}

/* ---- Going back -------------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int goes_back(struct desk *d, struct upp_err *err)
{
    struct desk_id t, cp, root, branch;
    TRY(desk_thread(d, &t, err));
    TRY(desk_run(d, t.s, "echo", "one", err));
    TRY(desk_run(d, t.s, "echo", "two", err));
    GET("/v1/threads/%s/tree", t.s);
    cp = desk_id(d, "nodes/0/checkpoints/0/id");
    root = desk_id(d, "root_id");
    for (int i = 0; i < 2; i++) { /* twice is as good as once */
        TRY(go(d, t.s, "restore", "checkpoint_id", cp.s, err));
        FAIL_UNLESS(d->reply.status == 200 && yyjson_is_true(desk_get(d, "put_back")));
        IS("object", "thread.place");
        IS("thread_id", t.s);
        IS("node_id", root.s);
        COUNTS("entries", 2);
    }
    TRY(history(d, t.s, "one|one|", err));
    GET("/v1/threads/%s/tree", t.s);
    FAIL_UNLESS(desk_count(d, "nodes") == 1 && yyjson_is_true(desk_get(d, "put_back")));
    COUNTS("current_messages", 2);
    COUNTS("nodes/0/messages", 4);
    COUNTS("nodes/0/threads/0/messages", 2);
    TRY(desk_run(d, t.s, "echo", "three", err));
    TRY(history(d, t.s, "one|one|three|three|", err));
    GET("/v1/threads/%s/tree", t.s);
    FAIL_UNLESS(desk_count(d, "nodes") == 2 && desk_count(d, "nodes/0/checkpoints") == 2);
    COUNTS("nodes/1/branch_point", 2);
    IS("nodes/1/parent_id", root.s);
    IS("nodes/1/text", "three");
    branch = desk_id(d, "current_id");
    FAIL_UNLESS(strcmp(branch.s, root.s) != 0);
    /* The other branch, and back to what the first has. */
    TRY(go(d, t.s, "checkout", "node_id", root.s, err));
    FAIL_UNLESS(d->reply.status == 200 && yyjson_is_false(desk_get(d, "put_back")));
    COUNTS("entries", 4);
    TRY(desk_run(d, t.s, "echo", "four", err));
    TRY(history(d, t.s, "one|one|two|two|four|four|", err));
    TRY(go(d, t.s, "checkout", "node_id", branch.s, err));
    TRY(history(d, t.s, "one|one|three|three|", err));
    GET("/v1/threads/%s/checkpoints?order=asc", t.s);
    FAIL_UNLESS(desk_count(d, "data") == 4);
    return 0;
}

TEST(server_tree_goes_back_and_branches)
{
    DESK(.act = goes_back);
}

static WEFT_SUSPENDS int refuses(struct desk *d, struct upp_err *err)
{
    struct desk_id t, other, foreign, node;
    TRY(desk_thread(d, &other, err));
    TRY(desk_run(d, other.s, "echo", "elsewhere", err));
    GET("/v1/threads/%s/tree", other.s);
    foreign = desk_id(d, "nodes/0/checkpoints/0/id");
    node = desk_id(d, "root_id");
    TRY(desk_thread(d, &t, err));
    ASK("{}", "POST /v1/threads/%s/restore", t.s);
    REFUSED(400, "the place to go back to is missing: checkpoint_id, before or after");
    ASK("", "POST /v1/threads/%s/checkout", t.s);
    REFUSED(400, "node_id names the node to go to, and is missing");
    ASK("{\"checkpoint_id\":7}", "POST /v1/threads/%s/restore", t.s);
    REFUSED(400, "expected a string, found ");
    IS("error/param", "/checkpoint_id");
    ASK("[]", "POST /v1/threads/%s/checkout", t.s);
    REFUSED(400, "the body is not an object");
    ASK("{\"at\":\"x\",\"at\":\"y\"}", "POST /v1/threads/%s/fork", t.s);
    REFUSED(400, "");
    TRY(go(d, t.s, "restore", "checkpoint_id", "x", err));
    REFUSED(404, "there is no checkpoint 'x' in the thread's tree");
    TRY(go(d, t.s, "restore", "checkpoint_id", foreign.s, err)); /* of another thread */
    REFUSED(404, "there is no checkpoint");
    TRY(go(d, other.s, "restore", "checkpoint_id", node.s, err)); /* no checkpoint at all */
    REFUSED(404, "there is no checkpoint");
    TRY(go(d, t.s, "checkout", "node_id", node.s, err));
    REFUSED(404, "the thread's tree has no node");
    TRY(go(d, t.s, "fork", "at", foreign.s, err));
    REFUSED(404, "no message and no checkpoint");
    GET("/v1/threads/%s/messages", other.s);
    struct desk_id message = desk_id(d, "data/0/id");
    TRY(go(d, t.s, "fork", "at", message.s, err));
    REFUSED(404, "no message and no checkpoint");
    TRY(go(d, t.s, "restore", "before", message.s, err));
    REFUSED(404, "the thread's tree has no message");
    ASK("{\"before\":\"a\",\"after\":\"b\"}", "POST /v1/threads/%s/restore", t.s);
    REFUSED(400, "'before' or 'after', not both");
    /* A run that waits is in the way. */
    TRY(desk_run(d, other.s, "picker", "pick!", err));
    TRY(go(d, other.s, "restore", "checkpoint_id", foreign.s, err));
    REFUSED(400, "has not ended: cancel it first");
    TRY(go(d, other.s, "checkout", "node_id", node.s, err));
    REFUSED(400, "has not ended: cancel it first");
    TRY(go(d, other.s, "fork", "at", foreign.s, err)); /* whoever goes on elsewhere does not mind */
    FAIL_UNLESS(d->reply.status == 200);
    return 0;
}

TEST(server_tree_refuses_what_is_not_there)
{
    DESK(.act = refuses);
}

/* Before and after a message; and the entries of the log say where the thread is. */
static WEFT_SUSPENDS int messages(struct desk *d, struct upp_err *err)
{
    struct desk_id t;
    TRY(desk_thread(d, &t, err));
    TRY(desk_run(d, t.s, "echo", "one", err));
    TRY(desk_run(d, t.s, "echo", "two", err));
    GET("/v1/threads/%s/entries?order=asc", t.s);
    FAIL_UNLESS(d->reply.status == 200);
    struct desk_id question = desk_id(d, "data/2/id");
    IS("data/2/parts/0/text", "two");
    IS("data/3/agent", "echo");
    TRY(go(d, t.s, "restore", "before", question.s, err));
    FAIL_UNLESS(d->reply.status == 200);
    GET("/v1/threads/%s/entries", t.s);
    IS("data/0/role", "assistant");
    IS("data/0/parts/0/text", "one");
    TRY(go(d, t.s, "restore", "after", question.s, err));
    FAIL_UNLESS(d->reply.status == 200);
    GET("/v1/threads/%s/entries?limit=1", t.s);
    IS("data/0/parts/0/text", "two");
    IS("data/0/role", "user");
    return 0;
}

TEST(server_tree_goes_back_to_messages)
{
    DESK(.act = messages);
}

/* ---- Two at once ------------------------------------------------------------------------------------------------- */

static const struct wl_owner one = {.tenant = UPP_STR_INIT("one")};

struct going {
    struct desk *d;
    struct desk_id thread, checkpoint;
    int result;
};

WEFT_SUSPENDS static int restores(void *arg, struct upp_err *err)
{
    struct going *g = arg;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_store *s = g->d->rig.store;
    struct wl_thread t;
    TRY(wl_thread_find(s, &one, wb_cstr(g->thread.s), &a, &t, err));
    g->result = wa_thread_restore(s, &one, &t, wb_cstr(g->checkpoint.s), &a, err);
    return g->result == -UPP_EBUSY ? 0 : g->result;
}

/* While one is about to put the thread back, something else happens to it: a message, or a run. */
static WEFT_SUSPENDS int races(struct desk *d, struct upp_err *err)
{
    for (int with_run = 0; with_run < 2; with_run++) {
        struct going g = {.d = d}; /* before the scope whose fiber has it */
        UPP_CLEANUP(weft_scope_close) struct weft_scope scope = {0};
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("by the way")};
        struct wm_entry entry = {.kind = WM_ENTRY_MESSAGE,
                                 .origin = WM_ORIGIN_CLIENT,
                                 .audience = WM_AUDIENCE_ALL,
                                 .message = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1}};
        struct wl_thread t;
        uint32_t index;
        TRY(desk_thread(d, &g.thread, err));
        TRY(desk_run(d, g.thread.s, "echo", "one", err));
        TRY(desk_run(d, g.thread.s, "echo", "two", err));
        GET("/v1/threads/%s/checkpoints?order=asc", g.thread.s);
        FAIL_UNLESS(d->reply.status == 200);
        g.checkpoint = desk_id(d, "data/0/id");
        TRY(wl_thread_find(d->lazy.inner, &one, wb_cstr(g.thread.s), &a, &t, err));
        d->lazy.before_commit_ms = 100; /* it has looked for runs, and there is none */
        TRY(weft_scope_spawn(&scope, "restores", restores, &g, NULL, err));
        TRY(weft_sleep_ms(50, err));
        d->lazy.before_commit_ms = 0;
        if (with_run)
            TRY(desk_run(d, g.thread.s, "picker", "pick!", err));
        else
            TRY(wl_append(d->lazy.inner, &one, &t, &entry, 1, &index, err));
        TRY(weft_scope_join(&scope, err));
        FAIL_UNLESS(g.result == (with_run ? -UPP_EBUSY : 0));
        TRY(history(d, g.thread.s, with_run ? "one|one|two|two|pick!|" : "one|one|", err));
    }
    return 0;
}

TEST(server_tree_is_put_back_while_others_are_at_it)
{
    DESK(.act = races);
}

/* ---- Forks ------------------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int forks(struct desk *d, struct upp_err *err)
{
    struct desk_id t, here, at_message, at_checkpoint, message, cp;
    TRY(desk_thread(d, &t, err));
    TRY(desk_run(d, t.s, "echo", "one", err));
    TRY(desk_run(d, t.s, "echo", "two", err));
    GET("/v1/threads/%s/messages?order=asc", t.s);
    message = desk_id(d, "data/2/id");
    GET("/v1/threads/%s/checkpoints?order=asc", t.s);
    cp = desk_id(d, "data/0/id");
    ASK("{}", "POST /v1/threads/%s/fork", t.s);
    FAIL_UNLESS(d->reply.status == 200);
    IS("object", "thread");
    here = desk_id(d, "id");
    FAIL_UNLESS(strcmp(here.s, t.s) != 0);
    TRY(go(d, t.s, "fork", "at", message.s, err));
    at_message = desk_id(d, "id");
    TRY(go(d, t.s, "fork", "at", cp.s, err));
    at_checkpoint = desk_id(d, "id");
    TRY(history(d, here.s, "one|one|two|two|", err));
    TRY(history(d, at_message.s, "one|one|two|", err));
    TRY(history(d, at_checkpoint.s, "one|one|", err));
    TRY(desk_run(d, t.s, "echo", "three", err)); /* none of them sees it */
    TRY(desk_run(d, here.s, "echo", "four", err));
    TRY(desk_run(d, at_checkpoint.s, "echo", "five", err));
    TRY(history(d, t.s, "one|one|two|two|three|three|", err));
    TRY(history(d, here.s, "one|one|two|two|four|four|", err));
    TRY(history(d, at_message.s, "one|one|two|", err));
    TRY(history(d, at_checkpoint.s, "one|one|five|five|", err));
    GET("/v1/threads/%s/tree", here.s); /* one tree, whoever looks */
    FAIL_UNLESS(d->reply.status == 200);
    size_t threads = 0;
    for (size_t i = 0; i < desk_count(d, "nodes"); i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "nodes/%zu/threads", i);
        threads += desk_count(d, path);
    }
    FAIL_UNLESS(threads == 4);
    /* A thread that goes to where another ends takes a branch of its own from there. */
    GET("/v1/threads/%s/tree", t.s);
    struct desk_id node = desk_id(d, "current_id");
    TRY(go(d, here.s, "checkout", "node_id", node.s, err));
    FAIL_UNLESS(d->reply.status == 200 && yyjson_is_true(desk_get(d, "put_back")));
    TRY(desk_run(d, here.s, "echo", "six", err));
    TRY(history(d, here.s, "one|one|two|two|three|three|six|six|", err));
    return history(d, t.s, "one|one|two|two|three|three|", err);
}

TEST(server_tree_forks)
{
    DESK(.act = forks);
}

/* A place in the middle of calls is none to go on from: their results belong to the message, and where there are none
 * yet there are some that say so. */
static WEFT_SUSPENDS int forks_in_the_middle(struct desk *d, struct upp_err *err)
{
    struct desk_id t, fork, message;
    TRY(desk_thread(d, &t, err));
    TRY(desk_run(d, t.s, "noter", "note!", err));
    GET("/v1/threads/%s/messages?order=asc", t.s);
    IS("data/1/content/0/text/value", "Let me see.");
    message = desk_id(d, "data/1/id");
    TRY(go(d, t.s, "fork", "at", message.s, err));
    fork = desk_id(d, "id");
    TRY(history(d, fork.s, "note!|Let me see.|", err));
    TRY(desk_well_formed(d, fork.s, err));
    TRY(desk_run(d, fork.s, "echo", "go on", err));
    TRY(desk_well_formed(d, fork.s, err));
    TRY(desk_run(d, t.s, "picker", "pick!", err)); /* waits */
    ASK("{}", "POST /v1/threads/%s/fork", t.s);
    FAIL_UNLESS(d->reply.status == 200);
    fork = desk_id(d, "id");
    TRY(desk_well_formed(d, fork.s, err));
    TRY(desk_run(d, fork.s, "echo", "go on", err));
    TRY(history(d, fork.s, "note!|Let me see.|Noted.|pick!|go on|go on|", err));
    TRY(desk_well_formed(d, fork.s, err));
    /* Somebody else comes to where the run is. */
    GET("/v1/threads/%s/tree", t.s);
    struct desk_id node = desk_id(d, "current_id");
    TRY(go(d, fork.s, "checkout", "node_id", node.s, err));
    FAIL_UNLESS(d->reply.status == 200);
    TRY(desk_well_formed(d, fork.s, err));
    TRY(desk_run(d, fork.s, "echo", "and on", err));
    TRY(history(d, fork.s, "note!|Let me see.|Noted.|pick!|and on|and on|", err));
    return desk_well_formed(d, fork.s, err);
}

TEST(server_tree_forks_in_the_middle_of_calls)
{
    DESK(.act = forks_in_the_middle);
}

/* ---- Others ------------------------------------------------------------------------------------------------------ */

/* Whatever somebody else asks about it, the answer is that of a thread that never was. */
static WEFT_SUSPENDS int hides(struct desk *d, struct upp_err *err)
{
    static const char *const routes[] = {"GET /v1/threads/%s/tree", "GET /v1/threads/%s/checkpoints",
                                         "POST /v1/threads/%s/fork", "POST /v1/threads/%s/restore",
                                         "POST /v1/threads/%s/checkout"};
    struct desk_id t, theirs, cp;
    TRY(desk_thread(d, &t, err));
    TRY(desk_run(d, t.s, "echo", "mine", err));
    GET("/v1/threads/%s/tree", t.s);
    cp = desk_id(d, "nodes/0/checkpoints/0/id");
    d->key = "two";
    TRY(desk_thread(d, &theirs, err));
    for (size_t i = 0; i < WB_LEN(routes); i++) {
        char line[200], words[200];
        const char *body = routes[i][0] == 'P' ? "{\"checkpoint_id\":\"x\",\"node_id\":\"x\"}" : NULL;
        (void)snprintf(words, sizeof words, "there is no thread '%s'", t.s);
        (void)snprintf(line, sizeof line, "%.*s%s%s", (int)(strstr(routes[i], "%s") - routes[i]), routes[i], t.s,
                       strstr(routes[i], "%s") + 2);
        ASK(body, "%s", line);
        REFUSED(404, words);
    }
    TRY(go(d, theirs.s, "restore", "checkpoint_id", cp.s, err));
    REFUSED(404, "there is no checkpoint");
    TRY(go(d, theirs.s, "fork", "at", cp.s, err));
    REFUSED(404, "no message and no checkpoint");
    return 0;
}

TEST(server_tree_is_its_owners)
{
    DESK(.act = hides);
}
