#include <string.h>

#include "base/hooks.h"
#include "fiber/loop.h"
#include "support/fibers.h"

enum { LOOPS = 2, ROUNDS = 50, PLAYERS = 8 };

struct game {
    struct weft_group *g;
    _Atomic int        hits, worked;
};

struct ball {
    struct game *game;
    int          n;
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
    int          me   = weft_loop_current() == weft_group_loop(game->g, 1);
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
    UPP_CLEANUP(weft_group_closep) struct weft_group *g    = NULL;
    struct game                                       game = {.g = NULL};
    struct upp_err                                    err;
    int                                               ret = -1;
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
        UPP_CLEANUP(weft_group_closep) struct weft_group *g    = NULL;
        struct game                                       game = {.g = NULL};
        struct upp_err                                    err;
        int                                               ret = -1;
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
    struct upp_err                                    err;
    struct ball                                       b = {&(struct game){.g = NULL}, 0};
    CHECK(weft_group_open(UPP_OPTS(weft_group_opts, .loops = 3), &g, &err) == 0);
    int ret = -1, r = weft_loop_call(weft_group_loop(g, 2), "hit", hit, &b, NULL, &ret, &err);
    CHECK(r == 0 && ret == 0 && b.n == 1);
}
