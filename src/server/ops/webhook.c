/* server/ops/webhook.c — the queue of messages to webhooks: what is due, when it is sent again, and when it is given
 * up. */
#include "server/ops/webhook.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/hooks.h"
#include "base/list.h"
#include "base/log.h"
#include "base/opts.h"
#include "base/random.h"
#include "server/ops/webhook_send.h"
#include "stores/check.h"
#include "stores/outbox/outbox.h"

enum {
    PAGE = 256,
    TENANTS = 64,
    SCAN_ARENA = 4 << 20,
    REMOVALS = 100,   /* how often it is tried to remove a message that is over */
    RESCAN = 60,      /* times first_ms: until the store is read again after a failure */
    UNREAD_PAUSE = 4, /* failed reads of a message after which the pause does not grow any more: 8 times first_ms */
    DOWN = 5,         /* failures of a hook without a success between them: then it is down */
    PROBE_PART = 10,  /* of most_ms: the longest pause between two attempts at a hook that is down */
};

static const char *const names[WS_DUE_KINDS] = {[WS_DUE_END] = "on_end", [WS_DUE_WAIT] = "on_wait"};

struct message {
    struct wb_link link;
    struct sv_webhooks *hooks;
    struct lane *lane;
    struct ws_due due; /* its tenant is ours */
    uint64_t at_ms;
    unsigned attempts;
    unsigned unread; /* times in a row that the store did not say what to send: no attempts */
    bool sending;
    bool over; /* delivered or given up, and still in the store */
};

/* The messages for one hook: each has its own room, so that a hook that does not answer delays no other's. */
struct lane {
    struct wb_link queue;
    size_t n;
    unsigned sending;
    _Atomic bool behind; /* the store has messages that are not in the queue */

    /* A hook that is down gets one attempt at a time, whatever the number of messages. */
    unsigned failures; /* since the last success */
    uint64_t probe_ms; /* not before */
};

struct sv_webhooks {
    struct sv_webhook_opts opts;
    struct sv_webhook_sender sender;
    struct lane lanes[WS_DUE_KINDS];
    struct weft_loop *loop;
    bool scan_failed;
    uint64_t rescan_ms; /* not before */
    struct weft_cond changed;
    struct weft_scope fibers;
    struct sv_webhook_counts count;
};

/* ---- The queue --------------------------------------------------------------------------------------------------- */

static bool queued(const struct lane *lane, const struct ws_due *d)
{
    wb_list_each (l, &lane->queue) {
        const struct message *m = wb_item(l, struct message, link);
        if (m->due.version == d->version && wb_uuid_eq(m->due.run, d->run))
            return true;
    }
    return false;
}

static void forget(struct message *m)
{
    m->lane->n--;
    wb_unlink(&m->link);
    wb_free(m);
}

/* Does nothing if it is in the queue: a scan may see a message before the commit that recorded it returns. False: there
 * is no room, and the store must be read again. */
static bool enqueue(struct sv_webhooks *h, const struct ws_due *d)
{
    struct lane *lane = &h->lanes[d->kind];
    if (queued(lane, d))
        return true;
    struct message *m = lane->n < h->opts.max_queue ? wb_calloc(1, sizeof *m + d->tenant.n) : NULL;
    if (!m) {
        lane->behind = true;
        return false;
    }
    char *tenant = (char *)(m + 1);
    memcpy(tenant, d->tenant.p, d->tenant.n);
    m->hooks = h;
    m->lane = lane;
    m->due = *d;
    m->due.tenant = wb_str(tenant, d->tenant.n);
    m->at_ms = wb_mono_ms();
    wb_list_push(&lane->queue, &m->link);
    lane->n++;
    return true;
}

/* A commit of another loop has recorded one. */
struct letter {
    struct sv_webhooks *hooks;
    struct ws_due due; /* its tenant is behind it */
};

static void take_letter(void *arg)
{
    struct letter *l = arg;
    (void)enqueue(l->hooks, &l->due);
    weft_cond_signal(&l->hooks->changed);
    wb_free(l);
}

static void send_letter(struct sv_webhooks *h, const struct ws_due *d)
{
    struct letter *l = wb_calloc(1, sizeof *l + d->tenant.n);
    if (l) {
        memcpy(l + 1, d->tenant.p, d->tenant.n);
        l->hooks = h;
        l->due = *d;
        l->due.tenant = wb_str((const char *)(l + 1), d->tenant.n);
    }
    if (l && weft_loop_post(h->loop, take_letter, l, NULL) >= 0)
        return;
    wb_free(l);
    h->lanes[d->kind].behind = true; /* it is in the store */
}

