/* dialects/aitp/exchanges.c — requests and replies of a whole thread, and the state of each.
 *
 * The states and their moves are a table in aitp.c.
 *
 * A request is parsed a second time for its first reply, and never again: the time is linear in the thread, apart from
 * searching the list of requests.
 */
#include "base/err.h"
#include "base/iso8601.h"
#include "dialects/aitp/aitp.h"
#include "dialects/aitp/capabilities.h"
#include "dialects/core/lift.h"
#include "json/number.h"
#include "json/value.h"

enum { COMPARISONS = 1 << 20 }; /* of ids, per reply */

#define NEVER   INT64_MAX
#define NO_TIME INT64_MIN

struct following {
    struct wd_aitp_exchanges *x;
    struct wd_problems *p;       /* NULL: problems are not reported */
    bool part;                   /* the thread has a parent, which may contain the request */
    struct wb_arena now, before; /* for the current message; for the request that it answers */
    int64_t last;                /* the latest time of any message */
    struct upp_err *err;
    /* The current message. */
    yyjson_val *item, *inside;
    const struct wd_aitp_kind *kind;
    uint32_t at;
    struct upp_str actor; /* its author; empty: unknown */
    int64_t time;
    unsigned left; /* comparisons left */
};

#define REPORT(t, severity, where, ...)                                                                                \
    do {                                                                                                               \
        if ((t)->p)                                                                                                    \
            wd_aitp_problem((t)->p, (severity), rule_of(t), (t)->item, (t)->inside, (where), __VA_ARGS__);             \
    } while (0)

static const char *rule_of(const struct following *t)
{
    return t->kind->capability == WD_AITP_DECISIONS ? "AITP-8" : "AITP-14";
}

/* Applies a move. False: it is not allowed, and nothing has changed. */
static bool move(struct wd_aitp_exchange *e, enum wd_aitp_move how)
{
    uint8_t to = wd_aitp_after(e->state, how);
    if (to)
        e->state = to;
    return to != 0;
}

void wd_aitp_exchanges_done(struct wd_aitp_exchanges *x)
{
    wb_vec_done(&x->list);
    wb_arena_done(&x->a);
}

/* ---- Requests ---------------------------------------------------------------------------------------------- */

/* The newest request of this kind and id; no id: the newest open one. */
static struct wd_aitp_exchange *find_exchange(const struct following *t, const char *name, struct upp_str id)
{
    for (size_t i = t->x->list.n; i--;) {
        struct wd_aitp_exchange *e = &t->x->list.p[i];
        if (e->kind->capability == t->kind->capability && strcmp(e->kind->name, name) == 0 &&
            (id.p ? wb_str_eq(e->id, id) : e->state == WD_AITP_OPEN))
            return e;
    }
    return NULL;
}

static int add_exchange(struct following *t, const struct wd_aitp_kind *kind, struct upp_str id, uint8_t state,
                        int64_t expires)
{
    struct wd_aitp_exchange e = {.kind = kind,
                                 .id = wb_arena_dup(&t->x->a, id),
                                 .state = state,
                                 .request = t->at,
                                 .reply = WD_AITP_NO_REPLY,
                                 .expires_ms = expires,
                                 .asked = t->item,
                                 .asker = t->actor};
    if (t->x->list.n >= WD_AITP_EXCHANGES) {
        if (!t->x->more++)
            REPORT(t, WD_WARNING, t->inside, "from here on requests are not followed: there are more than %d",
                   WD_AITP_EXCHANGES);
        return 0;
    }
    if (!wb_vec_push(&t->x->list, e, (size_t)WD_AITP_EXCHANGES))
        return upp_fail(t->err, UPP_ENOMEM, "no memory for a request");
    return wb_arena_check(&t->x->a, t->err);
}

static int64_t time_at(yyjson_val *v, const char *name)
{
    struct upp_str text = wj_text_at(v, name);
    struct wb_time when;
    return text.p && wb_time_parse(text, &when, NULL) >= 0 ? wb_time_ms(&when) : NEVER;
}

static const struct wd_aitp_kind *quote_kind(void)
{
    static const struct wd_aitp_kind quote = {WD_AITP_PAYMENTS, WD_AITP_QUOTES, "quote", "quote_id", NULL, NULL};
    return &quote;
}

