/* Imports of one document at once: only one gets its id. */

#include <string.h>

#include "log/change.h"
#include "support/documents.h"
#include "support/stores.h"
#include "support/test.h"
#include "thread/doc_put.h"

static const char session[] =
    "{\"version\":\"1.0.0\",\"id\":\"s-1\",\"agentId\":\"a\",\"createdAt\":\"2026-01-01T00:00:00.000Z\",\"updatedAt\":"
    "\"2026-01-01T00:00:00.000Z\",\"threadTree\":{\"rootId\":\"n\",\"currentId\":\"n\",\"nodes\":[{\"id\":\"n\","
    "\"parentId\":"
    "null,\"thread\":{\"id\":\"t\",\"messages\":[],\"createdAt\":\"2026-01-01T00:00:00.000Z\",\"updatedAt\":\"2026-01-"
    "01T"
    "00:00:00.000Z\"},\"children\":[]}]},\"checkpoints\":[],\"metadata\":{}}";
static const char talk[] =
    "{\"version\":\"2.0.0\",\"thread_id\":\"s-1\",\"created_at\":\"2026-01-01T00:00:00Z\",\"updated_at\":\"2026-01-01T"
    "00:00:09Z\",\"agents\":{},\"turns\":[{\"turn_type\":\"user\",\"submitted_at\":\"2026-01-01T00:00:01Z\",\"parts\":["
    "{"
    "\"part_kind\":\"user-prompt\",\"content\":\"one\"}]}]}";

struct import {
    struct wl_store store; /* of one request, in front of the test's */
    bool session, overtaken;
};

static WEFT_SUSPENDS int import(struct wl_store *s, bool is_session, bool copy, struct wl_thread *ret,
                                struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    if (is_session)
        return wa_thread_import(s, &ALICE, wb_cstr(session), copy, &a, ret, err);
    TRY(wd_document_read(&d, &wd_document_thread, wb_cstr(talk), NULL, err));
    return wa_doc_put(s, &ALICE, &d.doc, copy, &a, ret, err);
}

/* Right before the first commit of this import, another one of the same document is complete. */
static WEFT_SUSPENDS int commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    struct import *i = WB_OUTER(s, struct import, store);
    struct wl_thread other;
    if (!i->overtaken) {
        i->overtaken = true;
        TRY(import(s->inner, i->session, false, &other, err));
    }
    return wl_store_commit(s->inner, c, err);
}

static const struct wl_store_ops ops = {.size = sizeof ops, .name = "overtaken", .commit = commit};

static WEFT_SUSPENDS int overtake(struct test_store *t, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    const struct import *how = t->arg;
    struct import i = {.store = {.ops = &ops, .inner = t->s}, .session = how->session};
    struct wl_thread refused, copy, named;
    FAIL_UNLESS(import(&i.store, i.session, false, &refused, err) == -UPP_EBUSY);
    FAIL_UNLESS(strstr(err->msg, "there is a thread 's-1' already"));
    *err = (struct upp_err){0};
    TRY(wl_thread_find(t->s, &ALICE, UPP_STR("s-1"), &a, &named, err));
    TRY(wl_thread_delete(t->s, &ALICE, &named, err));
    i.overtaken = false;
    TRY(import(&i.store, i.session, true, &copy, err));
    FAIL_UNLESS(i.overtaken);
    TRY(wl_thread_find(t->s, &ALICE, UPP_STR("s-1"), &a, &named, err));
    FAIL_UNLESS(!wb_uuid_eq(copy.id, named.id));
    return wl_get_thread(t->s, &ALICE, copy.id, &a, &named, err);
}

TEST(import_of_a_copy_whose_id_is_taken_meanwhile)
{
    for (unsigned i = 0; i < 2; i++)
        CHECK(test_each_store(overtake, &(struct import){.session = i == 0}));
}
