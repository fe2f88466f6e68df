/* upp/providers/scripted.c — the model without a network: answers from a script, or an echo (docs/scripted.md).
 *
 * It has no memory between calls. Which replies were used is read from the request itself: each answer carries its
 * reply's index, and which script that is of, in its metadata. So forks, restarts, crashes and parallel branches need
 * nothing, and several scripts can answer on one thread.
 *
 * Invariants
 *  1. The same request gets the same answer, cut in the same way.
 *  2. Deltas are slices of the script's text, or of what a fill made of it; none ends inside a character.
 */
#include "upp/providers/scripted.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hooks.h"
#include "json/number.h"
#include "json/read.h"
#include "json/value.h"

enum { ARENA_MAX = 128 << 20, METADATA_MAX = 1 << 20 };

/* ---- Which replies were used ------------------------------------------------------------------------------ */

/* Indices of replies. */
struct used {
    size_t words, count;
    size_t last; /* one past the highest; 0: none */
    uint64_t bits[];
};

static bool is_used(const struct used *u, size_t i)
{
    return u->bits[i / 64] >> i % 64 & 1;
}

static void use(struct used *u, size_t i)
{
    u->count += !is_used(u, i);
    u->bits[i / 64] |= (uint64_t)1 << i % 64;
    u->last = WB_MAX(u->last, i + 1);
}

static void forget(struct used *u)
{
    memset(u->bits, 0, u->words * sizeof u->bits[0]);
    u->count = u->last = 0;
}

/* Our own metadata exactly as we write it, the one that is there nearly always:
 * {"scripted":{"reply":7,"script":"0123456789abcdef"}}. 1: *ret; 0: of another script; <0: it is not of that form.
 * Answers of older versions do not say which script it was: they count for any. */
static int named_plainly(const struct upp__script *s, struct upp_str metadata, uint64_t *ret)
{
    static const struct upp_str head = UPP_STR_INIT("{\"scripted\":{\"reply\":"), old = UPP_STR_INIT("}}");
    if (!wb_str_starts(metadata, head))
        return -1;
    size_t end = head.n;
    while (end < metadata.n && metadata.p[end] >= '0' && metadata.p[end] <= '9')
        end++;
    struct upp_str tail = wb_str_sub(metadata, end, SIZE_MAX);
    if (wb_str_eq(tail, s->tail) || wb_str_eq(tail, old))
        return wb_str_u64(wb_str_sub(metadata, head.n, end - head.n), ret) ? 1 : -1;
    return tail.n == s->tail.n && wb_str_starts(tail, UPP__SCRIPT_MEMBER) ? 0 : -1;
}

static yyjson_val *member(yyjson_val *obj, const char *name)
{
    return obj && yyjson_is_obj(obj) ? yyjson_obj_get(obj, name) : NULL;
}

/* The reply of this script that an assistant message names. 1: *ret; 0: none, also where its metadata makes no sense.
 */
static int named(const struct upp__script *s, const struct upp_message *m, uint64_t *ret, struct upp_err *err)
{
    if (m->role != UPP_ROLE_ASSISTANT || !m->metadata.p)
        return 0;
    int plainly = named_plainly(s, m->metadata, ret);
    if (plainly >= 0)
        return plainly;
    if (wb_str_find(m->metadata, UPP_STR("scripted"), 0) == SIZE_MAX)
        return 0;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u * METADATA_MAX);
    yyjson_val *v;
    int r = wj_read(&a, m->metadata, UPP_OPTS(wj_read_opts, .max_bytes = METADATA_MAX), &v, err);
    if (r < 0)
        return r == -UPP_ENOMEM ? r : 0;
    yyjson_val *state = member(v, "scripted"), *script = member(state, "script");
    struct upp_str own = wb_str_sub(s->tail, UPP__SCRIPT_MEMBER.n, UPP__SCRIPT_HASH);
    if (script && !(yyjson_is_str(script) && wb_str_eq(wj_text(script), own)))
        return 0;
    v = member(state, "reply");
    return v && yyjson_is_raw(v) && wj_num_u64(wj_text(v), ret);
}

/* Fills the set. A script that starts again does so where an index comes a second time, which only reading from the
 * front shows. Otherwise the order does not matter: from the back, until nothing is missing. */
