/* The Agent API over HTTP, on a store and a loop that can fail: what tests/server/process.py sees from outside, under
 * every failing allocation, store call and cancel. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "server/desk.h"

#define USER(text) "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}"

static bool is_refused(const struct desk *d, int status, const char *at)
{
    return d->reply.status == status && strcmp(desk_text(d, "detail/0/loc/1"), at) == 0;
}

static WEFT_SUSPENDS int one_object(struct desk *d, struct upp_err *err)
{
    ASK("{\"stream\":false,\"session_id\":\"s\",\"model\":\"echo\",\"input\":[" USER("one") "]}", "POST /process");
    FAIL_UNLESS(d->reply.status == 200);
    IS("object", "response");
    IS("status", "completed");
    IS("session_id", "s");
    IS("output/0/content/0/text", "one");
    struct desk_id first = desk_id(d, "id");
    char body[400];
    GET("/process/sessions/s/response");
    IS("id", first.s);
    (void)snprintf(body, sizeof body,
                   "{\"stream\":false,\"model\":\"echo\",\"response_id\":\"%s\",\"input\":[" USER("two") "]}", first.s);
    ASK(body, "POST /process");
    FAIL_UNLESS(d->reply.status == 200);
    IS("output/0/content/0/text", "two");
    ASK(body, "POST /process"); /* not the newest any more: a branch */
    FAIL_UNLESS(d->reply.status == 200);
    GET("/v1/threads/s/messages");
    FAIL_UNLESS(desk_count(d, "data") == 4);
    return 0;
}

TEST(process_gives_one_object)
{
    DESK(.act = one_object);
}

static WEFT_SUSPENDS int client_tool(struct desk *d, struct upp_err *err)
{
    char body[400];
    ASK("{\"stream\":false,\"session_id\":\"t\",\"model\":\"picker\",\"input\":[" USER("x") "]}", "POST /process");
    FAIL_UNLESS(d->reply.status == 200);
    size_t n = desk_count(d, "output");
    FAIL_UNLESS(n > 0);
    char at[64];
    (void)snprintf(at, sizeof at, "output/%zu/type", n - 1);
    IS(at, "function_call");
    (void)snprintf(at, sizeof at, "output/%zu/content/0/data/call_id", n - 1);
    struct desk_id call = desk_id(d, at);
    ASK("{\"session_id\":\"t\",\"model\":\"picker\",\"input\":[" USER("y") "]}", "POST /process");
    FAIL_UNLESS(d->reply.status == 409 && desk_text(d, "detail")[0]);
    (void)snprintf(
        body, sizeof body,
        "{\"stream\":false,\"session_id\":\"t\",\"model\":\"picker\",\"input\":[{\"type\":\"function_call_output\","
        "\"role\":\"tool\",\"content\":[{\"type\":\"data\",\"data\":{\"call_id\":\"%s\",\"output\":\"1\"}}]}]}",
        call.s);
    ASK(body, "POST /process");
    FAIL_UNLESS(d->reply.status == 200);
    IS("output/0/type", "function_call_output");
    IS("status", "completed");
    return 0;
}

TEST(process_waits_for_the_clients_tool)
{
    DESK(.act = client_tool);
}

static WEFT_SUSPENDS int refusals(struct desk *d, struct upp_err *err)
{
    static const struct {
        const char *body, *at;
    } rows[] = {
        {"{\"input\":{}}", "input"},
        {"{\"input\":[]}", "input"},
        {"{\"input\":[" USER("x") "],\"n\":2}", "n"},
        {"{\"input\":[" USER("x") "],\"model\":\"nobody\"}", "model"},
        {"{\"input\":[" USER("x") "],\"response_id\":\"response_1\"}", "response_id"},
        {"{\"input\":[" USER("x") "],\"session_id\":\"\"}", "session_id"},
        {"{\"input\":[{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}]}", "input"},
        {"{\"input\":[{\"type\":\"reasoning\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}]}", "input"},
        {"{\"input\":[{\"type\":\"mcp_call\",\"content\":[{\"type\":\"data\",\"data\":{\"call_id\":\"c\",\"name\":"
         "\"n\",\"arguments\":"
         "\"{}\"}}]}]}",
         "input"},
    };
    char body[600];
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        (void)snprintf(body, sizeof body, "%s%.*s", strstr(rows[i].body, "\"model\"") ? "{" : "{\"model\":\"echo\",",
                       (int)strlen(rows[i].body) - 1, rows[i].body + 1);
        ASK(body, "POST /process");
        if (!is_refused(d, 422, rows[i].at))
            return upp_fail(err, UPP_EBUG, "row %zu: %d %s", i, d->reply.status, desk_text(d, "detail/0/msg"));
    }
    ASK("{\"session_id\":\"nobody\"}", "POST /stop");
    FAIL_UNLESS(d->reply.status == 404 && desk_text(d, "detail")[0]);
    GET("/v1/threads");
    FAIL_UNLESS(desk_count(d, "data") == 0); /* nothing is stored for what is refused */
    return 0;
}

TEST(process_refuses_with_the_place)
{
    DESK(.act = refusals);
}

static WEFT_SUSPENDS int tasks(struct desk *d, struct upp_err *err)
{
    ASK("{\"session_id\":\"s\",\"model\":\"echo\",\"input\":[" USER("one") "]}", "POST /process/task");
    FAIL_UNLESS(d->reply.status == 200);
    IS("status", "submitted");
    struct desk_id task = desk_id(d, "task_id");
    ASK("{\"stream\":false,\"session_id\":\"other\",\"model\":\"echo\",\"input\":[" USER("two") "]}", "POST /process");
    for (unsigned i = 0; i < 1000; i++) {
        GET("/process/task/%s", task.s);
        if (strcmp(desk_text(d, "status"), "finished") == 0)
            break;
        TRY(weft_sleep_ms(10, err));
    }
    IS("result/status", "completed");
    ASK("{\"session_id\":\"s\"}", "POST /process/cancel");
    COUNTS("canceled", 0);
    d->key = "two";
    GET("/process/task/%s", task.s);
    FAIL_UNLESS(d->reply.status == 200 && desk_text(d, "error")[0]);
    GET("/process/sessions/s/response");
    FAIL_UNLESS(d->reply.status == 404);
    return 0;
}

TEST(process_tasks_are_runs)
{
    DESK(.act = tasks);
}
