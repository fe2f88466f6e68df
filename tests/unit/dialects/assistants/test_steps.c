/* dialects/assistants/steps.c: pages of a run's steps, and that they are the stream's. */
#include <string.h>

#include "dialects/assistants/steps.h"
#include "support/dialect.h"
#include "support/test.h"

/* Three steps: a message, its calls, the answer. */
static const char three[] = "run running\nopen\npart text\n+ 0 Well\nclose 0\npart call c1 locate\n+ 1 {}\nclose 1\n"
                            "message tools\nstart c1 locate {}\nend c1 done \"here\"\nopen\npart text\n+ 0 Here.\n"
                            "close 0\nmessage\nrun completed";

/* All events of a script, or as many as it takes. */
static int collect(struct dialect *d, const char *script, const struct asst_steps_page *want, struct asst_steps *s)
{
    int r = dialect_play(d, script), full = 0;
    if (r >= 0)
        r = asst_steps_begin(s, want, NULL, &d->err);
    for (size_t i = 0; r >= 0 && !full && i < d->events.list.n; i++)
        r = full = asst_steps_event(s, &d->events.list.p[i], &d->err);
    return r < 0 ? r : asst_steps_end(s, &d->err);
}

/* The last frame of the stream about a step; empty: none. */
static struct upp_str streamed(const struct dialect *d, const struct asst_kept_step *k)
{
    struct upp_str found = {NULL, 0};
    char hex[WB_UUID_HEX + 1];
    (void)wb_uuid_hex(k->id, hex);
    for (size_t i = 0; i < d->frames.list.n; i++) {
        const struct wd_frame *f = &d->frames.list.p[i];
        struct upp_str text = wb_str_sub(wb_buf_str(&d->frames.text), f->from, f->n);
        if (wb_str_starts(wb_cstr(f->name), UPP_STR("thread.run.step.")) && !strstr(f->name, "delta") &&
            wb_str_starts(wb_str_sub(text, strlen("{\"id\":\"step_"), SIZE_MAX), wb_cstr(hex)))
            found = text;
    }
    return found;
}

TEST(dialect_assistants_steps_are_those_of_the_stream)
{
    WB_CLEANUP(dialect_done) struct dialect d;
    WB_CLEANUP(asst_steps_done) struct asst_steps s = {0};
    struct asst_steps_page want = {.limit = 10};
    dialect_init(&d);
    CHECK_INT(collect(&d, three, &want, &s), 0);
    CHECK_INT(dialect_encode(&d, &wd_stream_assistants, NULL), 0);
    CHECK_INT(s.list.n, 3);
    for (size_t i = 0; i < s.list.n; i++)
        CHECK_STR(wb_buf_str(&s.list.p[i].json),
                  streamed(&d, &s.list.p[i]).p ? streamed(&d, &s.list.p[i]) : UPP_STR("none"));
}

/* Each page of the three steps, by where its cursors are: 0 is none. */
TEST(dialect_assistants_steps_have_pages)
{
    static const struct {
        size_t after, before, limit;
        bool newest;
        const char *shown; /* of the three, one more than the limit if there are more */
    } pages[] = {
        {0, 0, 10, false, "123"}, {0, 0, 2, false, "123"}, {0, 0, 1, false, "12"}, {0, 0, 2, true, "123"},
        {0, 0, 1, true, "23"},    {1, 0, 10, false, "23"}, {3, 0, 10, false, ""},  {0, 3, 10, true, "12"},
        {0, 3, 1, true, "12"},    {0, 1, 10, true, ""},    {1, 3, 10, false, "2"}, {3, 1, 10, false, ""},
        {1, 0, 1, false, "23"},   {0, 3, 1, false, "12"},
    };
    WB_CLEANUP(dialect_done) struct dialect d;
    WB_CLEANUP(asst_steps_done) struct asst_steps all = {0};
    struct asst_steps_page want = {.limit = 10};
    dialect_init(&d);
    CHECK_INT(collect(&d, three, &want, &all), 0);
    CHECK_INT(all.list.n, 3);
    for (size_t i = 0; i < WB_LEN(pages); i++) {
        WB_CLEANUP(dialect_done) struct dialect again;
        WB_CLEANUP(asst_steps_done) struct asst_steps s = {0};
        char shown[8];
        size_t n = 0;
        want = (struct asst_steps_page){.limit = pages[i].limit, .newest = pages[i].newest};
        if (pages[i].after)
            want.after = all.list.p[pages[i].after - 1].id;
        if (pages[i].before)
            want.before = all.list.p[pages[i].before - 1].id;
        dialect_init(&again);
        CHECK_INT(collect(&again, three, &want, &s), 0);
        for (size_t k = 0; k < s.list.n && n < sizeof shown - 1; k++)
            for (size_t j = 0; j < all.list.n; j++)
                if (wb_uuid_eq(s.list.p[k].id, all.list.p[j].id))
                    shown[n++] = (char)('1' + j);
        test_note("page %zu", i);
        CHECK_STR(wb_str(shown, n), wb_cstr(pages[i].shown));
    }
}

