/* Lists over HTTP read so many rows: then `has_more` is true, and `last_id` says from where on to continue. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "server/desk.h"
#include "support/stores.h"

enum { EACH = 256 };

static const struct wl_owner owner = {.tenant = UPP_STR_INIT("one")};

/* So many runs of a thread, numbered from `from` on, which are stored chat completions without an answer, or wait. */
static WEFT_SUSPENDS int add_runs(struct desk *d, struct wb_uuid thread, uint64_t from, size_t n, uint8_t status,
                                  const char *options, struct upp_err *err)
{
    static struct wm_run runs[EACH];
    static struct wl_change changes[EACH]; /* not kept over another wait */
    for (size_t at = 0; at < n;) {
        size_t k = 0;
        for (; k < EACH && at < n; k++, at++) {
            runs[k] = (struct wm_run){.id = test_uuid(from + at),
                                      .root = test_uuid(from + at),
                                      .thread = thread,
                                      .version = 1,
                                      .status = status,
                                      .agent = UPP_STR("echo"),
                                      .options = wb_cstr(options),
                                      .created_ms = 1};
            changes[k] = (struct wl_change)ADD_RUN(&runs[k]);
        }
        TRY(test_commit(d->rig.store, owner, changes, k, NULL, err));
    }
    return 0;
}

static WEFT_SUSPENDS int chat(struct desk *d, const char *text, struct upp_err *err)
{
    char body[256];
    (void)snprintf(body, sizeof body,
                   "{\"model\":\"echo\",\"store\":true,\"metadata\":{\"topic\":\"%s\"},"
                   "\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]}",
                   text, text);
    ASK(body, "POST /v1/chat/completions");
    FAIL_UNLESS(d->reply.status == 200);
    return 0;
}

/* A completion, very many runs that the list does not have, another completion: pages from one to the other. */
static WEFT_SUSPENDS int completions(struct desk *d, struct upp_err *err)
{
    static const char *const lists[] = {"metadata[topic]=rare", "metadata[topic]=rare&order=desc"};
    struct desk_id ids[2], t, at;
    struct wb_uuid thread;
    TRY(chat(d, "rare", err));
    ids[0] = desk_id(d, "id");
    TRY(desk_thread(d, &t, err));
    FAIL_UNLESS(wl_id_parse(wb_cstr(t.s), UPP_STR("thread_"), &thread));
    TRY(add_runs(d, thread, 1, 10000, WM_COMPLETED, "", err));
    TRY(chat(d, "rare", err));
    ids[1] = desk_id(d, "id");
    for (size_t i = 0; i < WB_LEN(lists); i++) {
        GET("/v1/chat/completions?%s", lists[i]);
        FAIL_UNLESS(d->reply.status == 200 && desk_count(d, "data") == 1 && yyjson_is_true(desk_get(d, "has_more")));
        IS("data/0/id", ids[i].s);
        IS("first_id", ids[i].s);
        at = desk_id(d, "last_id");
        FAIL_UNLESS(strcmp(at.s, ids[i].s) != 0);
        GET("/v1/chat/completions?%s&after=%s", lists[i], at.s);
        FAIL_UNLESS(d->reply.status == 200 && desk_count(d, "data") == 1 && yyjson_is_false(desk_get(d, "has_more")));
        IS("data/0/id", ids[1 - i].s);
        IS("last_id", ids[1 - i].s);
    }
    GET("/v1/chat/completions?model=none");
    FAIL_UNLESS(d->reply.status == 200 && desk_count(d, "data") == 0 && yyjson_is_true(desk_get(d, "has_more")));
    FAIL_UNLESS(yyjson_is_null(desk_get(d, "first_id")));
    at = desk_id(d, "last_id");
    GET("/v1/chat/completions?model=none&after=%s", at.s);
    FAIL_UNLESS(d->reply.status == 200 && desk_count(d, "data") == 0 && yyjson_is_false(desk_get(d, "has_more")));

    d->key = "two"; /* another tenant's cursor */
    GET("/v1/chat/completions?after=%s", at.s);
    REFUSED(400, "'after' names no chat completion");
    return 0;
}

TEST_WITH(lists_of_stored_completions_read_so_many_runs, .no_torture = "ten thousand rows")
{
    DESK(.act = completions);
}