/* A commit has recorded one. */
static void recorded(void *arg, const struct ws_due *d)
{
    struct sv_webhooks *h = arg;
    if (h->loop != weft_loop_current()) {
        send_letter(h, d);
        return;
    }
    (void)enqueue(h, d);
    weft_cond_signal(&h->changed);
}

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

/* Between half and all of first * 2^(attempts - 1), at most most_ms. */
static uint64_t pause_of(const struct sv_webhooks *h, unsigned attempts)
{
    uint64_t ms = h->opts.first_ms, random = 0;
    for (unsigned i = 1; i < attempts && ms < h->opts.most_ms; i++)
        ms *= 2;
    ms = WB_MIN(ms, h->opts.most_ms);
    if (wb_random(&random, sizeof random, NULL) < 0)
        random = wb_mix(wb_mono_ns());
    return ms / 2 + random % (ms - ms / 2 + 1);
}

static void log_failure(const struct message *m, bool gives_up, const struct upp_err *err)
{
    char buf[SV_WEBHOOK_ID];
    struct upp_str id = sv_webhook_id(&m->due, buf);
    const char *hook = names[m->due.kind];
    if (gives_up)
        wb_log(WB_ERROR, "a webhook was given up", WB_LZ("hook", hook), WB_LS("id", id), WB_LU("attempts", m->attempts),
               WB_LERR(err));
    else
        wb_log(WB_WARN, "a webhook failed", WB_LZ("hook", hook), WB_LS("id", id), WB_LU("attempts", m->attempts),
               WB_LERR(err));
}

static bool is_down(const struct lane *lane)
{
    return lane->failures >= DOWN;
}

/* Does a failure say that nothing can be delivered now? Another answer may be about this message alone. */
static bool says_down(int r, const struct upp_err *err)
{
    return r == -UPP_ENET || r == -UPP_ETIMEOUT || (r == -UPP_EPROVIDER && (err->http >= 500 || err->http == 429));
}

/* What fails while the lane waits began before it did, and says nothing new. */
static void count_failure(struct sv_webhooks *h, struct lane *lane)
{
    uint64_t now = wb_mono_ms();
    if (is_down(lane) && now < lane->probe_ms)
        return;
    lane->failures += lane->failures < DOWN + 64;
    if (is_down(lane))
        lane->probe_ms = now + WB_MIN(pause_of(h, lane->failures - DOWN + 1), WB_MAX(h->opts.most_ms / PROBE_PART, 1u));
}

static bool is_too_old(const struct message *m)
{
    return wb_wall_ms() - m->due.created_ms >= (int64_t)m->hooks->opts.give_up_ms;
}

static void wait_for_next(struct message *m)
{
    m->at_ms = wb_mono_ms() + pause_of(m->hooks, m->unread ? WB_MIN(m->unread, UNREAD_PAUSE) : m->attempts);
    m->sending = false;
}

/* If it cannot be removed from the store now, that is tried again; a process that ends before delivers it again. */
static WEFT_SUSPENDS void end_message(struct message *m)
{
    struct upp_err err = {0};
    char buf[SV_WEBHOOK_ID];
    WEFT_SHIELD(0); /* a stop waits for it */
    int r = ws_outbox_remove(m->hooks->opts.runtime->outbox, &m->due, &err);
    if (r >= 0 || (m->over && m->attempts >= REMOVALS)) {
        forget(m);
        return;
    }
    if (!m->over)
        wb_log(WB_WARN, "a message for a webhook is over and stays in the store for now",
               WB_LZ("hook", names[m->due.kind]), WB_LS("id", sv_webhook_id(&m->due, buf)), WB_LERR(&err));
    m->attempts = m->over ? m->attempts + 1 : 1;
    m->over = true;
    wait_for_next(m);
}

static WEFT_SUSPENDS void deliver(struct message *m)
{
    struct sv_webhooks *h = m->hooks;
    struct lane *lane = m->lane;
    struct upp_err why = {0};
    bool late = is_down(lane) && is_too_old(m); /* it need not fail once more for that */
    int r = late ? upp_fail(&why, UPP_ENET, "the hook is down") : sv_webhook_send(&h->sender, &m->due, &why);
    bool unread = r == -UPP_ESTORE; /* says nothing of the hook, which need not wait longer for that */
    m->unread = unread ? m->unread + 1 : 0;
    if (!late && !unread)
        m->attempts++;
    if (r > 0)
        lane->failures = 0;
    if (!late && says_down(r, &why))
        count_failure(h, lane);
    if (r >= 0) {
        h->count.delivered += r > 0;
        end_message(m); /* which suspends: m->sending stays, or a second fiber would send it */
    } else if (r != -UPP_ECANCELED) {
        bool gives_up = r == -UPP_ELIMIT || is_too_old(m);
        h->count.failures += !late;
        h->count.given_up += gives_up;
        log_failure(m, gives_up, &why);
        if (gives_up)
            end_message(m);
        else
            wait_for_next(m);
    }
}

