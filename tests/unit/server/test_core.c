#include "server/http/core.h"

#include <semaphore.h>

#include "run/engine_state.h"
#include "server/http/server.h"
#include "server/talk.h"
#include "support/fibers.h"

#define GET "GET /empty HTTP/1.1\r\nHost: localhost\r\n\r\n"

static void donep(struct talk_reply *r)
{
    talk_reply_done(r);
}

/* ---- Another loop that has no room ---- */

struct crowd {
    struct weft_loop *loop;
    sem_t begun, end;
};

static int elsewhere(struct sv_exchange *x, uint32_t *ret, struct upp_err *err)
{
    (void)x;
    (void)err;
    *ret = 1;
    return 0;
}

/* The routes of the tests, on the second loop. */
static int crowded(struct talk *t, const struct weft_loop_opts *o, struct crowd *c, struct upp_err *err)
{
    struct sv_door door = *talk_doors[0];
    const struct sv_door *const doors[] = {&door, NULL};
    struct sv_place place;
    UPP_CLEANUP(weft_group_closep) struct weft_group *g = NULL;
    door.home = elsewhere;
    TRY(weft_group_open(UPP_OPTS(weft_group_opts, .loops = 1, .loop = o), &g, err));
    c->loop = weft_group_loop(g, 0);
    place = (struct sv_place){.loop = c->loop};
    t->arg = c;
    t->opts.doors = doors;
    t->opts.places = &place;
    t->opts.n_places = 1;
    return talk_run(t, err);
}

static int refused_and_served(struct talk *t, void (*make_room)(struct crowd *c), struct upp_err *err)
{
    WB_CLEANUP(donep) struct talk_reply r;
    talk_reply_init(&r);
    TRY(talk_once(t, UPP_STR(GET), &r, err));
    bool refused = r.status == 429 && talk_header(&r, UPP_STR("retry-after")).n && r.keep_alive;
    make_room(t->arg);
    FAIL_UNLESS(refused);
    for (int i = 0; i < 1000 && r.status != 200; i++) {
        wb_buf_clear(&r.raw);
        TRY(talk_once(t, UPP_STR(GET), &r, err));
    }
    FAIL_UNLESS(r.status == 200);
    return 0;
}

static void blocks(void *arg)
{
    struct crowd *c = arg;
    (void)sem_post(&c->begun);
    while (sem_wait(&c->end) != 0)
        ;
}

static void nothing(void *arg)
{
    (void)arg;
}

static void unblock(struct crowd *c)
{
    (void)sem_post(&c->end);
}

/* The loop's thread is busy, and its inbox holds one message, its limit. */
static int with_a_full_inbox(struct talk *t, struct upp_err *err)
{
    struct crowd *c = t->arg;
    TRY(weft_loop_post(c->loop, blocks, c, err));
    while (sem_wait(&c->begun) != 0)
        ;
    int r = weft_loop_post(c->loop, nothing, NULL, err);
    if (r < 0)
        unblock(c);
    return r < 0 ? r : refused_and_served(t, unblock, err);
}

TEST_WITH(core_with_a_full_inbox_is_429, .no_torture = "a failed call leaves a thread that waits")
{
    struct upp_err err = {0};
    struct crowd c = {0};
    struct talk t = {.client = with_a_full_inbox};
    CHECK(sem_init(&c.begun, 0, 0) == 0 && sem_init(&c.end, 0, 0) == 0);
    int r = crowded(&t, UPP_OPTS(weft_loop_opts, .max_inbox = 1), &c, &err);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}

WEFT_SUSPENDS static int sleeps(void *arg, struct upp_err *err)
{
    struct crowd *c = arg;
    while (sem_trywait(&c->end) != 0) {
        int r = weft_sleep_ms(1, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static void spawns(void *arg)
{
    struct crowd *c = arg;
    struct upp_err err;
    if (weft_loop_spawn(c->loop, "sleeps", sleeps, c, &err) >= 0)
        (void)sem_post(&c->begun);
}

static int without_room_for_a_fiber(struct talk *t, struct upp_err *err)
{
    struct crowd *c = t->arg;
    TRY(weft_loop_post(c->loop, spawns, c, err));
    while (sem_wait(&c->begun) != 0)
        ;
    return refused_and_served(t, unblock, err);
}

TEST_WITH(core_without_room_for_a_fiber_is_429, .no_torture = "threads that race")
{
    struct upp_err err = {0};
    struct crowd c = {0};
    struct talk t = {.client = without_room_for_a_fiber};
    CHECK(sem_init(&c.begun, 0, 0) == 0 && sem_init(&c.end, 0, 0) == 0);
    int r = crowded(&t, UPP_OPTS(weft_loop_opts, .max_fibers = 1), &c, &err);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}

/* ---- The core of a new thread ---- */

TEST(core_of_a_new_thread_is_the_one_with_the_fewest_runs)
{
    enum { CORES = 3, TIMES = 40 };
    static struct wr_engine engines[CORES]; /* these are too large for a frame */
    static struct sv_core cores[CORES];
    static struct sv_server server = {.cores = cores, .n_cores = CORES};
    unsigned threads[CORES] = {0};
    for (uint32_t i = 0; i < CORES; i++) {
        engines[i].working = 0;
        engines[i].opts.homes = CORES;
        engines[i].opts.home = i;
        cores[i] = (struct sv_core){.engine = &engines[i]};
    }
    for (unsigned i = 0; i < TIMES; i++) {
        struct wb_uuid id;
        CHECK_INT(sv_core_thread_id(&server, &id, NULL), 0);
        uint32_t home = wr_home(id, CORES);
        engines[home].working++; /* it has a run now */
        threads[home]++;
    }
    for (uint32_t i = 0; i < CORES; i++)
        CHECK(threads[i] == TIMES / CORES || threads[i] == TIMES / CORES + 1);
}