/* Reading the answers of runs costs more than reading their rows, also if they have none; and options have a size. */
static WEFT_SUSPENDS int costly(struct desk *d, struct upp_err *err)
{
    static char options[(1 << 20) + 64];
    struct desk_id t;
    struct wb_uuid thread;
    TRY(desk_thread(d, &t, err));
    FAIL_UNLESS(wl_id_parse(wb_cstr(t.s), UPP_STR("thread_"), &thread));
    TRY(chat(d, "large", err));
    memset(options, 'x', sizeof options - 1);
    TRY(add_runs(d, thread, 1, 80, WM_COMPLETED, options, err));
    GET("/v1/chat/completions?model=none");
    FAIL_UNLESS(d->reply.status == 200 && desk_count(d, "data") == 0 && yyjson_is_true(desk_get(d, "has_more")));
    GET("/v1/chat/completions?model=none&after=%s", desk_text(d, "last_id"));
    FAIL_UNLESS(d->reply.status == 200 && desk_count(d, "data") == 0 && yyjson_is_false(desk_get(d, "has_more")));
    return 0;
}

TEST_WITH(lists_of_stored_completions_read_so_many_bytes, .no_torture = "a hundred megabytes")
{
    DESK(.act = costly);
}

/* Calls of clients' tools wait, and approvals are asked for. */
static WEFT_SUSPENDS int approvals(struct desk *d, struct upp_err *err)
{
    size_t pages = 0;
    for (size_t i = 0; i < 1024 + 16; i++) {
        ASK("{\"assistant_id\":\"picker\",\"thread\":{\"messages\":[{\"role\":\"user\",\"content\":\"go\"}]}}",
            "POST /v1/threads/runs");
        FAIL_UNLESS(d->reply.status == 200);
        while (wr_engine_counts(d->rig.engine).working)
            TRY(weft_sleep_ms(1, err));
    }
    GET("/v1/approvals");
    FAIL_UNLESS(d->reply.status == 200 && desk_count(d, "data") == 0 && yyjson_is_true(desk_get(d, "has_more")));
    FAIL_UNLESS(yyjson_is_null(desk_get(d, "first_id")));
    for (; yyjson_is_true(desk_get(d, "has_more")) && pages < 3; pages++)
        GET("/v1/approvals?after=%s", desk_text(d, "last_id"));
    FAIL_UNLESS(pages == 1 && d->reply.status == 200 && yyjson_is_null(desk_get(d, "last_id")));
    return 0;
}

TEST_WITH(lists_of_approvals_read_so_many_runs, .no_torture = "a thousand runs")
{
    DESK(.act = approvals);
}

/* Threads of sub-agents are not listed, and read all the same. */
static WEFT_SUSPENDS int threads(struct desk *d, struct upp_err *err)
{
    static struct wl_thread some[EACH];
    static struct wl_change changes[EACH]; /* not kept over another wait */
    struct desk_id oldest;
    struct wl_node node = test_node(99);
    TRY(desk_thread(d, &oldest, err));
    TRY(COMMIT(d->rig.store, owner, NULL, err, ADD_NODE(&node)));
    for (uint64_t at = 0; at < 10100; at += EACH) {
        for (size_t i = 0; i < EACH; i++) {
            some[i] = (struct wl_thread){.id = test_uuid(1000 + at + i),
                                         .tree = node.tree,
                                         .head = node.key,
                                         .kind = WL_SUB,
                                         .version = 1,
                                         .updated_ms = INT64_C(4000000000000) + (int64_t)(at + i)};
            changes[i] = (struct wl_change)ADD_THREAD(&some[i]);
        }
        TRY(test_commit(d->rig.store, owner, changes, EACH, NULL, err));
    }
    GET("/v1/threads");
    FAIL_UNLESS(d->reply.status == 200 && desk_count(d, "data") == 0 && yyjson_is_true(desk_get(d, "has_more")));
    GET("/v1/threads?after=%s", desk_text(d, "last_id"));
    FAIL_UNLESS(d->reply.status == 200 && desk_count(d, "data") == 1 && yyjson_is_false(desk_get(d, "has_more")));
    IS("data/0/id", oldest.s);
    return 0;
}

TEST_WITH(lists_of_threads_read_so_many, .no_torture = "ten thousand rows")
{
    DESK(.act = threads);
}
