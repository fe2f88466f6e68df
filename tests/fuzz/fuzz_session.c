/* fuzz/fuzz_session.c — any JSON as a session, and as a tree: what reads is written, reads again, and is written the
 * same.
 */
#include <weft/tree.h>

#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "model/session.h"

static bool put(const struct wm_session *s, const struct wm_tree_doc *t, struct wb_buf *b)
{
    struct wj_writer w;
    struct upp_err err = {0};
    wj_writer_init(&w, b, &err);
    if (s)
        wm_session_write(&w, s);
    else
        wm_tree_write(&w, t);
    int r = wj_writer_check(&w);
    REQUIRE(r == 0 || r == -UPP_ELIMIT); /* what is inside a message may be deeper than the writer goes */
    REQUIRE_SHOWN(err.msg);
    return r == 0;
}

static void refused(int r, const struct upp_err *err)
{
    REQUIRE_SHOWN(err->msg);
    REQUIRE_SHOWN(err->where);
    REQUIRE((r == -UPP_EINVALID || r == -UPP_ELIMIT) && err->code == -r && err->msg[0]);
}

static void as_session(struct upp_str in)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64u << 20), again = WB_BUF(64u << 20);
    struct upp_err err = {0};
    struct wm_session s, back;
    int r = wm_session_read(&a, in, &s, &err);
    if (r < 0) {
        refused(r, &err);
        return;
    }
    if (!put(&s, NULL, &b))
        return;
    REQUIRE(wm_session_read(&a, wb_buf_str(&b), &back, &err) == 0);
    REQUIRE(back.tree.n == s.tree.n && back.n_checkpoints == s.n_checkpoints && wb_str_eq(back.id, s.id));
    REQUIRE(put(&back, NULL, &again));
    REQUIRE(wb_str_eq(wb_buf_str(&b), wb_buf_str(&again)));
}

/* Also through the tree in memory, which is to write the same but for times that were not there. */
static void as_tree(struct upp_str in)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64u << 20);
    UPP_CLEANUP(weft_tree_freep) struct weft_tree *t = NULL;
    struct upp_err err = {0};
    struct wm_tree_doc doc;
    struct upp_str text = {0};
    int r = wm_tree_read(&a, in, &doc, &err);
    if (r < 0) {
        refused(r, &err);
        return;
    }
    REQUIRE(weft_tree_from_json(in, &t, &err) == 0);
    if (!put(NULL, &doc, &b))
        return;
    REQUIRE(weft_tree_to_json(t, &text, &err) == 0);
    bool timed = true;
    for (size_t i = 0; i < doc.n; i++)
        timed = timed && doc.nodes[i].thread.created.p && doc.nodes[i].thread.updated.p;
    REQUIRE(!timed || wb_str_eq(text, wb_buf_str(&b)));
    upp_text_free(text);
}

FUZZ(session)
{
    as_session(in);
    as_tree(in);
}
