/* fiber/channel.c — a bounded ring of items between fibers of one loop.
 *
 * Invariant: while the channel has room nobody waits to send but those already woken, and likewise for receiving:
 * each item and each free place wakes one waiter. A woken fiber looks again, and when it finds nothing (somebody
 * who did not wait was quicker) it waits again.
 */
#include <string.h>

#include "base/hooks.h"
#include "fiber/fiber.h"

enum { MAX_BYTES = 64 << 20 };

struct weft_channel {
    size_t capacity, item, first, n;
    size_t inside; /* fibers that wait, or were woken and have not looked yet */
    bool closed;
    struct weft_cond senders, receivers;
    char ring[];
};

int weft_channel_new(size_t capacity, size_t item, struct weft_channel **ret, struct upp_err *err)
{
    if (capacity == 0 || item == 0)
        return upp_fail(err, UPP_EINVALID, "a channel holds at least one item of one byte");
    if (item > MAX_BYTES || capacity > MAX_BYTES / item)
        return upp_fail(err, UPP_ELIMIT, "a channel of %zu items of %zu bytes is over %d MiB", capacity, item,
                        MAX_BYTES >> 20);
    struct weft_channel *c = wb_alloc(sizeof *c + capacity * item);
    if (!c)
        return upp_fail(err, UPP_ENOMEM, "no memory for a channel of %zu items", capacity);
    *c = (struct weft_channel){.capacity = capacity, .item = item};
    *ret = c;
    return 0;
}

void weft_channel_free(struct weft_channel *c)
{
    if (c && c->inside) {
        const struct weft_fiber *f = c->senders.first ? c->senders.first : c->receivers.first;
        weft__die("a channel is freed while fiber '%s' waits on it", f ? f->name : "(woken, has not run yet)");
    }
    wb_free(c);
}

void weft_channel_freep(struct weft_channel **c)
{
    weft_channel_free(*c);
}

int weft_channel_try_send(struct weft_channel *c, const void *item, struct upp_err *err)
{
    if (c->closed)
        return upp_fail(err, UPP_EREFUSED, "the channel is closed");
    if (c->n == c->capacity)
        return upp_fail(err, UPP_EBUSY, "the channel is full");
    memcpy(c->ring + (c->first + c->n) % c->capacity * c->item, item, c->item);
    c->n++;
    (void)weft__queue_wake(&c->receivers, 0);
    return 0;
}

int weft_channel_try_recv(struct weft_channel *c, void *item, struct upp_err *err)
{
    if (c->n == 0)
        return c->closed ? 0 : upp_fail(err, UPP_EBUSY, "the channel is empty");
    memcpy(item, c->ring + c->first * c->item, c->item);
    c->first = (c->first + 1) % c->capacity;
    c->n--;
    (void)weft__queue_wake(&c->senders, 0);
    return 1;
}

WEFT_SUSPENDS int weft_channel_send(struct weft_channel *c, const void *item, struct upp_err *err)
{
    static const char what[] = "room in a channel";
    struct weft_fiber *f = weft__caller("weft_channel_send", err);
    if (!f)
        return -UPP_EINVALID;
    int r = weft__pending(f);
    while (r == 0 && !c->closed && c->n == c->capacity) {
        c->inside++;
        weft__queue_push(&c->senders, f);
        r = weft__park(f, what, WEFT__NEVER, 0);
        c->inside--;
    }
    if (r < 0)
        return weft__cut_short(err, r, what);
    return weft_channel_try_send(c, item, err);
}

WEFT_SUSPENDS int weft_channel_recv(struct weft_channel *c, void *item, struct upp_err *err)
{
    static const char what[] = "an item of a channel";
    struct weft_fiber *f = weft__caller("weft_channel_recv", err);
    if (!f)
        return -UPP_EINVALID;
    int r = weft__pending(f);
    while (r == 0 && !c->closed && c->n == 0) {
        c->inside++;
        weft__queue_push(&c->receivers, f);
        r = weft__park(f, what, WEFT__NEVER, 0);
        c->inside--;
    }
    if (r < 0)
        return weft__cut_short(err, r, what);
    return weft_channel_try_recv(c, item, err);
}

void weft_channel_close(struct weft_channel *c)
{
    c->closed = true;
    weft_cond_broadcast(&c->senders);
    weft_cond_broadcast(&c->receivers);
}

size_t weft_channel_count(const struct weft_channel *c)
{
    return c->n;
}
