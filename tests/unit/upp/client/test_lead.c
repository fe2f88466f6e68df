/* One leads, the others park: who drives, who is woken, and who takes over. */
#include "upp/client/lead.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "run/engine.h"
#include "support/fibers.h"

enum { WAITERS = 4 };

/* The descriptor says how many of the waiters have news: the first ones. */
struct rig {
    struct upp__waiters crowd;
    struct upp__waiter waiters[WAITERS];
    int fd;
    unsigned drives;
    uint64_t due;
    int fail;  /* of the next drive */
    bool tell; /* each drive has news for the first */
    bool driving, nested;
};

static uint64_t due(void *arg)
{
    return ((struct rig *)arg)->due;
}

static int drive(void *arg, struct upp_err *err)
{
    struct rig *rig = arg;
    uint64_t many = 0;
    int failed = rig->fail;
    rig->nested |= rig->driving || rig->crowd.leader;
    rig->driving = true;
    rig->drives++;
    rig->fail = 0;
    rig->due = UPP_FOREVER;
    if (read(rig->fd, &many, sizeof many) != sizeof many)
        many = rig->tell;
    for (uint64_t i = 0; i < many && i < WAITERS; i++)
        upp__waiters_notify(&rig->waiters[i]);
    rig->driving = false;
    return failed < 0 ? upp_fail(err, (enum upp_code) - failed, "driving failed") : 0;
}

static bool rig_open(struct rig *rig, const struct upp_wait *table)
{
    *rig = (struct rig){.due = UPP_FOREVER, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    rig->crowd.arg = rig;
    rig->crowd.due = due;
    rig->crowd.drive = drive;
    upp__crowd_init(&rig->crowd);
    for (size_t i = 0; i < WAITERS; i++)
        rig->waiters[i].wait = table;
    return rig->fd >= 0;
}

static void rig_done(struct rig *rig)
{
    if (rig->fd >= 0)
        (void)close(rig->fd);
}

static int tell(const struct rig *rig, uint64_t many)
{
    return write(rig->fd, &many, sizeof many) == sizeof many ? 0 : -UPP_EBUG;
}

/* Nobody is left behind. */
static bool is_quiet(const struct rig *rig)
{
    return !rig->crowd.leader && !rig->crowd.successor && wb_list_empty(&rig->crowd.parked) && !rig->nested;
}

static int wait_as(struct rig *rig, size_t i, uint64_t ms, struct upp_err *err)
{
    return upp__waiters_wait(&rig->crowd, &rig->waiters[i], rig->fd, ms == UPP_FOREVER ? ms : wb_mono_ms() + ms, err);
}

/* ---- On a thread ----------------------------------------------------------------------------- */

TEST(lead_alone_on_a_thread)
{
    WB_CLEANUP(rig_done) struct rig rig;
    struct upp_err err = {0};
    CHECK(rig_open(&rig, NULL));
    CHECK_INT(wait_as(&rig, 0, 0, &err), 0); /* no time at all: nobody drives */
    CHECK_INT(rig.drives, 0);
    CHECK_INT(wait_as(&rig, 0, 2, &err), 0);
    CHECK_INT(tell(&rig, 1), 0);
    CHECK_INT(wait_as(&rig, 0, UPP_FOREVER, &err), 1);
    CHECK(is_quiet(&rig));
}

TEST(lead_news_that_were_there_before_are_taken_without_waiting)
{
    WB_CLEANUP(rig_done) struct rig rig;
    CHECK(rig_open(&rig, NULL));
    upp__waiters_notify(&rig.waiters[0]); /* it does not wait: nobody is woken */
    CHECK_INT(wait_as(&rig, 0, UPP_FOREVER, NULL), 1);
    CHECK_INT(rig.drives, 0);
    CHECK_INT(wait_as(&rig, 0, 0, NULL), 0); /* once */
}

TEST(lead_drives_when_it_is_due_though_nothing_came)
{
    WB_CLEANUP(rig_done) struct rig rig;
    CHECK(rig_open(&rig, NULL));
    rig.due = wb_mono_ms() + 1;
    rig.tell = true; /* or it would wait for ever after that */
    CHECK_INT(wait_as(&rig, 0, UPP_FOREVER, NULL), 1);
    CHECK_INT(rig.drives, 1);
    rig.due = 0; /* over since long */
    CHECK_INT(wait_as(&rig, 0, UPP_FOREVER, NULL), 1);
    CHECK_INT(rig.drives, 2);
}

TEST(lead_a_drive_that_fails_is_told)
{
    WB_CLEANUP(rig_done) struct rig rig;
    struct upp_err err = {0};
    CHECK(rig_open(&rig, NULL));
    rig.fail = -UPP_ENET;
    CHECK_INT(tell(&rig, 1), 0);
    CHECK_INT(wait_as(&rig, 0, UPP_FOREVER, &err), -UPP_ENET);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("driving failed"));
    CHECK_INT(wait_as(&rig, 0, UPP_FOREVER, &err), 1); /* its news are there still */
    CHECK(is_quiet(&rig));
}

