#include <string.h>

#include "base/hooks.h"
#include "fiber/loop.h"
#include "support/fibers.h"

enum { LOOPS = 2, ROUNDS = 50, PLAYERS = 8 };

struct game {
    struct weft_group *g;
    _Atomic int hits, worked;
};

struct ball {
    struct game *game;
    int n;
};

static int adds(void *arg, struct upp_err *err)
{
    struct ball *b = arg;
    (void)err;
    b->n++;
    return 0;
}

static int hit(void *arg, struct upp_err *err)
{
    struct ball *b = arg;
    atomic_fetch_add(&b->game->hits, 1);
    b->n++;
    return weft_yield(err);
}

/* Hits a ball to the other loop and back, with a worker now and then. */
static int plays(void *arg, struct upp_err *err)
{
    struct game *game = arg;
    int me = weft_loop_current() == weft_group_loop(game->g, 1);
    for (int i = 0; i < ROUNDS; i++) {
        struct ball *b = wb_alloc(sizeof *b);
        if (!b)
            return -UPP_ENOMEM;
        *b = (struct ball){game, 0};
        int ret;
        TRY(weft_loop_call(weft_group_loop(game->g, (uint32_t)!me), "hit", hit, b, wb_free, &ret, err));
        if (ret == 0 && i % 10 == 0) {
            TRY(weft_work(adds, b, wb_free, NULL, err));
            atomic_fetch_add(&game->worked, b->n == 2);
        }
        wb_free(b);
        TRY(ret);
    }
    return 0;
}

static int team(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    for (int i = 0; i < PLAYERS; i++)
        TRY(weft_scope_spawn(&s, "player", plays, arg, NULL, err));
    return weft_scope_join(&s, err);
}

static int start_team(void *arg, struct upp_err *err)
{
    return weft_loop_spawn(weft_loop_current(), "team", team, arg, err);
}

TEST_WITH(group_two_loops_play, .no_torture = "threads that race: group_opens_and_closes is tortured")
{
    UPP_CLEANUP(weft_group_closep) struct weft_group *g = NULL;
    struct game game = {.g = NULL};
    struct upp_err err;
    int ret = -1;
    CHECK(weft_group_open(UPP_OPTS(weft_group_opts, .loops = LOOPS), &g, &err) == 0);
    CHECK(weft_group_count(g) == LOOPS && !weft_group_loop(g, LOOPS));
    game.g = g;
    CHECK(weft_loop_call(weft_group_loop(g, 0), "start", start_team, &game, NULL, &ret, &err) == 0 && ret == 0);
    CHECK(weft_loop_call(weft_group_loop(g, 1), "team", team, &game, NULL, &ret, &err) == 0 && ret == 0);
    while (atomic_load(&game.hits) < 2 * PLAYERS * ROUNDS)
        CHECK(weft_loop_call(weft_group_loop(g, 0), "look", hit, &(struct ball){&(struct game){.g = g}, 0}, NULL, NULL,
                             &err) == 0);
    CHECK_INT(game.hits, 2 * PLAYERS * ROUNDS);
}

/* ---- Closing while everybody calls everybody ---- */

static int for_ever(void *arg, struct upp_err *err)
{
    for (;;)
        TRY(plays(arg, err));
}

static int start_for_ever(void *arg, struct upp_err *err)
{
    for (int i = 0; i < 4; i++)
        TRY(weft_loop_spawn(weft_loop_current(), "for ever", for_ever, arg, err));
    return 0;
}

TEST_WITH(group_closes_in_the_middle, .no_torture = "threads that race: group_opens_and_closes is tortured")
{
    for (int i = 0; i < 20; i++) {
        UPP_CLEANUP(weft_group_closep) struct weft_group *g = NULL;
        struct game game = {.g = NULL};
        struct upp_err err;
        int ret = -1;
        CHECK(weft_group_open(UPP_OPTS(weft_group_opts, .loops = LOOPS), &g, &err) == 0);
        game.g = g;
        for (uint32_t k = 0; k < LOOPS; k++)
            CHECK(weft_loop_call(weft_group_loop(g, k), "start", start_for_ever, &game, NULL, &ret, &err) == 0 &&
                  ret == 0);
        weft_group_close(g); /* here and not by the cleanup: game must live */
        g = NULL;
    }
}

