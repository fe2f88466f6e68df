/* support/sim/child.c — simulated processes: they do nothing, and end when they are told or killed. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/hooks.h"
#include "support/sim/world.h"

enum { KILL_NS = 3000000 };

struct program {
    struct wb_link link;
    uint64_t ms;
    int status;
    char file[];
};

struct child {
    struct wb_link link;
    struct weft__sim *world;
    struct weft__timer end;
    int pid, status, fd; /* fd: who is told; -1: nobody */
    bool ended;
};

int weft__sim_program(struct weft__sim *w, const char *file, uint64_t ms, int status, struct upp_err *err)
{
    size_t n = strlen(file) + 1;
    struct program *p = wb_alloc(sizeof *p + n);
    if (!p)
        return upp_fail(err, UPP_ENOMEM, "no memory for a program");
    *p = (struct program){.ms = ms, .status = status};
    memcpy(p->file, file, n);
    wb_list_push(&w->programs, &p->link);
    return 0;
}

static void ends(struct weft__timer *t)
{
    struct child *c = WB_OUTER(t, struct child, end);
    c->ended = true;
    weft__sim_note(c->world, "exit", (uint64_t)c->pid, (uint64_t)c->status);
    if (c->fd >= 0)
        weft__sim_signal(c->world, c->fd);
}

int weft__sim_spawn(struct weft__sim *w, const struct upp_spawn *what)
{
    const struct program *p = NULL;
    wb_list_each (l, &w->programs)
        if (strcmp(wb_item(l, struct program, link)->file, what->file) == 0)
            p = wb_item(l, struct program, link);
    if (!p)
        return -ENOENT;
    struct child *c = wb_alloc(sizeof *c);
    if (!c)
        return -ENOMEM;
    *c = (struct child){
        .world = w, .end = {.fire = ends}, .pid = WEFT__SIM_FD + ++w->last_pid, .status = p->status, .fd = -1};
    if (weft__timers_reserve(&w->events, NULL) < 0) {
        wb_free(c);
        return -ENOMEM;
    }
    weft__timer_add(&w->events, &c->end, w->now + p->ms * 1000000);
    wb_list_push(&w->children, &c->link);
    return c->pid;
}

static struct child *find(struct weft__sim *w, int pid)
{
    wb_list_each (l, &w->children)
        if (wb_item(l, struct child, link)->pid == pid)
            return wb_item(l, struct child, link);
    return NULL;
}

int weft__sim_child_open(struct weft_loop *l, int pid)
{
    struct child *c = find(weft__sim_now(), pid);
    (void)l;
    if (!c)
        return -ESRCH;
    int fd = weft__sim_signal_fd(c->world);
    if (fd >= 0)
        c->fd = fd;
    return fd;
}

int weft__sim_child_status(struct weft_loop *l, const struct weft__child *child, int *status)
{
    const struct child *c = find(weft__sim_now(), child->pid);
    (void)l;
    if (!c)
        return -ECHILD;
    if (c->ended)
        *status = c->status;
    return c->ended;
}

void weft__sim_child_kill(struct weft_loop *l, const struct weft__child *child)
{
    struct child *c = find(weft__sim_now(), child->pid);
    (void)l;
    if (!c || c->ended)
        return;
    c->status = SIGKILL;
    weft__timer_remove(&c->world->events, &c->end);
    weft__sim_soon(c->world, &c->end, KILL_NS);
}

static void forget(struct child *c)
{
    weft__timer_remove(&c->world->events, &c->end);
    weft__timers_unreserve(&c->world->events);
    wb_unlink(&c->link);
    wb_free(c);
}

void weft__sim_child_reap(struct weft_loop *l, const struct weft__child *child)
{
    struct child *c = find(weft__sim_now(), child->pid);
    (void)l;
    if (c)
        forget(c);
}

size_t weft__sim_children(const struct weft__sim *w)
{
    size_t n = 0;
    for (const struct wb_link *l = w->children.next; l != &w->children; l = l->next)
        n++;
    return n;
}

void weft__sim_children_done(struct weft__sim *w)
{
    wb_list_each (l, &w->children)
        forget(wb_item(l, struct child, link));
    wb_list_each (l, &w->programs) {
        wb_unlink(l);
        wb_free(wb_item(l, struct program, link));
    }
}