TEST(lead_two_that_cannot_park_are_a_mistake)
{
    WB_CLEANUP(rig_done) struct rig rig;
    const struct upp_wait old = {.size = offsetof(struct upp_wait, park)};
    struct upp_err err = {0};
    CHECK(rig_open(&rig, &old));
    rig.crowd.leader = &rig.waiters[1]; /* as if another thread were waiting now */
    CHECK_INT(wait_as(&rig, 0, UPP_FOREVER, &err), -UPP_EBUG);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("two wait on one thread by a table that cannot park"));
    rig.waiters[0].wait = NULL;
    CHECK_INT(wait_as(&rig, 0, UPP_FOREVER, &err), -UPP_EBUG);
    rig.crowd.leader = NULL;
}

/* ---- On fibers ------------------------------------------------------------------------------------------------- */

struct one {
    struct rig *rig;
    size_t i;
    uint64_t ms;
    int got;
    bool over;
};

static WEFT_SUSPENDS int waits(void *arg, struct upp_err *err)
{
    struct one *o = arg;
    o->got = wait_as(o->rig, o->i, o->ms, err);
    o->over = true;
    return 0;
}

/* Four of them wait, in order: the first leads. */
struct crew {
    struct rig rig;
    struct one all[WAITERS];
    struct weft_scope scope;
    struct weft_fiber *fibers[WAITERS];
};

static WEFT_SUSPENDS int crew_start(struct crew *c, const uint64_t ms[WAITERS], struct upp_err *err)
{
    for (size_t i = 0; i < WAITERS; i++) {
        c->all[i] = (struct one){&c->rig, i, ms[i], 0, false};
        TRY(weft_scope_spawn(&c->scope, "waits", waits, &c->all[i], &c->fibers[i], err));
        TRY(weft_yield(err));
    }
    return 0;
}

static bool leads(const struct crew *c, size_t i)
{
    return c->rig.crowd.leader == &c->rig.waiters[i];
}

/* Lets the others run until this one is over; the loop's own test time is the limit. */
static WEFT_SUSPENDS int until_over(const struct crew *c, size_t i, struct upp_err *err)
{
    while (!c->all[i].over)
        TRY(weft_sleep_ms(1, err));
    return 0;
}

static const uint64_t all_forever[WAITERS] = {UPP_FOREVER, UPP_FOREVER, UPP_FOREVER, UPP_FOREVER};

/* The first has news and goes: the second leads on, and those behind it are served. */
static WEFT_SUSPENDS int handed_on(struct crew *c, struct upp_err *err)
{
    TRY(crew_start(c, all_forever, err));
    FAIL_UNLESS(leads(c, 0));
    for (size_t n = 1; n <= WAITERS; n++) {
        TRY(tell(&c->rig, n));
        TRY(until_over(c, n - 1, err));
        TRY(weft_yield(err));
        FAIL_UNLESS(c->all[n - 1].got == 1);
        FAIL_UNLESS(n == WAITERS || (leads(c, n) && !c->all[n].over));
    }
    return 0;
}

/* All at once: each is woken, none waits for another. */
static WEFT_SUSPENDS int all_woken(struct crew *c, struct upp_err *err)
{
    TRY(crew_start(c, all_forever, err));
    TRY(tell(&c->rig, WAITERS));
    for (size_t i = 0; i < WAITERS; i++)
        TRY(until_over(c, i, err));
    for (size_t i = 0; i < WAITERS; i++)
        FAIL_UNLESS(c->all[i].got == 1);
    FAIL_UNLESS(c->rig.drives == 1);
    return 0;
}

