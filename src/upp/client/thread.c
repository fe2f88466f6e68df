/* upp/client/thread.c — a list of messages with an id: UPP's Thread. */
#include <upp/thread.h>

#include <stdatomic.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/iso8601.h"
#include "base/vec.h"
#include "json/pointer.h"
#include "json/read.h"
#include "model/upp_json.h"
#include "upp/client/call.h"
#include "upp/client/talk.h"
#include "upp/client/threads.h"

enum { THREAD_BYTES = 1 << 30, THREAD_MESSAGES = 1 << 24, JSON_BYTES = 64 << 20 };

struct upp_thread {
    struct wb_arena own;      /* its id and the text of its times */
    struct wb_arena contents; /* of the messages */
    struct upp_str id;
    int64_t created_ms, updated_ms;
    struct upp_str created, updated; /* as read; empty: only the ms are known */
    int64_t last_ms;                 /* of a message; never decreases */
    WB_VEC(struct upp_message) messages;
    atomic_bool taken; /* somebody is answering it */
    bool lent;         /* the list is borrowed, and copied before it changes */
};

int upp__thread_take(struct upp_thread *t, struct upp_err *err)
{
    return atomic_exchange(&t->taken, true) ? upp_fail(err, UPP_EBUSY, "the thread is being answered") : 0;
}

void upp__thread_leave(struct upp_thread *t)
{
    atomic_store(&t->taken, false);
}

static int make(struct upp_thread **ret, struct upp_err *err)
{
    struct upp_thread *t = wb_calloc(1, sizeof *t);
    if (!t)
        return upp_fail(err, UPP_ENOMEM, "no memory for a thread");
    t->own = (struct wb_arena)WB_ARENA(1u << 20);
    t->contents = (struct wb_arena)WB_ARENA(THREAD_BYTES);
    *ret = t;
    return 0;
}

int upp_thread_new(struct upp_thread **ret, struct upp_err *err)
{
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *t = NULL;
    int r = make(&t, err);
    if (r >= 0)
        r = upp__new_id(&t->own, &t->id, err);
    if (r < 0)
        return r;
    t->created_ms = t->updated_ms = wb_wall_ms();
    *ret = WB_TAKE(t);
    return 0;
}

void upp_thread_free(struct upp_thread *t)
{
    if (!t)
        return;
    if (!t->lent)
        wb_vec_done(&t->messages);
    wb_arena_done(&t->contents);
    wb_arena_done(&t->own);
    wb_free(t);
}

void upp_thread_freep(struct upp_thread **t)
{
    upp_thread_free(*t);
}

/* ---- Modifying --------------------------------------------------------------------------------------------------- */

static void touch(struct upp_thread *t)
{
    int64_t now = wb_wall_ms();
    t->updated_ms = WB_MAX(t->updated_ms, now);
    t->updated = (struct upp_str){0};
}

/* Copies a borrowed list. What the messages point to stays borrowed. */
static int take_list(struct upp_thread *t, struct upp_err *err)
{
    size_t cap = t->messages.n + WB_MAX(t->messages.n / 2, (size_t)8);
    struct upp_message *list = wb_calloc(cap, sizeof *list);
    if (!list)
        return upp_fail(err, UPP_ENOMEM, "no memory for %zu messages", cap);
    if (t->messages.n)
        memcpy(list, t->messages.p, t->messages.n * sizeof *list);
    t->messages.p = list;
    t->messages.cap = cap;
    t->lent = false;
    return 0;
}

/* All of them, or none. They may be the thread's own, which move if the list has to grow. */
int upp_thread_push(struct upp_thread *t, const struct upp_message *list, size_t n, struct upp_err *err)
{
    size_t before = t->messages.n;
    uintptr_t begins = (uintptr_t)t->messages.p, at = (uintptr_t)list;
    bool own = before && at >= begins && at < begins + before * sizeof *list;
    size_t from = own ? (size_t)(list - t->messages.p) : 0;
    if (t->lent && n) {
        int r = take_list(t, err);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < n; i++) {
        struct upp_message m;
        int r = upp__message_own(&t->contents, own ? &t->messages.p[from + i] : &list[i], &t->last_ms, &m, err);
        if (r >= 0 && !wb_vec_push(&t->messages, m, THREAD_MESSAGES))
            r = t->messages.n == THREAD_MESSAGES ? upp_fail(err, UPP_ELIMIT, "a thread of %d messages", THREAD_MESSAGES)
                                                 : upp_fail(err, UPP_ENOMEM, "no memory for a message");
        if (r < 0) {
            t->messages.n = before;
            return r;
        }
    }
    touch(t);
    return 0;
}

