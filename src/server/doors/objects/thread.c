/* server/doors/objects/thread.c — threads as objects: written, and their metadata read from requests. */
#include "server/doors/objects/thread.h"

#include <stdio.h>

#include "base/defs.h"
#include "dialects/assistants/objects.h"
#include "json/edit.h"
#include "json/pointer.h"
#include "json/read.h"
#include "json/value.h"
#include "server/doors/options.h"
#include "server/members/members.h"

/* The member of a thread's stored metadata that is its tool_resources: so documents of it keep them. */
#define RESOURCES "weft.tool_resources"

void sv_write_thread(struct wj_writer *w, const struct wl_thread *t)
{
    sv_write_listed(w, t, 0);
}

enum { METADATA_ARENA = 16 << 20 };

/* Stored metadata as `metadata` and `tool_resources`. */
static void put_apart(struct wj_writer *w, const struct wl_thread *t)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(METADATA_ARENA);
    yyjson_val *root = NULL, *resources;
    int r = wj_read(&a, t->metadata, NULL, &root, NULL);
    if (r < 0)
        wj_writer_fail(w, r);
    wj_put_open(w, "metadata", '{');
    sv_members_put_parent(w, t);
    wj_put_members_but(w, root, WJ_NAMES(RESOURCES));
    wj_write_close(w, '}');
    resources = root ? yyjson_obj_get(root, RESOURCES) : NULL;
    if (resources)
        wj_put_value(w, "tool_resources", resources);
    else
        wj_put_null(w, "tool_resources");
}

void sv_write_listed(struct wj_writer *w, const struct wl_thread *t, size_t metadata_bytes)
{
    wj_write_open(w, '{');
    asst_put_id(w, "id", "thread_", t->id);
    wj_put_str(w, "object", UPP_STR("thread"));
    asst_put_seconds(w, "created_at", t->created_ms);
    if (t->title.n)
        wj_put_str(w, "title", t->title);
    if (wb_str_find(t->metadata, UPP_STR(RESOURCES), 0) == SIZE_MAX) {
        sv_members_put_metadata(w, t);
        wj_put_null(w, "tool_resources");
    } else
        put_apart(w, t);
    if (metadata_bytes > SV_LISTED_METADATA)
        wj_put_u64(w, "metadata_bytes", metadata_bytes);
    wj_write_close(w, '}');
}

int sv_answer_thread(struct sv_exchange *x, const struct wl_thread *t, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, &x->reply.body, err);
    sv_write_thread(&w, t);
    return sv_finish(x, &w);
}

/* The metadata of a thread as it is stored: `given` (NULL: as in `old`) with `resources` (NULL: likewise). */
static int join_metadata(struct wb_arena *a, struct upp_str old, struct upp_str given, struct upp_str resources,
                         struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(METADATA_ARENA);
    yyjson_val *before = NULL, *now = NULL, *kept;
    struct wj_writer w;
    int r = old.n ? wj_read(a, old, NULL, &before, err) : 0;
    if (r >= 0 && given.p)
        r = wj_read(a, given, NULL, &now, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_members_but(&w, given.p ? now : before, WJ_NAMES(RESOURCES));
    kept = before ? yyjson_obj_get(before, RESOURCES) : NULL;
    if (resources.p)
        wj_put_raw(&w, RESOURCES, resources.p, resources.n);
    else
        wj_put_value(&w, RESOURCES, kept);
    wj_write_close(&w, '}');
    return wj_writer_text(&w, a, ret);
}

/* Members of a thread inside a larger request: errors point there. */
WEFT_SUSPENDS static int read_members(struct sv_exchange *x, const struct sv_body *b, yyjson_val *object,
                                      const struct wl_thread *t, struct upp_str *ret, struct wb_uuid *parent,
                                      struct upp_err *err)
{
    const struct sv_body inner = {.root = object};
    char where[sizeof err->where];
    int r = sv_members_metadata(x, &inner, t, ret, parent, err);
    if (r < 0 && err && object != b->root) {
        (void)snprintf(where, sizeof where, "%s", err->where);
        wj_pointer_err(err, b->root, object);
        size_t n = strlen(err->where);
        (void)snprintf(err->where + n, sizeof err->where - n, "%s", where);
    }
    return r;
}

WEFT_SUSPENDS int sv_read_thread_metadata(struct sv_exchange *x, const struct sv_body *b, yyjson_val *object,
                                          const struct wl_thread *t, struct upp_str *ret, struct wb_uuid *parent,
                                          struct upp_err *err)
{
    struct upp_str given = {NULL, 0}, resources = {NULL, 0};
    int r = sv_metadata_read(b, object, &x->arena, &given, err);
    bool any = given.p || sv_member(object, UPP_STR("actors")) || sv_member(object, UPP_STR("parent_id"));
    if (r >= 0)
        r = sv_resources_read(b, object, &x->arena, &resources, err);
    if (r >= 0 && any)
        r = read_members(x, b, object, t, &given, parent, err);
    if (r < 0 || (!given.p && !resources.p))
        return r < 0 ? r : 0;
    r = join_metadata(&x->arena, t ? t->metadata : (struct upp_str){NULL, 0}, given, resources, ret, err);
    return r < 0 ? r : 1;
}