/* Adds a quote of any source, unless it is known: quotes may be passed on. */
static int add_quote(struct following *t, yyjson_val *quote, const char *until)
{
    struct upp_str id = wj_text_at(quote, "quote_id");
    for (size_t i = t->x->list.n; id.p && i--;)
        if (t->x->list.p[i].kind->does == WD_AITP_QUOTES && wb_str_eq(t->x->list.p[i].id, id))
            return 0;
    return id.p ? add_exchange(t, quote_kind(), id, WD_AITP_QUOTED, time_at(quote, until)) : 0;
}

static int ask(struct following *t, yyjson_val *body)
{
    struct upp_str id = wj_text_at(body, t->kind->id);
    if (!id.p)
        return 0; /* reported already: no reply can match it */
    struct wd_aitp_exchange *old = find_exchange(t, t->kind->name, id);
    if (old && move(old, WD_AITP_ASKED_AGAIN))
        REPORT(t, WD_WARNING, body, "this is asked a second time before there was an answer");
    int r = add_exchange(t, t->kind, id, WD_AITP_OPEN, NEVER);
    if (t->kind->capability != WD_AITP_DECISIONS)
        return r;
    yyjson_val *option;
    size_t i, n;
    yyjson_arr_foreach(yyjson_obj_get(body, "options"), i, n, option)
    {
        yyjson_val *quote = yyjson_obj_get(option, "quote");
        if (r >= 0 && quote && t->x->list.n < WD_AITP_EXCHANGES)
            r = add_quote(t, quote, "valid_until");
    }
    return r;
}

/* ---- Decisions --------------------------------------------------------------------------------------------- */

static bool spend(struct following *t)
{
    return t->left && --t->left;
}

static bool offers(struct following *t, yyjson_val *options, struct upp_str id)
{
    yyjson_val *option, *variant;
    size_t i, n, k, m;
    yyjson_arr_foreach(options, i, n, option)
    {
        if (!spend(t) || wb_str_eq(wj_text_at(option, "id"), id))
            return true;
        yyjson_arr_foreach(yyjson_obj_get(option, "variants"), k, m, variant)
        {
            if (!spend(t) || wb_str_eq(wj_text_at(variant, "id"), id))
                return true;
        }
    }
    return false;
}

static void check_decision(struct following *t, yyjson_val *request, yyjson_val *body)
{
    yyjson_val *options = yyjson_obj_get(body, "options"), *one;
    struct upp_str type = wj_text_at(request, "type");
    bool several = wb_str_eq(type, UPP_STR("checkbox")) || wb_str_eq(type, UPP_STR("products"));
    size_t i, n;
    char quoted[WJ_QUOTED];
    if (!several && yyjson_arr_size(options) > 1)
        REPORT(t, WD_ERROR, options, "of such a request exactly one option is chosen");
    yyjson_arr_foreach(options, i, n, one)
    {
        struct upp_str id = wj_text_at(one, "id");
        if (id.p && !offers(t, yyjson_obj_get(request, "options"), id))
            REPORT(t, WD_ERROR, one, "there was no option %s", wj_quote(id, quoted, sizeof quoted));
    }
}

/* ---- Data -------------------------------------------------------------------------------------------------- */

static yyjson_val *field_of(struct following *t, yyjson_val *fields, struct upp_str id)
{
    yyjson_val *field;
    size_t i, n;
    yyjson_arr_foreach(fields, i, n, field)
    {
        if (!spend(t))
            return NULL;
        if (wb_str_eq(wj_text_at(field, "id"), id))
            return field;
    }
    return NULL;
}

static bool is_email(struct upp_str s)
{
    size_t at = wb_str_find(s, UPP_STR("@"), 0);
    return at && at != SIZE_MAX && at + 1 < s.n && wb_str_find(s, UPP_STR("@"), at + 1) == SIZE_MAX &&
           wb_str_find(s, UPP_STR(" "), 0) == SIZE_MAX;
}

static bool is_option(struct following *t, yyjson_val *options, struct upp_str value)
{
    yyjson_val *one;
    size_t i, n;
    if (!yyjson_is_arr(options))
        return true;
    yyjson_arr_foreach(options, i, n, one)
    {
        if (!spend(t) || (yyjson_is_str(one) && wb_str_eq(wj_text(one), value)))
            return true;
    }
    return false;
}