TEST(dialect_assistants_steps_one_alone)
{
    WB_CLEANUP(dialect_done) struct dialect d, again;
    WB_CLEANUP(asst_steps_done) struct asst_steps all = {0}, one = {0};
    struct asst_steps_page want = {.limit = 10};
    dialect_init(&d);
    dialect_init(&again);
    CHECK_INT(collect(&d, three, &want, &all), 0);
    CHECK_INT(all.list.n, 3);
    want.only = all.list.p[1].id;
    CHECK_INT(collect(&again, three, &want, &one), 0);
    CHECK_INT(one.list.n, 1);
    CHECK_STR(wb_buf_str(&one.list.p[0].json), wb_buf_str(&all.list.p[1].json));
}

TEST(dialect_assistants_steps_one_that_is_not_there)
{
    WB_CLEANUP(dialect_done) struct dialect d;
    WB_CLEANUP(asst_steps_done) struct asst_steps s = {0};
    struct asst_steps_page want = {.limit = 1, .only = wb_uuid_v8(9, 9)};
    dialect_init(&d);
    CHECK_INT(collect(&d, three, &want, &s), 0);
    CHECK_INT(s.list.n, 0);
}

TEST(dialect_assistants_steps_cursors_name_steps)
{
    struct asst_steps_page pages[] = {{.limit = 10, .after = wb_uuid_v8(9, 9)},
                                      {.limit = 10, .before = wb_uuid_v8(9, 9)}};
    for (size_t i = 0; i < WB_LEN(pages); i++) {
        WB_CLEANUP(dialect_done) struct dialect d;
        WB_CLEANUP(asst_steps_done) struct asst_steps s = {0};
        dialect_init(&d);
        CHECK_INT(collect(&d, three, &pages[i], &s), -UPP_EINVALID);
    }
}

/* The last object of an open step in the stream has no calls: they came as deltas. */
TEST(dialect_assistants_steps_an_open_one_has_its_calls)
{
    WB_CLEANUP(dialect_done) struct dialect d;
    WB_CLEANUP(asst_steps_done) struct asst_steps s = {0};
    struct asst_steps_page want = {.limit = 10};
    dialect_init(&d);
    CHECK_INT(collect(&d,
                      "run running\nopen\npart call c1 locate\n+ 0 {}\nclose 0\npart call c2 clock\n+ 1 {}\nclose 1\n"
                      "message tools\nrun waiting c1 c2",
                      &want, &s),
              0);
    CHECK_INT(s.list.n, 1);
    struct upp_str json = wb_buf_str(&s.list.p[0].json);
    CHECK(wb_str_find(json, UPP_STR("\"status\":\"in_progress\""), 0) != SIZE_MAX);
    CHECK(wb_str_find(json, UPP_STR("\"id\":\"c1\""), 0) != SIZE_MAX);
    CHECK(wb_str_find(json, UPP_STR("\"id\":\"c2\""), 0) != SIZE_MAX);
}