/* The leader is cancelled, and so is its heir before it has run: the third leads. */
static WEFT_SUSPENDS int heir_goes_too(struct crew *c, struct upp_err *err)
{
    TRY(crew_start(c, all_forever, err));
    weft_fiber_cancel(c->fibers[0]);
    weft_fiber_cancel(c->fibers[1]);
    TRY(until_over(c, 0, err));
    TRY(until_over(c, 1, err));
    TRY(weft_yield(err));
    FAIL_UNLESS(c->all[0].got == -UPP_ECANCELED && c->all[1].got == -UPP_ECANCELED);
    FAIL_UNLESS(leads(c, 2) && !c->all[3].over);
    TRY(tell(&c->rig, WAITERS));
    TRY(until_over(c, 2, err));
    TRY(until_over(c, 3, err));
    FAIL_UNLESS(c->all[2].got == 1 && c->all[3].got == 1);
    return 0;
}

/* One that is parked is cancelled: the leader leads on. */
static WEFT_SUSPENDS int parked_goes(struct crew *c, struct upp_err *err)
{
    TRY(crew_start(c, all_forever, err));
    weft_fiber_cancel(c->fibers[2]);
    TRY(until_over(c, 2, err));
    FAIL_UNLESS(c->all[2].got == -UPP_ECANCELED && leads(c, 0));
    TRY(tell(&c->rig, WAITERS));
    TRY(until_over(c, 3, err));
    TRY(until_over(c, 0, err));
    FAIL_UNLESS(c->all[3].got == 1 && c->all[0].got == 1);
    return 0;
}

/* The time of each is its own, whether it leads or is parked. */
static WEFT_SUSPENDS int times_pass(struct crew *c, struct upp_err *err)
{
    static const uint64_t ms[WAITERS] = {4, 2, UPP_FOREVER, 6};
    TRY(crew_start(c, ms, err));
    for (size_t i = 0; i < WAITERS; i++)
        if (ms[i] != UPP_FOREVER)
            TRY(until_over(c, i, err));
    TRY(weft_yield(err));
    FAIL_UNLESS(!c->all[0].got && !c->all[1].got && !c->all[3].got);
    FAIL_UNLESS(leads(c, 2) && !c->all[2].over);
    TRY(tell(&c->rig, 3));
    TRY(until_over(c, 2, err));
    FAIL_UNLESS(c->all[2].got == 1);
    return 0;
}

/* Driving fails the leader alone: another leads, and hears of what came. */
static WEFT_SUSPENDS int drive_fails(struct crew *c, struct upp_err *err)
{
    TRY(crew_start(c, all_forever, err));
    c->rig.fail = -UPP_ENET;
    TRY(tell(&c->rig, 3));
    TRY(until_over(c, 0, err));
    TRY(until_over(c, 1, err));
    TRY(until_over(c, 2, err));
    TRY(weft_yield(err));
    FAIL_UNLESS(c->all[0].got == -UPP_ENET && c->all[1].got == 1 && c->all[2].got == 1);
    FAIL_UNLESS(leads(c, 3) && !c->all[3].over);
    TRY(tell(&c->rig, WAITERS));
    TRY(until_over(c, 3, err));
    FAIL_UNLESS(c->all[3].got == 1);
    return 0;
}

static WEFT_SUSPENDS int each_scene(void *arg, struct upp_err *err)
{
    static WEFT_SUSPENDS int (*const scenes[])(struct crew * c, struct upp_err * err) = {
        handed_on, all_woken, heir_goes_too, parked_goes, times_pass, drive_fails};
    (void)arg;
    for (size_t i = 0; i < WB_LEN(scenes); i++) {
        struct crew c = {.scope = {.flags = WEFT_SCOPE_ISOLATED}};
        const struct upp_wait table = wr_wait_table(NULL);
        test_note("scene %zu", i);
        int r = rig_open(&c.rig, &table) ? scenes[i](&c, err) : -UPP_ELIMIT;
        weft_scope_close(&c.scope);
        for (size_t k = 0; k < WAITERS; k++)
            weft_fiber_unref(c.fibers[k]);
        bool quiet = is_quiet(&c.rig);
        rig_done(&c.rig);
        TRY(r);
        FAIL_UNLESS(quiet);
    }
    return 0;
}

TEST(lead_on_fibers)
{
    struct upp_err err = {0};
    CHECK_INT(test_on_loop(each_scene, NULL, &err), 0);
}