static WEFT_SUSPENDS int send_main(void *arg, struct upp_err *err)
{
    struct message *m = arg;
    struct sv_webhooks *h = m->hooks;
    struct lane *lane = m->lane;
    if (m->over)
        end_message(m);
    else
        deliver(m);
    lane->sending--;
    weft_cond_signal(&h->changed);
    (void)err;
    return 0;
}

static uint64_t start_lane(struct sv_webhooks *h, struct lane *lane, uint64_t now, struct upp_err *err)
{
    uint64_t next = UINT64_MAX;
    wb_list_each (l, &lane->queue) {
        struct message *m = wb_item(l, struct message, link);
        bool waits = is_down(lane) && !m->over && !is_too_old(m);
        if (lane->sending >= h->opts.max_sending)
            break; /* each that ends signals */
        if (m->sending || (waits && lane->sending))
            continue;
        uint64_t at = waits ? WB_MAX(m->at_ms, lane->probe_ms) : m->at_ms;
        if (at > now) {
            next = WB_MIN(next, at);
            continue;
        }
        if (weft_scope_spawn(&h->fibers, "webhook", send_main, m, NULL, err) < 0)
            return now + h->opts.first_ms; /* no memory or too many fibers: later */
        m->sending = true;
        lane->sending++;
    }
    return next;
}

/* Starts what is due, and returns when the next one is: UINT64_MAX: no message waits. */
static uint64_t start_due(struct sv_webhooks *h, struct upp_err *err)
{
    uint64_t now = wb_mono_ms(), next = UINT64_MAX;
    for (unsigned i = 0; i < WS_DUE_KINDS; i++)
        next = WB_MIN(next, start_lane(h, &h->lanes[i], now, err));
    return next;
}

/* ---- Reading the store ------------------------------------------------------------------------------------------- */

/* What is read: the kinds (1 << kind) that are behind and have room, until they are full. */
static WEFT_SUSPENDS int scan_tenant(struct sv_webhooks *h, struct upp_str tenant, unsigned *kinds, struct upp_err *err)
{
    char name[WS_DUE_NAME];
    struct upp_str after = {0};
    while (*kinds) {
        UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(SCAN_ARENA);
        struct ws_due *list;
        struct upp_str last;
        size_t n;
        int r = ws_outbox_list(h->opts.runtime->outbox, tenant, after, PAGE, &a, &list, &n, &last, err);
        if (r < 0 || !last.n || last.n > sizeof name)
            return r;
        for (size_t i = 0; i < n; i++)
            if (*kinds & 1u << list[i].kind && !enqueue(h, &list[i]))
                *kinds &= ~(1u << list[i].kind);
        (void)start_due(h, NULL); /* a long scan delays nothing; what does not start now starts after it */
        memcpy(name, last.p, last.n);
        after = wb_str(name, last.n);
    }
    return 0;
}

/* Reads the messages in the store into the queues, as many as fit. A tenant that cannot be read does not stop the
 * others' messages: its key may have been erased. */
static WEFT_SUSPENDS int scan(struct sv_webhooks *h, unsigned kinds, struct upp_err *err)
{
    char name[WS_NAME_MAX];
    struct upp_str after = {0};
    size_t n = TENANTS;
    int failed = 0;
    while (n == TENANTS && kinds) {
        UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(SCAN_ARENA);
        struct upp_str *list;
        int r = wl_list_tenants(h->opts.runtime->outbox, after, TENANTS, &a, &list, &n, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < n && kinds; i++) {
            r = scan_tenant(h, list[i], &kinds, failed < 0 ? NULL : err);
            if (r == -UPP_ECANCELED)
                return r;
            failed = failed < 0 ? failed : r;
        }
        if (!n)
            break;
        memcpy(name, list[n - 1].p, list[n - 1].n);
        after = wb_str(name, list[n - 1].n);
    }
    return failed;
}

/* The kinds that are behind and have room. */
static unsigned wanted(const struct sv_webhooks *h)
{
    unsigned kinds = 0;
    for (unsigned i = 0; i < WS_DUE_KINDS; i++)
        if (h->lanes[i].behind && h->lanes[i].n <= h->opts.max_queue / 2)
            kinds |= 1u << i;
    return kinds;
}

