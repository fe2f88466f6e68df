/* What waits for an answer, and the runs of a thread, over HTTP: whose they are, and with memory that runs out. */
#include <string.h>

#include "base/defs.h"
#include "server/desk.h"

static WEFT_SUSPENDS int waits(struct desk *d, struct upp_err *err)
{
    struct desk_id t, run, item;
    TRY(desk_thread(d, &t, err));
    TRY(desk_run(d, t.s, "picker", "hello", err));
    GET("/v1/threads/%s/runs", t.s);
    FAIL_UNLESS(d->reply.status == 200 && desk_count(d, "data") == 1);
    IS("data/0/status", "requires_action");
    run = desk_id(d, "data/0/id");
    GET("/v1/approvals"); /* a client's tool is no approval */
    FAIL_UNLESS(d->reply.status == 200 && desk_count(d, "data") == 0 && yyjson_is_null(desk_get(d, "first_id")));
    GET("/v1/approvals?kind=any&limit=1");
    FAIL_UNLESS(d->reply.status == 200 && desk_count(d, "data") == 1 && yyjson_is_false(desk_get(d, "has_more")));
    IS("data/0/run_id", run.s);
    IS("data/0/thread_id", t.s);
    IS("data/0/assistant_id", "picker");
    IS("data/0/call_id", "p1");
    IS("data/0/description", "the client picks");
    FAIL_UNLESS(desk_number(d, "data/0/expires_at") - desk_number(d, "data/0/created_at") == 24L * 60 * 60);
    item = desk_id(d, "last_id");
    GET("/v1/approvals?kind=any&after=%s", item.s);
    FAIL_UNLESS(d->reply.status == 200 && desk_count(d, "data") == 0);
    GET("/v1/threads/%s/runs?before=%s&order=asc", t.s, run.s);
    FAIL_UNLESS(d->reply.status == 200 && desk_count(d, "data") == 0);

    d->key = "two"; /* another tenant sees none of it */
    GET("/v1/approvals?kind=any");
    FAIL_UNLESS(d->reply.status == 200 && desk_count(d, "data") == 0);
    GET("/v1/approvals?kind=any&after=%s", item.s);
    REFUSED(400, "'after' names no run of yours");
    GET("/v1/approvals?kind=any&run=%s", run.s);
    REFUSED(404, "");
    GET("/v1/threads/%s/runs", t.s);
    REFUSED(404, "");
    return 0;
}

TEST(server_lists_what_waits)
{
    DESK(.act = waits);
}