/* Messages never contain the value: it is personal data. */
static void check_field(struct following *t, yyjson_val *field, yyjson_val *datum)
{
    struct upp_str type = wj_text_at(field, "type"), value = wj_text_at(datum, "value");
    if (!value.n)
        return;
    if (wb_str_eq(type, UPP_STR("select")) && !is_option(t, yyjson_obj_get(field, "options"), value))
        REPORT(t, WD_ERROR, datum, "the value is none of the field's options");
    else if (wb_str_eq(type, UPP_STR("number")) && !wj_num_valid(value))
        REPORT(t, WD_ERROR, datum, "the value is no number");
    else if (wb_str_eq(type, UPP_STR("email")) && !is_email(value))
        REPORT(t, WD_ERROR, datum, "the value is no email address");
}

static void check_data(struct following *t, yyjson_val *request, yyjson_val *body)
{
    yyjson_val *asked = yyjson_obj_get(yyjson_obj_get(request, "form"), "fields"), *one;
    yyjson_val *given = yyjson_obj_get(body, "fields");
    char quoted[WJ_QUOTED];
    size_t i, n;
    if (!yyjson_is_arr(asked))
        return; /* the form is at a URL, which is not fetched */
    yyjson_arr_foreach(given, i, n, one)
    {
        struct upp_str id = wj_text_at(one, "id");
        yyjson_val *field = id.p ? field_of(t, asked, id) : NULL;
        if (field)
            check_field(t, field, one);
        else if (id.p && t->left)
            REPORT(t, WD_WARNING, one, "nobody has asked for %s", wj_quote(id, quoted, sizeof quoted));
    }
    yyjson_arr_foreach(asked, i, n, one)
    {
        struct upp_str id = wj_text_at(one, "id");
        if (!id.p || !yyjson_is_true(yyjson_obj_get(one, "required")))
            continue;
        yyjson_val *datum = field_of(t, given, id);
        if (t->left && !wj_text_at(datum, "value").n)
            REPORT(t, WD_ERROR, given ? given : body, "the field %s is required", wj_quote(id, quoted, sizeof quoted));
    }
}

/* ---- Replies ----------------------------------------------------------------------------------------------- */

static void report_unmatched(struct following *t, yyjson_val *body)
{
    if (t->x->more)
        return; /* it may answer a request that is not followed */
    REPORT(t, t->part ? WD_WARNING : WD_ERROR, body, "no '%s' of that id came before it", t->kind->answers);
}

/* Checks a decision or data against its request, which is parsed again for that. */
static int check_reply(struct following *t, const struct wd_aitp_exchange *e, yyjson_val *body)
{
    yyjson_val *inside, *request;
    if (!t->p || (t->kind->capability != WD_AITP_DECISIONS && t->kind->capability != WD_AITP_DATA_REQUEST))
        return 0;
    wb_arena_reset(&t->before);
    int r = wd_aitp_structured(&t->before, e->asked, &inside, t->err);
    if (r <= 0 || !wd_aitp_kind(inside, &request))
        return r;
    t->left = COMPARISONS;
    if (t->kind->capability == WD_AITP_DECISIONS)
        check_decision(t, request, body);
    else
        check_data(t, request, body);
    if (!t->left)
        REPORT(t, WD_WARNING, body, "it is too large to be compared with what was asked");
    return 0;
}

static int reply(struct following *t, yyjson_val *body)
{
    struct wd_aitp_exchange *e = find_exchange(t, t->kind->answers, wj_text_at(body, t->kind->id));
    if (!e) {
        report_unmatched(t, body);
        return 0;
    }
    enum wd_aitp_move how = t->kind->capability == WD_AITP_DECISIONS ? WD_AITP_DECIDES : WD_AITP_ANSWERS;
    if (!wd_aitp_after(e->state, how)) {
        REPORT(t, WD_WARNING, body, "it was %s before: the first answer counts", wd_aitp_state_name(e->state));
        return 0;
    }
    if (e->asker.p && t->actor.p && wb_str_eq(e->asker, t->actor)) {
        REPORT(t, WD_ERROR, body, "whoever asks does not answer: the request stays open");
        return 0;
    }
    (void)move(e, how); /* it is allowed */
    e->reply = t->at;
    return check_reply(t, e, body);
}

static void pay(struct following *t, yyjson_val *body)
{
    struct upp_str id = wj_text_at(body, "quote_id");
    struct wd_aitp_exchange *e = id.p ? find_exchange(t, "quote", id) : NULL;
    if (!e) {
        if (id.p)
            report_unmatched(t, body);
    } else if (e->paid && wb_str_eq(wj_text(e->paid), wj_text(t->item)))
        REPORT(t, WD_WARNING, body, "the same payment was there before: it counts once");
    else if (t->time != NO_TIME && t->time > e->expires_ms && move(e, WD_AITP_EXPIRES))
        REPORT(t, WD_ERROR, body, "the quote had expired when it was paid");
    else if (!move(e, WD_AITP_IS_PAID))
        REPORT(t, WD_ERROR, body, "the quote cannot be paid: its state is '%s'", wd_aitp_state_name(e->state));
    else {
        e->reply = t->at;
        e->paid = t->item;
    }
}

