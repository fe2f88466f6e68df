/* What a request has committed is not refused because of a read after that: the client would send it once more. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "server/desk.h"

enum { AT_MOST = 4 /* reads that fail after each commit */ };

static WEFT_SUSPENDS int settle(struct desk *d, struct upp_err *err)
{
    d->lazy.bad_after_commit = d->lazy.bad_reads = 0;
    return weft_sleep_ms(60000, err); /* runs that could not be read go on */
}

/* How many items the list at `path` has. */
static WEFT_SUSPENDS int has(struct desk *d, size_t n, struct upp_err *err, const char *path)
{
    TRY(settle(d, err));
    GET("%s", path);
    FAIL_UNLESS(d->reply.status == 200 && desk_count(d, "data") == n);
    return 0;
}

#define RUN(more)                                                                                                      \
    "{\"assistant_id\":\"echo\",\"additional_messages\":[{\"role\":\"user\",\"content\":\"hello\"}]" more "}"

static WEFT_SUSPENDS int runs(struct desk *d, struct upp_err *err)
{
    static const char *const bodies[] = {RUN(""), RUN(",\"stream\":true")};
    char path[128];
    for (size_t i = 0; i < WB_LEN(bodies); i++)
        for (unsigned bad = 1; bad <= AT_MOST; bad++) {
            struct desk_id t;
            TRY(desk_thread(d, &t, err));
            TRY(desk_run(d, t.s, "echo", "before", err));
            d->lazy.bad_after_commit = bad;
            test_note("%u bad reads, %s", bad, bodies[i]);
            int r = desk_ask(d, bodies[i], err, "POST /v1/threads/%s/runs", t.s);
            FAIL_UNLESS(d->reply.status == 200 && (r >= 0 || i == 1)); /* a stream is no JSON */
            (void)snprintf(path, sizeof path, "/v1/threads/%s/runs", t.s);
            TRY(has(d, 2, err, path));
            IS("data/0/status", "completed");
        }
    return 0;
}

TEST_WITH(server_committed_runs_are_answered, .no_torture = "it waits for simulated minutes")
{
    DESK(.act = runs);
}

static WEFT_SUSPENDS int queued_runs(struct desk *d, struct upp_err *err)
{
    char path[128];
    for (unsigned bad = 1; bad <= AT_MOST; bad++) {
        struct desk_id t;
        TRY(desk_thread(d, &t, err));
        TRY(desk_run(d, t.s, "picker", "waits", err));
        d->lazy.bad_after_commit = bad;
        ASK(RUN(",\"on_busy\":\"enqueue\""), "POST /v1/threads/%s/runs", t.s);
        FAIL_UNLESS(d->reply.status == 200);
        IS("status", "queued");
        IS("assistant_id", "echo");
        (void)snprintf(path, sizeof path, "/v1/threads/%s/runs", t.s);
        TRY(has(d, 2, err, path));
    }
    return 0;
}

TEST_WITH(server_committed_queued_runs_are_answered, .no_torture = "it waits for simulated minutes")
{
    DESK(.act = queued_runs);
}

/* Doors that answer with the whole run wait until it can be read. */
static WEFT_SUSPENDS int whole_answers(struct desk *d, struct upp_err *err)
{
    static const struct {
        const char *request, *body;
    } cases[] = {
        {"POST /v1/threads/runs", RUN("")},
        {"POST /v1/chat/completions", "{\"model\":\"echo\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}"},
        {"POST /v1/responses", "{\"model\":\"echo\",\"input\":\"hello\"}"},
        {"POST /v1/responses", "{\"model\":\"echo\",\"input\":\"hello\",\"background\":true}"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++)
        for (unsigned bad = 1; bad <= AT_MOST; bad++) {
            uint64_t before = wr_engine_counts(d->rig.engine).started;
            ASK("{}", "POST /v1/threads");
            d->lazy.bad_after_commit = bad;
            ASK(cases[i].body, "%s", cases[i].request);
            uint64_t started = wr_engine_counts(d->rig.engine).started - before;
            FAIL_UNLESS(started == (d->reply.status == 200)); /* what was refused was not begun */
            TRY(settle(d, err));
        }
    return 0;
}

TEST_WITH(server_committed_answers_are_whole, .no_torture = "it waits for simulated minutes")
{
    DESK(.act = whole_answers);
}

static WEFT_SUSPENDS int assistants(struct desk *d, struct upp_err *err)
{
    for (unsigned bad = 1; bad <= AT_MOST; bad++) {
        struct desk_id a;
        d->lazy.bad_after_commit = bad;
        ASK("{\"model\":\"echo\",\"name\":\"Guide\"}", "POST /v1/assistants");
        FAIL_UNLESS(d->reply.status == 200);
        IS("name", "Guide");
        a = desk_id(d, "id");
        TRY(settle(d, err));
        d->lazy.bad_after_commit = bad;
        ASK("{\"name\":\"Other\"}", "POST /v1/assistants/%s", a.s);
        FAIL_UNLESS(d->reply.status == 200);
        IS("name", "Other");
        TRY(settle(d, err));
        GET("/v1/assistants/%s", a.s);
        IS("name", "Other");
        ASK(NULL, "DELETE /v1/assistants/%s", a.s);
    }
    return 0;
}

TEST_WITH(server_committed_assistants_are_answered, .no_torture = "it waits for simulated minutes")
{
    DESK(.act = assistants);
}

static WEFT_SUSPENDS int answers(struct desk *d, struct upp_err *err)
{
    char path[160];
    for (unsigned bad = 1; bad <= AT_MOST; bad++) {
        struct desk_id t, run;
        TRY(desk_thread(d, &t, err));
        TRY(desk_run(d, t.s, "picker", "pick", err));
        GET("/v1/threads/%s/runs", t.s);
        run = desk_id(d, "data/0/id");
        IS("data/0/status", "requires_action");
        d->lazy.bad_after_commit = bad;
        ASK("{\"tool_outputs\":[{\"tool_call_id\":\"p1\",\"output\":\"x\"}]}",
            "POST /v1/threads/%s/runs/%s/submit_tool_outputs", t.s, run.s);
        FAIL_UNLESS(d->reply.status == 200);
        (void)snprintf(path, sizeof path, "/v1/threads/%s/runs", t.s);
        TRY(has(d, 1, err, path));
    }
    return 0;
}

TEST_WITH(server_committed_answers_to_calls_are_answered, .no_torture = "it waits for simulated minutes")
{
    DESK(.act = answers);
}
