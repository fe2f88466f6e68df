/* json/pointer.c — JSON pointers for error messages. */
#include "json/pointer.h"

static const char dots[] = "...";

void wj_pointer_init(struct wj_pointer *t, char *p, size_t size)
{
    *t = (struct wj_pointer){.p = p, .size = size};
    p[0] = 0;
}

/* Makes room for k more bytes: drops as few as possible from the front, at a character boundary. */
static void cut_front(struct wj_pointer *t, size_t k)
{
    size_t at = t->n + sizeof dots + k - t->size;
    while (at < t->n && ((unsigned char)t->p[at] & 0xc0) == 0x80)
        at++;
    size_t keep = at < t->n ? t->n - at : 0;
    memmove(t->p + sizeof dots - 1, t->p + t->n - keep, keep);
    memcpy(t->p, dots, sizeof dots - 1);
    t->n = keep + sizeof dots - 1;
    t->cut = true;
}

/* Appends one character, or a sequence that must stay whole; at most 24 bytes. */
static void add(struct wj_pointer *t, const char *s, size_t k)
{
    if (t->n + k >= t->size)
        cut_front(t, k);
    memcpy(t->p + t->n, s, k);
    t->n += k;
    t->p[t->n] = 0;
}

void wj_pointer_name(struct wj_pointer *t, struct upp_str name)
{
    add(t, "/", 1);
    if (name.n > t->size) { /* only its end can be visible */
        size_t at = name.n - t->size;
        while (at < name.n && ((unsigned char)name.p[at] & 0xc0) == 0x80)
            at++;
        name = wb_str(name.p + at, name.n - at);
    }
    for (size_t i = 0; i < name.n;) {
        unsigned char c = (unsigned char)name.p[i];
        size_t k = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        if (k > name.n - i)
            k = 1;
        if (c == '~')
            add(t, "~0", 2);
        else if (c == '/')
            add(t, "~1", 2);
        else if (c < 0x20 || c == 0x7f)
            add(t, " ", 1);
        else if (k == 3 && c == 0xed && (unsigned char)name.p[i + 1] >= 0xa0)
            add(t, "\xef\xbf\xbd", 3);
        else
            add(t, name.p + i, k);
        i += k;
    }
}

void wj_pointer_index(struct wj_pointer *t, size_t i)
{
    char text[24], *end = text + sizeof text, *first = end;
    do
        *--first = (char)('0' + i % 10);
    while (i /= 10);
    *--first = '/';
    add(t, first, (size_t)(end - first));
}

void wj_pointer_find(struct wj_pointer *t, yyjson_val *root, const yyjson_val *what)
{
    while (root != what && unsafe_yyjson_is_ctn(root)) {
        bool object = yyjson_is_obj(root);
        size_t n = unsafe_yyjson_get_len(root), i = 0;
        yyjson_val *key = NULL, *v = unsafe_yyjson_get_first(root);
        for (; i < n; i++) {
            if (object)
                key = v++;
            if (what < unsafe_yyjson_get_next(v))
                break;
            v = unsafe_yyjson_get_next(v);
        }
        if (i == n)
            return; /* not in here */
        if (object)
            wj_pointer_name(t, wb_str(unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)));
        else
            wj_pointer_index(t, i);
        if (key == what)
            return;
        root = v;
    }
}

void wj_pointer_err(struct upp_err *err, yyjson_val *root, const yyjson_val *what)
{
    if (err) {
        struct wj_pointer t;
        wj_pointer_init(&t, err->where, sizeof err->where);
        wj_pointer_find(&t, root, what);
    }
}