static void confirm(struct following *t, yyjson_val *body)
{
    static const struct {
        const char *result;
        enum wd_aitp_move how;
    } results[] = {{"pending", WD_AITP_PENDS}, {"success", WD_AITP_SUCCEEDS}, {"failure", WD_AITP_FAILS}};
    struct upp_str id = wj_text_at(body, "quote_id"), result = wj_text_at(body, "result");
    struct wd_aitp_exchange *e = id.p ? find_exchange(t, "quote", id) : NULL;
    size_t i = 0;
    if (!e && id.p)
        report_unmatched(t, body);
    while (i < WB_LEN(results) && !wb_str_eq(result, wb_cstr(results[i].result)))
        i++;
    if (!e || i == WB_LEN(results))
        return;
    if (move(e, results[i].how))
        e->reply = t->at;
    else
        REPORT(t, wb_str_eq(result, wb_cstr(wd_aitp_state_name(e->state))) ? WD_WARNING : WD_ERROR, body,
               "there is no payment to confirm: the quote's state is '%s'", wd_aitp_state_name(e->state));
}

/* ---- The thread -------------------------------------------------------------------------------------------- */

static int follow_body(struct following *t, yyjson_val *body)
{
    switch (t->kind->does) {
    case WD_AITP_ASKS:
        return ask(t, body);
    case WD_AITP_REPLIES:
        return reply(t, body);
    case WD_AITP_QUOTES:
        return add_quote(t, body, "expiration");
    case WD_AITP_WRAPS:
        return add_quote(t, yyjson_obj_get(body, "original_quote"), "expiration");
    case WD_AITP_PAYS:
        pay(t, body);
        return 0;
    case WD_AITP_CONFIRMS:
        confirm(t, body);
        return 0;
    default:
        return 0;
    }
}

static int follow_item(struct following *t, yyjson_val *item)
{
    yyjson_val *body;
    t->item = item;
    wb_arena_reset(&t->now);
    int r = wd_aitp_structured(&t->now, item, &t->inside, t->err);
    if (r <= 0)
        return r;
    t->kind = wd_aitp_kind(t->inside, &body);
    return t->kind ? follow_body(t, body) : 0;
}

static int follow_message(struct following *t, yyjson_val *m)
{
    yyjson_val *content = yyjson_obj_get(m, "content"), *created = yyjson_obj_get(m, "created_at"), *item;
    size_t i, n;
    int64_t seconds;
    t->time = NO_TIME;
    t->actor = wd_aitp_actor(m);
    if (created && yyjson_is_raw(created) && wj_num_i64(wj_text(created), &seconds) && seconds > -(1ll << 40) &&
        seconds < 1ll << 40) {
        t->time = seconds * 1000;
        t->last = WB_MAX(t->last, t->time);
    }
    int r = yyjson_is_arr(content) ? 0 : follow_item(t, content);
    yyjson_arr_foreach(content, i, n, item)
    {
        if (r >= 0)
            r = follow_item(t, item);
    }
    return r;
}

int wd_aitp_follow(struct wd_aitp_exchanges *x, yyjson_val *thread, struct wd_problems *p, struct upp_err *err)
{
    struct following t = {
        .x = x, .p = p, .now = WB_ARENA(WD_DOC_MEMORY), .before = WB_ARENA(WD_DOC_MEMORY), .last = NO_TIME, .err = err};
    yyjson_val *m;
    size_t i, n;
    int r = 0;
    t.part = wj_text_at(yyjson_obj_get(thread, "metadata"), "parent_id").p || wj_text_at(thread, "parent_id").p;
    yyjson_arr_foreach(wd_last_at(thread, "messages"), i, n, m)
    {
        t.at = (uint32_t)i;
        t.p = i < x->from ? NULL : p;
        if (r >= 0)
            r = follow_message(&t, m);
    }
    for (i = 0; i < x->list.n; i++)
        if (t.last > x->list.p[i].expires_ms)
            (void)move(&x->list.p[i], WD_AITP_EXPIRES); /* of those that were paid, nothing expires */
    wb_arena_done(&t.now);
    wb_arena_done(&t.before);
    return r;
}