static int find_used(const struct upp__script *s, const struct upp_request *req, struct used *u, struct upp_err *err)
{
    for (size_t i = 0; i < req->n_messages; i++) {
        bool forward = s->at_end == UPP__RESTART;
        uint64_t index;
        int r = named(s, req->messages[forward ? i : req->n_messages - 1 - i], &index, err);
        if (r < 0)
            return r;
        if (r == 0 || index >= s->n)
            continue;
        if (forward && is_used(u, index))
            forget(u);
        use(u, index);
        if (!forward && u->count == s->n)
            return 0;
    }
    return 0;
}

/* ---- Which reply is next ------------------------------------------------------------------------------------ */

static bool contains(const struct upp_message *m, struct upp_str what)
{
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        if ((p->kind == UPP_PART_TEXT || p->kind == UPP_PART_RESULT) && wb_str_find(p->text, what, 0) != SIZE_MAX)
            return true;
    }
    return false;
}

/* The tool that was called under this id, where the result does not say: in the newest message that made calls. */
static struct upp_str called(const struct upp_request *req, struct upp_str id)
{
    for (size_t i = req->n_messages; i-- > 0;) {
        const struct upp_message *m = req->messages[i];
        bool calls = false;
        for (size_t k = 0; k < m->n_parts; k++) {
            const struct upp_part *p = &m->parts[k];
            if (p->kind != UPP_PART_CALL)
                continue;
            if (wb_str_eq(p->id, id))
                return p->name;
            calls = true;
        }
        if (calls)
            break;
    }
    return (struct upp_str){0};
}

static bool answers(const struct upp_request *req, const struct upp_message *m, struct upp_str tool)
{
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        if (p->kind == UPP_PART_RESULT && wb_str_eq(p->name.n ? p->name : called(req, p->id), tool))
            return true;
    }
    return false;
}

static bool has_tool(const struct upp_request *req, struct upp_str name)
{
    size_t i = 0;
    while (i < req->n_tools && !wb_str_eq(req->tools[i].name, name))
        i++;
    return i < req->n_tools;
}

static bool holds(const struct upp__reply *reply, const struct upp_request *req)
{
    const struct upp_message *newest = req->n_messages ? req->messages[req->n_messages - 1] : NULL;
    if (reply->contains.p && !(newest && contains(newest, reply->contains)))
        return false;
    if (reply->words.n && !(newest && upp__script_has_word(newest, &reply->words)))
        return false;
    if (reply->tool_result.p && !(newest && answers(req, newest, reply->tool_result)))
        return false;
    if (reply->tool.p && !has_tool(req, reply->tool))
        return false;
    return upp__script_fits(reply, req);
}

/* The first unused reply that holds. An error is used up within its call by the attempts, and for later calls once a
 * later reply was used. */
static const struct upp__reply *first_unused(const struct upp__script *s, const struct upp_request *req,
                                             const struct used *u)
{
    unsigned failures = req->attempt > 1 ? req->attempt - 1 : 0; /* of this call so far */
    for (size_t i = 0; i < s->n; i++) {
        const struct upp__reply *reply = &s->replies[i];
        if ((is_used(u, i) && !s->again) || !holds(reply, req))
            continue;
        if (!reply->error.code)
            return reply;
        if (i < u->last && !s->again)
            continue;
        if (failures == 0)
            return reply;
        failures--;
    }
    return NULL;
}

static const struct upp__reply *last_holding(const struct upp__script *s, const struct upp_request *req)
{
    for (size_t i = s->n; i-- > 0;)
        if (holds(&s->replies[i], req))
            return &s->replies[i];
    return NULL;
}

static int choose(const struct upp__script *s, const struct upp_request *req, const struct upp__reply **ret,
                  struct upp_err *err)
{
    size_t words = (s->n + 63) / 64;
    struct used *u = wb_calloc(1, sizeof *u + words * sizeof u->bits[0]);
    if (!u)
        return upp_fail(err, UPP_ENOMEM, "no memory to choose a reply");
    u->words = words;
    int r = find_used(s, req, u, err);
    if (r < 0)
        goto out;
    *ret = first_unused(s, req, u);
    if (!*ret && s->at_end == UPP__REPEAT_LAST)
        *ret = last_holding(s, req);
    if (!*ret && s->at_end == UPP__RESTART) {
        forget(u);
        *ret = first_unused(s, req, u);
    }
    if (!*ret)
        r = upp_fail(err, UPP_EINVALID, "the script has no reply left for this call (%zu of %zu are used)", u->count,
                     s->n);
out:
    wb_free(u);
    return r;
}

