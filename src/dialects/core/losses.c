/* dialects/core/losses.c — what of a document is lost, with the place of each.
 *
 * There may be very many in one long list: they are told in the order of the document, and the way to each begins where
 * the way to the one before it ended.
 */
#include <stdlib.h>

#include "dialects/core/writer.h"
#include "json/pointer.h"
#include "json/value.h"

/* Where one stands in a container. */
struct stand {
    yyjson_val *container, *child; /* of an object: the name */
    size_t      index;
};

struct way {
    struct stand at[WD_DOC_DEPTH];
};

static yyjson_val *behind(const struct stand *s) /* the next child */
{
    return unsafe_yyjson_get_next(unsafe_yyjson_is_obj(s->container) ? s->child + 1 : s->child);
}

/* Steps on to the child that is `what` or has it. */
static void step_to(struct stand *s, yyjson_val *container, const yyjson_val *what)
{
    if (s->container != container || s->child > what)
        *s = (struct stand){.container = container, .child = unsafe_yyjson_get_first(container)};
    for (yyjson_val *next; s->index + 1 < unsafe_yyjson_get_len(container) && (next = behind(s)) <= what; s->index++)
        s->child = next;
}

/* `what` is a value in root. */
static void find(struct way *way, struct wj_pointer *pointer, yyjson_val *root, const yyjson_val *what)
{
    for (size_t depth = 0; root != what && unsafe_yyjson_is_ctn(root) && depth < WD_DOC_DEPTH; depth++) {
        struct stand *s = &way->at[depth];
        step_to(s, root, what);
        if (unsafe_yyjson_is_obj(root))
            wj_pointer_name(pointer, wj_text(s->child));
        else
            wj_pointer_index(pointer, s->index);
        root = unsafe_yyjson_is_obj(root) ? s->child + 1 : s->child;
    }
}

static int by_place(const void *a, const void *b)
{
    const yyjson_val *x = *(yyjson_val *const *)a, *y = *(yyjson_val *const *)b;
    return (x > y) - (x < y);
}

void wd_lost_sort(struct wd_lifting *l)
{
    if (l->lost.n)
        qsort(l->lost.p, l->lost.n, sizeof *l->lost.p, by_place);
}

/* Is it, or what it stands in, known to have no place in the model? */
static bool is_known(const struct wd_lifting *l, const yyjson_val *v)
{
    size_t low = 0, high = l->lost.n; /* behind the last that is not behind it */
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (l->lost.p[mid] <= v)
            low = mid + 1;
        else
            high = mid;
    }
    return low && unsafe_yyjson_get_next(l->lost.p[low - 1]) > v;
}

void wd_lost_tell(const struct wd_lifting *l, yyjson_val *const *list, size_t n, struct wd_losses *losses)
{
    struct way *way = n ? wb_new(losses->a, struct way) : NULL;
    if (n && !way)
        losses->failed = -UPP_ENOMEM;
    for (size_t i = 0; way && i < n; i++) {
        char              text[512], what[64];
        struct wj_pointer pointer;
        wj_pointer_init(&pointer, text, sizeof text);
        find(way, &pointer, l->root, list[i]);
        const char *said = wj_found(list[i], what, sizeof what);
        wd_loss_add(losses, wj_pointer_str(&pointer), wb_cstr(said),
                    is_known(l, list[i]) ? UPP_STR("only its own dialect has a place for it")
                                         : UPP_STR("it does not come back as it was"));
    }
}
