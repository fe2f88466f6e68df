/* thread/import.c — validates a session document, and writes it as a new thread. */
#include "thread/import.h"

#include "thread/repair.h"
#include "base/crash.h"
#include "base/defs.h"

/* A document that exceeds a limit is invalid: change it, do not retry. */
static int read_document(struct wb_arena *a, struct upp_str json, struct wm_session *ret, struct upp_err *err)
{
    int r = wm_session_read(a, json, ret, err);
    if (r != -UPP_ELIMIT)
        return r;
    if (err)
        err->code = UPP_EINVALID;
    return -UPP_EINVALID;
}

int wa_is_taken(struct wl_store *s, const struct wl_owner *o, struct upp_str id, struct wb_arena *a,
                struct upp_err *err)
{
    struct wl_thread t;
    int r = wl_thread_find(s, o, id, a, &t, err);
    return r == -UPP_ENOTFOUND ? 0 : r < 0 ? r : 1;
}

int wa_fail_taken(struct upp_str id, struct upp_err *err)
{
    return upp_fail(err, UPP_EBUSY,
                    "there is a thread '%.*s' already: on_conflict=copy (`weft import --on-conflict copy`) imports it "
                    "as another one",
                    UPP_FMT(id));
}

int wa_thread_import(struct wl_store *s, const struct wl_owner *o, struct upp_str json, bool copy, struct wb_arena *a,
                     struct wl_thread *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena memory = WB_ARENA(1u << 30);
    struct wm_session doc;
    struct wl_thread t;
    struct upp_message closing;
    int r = read_document(&memory, json, &doc, err);
    if (r >= 0)
        r = copy ? 0 : wa_is_taken(s, o, doc.id, &memory, err);
    if (r > 0)
        return wa_fail_taken(doc.id, err);
    if (r < 0)
        return r;
    r = wa_repair_session(&memory, &doc, &closing, err);
    if (r < 0)
        return r;
    wb_crashpoint("import.before");
    r = wa_session_put(s, o, &doc, (struct upp_str){0}, r > 0 ? &closing : NULL, copy, &memory, &t, err);
    if (r >= 0)
        wb_crashpoint("import.after");
    if (r == -UPP_EBUSY && !copy && wa_is_taken(s, o, doc.id, &memory, NULL) > 0) /* taken in the meantime */
        return wa_fail_taken(doc.id, err);
    if (r < 0)
        return r;
    t.title = wb_arena_dup(a, t.title); /* they point into the document */
    t.metadata = wb_arena_dup(a, t.metadata);
    t.owner = *o;
    *ret = t;
    return wb_arena_check(a, err);
}
