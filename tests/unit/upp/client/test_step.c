#include <upp/model.h>

#include "base/buf.h"
#include "base/hooks.h"
#include "support/test.h"

/* A provider that gives a list of events, whatever they are. */
struct tale {
    const struct upp_step_event *events;
    size_t n;
    int open, over; /* what open and the call after the last event return */
    unsigned closed;
};

static int tale_open(struct upp_step *s, struct upp_err *err)
{
    const struct tale *t = s->model->state;
    size_t *i = upp_step_state(s);
    return *i ? upp_fail(err, UPP_EBUG, "not cleared") : t->open < 0 ? upp_fail(err, UPP_ENET, "no line") : 0;
}

static int tale_next(struct upp_step *s, struct upp_step_event *ret, struct upp_err *err)
{
    const struct tale *t = s->model->state;
    size_t *i = upp_step_state(s);
    if (*i == t->n)
        return t->over < 0 ? upp_fail(err, UPP_ENET, "cut") : 0;
    *ret = t->events[(*i)++];
    return 1;
}

static void tale_close(struct upp_step *s)
{
    struct tale *t = s->model->state;
    t->closed++;
}

static const struct upp_model_ops tale_ops = {
    .size = sizeof tale_ops,
    .provider = "tale",
    .step_size = sizeof(size_t),
    .open = tale_open,
    .next = tale_next,
    .close = tale_close,
};

/* Reads it to its end: how many events, or the failure. */
static int read_all(struct tale *t, struct upp_err *err)
{
    struct upp_model m = {.ops = &tale_ops, .name = UPP_STR("once"), .state = t};
    struct upp_request req = {0};
    struct upp_step_event ev;
    UPP_CLEANUP(upp_step_closep) struct upp_step *step = NULL;
    int r = upp_step_open(&m, &req, NULL, &step, err), n = 0;
    if (r < 0)
        return r;
    while ((r = upp_step_next(step, &ev, err)) > 0)
        n++;
    struct upp_err after;
    (void)EXPECT(upp_step_next(step, &ev, &after) == 0); /* it is over, and stays so */
    return r < 0 ? r : n;
}

#define PART(i, kind_, ...)                                                                                            \
    {                                                                                                                  \
        .kind = UPP_STEP_PART_OPEN, .part_kind = (kind_), .part = (i), __VA_ARGS__                                     \
    }
#define OPENED(i) PART(i, UPP_PART_TEXT, .media = NULL)
#define SAID(i)                                                                                                        \
    {                                                                                                                  \
        .kind = UPP_STEP_DELTA, .part = (i), .text = UPP_STR_INIT("x")                                                 \
    }
#define CLOSED(i)                                                                                                      \
    {                                                                                                                  \
        .kind = UPP_STEP_PART_CLOSE, .part = (i)                                                                       \
    }
#define ENDED                                                                                                          \
    {                                                                                                                  \
        .kind = UPP_STEP_END, .stop = UPP_STOP_END                                                                     \
    }
#define BEGUN                                                                                                          \
    {                                                                                                                  \
        .kind = UPP_STEP_OPEN                                                                                          \
    }

static const struct upp_media a_medium = {.source = UPP_SOURCE_URL, .data = UPP_STR_INIT("http://x")};

TEST(upp_step_passes_on_what_keeps_to_the_invariants)
{
    static const struct upp_step_event plain[] = {OPENED(0), SAID(0), SAID(0), CLOSED(0), ENDED},
                                       begun[] = {BEGUN, ENDED},
                                       overlap[] = {BEGUN,     OPENED(0), OPENED(1), SAID(1), SAID(0),
                                                    CLOSED(0), SAID(1),   OPENED(2), SAID(2), CLOSED(2),
                                                    SAID(1),   CLOSED(1), ENDED},
                                       media[] = {PART(0, UPP_PART_IMAGE, .media = &a_medium), CLOSED(0), ENDED};
    static const struct {
        const struct upp_step_event *p;
        size_t n;
    } good[] = {
        {plain, WB_LEN(plain)},
        {begun, WB_LEN(begun)},
        {overlap, WB_LEN(overlap)},
        {media, WB_LEN(media)},
    };
    for (size_t i = 0; i < WB_LEN(good); i++) {
        struct tale t = {.events = good[i].p, .n = good[i].n};
        struct upp_err err = {0};
        test_note("case %zu: %s", i, err.msg);
        CHECK_INT(read_all(&t, &err), good[i].n);
        CHECK_INT(t.closed, 1);
    }
}

