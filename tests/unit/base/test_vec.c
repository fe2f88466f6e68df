#include "base/list.h"
#include "base/str.h"
#include "base/vec_add.h"

#include "support/test.h"

TEST(vec_grows_to_its_maximum)
{
    WB_VEC(int) v = {0};
    bool ok = true;
    for (int i = 0; i < 100; i++)
        ok = ok && wb_vec_push(&v, i, 100);
    bool refused = !wb_vec_push(&v, 100, 100);
    bool held = ok && v.n == 100 && v.p[99] == 99;
    wb_vec_done(&v);
    CHECK(ok && refused && held);
    CHECK(!v.p && v.n == 0 && v.cap == 0);
}

/* A full list and no memory are two errors: for the first one sends less, for the second one waits. */
TEST(vec_add_says_why_there_is_no_room)
{
    WB_VEC(int) v = {0};
    struct upp_err err = {0}, full = {0};
    int r = wb_vec_add(&v, 1, 2, "numbers", &err);
    r = r < 0 ? r : wb_vec_add(&v, 2, 2, "numbers", &err);
    int over = wb_vec_add(&v, 3, 2, "numbers", &full);
    size_t n = v.n;
    wb_vec_done(&v);
    ALWAYS(r == 0 || r == -UPP_ENOMEM);
    CHECK_INT(r, 0);
    CHECK(n == 2);
    CHECK_INT(over, -UPP_ELIMIT);
    CHECK_STR(wb_cstr(full.msg), UPP_STR("more than 2 numbers"));
    CHECK_INT(wb_vec_full(1, 2, "numbers", &err), -UPP_ENOMEM);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("no memory for numbers"));
}

TEST(vec_reserve_holds_what_is_there)
{
    WB_VEC(int) v = {0};
    bool ok = wb_vec_push(&v, 7, 100) && wb_vec_reserve(&v, 50) && v.cap == 50 && v.n == 1 && v.p[0] == 7;
    int *p = v.p;
    ok = ok && wb_vec_reserve(&v, 20) && v.cap == 50; /* never less */
    for (int i = 1; i < 50; i++)
        ok = ok && wb_vec_push(&v, i, 100);
    bool same = v.p == p;
    bool refused = !wb_vec_reserve(&v, SIZE_MAX / 2) && v.cap == 50;
    wb_vec_done(&v);
    CHECK(ok && same && refused);
}

struct item {
    int n;
    struct wb_link link;
};

TEST(list_links_and_unlinks)
{
    struct wb_link head, other;
    struct item items[4] = {{.n = 0}, {.n = 1}, {.n = 2}, {.n = 3}};
    wb_list_init(&head);
    wb_list_init(&other);
    for (int i = 0; i < 3; i++)
        wb_list_push(&head, &items[i].link);
    wb_unlink(&items[1].link);
    wb_unlink(&items[1].link); /* harmless */
    CHECK(!wb_linked(&items[1].link) && wb_linked(&items[0].link));
    wb_list_push(&other, &items[3].link);
    wb_list_splice(&head, &other);
    CHECK(wb_list_empty(&other));
    int seen = 0;
    wb_list_each (l, &head) {
        seen = seen * 10 + wb_item(l, struct item, link)->n + 1;
        wb_unlink(l);
    }
    CHECK_INT(seen, 134);
    CHECK(wb_list_empty(&head) && !wb_list_pop(&head));
}