static void set_behind(struct sv_webhooks *h, unsigned kinds, bool behind)
{
    for (unsigned i = 0; i < WS_DUE_KINDS; i++)
        if (kinds & 1u << i)
            h->lanes[i].behind = behind;
}

/* Scans when there is room, and returns when to look again at the latest: another loop that could not tell us of a
 * message says so without waking us. */
static WEFT_SUSPENDS uint64_t catch_up(struct sv_webhooks *h)
{
    struct upp_err err = {0};
    uint64_t now = wb_mono_ms();
    unsigned kinds = wanted(h);
    if (!kinds)
        return now + RESCAN * h->opts.first_ms;
    if (now < h->rescan_ms)
        return h->rescan_ms;
    set_behind(h, kinds, false);
    int r = scan(h, kinds, &err);
    if (r < 0 && !h->scan_failed && r != -UPP_ECANCELED)
        wb_log(WB_WARN, "messages for webhooks cannot be read", WB_LERR(&err));
    if (r < 0)
        set_behind(h, kinds, true);
    h->scan_failed = r < 0;
    now = wb_mono_ms();
    h->rescan_ms = r < 0 ? now + RESCAN * h->opts.first_ms : wanted(h) ? now + h->opts.first_ms : 0;
    return h->rescan_ms ? h->rescan_ms : now + RESCAN * h->opts.first_ms;
}

/* ---- The fiber --------------------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int wait_until(struct sv_webhooks *h, uint64_t at_ms, struct upp_err *err)
{
    uint64_t now = wb_mono_ms();
    WEFT_DEADLINE(at_ms > now ? at_ms - now : 1);
    int r = weft_cond_wait(&h->changed, err);
    return r == -UPP_ETIMEOUT ? 0 : r;
}

WEFT_SUSPENDS int sv_webhooks_main(void *arg, struct upp_err *err)
{
    struct sv_webhooks *h = arg;
    int r = 0;
    while (r >= 0) {
        struct upp_err why = {0};
        uint64_t next = catch_up(h);
        next = WB_MIN(next, start_due(h, &why));
        r = wait_until(h, next, err);
    }
    weft_scope_close(&h->fibers);
    return r == -UPP_ECANCELED ? 0 : r;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

int sv_webhooks_open(const struct sv_webhook_opts *opts, struct sv_webhooks **ret, struct upp_err *err)
{
    UPP_CLEANUP(sv_webhooks_closep) struct sv_webhooks *h = wb_calloc(1, sizeof *h);
    if (!h)
        return upp_fail(err, UPP_ENOMEM, "no memory for webhooks");
    wb_opts(&h->opts, sizeof h->opts, opts);
    for (unsigned i = 0; i < WS_DUE_KINDS; i++) {
        wb_list_init(&h->lanes[i].queue);
        h->lanes[i].behind = true; /* what earlier processes have left */
    }
    h->loop = weft_loop_current();
    h->opts.first_ms = h->opts.first_ms ? h->opts.first_ms : 1000;
    h->opts.most_ms = h->opts.most_ms ? h->opts.most_ms : 600000;
    h->opts.give_up_ms = h->opts.give_up_ms ? h->opts.give_up_ms : 86400000;
    h->opts.answer_ms = h->opts.answer_ms ? h->opts.answer_ms : 30000;
    h->opts.max_body = h->opts.max_body ? h->opts.max_body : 16 << 20;
    h->opts.max_queue = h->opts.max_queue ? h->opts.max_queue : 4096;
    h->opts.max_sending = h->opts.max_sending ? h->opts.max_sending : 8;
    h->fibers.flags = WEFT_SCOPE_ISOLATED;
    int r = sv_webhook_sender_init(&h->sender, &h->opts, err);
    if (r < 0)
        return r;
    ws_outbox_listen(h->opts.runtime->outbox, recorded, h);
    *ret = WB_TAKE(h);
    return 0;
}

void sv_webhooks_close(struct sv_webhooks *h)
{
    if (!h)
        return;
    ws_outbox_listen(h->opts.runtime->outbox, NULL, NULL);
    for (unsigned i = 0; i < WS_DUE_KINDS; i++)
        while (!wb_list_empty(&h->lanes[i].queue))
            forget(wb_item(h->lanes[i].queue.next, struct message, link));
    sv_webhook_sender_done(&h->sender);
    wb_free(h);
}

void sv_webhooks_closep(struct sv_webhooks **h)
{
    sv_webhooks_close(*h);
}

struct sv_webhook_counts sv_webhooks_counts(const struct sv_webhooks *h)
{
    struct sv_webhook_counts c = h->count;
    for (unsigned i = 0; i < WS_DUE_KINDS; i++)
        c.queued += h->lanes[i].n;
    return c;
}