/* ---- A call -------------------------------------------------------------------------------------------------- */

struct answer {
    const struct upp__reply *reply;
    size_t part;
    size_t at;          /* in the part's text */
    uint64_t deltas;    /* given so far */
    bool opened;        /* the part is */
    bool begun;         /* the vendor's id was told */
    struct wb_buf said; /* echo: the user's text, and a reply made of it */
    struct upp__reply echo;
    struct upp__script_part echo_part;
    struct wb_arena filled; /* a reply with words of the question in it */
};

static int fail(struct answer *a, struct upp_err *err)
{
    const struct upp__script_error *e = &a->reply->error;
    int r = e->message.p ? upp_fail(err, (enum upp_code)e->code, "%.*s", UPP_FMT(e->message))
                         : upp_fail(err, (enum upp_code)e->code, "%s, as the script says", upp_code_text(e->code));
    if (err) {
        err->http = e->status;
        err->retry_after_ms = e->retry_after_ms;
    }
    return r;
}

/* The newest user text, as one reply. */
static int make_echo(struct upp_step *s, const struct upp__script *script, struct answer *a, struct upp_err *err)
{
    const struct upp_request *req = s->request;
    const struct upp_message *newest = NULL;
    for (size_t i = req->n_messages; i-- > 0 && !newest;)
        if (req->messages[i]->role == UPP_ROLE_USER)
            newest = req->messages[i];
    a->said = (struct wb_buf)WB_BUF(64u << 20);
    for (size_t i = 0; newest && i < newest->n_parts; i++) {
        if (newest->parts[i].kind != UPP_PART_TEXT)
            continue;
        if (a->said.n)
            wb_buf_add(&a->said, UPP_STR("\n\n"));
        wb_buf_add(&a->said, newest->parts[i].text);
    }
    a->echo_part = (struct upp__script_part){.kind = UPP_PART_TEXT, .text = wb_buf_str(&a->said)};
    a->echo = (struct upp__reply){.parts = &a->echo_part,
                                  .n_parts = 1,
                                  .delta_bytes = script->delta_bytes,
                                  .delay_ms = script->delay_ms,
                                  .stop = UPP_STOP_END};
    a->reply = &a->echo;
    return wb_buf_check(&a->said, err);
}

static int scripted_open(struct upp_step *s, struct upp_err *err)
{
    const struct upp__script *script = s->model->state;
    struct answer *a = upp_step_state(s);
    if (script->echo)
        return make_echo(s, script, a, err);
    int r = choose(script, s->request, &a->reply, err);
    if (r < 0 || !(a->reply->n_fills || a->reply->shows))
        return r;
    a->filled = (struct wb_arena)WB_ARENA(ARENA_MAX);
    return upp__script_fill(a->reply, s->request, &a->filled, &a->reply, err);
}

/* How much of the text is the next delta: at most `max` bytes (0: all), but at least one character. A character
 * begins where no continuation byte stands, also half a pair. */
static size_t delta_length(struct upp_str text, uint64_t max)
{
    size_t n;
    if (max == 0 || text.n <= max)
        return text.n;
    for (n = (size_t)max; n > 0 && (text.p[n] & 0xc0) == 0x80; n--)
        ;
    if (n > 0)
        return n;
    for (n = 1; n < text.n && (text.p[n] & 0xc0) == 0x80; n++)
        ;
    return n;
}

static int give_delta(struct upp_step *s, struct answer *a, struct upp_str rest, struct upp_step_event *ret,
                      struct upp_err *err)
{
    const struct upp__reply *reply = a->reply;
    if (WB_UNLIKELY(reply->delay_ms)) {
        int r = upp_wait_ms(s->wait, reply->delay_ms, err);
        if (r < 0)
            return r;
    }
    ret->kind = UPP_STEP_DELTA;
    ret->text = wb_str(rest.p, delta_length(rest, reply->delta_bytes));
    a->at += ret->text.n;
    a->deltas++;
    return 1;
}