TEST(upp_step_stops_a_provider_that_breaks_them)
{
    static const struct {
        struct upp_step_event events[4];
        size_t n;
        const char *msg;
    } bad[] = {
        {{BEGUN, BEGUN}, 2, "model 'once' opened its message after it had begun (part 0)"},
        {{OPENED(0), BEGUN}, 2, "model 'once' opened its message after it had begun (part 0)"},
        {{OPENED(1)}, 1, "model 'once' opened parts out of order (part 1)"},
        {{OPENED(0), OPENED(0)}, 2, "model 'once' opened parts out of order (part 0)"},
        {{OPENED(0), CLOSED(0), OPENED(0)}, 3, "model 'once' opened parts out of order (part 0)"},
        {{PART(0, 0, .media = NULL)}, 1, "model 'once' opened a part of a kind that does not exist (part 0)"},
        {{PART(0, 10, .media = NULL)}, 1, "model 'once' opened a part of a kind that does not exist (part 0)"},
        {{PART(0, UPP_PART_VIDEO, .media = NULL)}, 1, "model 'once' opened a medium without its data (part 0)"},
        {{PART(0, UPP_PART_TEXT, .media = &a_medium)}, 1, "model 'once' gave media with a part that is none (part 0)"},
        {{SAID(0)}, 1, "model 'once' gave text for a part that is not open (part 0)"},
        {{OPENED(0), SAID(1)}, 2, "model 'once' gave text for a part that is not open (part 1)"},
        {{OPENED(0), CLOSED(0), SAID(0)}, 3, "model 'once' gave text for a part that is not open (part 0)"},
        {{OPENED(0), SAID(UINT32_MAX)}, 2, "model 'once' gave text for a part that is not open (part 4294967295)"},
        {{CLOSED(0)}, 1, "model 'once' closed a part that is not open (part 0)"},
        {{OPENED(0), CLOSED(0), CLOSED(0)}, 3, "model 'once' closed a part that is not open (part 0)"},
        {{OPENED(0), ENDED}, 2, "model 'once' ended with parts still open (part 0)"},
        {{{.kind = UPP_STEP_END}}, 1, "model 'once' ended for a reason that does not exist (part 0)"},
        {{{.kind = UPP_STEP_END, .stop = 6}}, 1, "model 'once' ended for a reason that does not exist (part 0)"},
        {{{.kind = 0}}, 1, "model 'once' gave an event of a kind that does not exist (part 0)"},
        {{{.kind = 77}}, 1, "model 'once' gave an event of a kind that does not exist (part 0)"},
        {{OPENED(0), CLOSED(0)}, 2, "model 'once' stopped without an end"},
        {{ENDED}, 0, "model 'once' stopped without an end"},
    };
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        struct tale t = {.events = bad[i].events, .n = bad[i].n};
        struct upp_err err = {0};
        test_note("case %zu", i);
        CHECK_INT(read_all(&t, &err), -UPP_EPROTO);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(bad[i].msg));
        CHECK_STR(wb_cstr(err.provider), UPP_STR("tale"));
        CHECK_INT(t.closed, 1);
    }
}

TEST(upp_step_ends_where_the_provider_fails)
{
    static const struct upp_step_event begun[] = {OPENED(0), SAID(0)};
    struct tale t = {.open = -1};
    struct upp_err err = {0};
    CHECK_INT(read_all(&t, &err), -UPP_ENET);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("no line"));
    CHECK_STR(wb_cstr(err.provider), UPP_STR("tale"));
    CHECK_INT(t.closed, 1); /* also when it never opened */
    t = (struct tale){.events = begun, .n = WB_LEN(begun), .over = -1};
    CHECK_INT(read_all(&t, &err), -UPP_ENET);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("cut"));
    CHECK_INT(t.closed, 1);
}

/* Part numbers up to the limit, each word of the set by itself, and one past it. */
TEST(upp_step_has_a_limit_of_parts)
{
    enum { LIMIT = 16384 };
    struct upp_step_event *events = wb_calloc(2 * LIMIT + 2, sizeof *events);
    struct upp_err err = {0};
    CHECK(events);
    for (uint32_t i = 0; i < LIMIT; i++) {
        events[i] = (struct upp_step_event)OPENED(i);
        events[LIMIT + i] = (struct upp_step_event)CLOSED(LIMIT - 1 - i);
        events[2 * LIMIT] = (struct upp_step_event)ENDED;
        events[2 * LIMIT + 1] = (struct upp_step_event)ENDED;
    }
    struct tale t = {.events = events, .n = 2 * LIMIT + 1};
    int n = read_all(&t, &err);
    events[LIMIT] = (struct upp_step_event)OPENED(LIMIT);
    t = (struct tale){.events = events, .n = LIMIT + 1};
    int over = read_all(&t, &err);
    wb_free(events);
    CHECK_INT(n, 2 * LIMIT + 1);
    CHECK_INT(over, -UPP_EPROTO);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("model 'once' opened more parts than a message may have (part 16384)"));
}

TEST(upp_step_destroyers_take_nothing)
{
    upp_step_close(NULL);
    upp_model_free(NULL);
    struct upp_step *s = NULL;
    struct upp_model *m = NULL;
    upp_step_closep(&s);
    upp_model_freep(&m);
    CHECK(!s && !m);
}