TEST(group_opens_and_closes)
{
    UPP_CLEANUP(weft_group_closep) struct weft_group *g = NULL;
    struct upp_err err;
    struct ball b = {&(struct game){.g = NULL}, 0};
    CHECK(weft_group_open(UPP_OPTS(weft_group_opts, .loops = 3), &g, &err) == 0);
    int ret = -1, r = weft_loop_call(weft_group_loop(g, 2), "hit", hit, &b, NULL, &ret, &err);
    CHECK(r == 0 && ret == 0 && b.n == 1);
}

/* ---- Closing while somebody starts something new ---- */

static int sleeps(void *arg, struct upp_err *err)
{
    (void)arg;
    return weft_sleep_ms(3600000, err);
}

static int nothing(void *arg, struct upp_err *err)
{
    (void)arg;
    return weft_yield(err);
}

struct late {
    struct weft_group *g;
    _Atomic int spawned, posts;
};

/* Cancelled, it spawns one that nobody has cancelled. */
static int spawns_late(void *arg, struct upp_err *err)
{
    struct late *late = arg;
    int r = weft_sleep_ms(3600000, err);
    late->spawned = weft_loop_spawn(weft_loop_current(), "late", sleeps, NULL, err);
    return r;
}

static int start_late(void *arg, struct upp_err *err)
{
    return weft_loop_spawn(weft_loop_current(), "spawns late", spawns_late, arg, err);
}

TEST(group_close_refuses_new_fibers)
{
    UPP_CLEANUP(weft_group_closep) struct weft_group *g = NULL;
    struct late late = {.spawned = 1};
    struct upp_err err;
    int ret = -1;
    CHECK(weft_group_open(UPP_OPTS(weft_group_opts, .loops = 1), &g, &err) == 0);
    int r = weft_loop_call(weft_group_loop(g, 0), "start", start_late, &late, NULL, &ret, &err);
    int has_run = weft_loop_call(weft_group_loop(g, 0), "nothing", nothing, NULL, NULL, NULL, &err);
    weft_group_close(g); /* here and not by the cleanup: late must live */
    g = NULL;
    CHECK(r == 0 && ret == 0 && has_run == 0);
    CHECK_INT(late.spawned, -UPP_EREFUSED);
}

enum { POSTS = 1000 };

static void posts_back(void *arg)
{
    struct late *late = arg;
    uint32_t to = weft_loop_current() == weft_group_loop(late->g, 0);
    if (atomic_fetch_add(&late->posts, 1) < POSTS)
        if (weft_loop_post(weft_group_loop(late->g, to), posts_back, late, NULL) < 0)
            late->posts = POSTS; /* torture */
}

/* The other loop has long been idle when its last words come. */
static int has_last_words(void *arg, struct upp_err *err)
{
    struct late *late = arg;
    int r = weft_sleep_ms(3600000, err);
    WEFT_SHIELD(0);
    TRY(weft_sleep_ms(20, err));
    TRY(weft_loop_post(weft_group_loop(late->g, 1), posts_back, late, err));
    return r;
}

static int start_last_words(void *arg, struct upp_err *err)
{
    return weft_loop_spawn(weft_loop_current(), "has last words", has_last_words, arg, err);
}

TEST_WITH(group_close_runs_posts_before_it_frees_any_loop, .no_torture = "a thousand messages between threads")
{
    for (int i = 0; i < 5; i++) {
        UPP_CLEANUP(weft_group_closep) struct weft_group *g = NULL;
        struct late late = {.g = NULL};
        struct upp_err err;
        int ret = -1;
        CHECK(weft_group_open(UPP_OPTS(weft_group_opts, .loops = 2), &g, &err) == 0);
        late.g = g;
        int r = weft_loop_call(weft_group_loop(g, 0), "start", start_last_words, &late, NULL, &ret, &err);
        int has_run = weft_loop_call(weft_group_loop(g, 0), "nothing", nothing, NULL, NULL, NULL, &err);
        weft_group_close(g);
        g = NULL;
        CHECK(r == 0 && ret == 0 && has_run == 0);
        CHECK_INT(late.posts, POSTS + 1);
    }
}

/* ---- In a fiber ---- */

static int opens_a_group(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_group_closep) struct weft_group *g = NULL;
    TRY(weft_group_open(UPP_OPTS(weft_group_opts, .loops = 2), &g, err));
    return weft_loop_call(weft_group_loop(g, 1), "nothing", nothing, arg, NULL, NULL, err);
}

TEST(group_opens_and_closes_in_a_fiber) /* under torture: fails with some of its loops open */
{
    struct upp_err err;
    CHECK_INT(test_on_loop(opens_a_group, NULL, &err), 0);
}
