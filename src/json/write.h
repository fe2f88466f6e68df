/* json/write.h — values to compact JSON, directly into a buffer.
 *
 * Strings are WTF-8 and are written as UTF-8, with escapes only where JSON requires them: quote, backslash, control
 * characters, and lone surrogates (as \udXXX, their only form in JSON). Any other bytes are an error and never written.
 *
 * The writer reserves up to 32 bytes more than it writes: the buffer's maximum should allow for them.
 *
 * Sticky: after the first failure nothing more is written, and wj_writer_check returns it. The writer adds commas; the
 * caller must alternate names and values inside an object.
 */
#pragma once

#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"

struct wj_writer {
    struct wb_buf *out;
    bool comma;          /* the next name or value needs a comma before it */
    int failed;          /* failures other than the buffer's own */
    struct upp_err *err; /* receives the first failure; may be NULL */
    yyjson_val *bad;     /* the value inside wj_write_value that failed */

    struct wj_match *match; /* output is compared with it instead of written (json/match.h); NULL: written */
};

WB_EXPORT_BEGIN

void wj_writer_init(struct wj_writer *w, struct wb_buf *out, struct upp_err *err);

/* 0, or the first failure; err (as given to init) has the details. */
int wj_writer_check(struct wj_writer *w) UPP_MUST_CHECK;

void wj_write_str(struct wj_writer *w, struct upp_str s); /* NULL text is written as null */
void wj_write_name(struct wj_writer *w, struct upp_str name);

/* Writes a string whose first `done` bytes were written before: `begun`, in the writer's buffer, is their output. */
void wj_write_str_begun(struct wj_writer *w, struct upp_str s, size_t done, struct upp_str begun);

void wj_write_i64(struct wj_writer *w, int64_t v);
void wj_write_u64(struct wj_writer *w, uint64_t v);
void wj_write_f64(struct wj_writer *w, double v);              /* fails unless finite */
void wj_write_num(struct wj_writer *w, struct upp_str number); /* as text; fails unless it is a valid number */
void wj_write_bool(struct wj_writer *w, bool v);
void wj_write_null(struct wj_writer *w);

/* A value and everything in it, token for token. Needs little stack, however deep. */
void wj_write_value(struct wj_writer *w, yyjson_val *v);

