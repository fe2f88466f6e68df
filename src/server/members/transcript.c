/* server/members/transcript.c — collects the structured messages of a thread as they are read from the log. */
#include "server/members/transcript.h"

#include "base/defs.h"
#include "json/read.h"

enum { BYTES = 64 << 20, BATCH = 128, BATCH_BYTES = 256 << 20 };

void sv_transcript_begin(struct sv_transcript *s, const struct wl_thread *t, struct upp_err *err)
{
    *s = (struct sv_transcript){.json = WB_BUF(BYTES)};
    wj_writer_init(&s->w, &s->json, err);
    wj_write_open(&s->w, '{');
    if (t && !wb_uuid_is_nil(t->parent)) /* what it answers may be in the parent */
        wj_put_str(&s->w, "parent_id", UPP_STR("parent"));
    wj_put_open(&s->w, "messages", '[');
}

void sv_transcript_done(struct sv_transcript *s)
{
    wb_buf_done(&s->json);
    wb_vec_done(&s->ids);
}

static bool is_structured(struct upp_str text)
{
    struct upp_str s = wb_str_trim(text);
    return s.n && s.p[0] == '{' && wb_str_find(s, UPP_STR("\"$schema\""), 0) != SIZE_MAX;
}

bool sv_transcript_wants(const struct upp_message *m)
{
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, 1 << UPP_PART_TEXT));)
        if (is_structured(p->text))
            return true;
    return false;
}

int sv_transcript_add(struct sv_transcript *s, const struct wm_entry *e, struct wb_uuid id, struct upp_err *err)
{
    if (!wb_vec_push(&s->ids, id, UINT32_MAX))
        return upp_fail(err, UPP_ENOMEM, "no memory for a transcript");
    wj_write_open(&s->w, '{');
    wj_put_i64(&s->w, "created_at", e->message.time_ms / 1000);
    wj_put_text(&s->w, "actor", e->who.n ? e->who : (struct upp_str){NULL, 0});
    wj_put_open(&s->w, "content", '[');
    for (const struct upp_part *p = NULL; (p = upp_part_next(&e->message, p, 1 << UPP_PART_TEXT));)
        wj_write_str(&s->w, p->text.p ? p->text : UPP_STR(""));
    wj_write_close(&s->w, ']');
    wj_write_close(&s->w, '}');
    return wj_writer_check(&s->w);
}

WEFT_SUSPENDS int sv_transcript_read(struct sv_transcript *s, struct wl_store *store, const struct wl_owner *o,
                                     const struct wl_thread *t, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena paths = WB_ARENA(64u << 20), a = WB_ARENA(BATCH_BYTES);
    struct wl_path path;
    int r = wl_thread_path(store, o, t, &paths, &path, err);
    for (uint32_t at = 0; r >= 0 && at < path.length;) {
        struct wl_line *lines;
        size_t n;
        uint32_t some = WB_MIN(path.length - at, (uint32_t)BATCH);
        wb_arena_reset(&a);
        at += some;
        r = wl_path_tail(store, o, &path, at, some, &a, &lines, &n, err);
        for (size_t i = 0; r >= 0 && i < n; i++) {
            const struct wm_entry *e = &lines[i].entry;
            if (e->kind == WM_ENTRY_MESSAGE && wm_is_visible(e) && sv_transcript_wants(&e->message))
                r = sv_transcript_add(s, e, lines[i].id, err);
        }
    }
    return r;
}

int sv_transcript_end(struct sv_transcript *s, struct wb_arena *a, yyjson_val **ret, struct upp_err *err)
{
    wj_write_close(&s->w, ']');
    wj_write_close(&s->w, '}');
    int r = wj_writer_check(&s->w);
    return r < 0 ? r : wj_read(a, wb_buf_str(&s->json), UPP_OPTS(wj_read_opts, .max_bytes = BYTES), ret, err);
}
