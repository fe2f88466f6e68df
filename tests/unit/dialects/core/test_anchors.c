/* The anchors of a document are found by their entry and slot, however many an entry has. */
#include "dialects/core/writer.h"
#include "json/read.h"
#include "support/test.h"

TEST(anchors_are_found_by_entry_and_slot)
{
    enum { ENTRIES = 3, SLOTS = 12 };
    static const char *const slots[SLOTS] = {"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "c0", "c1"};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    WB_CLEANUP(wd_lifting_done) struct wd_lifting l = {.a = &a};
    struct wm_doc_entry entries[ENTRIES] = {0};
    struct wm_doc doc = {0};
    struct upp_err err;
    char copy[] = "p?";
    doc.entries.p = entries;
    doc.entries.n = ENTRIES;
    l.doc = &doc;
    CHECK_INT(wj_read(&a, UPP_STR("{\"a\":{}}"), NULL, &l.root, &err), 0);
    CHECK_INT(wd_anchor(&l, l.root, "message", 0, 1, &err), 0);
    for (size_t i = 0; i < SLOTS; i++)
        CHECK_INT(wd_anchor(&l, l.root, slots[i], 1, 1, &err), 0);
    CHECK_INT(wd_anchor(&l, l.root, "thread", WD_THREAD, 0, &err), 0);

    struct wd_anchor *found = wd_anchor_find(&l, 0, "message");
    CHECK(found && found->entry == 0 && !l.index);
    found = wd_anchor_find(&l, WD_THREAD, "thread");
    CHECK(found && found->entry == WD_THREAD);
    CHECK(!wd_anchor_find(&l, 0, "p0") && !wd_anchor_find(&l, 2, "message") && !wd_anchor_find(&l, 7, "thread"));
    for (size_t i = 0; i < SLOTS; i++) {
        copy[0] = slots[i][0], copy[1] = slots[i][1];
        found = wd_anchor_find(&l, 1, copy);
        CHECK(found && found->entry == 1 && found->slot == slots[i]);
    }
    CHECK(l.index); /* it was asked for the later ones */
    CHECK(!wd_anchor_find(&l, 1, "message"));
}
