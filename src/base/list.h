/* base/list.h — doubly linked lists whose links live inside the items.
 *
 * A list head is a link that points to itself. An item that is on no list has a zeroed link, so that
 * "is it waiting somewhere" can be asked and removing twice is harmless.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/defs.h"

struct wb_link {
    struct wb_link *prev, *next;
};

static inline void wb_list_init(struct wb_link *head)
{
    head->prev = head->next = head;
}

static inline bool wb_list_empty(const struct wb_link *head)
{
    return head->next == head;
}

static inline bool wb_linked(const struct wb_link *l)
{
    return l->next != NULL;
}

static inline void wb_list_push(struct wb_link *head, struct wb_link *l) /* at the end */
{
    l->prev = head->prev;
    l->next = head;
    head->prev->next = l;
    head->prev = l;
}

static inline void wb_unlink(struct wb_link *l)
{
    if (l->next) {
        l->prev->next = l->next;
        l->next->prev = l->prev;
        l->prev = l->next = NULL;
    }
}

static inline struct wb_link *wb_list_pop(struct wb_link *head) /* from the front; NULL when empty */
{
    struct wb_link *l = head->next;
    if (l == head)
        return NULL;
    wb_unlink(l);
    return l;
}

/* Moves everything from one list to the end of another. */
static inline void wb_list_splice(struct wb_link *to, struct wb_link *from)
{
    if (wb_list_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    wb_list_init(from);
}

/* The item of type T around its link. */
#define wb_item(link, T, member) WB_OUTER(link, T, member)

/* Visits every item; the current one may be removed. */
#define wb_list_each(l, head)                                                                                          \
    for (struct wb_link *l = (head)->next, *wb_next_ = l->next; l != (head); l = wb_next_, wb_next_ = l->next)
