/* dialects/core/losses.c — reports the lost values of a document, each with its JSON pointer.
 *
 * A long list can have very many. They are reported in document order, and the search for each begins where the one
 * before ended.
 */
#include <stdlib.h>

#include "dialects/core/writer.h"
#include "json/pointer.h"
#include "json/value.h"

/* A position in a container. */
struct level {
    yyjson_val *container, *child; /* child of an object: the name */
    size_t index;
};

struct path {
    struct level at[WD_DOC_DEPTH];
};

static yyjson_val *next_child(const struct level *s)
{
    return unsafe_yyjson_get_next(unsafe_yyjson_is_obj(s->container) ? s->child + 1 : s->child);
}

/* Advances to the child that is `what` or contains it. */
static void step_to(struct level *s, yyjson_val *container, const yyjson_val *what)
{
    if (s->container != container || s->child > what)
        *s = (struct level){.container = container, .child = unsafe_yyjson_get_first(container)};
    for (yyjson_val *next; s->index + 1 < unsafe_yyjson_get_len(container) && (next = next_child(s)) <= what;
         s->index++)
        s->child = next;
}

/* Builds the pointer of `what`, a value in root. */
static void find(struct path *path, struct wj_pointer *pointer, yyjson_val *root, const yyjson_val *what)
{
    for (size_t depth = 0; root != what && unsafe_yyjson_is_ctn(root) && depth < WD_DOC_DEPTH; depth++) {
        struct level *s = &path->at[depth];
        step_to(s, root, what);
        if (unsafe_yyjson_is_obj(root))
            wj_pointer_name(pointer, wj_text(s->child));
        else
            wj_pointer_index(pointer, s->index);
        root = unsafe_yyjson_is_obj(root) ? s->child + 1 : s->child;
    }
}

static int by_position(const void *a, const void *b)
{
    const yyjson_val *x = *(yyjson_val *const *)a, *y = *(yyjson_val *const *)b;
    return (x > y) - (x < y);
}

void wd_lost_sort(struct wd_lifting *l)
{
    if (l->lost.n)
        qsort(l->lost.p, l->lost.n, sizeof *l->lost.p, by_position);
}

/* Is it, or a value that contains it, listed as not in the model? */
static bool is_known(const struct wd_lifting *l, const yyjson_val *v)
{
    size_t low = 0, high = l->lost.n; /* finds the first one after v */
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (l->lost.p[mid] <= v)
            low = mid + 1;
        else
            high = mid;
    }
    return low && unsafe_yyjson_get_next(l->lost.p[low - 1]) > v;
}

void wd_lost_report(const struct wd_lifting *l, yyjson_val *const *list, size_t n, struct wd_losses *losses)
{
    struct path *path = n ? wb_new(losses->a, struct path) : NULL;
    if (n && !path)
        losses->failed = -UPP_ENOMEM;
    for (size_t i = 0; path && i < n; i++) {
        char text[512], what[64];
        struct wj_pointer pointer;
        wj_pointer_init(&pointer, text, sizeof text);
        find(path, &pointer, l->root, list[i]);
        const char *value = wj_found(list[i], what, sizeof what);
        wd_loss_add(losses, wj_pointer_str(&pointer), wb_cstr(value),
                    is_known(l, list[i]) ? UPP_STR("only its own dialect has a place for it")
                                         : UPP_STR("it does not come back as it was"));
    }
}