/* Writes one value as text. */
int wj_write(yyjson_val *v, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

/* The same into an arena; v may be NULL: *ret is then unchanged. And a copy in an arena of all that was written. */
int wj_value_text(struct wb_arena *a, yyjson_val *v, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;
int wj_writer_text(struct wj_writer *w, struct wb_arena *a, struct upp_str *ret) UPP_MUST_CHECK;

/* For encoders: bytes known to be valid JSON, and a way to fail. */
void wj_write_raw(struct wj_writer *w, const char *p, size_t n);
void wj_writer_fail(struct wj_writer *w, int r);

/* For wj_write_head. */
void wj_write_head_by_parts(struct wj_writer *w, struct upp_str head);

/* For the writer: json/match.h. */
bool wj_match_name(struct wj_writer *w, struct upp_str name);
bool wj_match_open(struct wj_writer *w, char bracket);
bool wj_match_close(struct wj_writer *w, char bracket);

WB_EXPORT_END

/* Is there room for n more bytes without growing? */
static inline bool wj_has_room(const struct wj_writer *w, size_t n)
{
    return WB_LIKELY(w->out->cap - w->out->n >= n && !w->out->failed);
}

/* Makes room for n more bytes. */
static inline bool wj_room(struct wj_writer *w, size_t n)
{
    return wj_has_room(w, n) || wb_buf_reserve(w->out, n);
}

/* Writes the comma before a name or value, if one is due. Needs room for it in any case. */
static inline char *wj_comma(const struct wj_writer *w, char *to)
{
    *to = ',';
    return to + w->comma;
}

/* Copies n bytes, usually few: calling memcpy costs more than copying them. */
static inline void wj_copy(char *to, const char *from, size_t n)
{
    if (n && (__builtin_constant_p(n) || n > 64))
        memcpy(to, from, n);
    else if (n >= 8) {
        size_t i = 0;
        for (; i + 8 < n; i += 8)
            memcpy(to + i, from + i, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, from, 4);
        memcpy(to + n - 4, from + n - 4, 4);
    } else
        for (size_t i = 0; i < n; i++)
            to[i] = from[i];
}

/* A name that needs no escapes; fastest if its length is a compile-time constant. */
static inline void wj_write_unescaped_name(struct wj_writer *w, const char *name, size_t n)
{
    if ((WB_UNLIKELY(w->match) && wj_match_name(w, (struct upp_str){name, n})) || !wj_room(w, n + 4))
        return;
    char *to = wj_comma(w, w->out->p + w->out->n);
    *to++ = '"';
    wj_copy(to, name, n);
    to[n] = '"';
    to[n + 1] = ':';
    w->out->n = (size_t)(to + n + 2 - w->out->p);
    w->comma = false;
}

/* The same for a string. */
static inline void wj_write_unescaped_str(struct wj_writer *w, const char *s, size_t n)
{
    if (WB_UNLIKELY(w->match)) {
        wj_write_str(w, (struct upp_str){s, n});
        return;
    }
    if (!wj_room(w, n + 3))
        return;
    char *to = wj_comma(w, w->out->p + w->out->n);
    *to++ = '"';
    wj_copy(to, s, n);
    to[n] = '"';
    w->out->n = (size_t)(to + n + 1 - w->out->p);
    w->comma = true;
}

static inline void wj_write_open(struct wj_writer *w, char bracket) /* '{' or '[' */
{
    if ((WB_UNLIKELY(w->match) && wj_match_open(w, bracket)) || !wj_room(w, 2))
        return;
    char *to = wj_comma(w, w->out->p + w->out->n);
    *to = bracket;
    w->out->n = (size_t)(to + 1 - w->out->p);
    w->comma = false;
}

/* Writes a constant piece at once: opening brackets, names and strings without escapes, ending in a bracket or a name:
 * {"type":"text","text": or "type":"user","content":[ */
static inline void wj_write_head(struct wj_writer *w, struct upp_str head)
{
    if (WB_UNLIKELY(w->match)) {
        wj_write_head_by_parts(w, head);
        return;
    }
    if (!wj_room(w, head.n + 1))
        return;
    char *to = wj_comma(w, w->out->p + w->out->n);
    wj_copy(to, head.p, head.n);
    w->out->n = (size_t)(to + head.n - w->out->p);
    w->comma = false;
}

static inline void wj_write_close(struct wj_writer *w, char bracket) /* '}' or ']' */
{
    if (WB_UNLIKELY(w->match) && wj_match_close(w, bracket))
        return;
    wb_buf_addc(w->out, bracket);
    w->comma = true;
}

/* Members of the open object: one call each. */

static inline void wj_put_str(struct wj_writer *w, const char *name,
                              struct upp_str s) /* NULL text is written as null */
{
    wj_write_name(w, wb_cstr(name));
    wj_write_str(w, s);
}

static inline void wj_put_text(struct wj_writer *w, const char *name, struct upp_str s) /* NULL text is omitted */
{
    if (s.p)
        wj_put_str(w, name, s);
}

static inline void wj_put_str_or_empty(struct wj_writer *w, const char *name, struct upp_str s)
{
    wj_put_str(w, name, s.p ? s : UPP_STR(""));
}

static inline void wj_put_u64(struct wj_writer *w, const char *name, uint64_t v)
{
    wj_write_name(w, wb_cstr(name));
    wj_write_u64(w, v);
}

static inline void wj_put_i64(struct wj_writer *w, const char *name, int64_t v)
{
    wj_write_name(w, wb_cstr(name));
    wj_write_i64(w, v);
}

static inline void wj_put_num(struct wj_writer *w, const char *name, struct upp_str number)
{
    wj_write_name(w, wb_cstr(name));
    wj_write_num(w, number);
}

static inline void wj_put_bool(struct wj_writer *w, const char *name, bool v)
{
    wj_write_name(w, wb_cstr(name));
    wj_write_bool(w, v);
}

static inline void wj_put_null(struct wj_writer *w, const char *name)
{
    wj_write_name(w, wb_cstr(name));
    wj_write_null(w);
}

static inline void wj_put_raw(struct wj_writer *w, const char *name, const char *p, size_t n) /* known to be valid */
{
    wj_write_name(w, wb_cstr(name));
    wj_write_raw(w, p, n);
}

static inline void wj_put_value(struct wj_writer *w, const char *name, yyjson_val *v) /* NULL is omitted */
{
    if (v) {
        wj_write_name(w, wb_cstr(name));
        wj_write_value(w, v);
    }
}

static inline void wj_put_open(struct wj_writer *w, const char *name, char bracket) /* end with wj_write_close */
{
    wj_write_name(w, wb_cstr(name));
    wj_write_open(w, bracket);
}

static inline void wj_put_member(struct wj_writer *w, yyjson_val *key) /* of an object that was read, unchanged */
{
    wj_write_name(w, (struct upp_str){unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)});
    wj_write_value(w, key + 1);
}