/* Does the stream break here, where a delta or the end would come? */
static bool breaks(const struct answer *a)
{
    const struct upp__script_error *e = &a->reply->error;
    return WB_UNLIKELY(e->breaks) && a->deltas >= e->after;
}

static void give_part_open(const struct upp__script_part *p, struct upp_step_event *ret)
{
    ret->kind = UPP_STEP_PART_OPEN;
    ret->part_kind = p->kind;
    ret->id = p->id;
    ret->name = p->name;
    ret->media = p->media.source ? &p->media : NULL;
}

static void give_end(const struct upp__reply *reply, struct upp_step_event *ret)
{
    ret->kind = UPP_STEP_END;
    ret->stop = reply->stop;
    ret->usage = reply->usage;
    ret->data = reply->data;
    ret->metadata = reply->metadata;
}

static int fail_late(struct upp_step *s, struct answer *a, struct upp_err *err)
{
    int r = a->reply->delay_ms ? upp_wait_ms(s->wait, a->reply->delay_ms, err) : 0;
    return r < 0 ? r : fail(a, err);
}

static int scripted_next(struct upp_step *s, struct upp_step_event *ret, struct upp_err *err)
{
    struct answer *a = upp_step_state(s);
    const struct upp__reply *reply = a->reply;
    if (WB_UNLIKELY(reply->error.code && !reply->error.breaks))
        return fail_late(s, a, err);
    if (a->part == reply->n_parts) {
        if (reply->error.code)
            return fail_late(s, a, err);
        give_end(reply, ret);
        return 1;
    }
    const struct upp__script_part *p = &reply->parts[a->part];
    ret->part = (uint32_t)a->part;
    if (WB_UNLIKELY(reply->id.n && !a->begun)) {
        ret->kind = UPP_STEP_OPEN;
        ret->text = reply->id;
        ret->part = 0;
        a->begun = true;
        return 1;
    }
    if (!a->opened) {
        give_part_open(p, ret);
        a->opened = true;
        return 1;
    }
    if (a->at < p->text.n)
        return breaks(a) ? fail_late(s, a, err) : give_delta(s, a, wb_str_sub(p->text, a->at, SIZE_MAX), ret, err);
    ret->kind = UPP_STEP_PART_CLOSE;
    a->opened = false;
    a->at = 0;
    a->part++;
    return 1;
}

static void scripted_close(struct upp_step *s)
{
    struct answer *a = upp_step_state(s);
    wb_buf_done(&a->said);
    wb_arena_done(&a->filled);
}

/* ---- The model ------------------------------------------------------------------------------------------------- */

static void scripted_free(void *state)
{
    struct upp__script *s = state;
    wb_arena_done(&s->arena);
    wb_free(s);
}

static const struct upp_model_ops scripted_ops = {
    .size = sizeof scripted_ops,
    .provider = "scripted",
    .step_size = sizeof(struct answer),
    .open = scripted_open,
    .next = scripted_next,
    .close = scripted_close,
    .free = scripted_free,
};

int upp_scripted_new(struct upp_str script, struct upp_model **ret, struct upp_err *err)
{
    struct upp__script *s = wb_calloc(1, sizeof *s);
    struct upp_model *m = wb_calloc(1, sizeof *m);
    int r = 0;
    if (!s || !m) {
        wb_free(s);
        wb_free(m);
        return upp_fail(err, UPP_ENOMEM, "no memory for a scripted model");
    }
    *s = (struct upp__script){.arena = WB_ARENA(ARENA_MAX), .echo = !script.p};
    if (script.p)
        r = upp__script_read(s, script, err);
    *m = (struct upp_model){.ops = &scripted_ops, .state = s, .can = UPP_CAN_ALL};
    if (r < 0) {
        upp_model_free(m);
        return upp_wrap(err, r, "script");
    }
    m->name = s->name.p ? s->name : s->echo ? UPP_STR("echo") : UPP_STR("scripted");
    *ret = m;
    return 0;
}
