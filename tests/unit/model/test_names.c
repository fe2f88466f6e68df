#include "model/names.h"

#include <stdio.h>

#include "support/test.h"

static struct upp_str nth(char room[24], unsigned i)
{
    static const char prefix[] = "node-of-some-length-";
    return wb_str(room, (size_t)snprintf(room, 24, "%s%u", prefix + (i % 3 ? i % 20 : 20), i));
}

TEST(names_have_numbers)
{
    enum { N = 300 };
    struct upp_err err = {0};
    static char text[N][24]; /* they are borrowed */
    char other[24];
    uint32_t at = 0;
    struct wm_names t __attribute__((cleanup(wm_names_done))) = {0};
    CHECK_INT(wm_names_find(&t, UPP_STR("a")), UINT32_MAX);
    for (unsigned i = 0; i < N; i++) {
        int r = wm_names_add(&t, nth(text[i], i), &at, &err);
        CHECK_INT(r, 1);
        CHECK_INT(at, i);
        CHECK_INT(wm_names_add(&t, nth(other, i / 2), &at, &err), 0);
        CHECK_INT(at, i / 2);
    }
    for (unsigned i = 0; i < 2 * N; i++)
        CHECK_INT(wm_names_find(&t, nth(other, i)), i < N ? i : UINT32_MAX);
    CHECK_INT(wm_names_add(&t, UPP_STR(""), &at, &err), 1);
    CHECK_INT(wm_names_find(&t, UPP_STR("")), N);
    for (unsigned i = N + 1; i-- > 0;) { /* and all the way back */
        wm_names_drop_last(&t);
        CHECK_INT(t.list.n, i);
        for (unsigned k = 0; k < N; k++)
            CHECK_INT(wm_names_find(&t, nth(other, k)), k < i ? k : UINT32_MAX);
    }
    wm_names_drop_last(&t);
    CHECK_INT(t.list.n, 0);
}
