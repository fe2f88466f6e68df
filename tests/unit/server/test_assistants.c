/* Assistants, and the metadata of threads and messages, over HTTP: whose they are, what is refused, what goes with what
 * is deleted. The rest is in tests/server/assistants.py. */
#include <string.h>

#include "base/defs.h"
#include "log/note.h"
#include "server/desk.h"
#include "server/doors/assistants.h"

/* How many values of a space the tenant has. */
static WEFT_SUSPENDS int count(struct desk *d, const char *space, size_t *ret, struct upp_err *err)
{
    struct wl_owner o = {.tenant = wb_cstr(d->key)};
    struct wl_value *values;
    return wl_list_values(d->rig.store, &o, wb_cstr(space), (struct upp_str){0}, 64, &d->arena, &values, ret, err);
}

static WEFT_SUSPENDS int stores(struct desk *d, struct upp_err *err)
{
    struct desk_id a;
    size_t n, ids;
    ASK("{\"model\":\"echo\",\"name\":\"Guide\"}", "POST /v1/assistants");
    FAIL_UNLESS(d->reply.status == 200);
    a = desk_id(d, "id");
    IS("object", "assistant");
    IS("response_format", "auto");
    TRY(count(d, SV_ASSISTANTS, &n, err));
    TRY(count(d, SV_ASSISTANT_IDS, &ids, err));
    FAIL_UNLESS(n == 1 && ids == 1);
    ASK("{\"name\":null,\"description\":\"d\"}", "POST /v1/assistants/%s", a.s);
    FAIL_UNLESS(d->reply.status == 200 && yyjson_is_null(desk_get(d, "name")));
    IS("description", "d");
    IS("model", "echo");
    GET("/v1/assistants?limit=1");
    IS("first_id", a.s);
    FAIL_UNLESS(yyjson_is_true(desk_get(d, "has_more")));
    ASK("{\"name\":\"x\"}", "POST /v1/assistants/echo");
    REFUSED(400, "configuration");
    ASK("{\"name\":\"x\"}", "POST /v1/assistants");
    REFUSED(400, "model");

    d->key = "two"; /* another tenant sees none of it */
    GET("/v1/assistants/%s", a.s);
    REFUSED(404, "No assistant found");
    ASK(NULL, "DELETE /v1/assistants/%s", a.s);
    REFUSED(404, "No assistant found");
    d->key = "one";
    ASK(NULL, "DELETE /v1/assistants/%s", a.s);
    FAIL_UNLESS(d->reply.status == 200);
    TRY(count(d, SV_ASSISTANTS, &n, err));
    TRY(count(d, SV_ASSISTANT_IDS, &ids, err));
    FAIL_UNLESS(n == 0 && ids == 0);
    return 0;
}

TEST(server_stores_assistants)
{
    DESK(.act = stores);
}

static WEFT_SUSPENDS int notes(struct desk *d, struct upp_err *err)
{
    struct desk_id t, m;
    size_t n;
    TRY(desk_thread(d, &t, err));
    ASK("{\"role\":\"user\",\"content\":\"hello\",\"metadata\":{\"a\":\"b\"}}", "POST /v1/threads/%s/messages", t.s);
    m = desk_id(d, "id");
    ASK("{\"metadata\":{\"c\":\"d\"}}", "POST /v1/threads/%s/messages/%s", t.s, m.s);
    FAIL_UNLESS(d->reply.status == 200 && !desk_get(d, "metadata/a"));
    IS("metadata/c", "d");
    IS("content/0/text/value", "hello");
    GET("/v1/threads/%s/messages", t.s);
    IS("data/0/metadata/c", "d");
    TRY(count(d, WL_NOTES, &n, err));
    FAIL_UNLESS(n == 1);
    ASK("{\"metadata\":{\"c\":1}}", "POST /v1/threads/%s/messages/%s", t.s, m.s);
    REFUSED(400, "metadata");
    ASK(NULL, "DELETE /v1/threads/%s/messages/%s", t.s, m.s);
    FAIL_UNLESS(d->reply.status == 200);
    TRY(count(d, WL_NOTES, &n, err));
    FAIL_UNLESS(n == 0);
    ASK("{\"metadata\":{\"c\":\"d\"}}", "POST /v1/threads/%s/messages/%s", t.s, m.s);
    REFUSED(404, "No message found");
    return 0;
}

TEST(server_notes_metadata_of_messages)
{
    DESK(.act = notes);
}

static WEFT_SUSPENDS int modifies(struct desk *d, struct upp_err *err)
{
    struct desk_id t;
    ASK("{\"metadata\":{\"a\":\"b\"},\"tool_resources\":{\"file_search\":{}}}", "POST /v1/threads");
    t = desk_id(d, "id");
    FAIL_UNLESS(d->reply.status == 200 && yyjson_is_obj(desk_get(d, "tool_resources/file_search")));
    ASK("{\"metadata\":{\"c\":\"d\"}}", "POST /v1/threads/%s", t.s);
    FAIL_UNLESS(!desk_get(d, "metadata/a") && yyjson_is_obj(desk_get(d, "tool_resources/file_search")));
    FAIL_UNLESS(yyjson_obj_size(desk_get(d, "metadata")) == 1); /* ours is not among the client's */
    ASK("{\"tool_resources\":{}}", "POST /v1/threads/%s", t.s);
    IS("metadata/c", "d");
    FAIL_UNLESS(yyjson_obj_size(desk_get(d, "tool_resources")) == 0);
    ASK("{\"tool_resources\":{\"x\":1}}", "POST /v1/threads/%s", t.s);
    REFUSED(400, "resources of a tool");
    ASK("{\"tool_resources\":[]}", "POST /v1/threads/%s", t.s);
    REFUSED(400, "expected an object");
    return 0;
}

TEST(server_modifies_threads)
{
    DESK(.act = modifies);
}