int upp_thread_append(struct upp_thread *t, const struct upp_turn *turn, struct upp_err *err)
{
    return upp_thread_push(t, turn->messages, turn->n_messages, err);
}

static int push_text(struct upp_thread *t, uint8_t role, struct upp_str text, struct upp_err *err)
{
    struct upp_part p = {.kind = UPP_PART_TEXT, .text = text.p ? text : UPP_STR("")};
    struct upp_message m = {.role = role, .parts = &p, .n_parts = 1};
    return upp_thread_push(t, &m, 1, err);
}

int upp_thread_user(struct upp_thread *t, struct upp_str text, struct upp_err *err)
{
    return push_text(t, UPP_ROLE_USER, text, err);
}

int upp_thread_assistant(struct upp_thread *t, struct upp_str text, struct upp_err *err)
{
    return push_text(t, UPP_ROLE_ASSISTANT, text, err);
}

void upp_thread_clear(struct upp_thread *t)
{
    if (t->lent)
        t->messages.p = NULL;
    t->lent = false;
    t->messages.n = 0;
    wb_arena_reset(&t->contents);
    touch(t);
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

const struct upp_message *upp_thread_messages(const struct upp_thread *t, size_t *n)
{
    *n = t->messages.n;
    return t->messages.p;
}

struct upp_str upp_thread_id(const struct upp_thread *t)
{
    return t->id;
}

int64_t upp_thread_created_ms(const struct upp_thread *t)
{
    return t->created_ms;
}

int64_t upp_thread_updated_ms(const struct upp_thread *t)
{
    return t->updated_ms;
}

const struct upp_message *upp_thread_filter(const struct upp_thread *t, const struct upp_message *prev, uint8_t role)
{
    for (size_t i = prev ? (size_t)(prev - t->messages.p) + 1 : 0; i < t->messages.n; i++)
        if (t->messages.p[i].role == role)
            return &t->messages.p[i];
    return NULL;
}

static int copy_of(const struct upp_thread *t, size_t from, size_t to, struct upp_thread **ret, struct upp_err *err)
{
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *copy = NULL;
    int r = upp_thread_new(&copy, err);
    if (r >= 0 && from < to)
        r = upp_thread_push(copy, t->messages.p + from, to - from, err);
    if (r < 0)
        return r;
    *ret = WB_TAKE(copy);
    return 0;
}

int upp_thread_tail(const struct upp_thread *t, size_t n, struct upp_thread **ret, struct upp_err *err)
{
    return copy_of(t, t->messages.n - WB_MIN(n, t->messages.n), t->messages.n, ret, err);
}

/* An index as in JavaScript's slice: negative ones count from the end. */
static size_t slice_index(const struct upp_thread *t, int64_t i)
{
    int64_t n = (int64_t)t->messages.n;
    if (i < 0)
        i = i < -n ? 0 : n + i;
    return (size_t)WB_MIN(i, n);
}

int upp_thread_slice(const struct upp_thread *t, int64_t start, int64_t end, struct upp_thread **ret,
                     struct upp_err *err)
{
    return copy_of(t, slice_index(t, start), slice_index(t, end), ret, err);
}

/* ---- For trees -------------------------------------------------------------------------------------------------- */

static struct upp_str time_of(struct upp_str text, int64_t ms, char room[WB_TIME_TEXT])
{
    struct wb_time t = wb_time_from_ms(ms);
    return text.p ? text : wb_time_upp(&t, room);
}

static int parse_time(struct upp_str text, struct upp_str *spelled, int64_t *ms, struct upp_err *err)
{
    struct wb_time time;
    if (!text.p)
        return 0;
    int r = wb_time_parse(text, &time, err);
    if (r < 0)
        return r;
    *spelled = text;
    *ms = wb_time_ms(&time);
    return 0;
}

int upp__thread_lend(const struct wm_thread_json *from, struct upp_thread **ret, struct upp_err *err)
{
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *t = NULL;
    int r = make(&t, err);
    if (r < 0)
        return r;
    t->created_ms = t->updated_ms = wb_wall_ms();
    r = parse_time(from->created, &t->created, &t->created_ms, err);
    if (r >= 0)
        r = parse_time(from->updated, &t->updated, &t->updated_ms, err);
    if (r < 0)
        return r;
    t->id = from->id;
    t->messages.p = from->messages;
    t->messages.n = from->n;
    t->lent = true;
    for (size_t i = 0; i < from->n; i++)
        t->last_ms = WB_MAX(t->last_ms, from->messages[i].time_ms);
    *ret = WB_TAKE(t);
    return 0;
}

void upp__thread_view(const struct upp_thread *t, struct upp__times *room, struct wm_thread_json *ret)
{
    *ret = (struct wm_thread_json){.id = t->id,
                                   .created = time_of(t->created, t->created_ms, room->created),
                                   .updated = time_of(t->updated, t->updated_ms, room->updated),
                                   .messages = t->messages.p,
                                   .n = t->messages.n};
}

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

int upp_thread_to_json(const struct upp_thread *t, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(8u * JSON_BYTES);
    struct upp__times times;
    struct wj_writer w;
    struct wm_thread_json json;
    upp__thread_view(t, &times, &json);
    wj_writer_init(&w, &b, err);
    wm_thread_write(&w, &json);
    int r = wj_writer_check(&w);
    return r < 0 ? r : upp__text_take(&b, ret, err);
}

static int read_time(yyjson_val *root, struct upp_thread *t, const char *name, struct upp_str *text, int64_t *ms,
                     struct upp_err *err)
{
    yyjson_val *v = yyjson_obj_get(root, name);
    struct wb_time time;
    if (!v || !yyjson_is_str(v))
        return upp_fail(err, UPP_EINVALID, "a thread needs '%s', a time", name);
    int r = wb_time_parse(wj_text(v), &time, err);
    if (r < 0)
        return upp_wrap(err, r, "%s", name);
    *text = wb_arena_dup(&t->own, wj_text(v));
    *ms = wb_time_ms(&time);
    return wb_arena_check(&t->own, err);
}

static int read_messages(yyjson_val *root, struct wb_arena *scratch, struct upp_thread *t, struct upp_err *err)
{
    yyjson_val *list = yyjson_obj_get(root, "messages");
    if (!list || !yyjson_is_arr(list))
        return upp_fail(err, UPP_EINVALID, "a thread needs 'messages', an array");
    yyjson_val *item = unsafe_yyjson_get_first(list);
    for (size_t i = unsafe_yyjson_get_len(list); i; i--, item = unsafe_yyjson_get_next(item)) {
        struct upp_message m;
        int64_t updated = t->updated_ms;
        int r = wm_message_read_untimed(scratch, item, wb_wall_ms(), &m, err);
        struct upp_str text = t->updated;
        if (r < 0) {
            wj_pointer_err(err, root, item);
            return r;
        }
        r = upp_thread_push(t, &m, 1, err);
        t->updated_ms = updated; /* reading is not a change */
        t->updated = text;
        if (r < 0)
            return r;
    }
    return 0;
}

int upp_thread_from_json(struct upp_str json, struct upp_thread **ret, struct upp_err *err)
{
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *t = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA((size_t)16 * JSON_BYTES);
    yyjson_val *v, *id;
    int r = wj_read(&a, json, UPP_OPTS(wj_read_opts, .max_bytes = JSON_BYTES), &v, err);
    if (r >= 0)
        r = make(&t, err);
    if (r < 0)
        return r;
    id = yyjson_is_obj(v) ? yyjson_obj_get(v, "id") : NULL;
    if (!id || !yyjson_is_str(id))
        return upp_fail(err, UPP_EINVALID, "a thread needs 'id', a string");
    t->id = wb_arena_dup(&t->own, wj_text(id));
    r = wb_arena_check(&t->own, err);
    if (r >= 0)
        r = read_time(v, t, "createdAt", &t->created, &t->created_ms, err);
    if (r >= 0)
        r = read_time(v, t, "updatedAt", &t->updated, &t->updated_ms, err);
    if (r >= 0)
        r = read_messages(v, &a, t, err);
    if (r < 0)
        return r;
    *ret = WB_TAKE(t);
    return 0;
}
