/* stores/outbox/outbox.c — adds the message to a commit that ends a run or makes it wait, and lists and removes
 * messages. */
#include "stores/outbox/outbox.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hooks.h"
#include "base/str.h"
#include "stores/check.h"

#define SPACE "outbox"

enum {
    TEXT = 40,
    OLD_ARENA = 8 * WS_TEXT_MAX, /* a run has two such texts, and stores behind us need copies */
    VALUE_ARENA = 1 << 16
};

static const char *const words[WS_DUE_KINDS] = {[WS_DUE_END] = "end", [WS_DUE_WAIT] = "wait"};

struct outbox {
    struct wl_store store;
    unsigned kinds;
    void (*due)(void *arg, const struct ws_due *d);
    void *arg;
};

struct upp_str ws_due_name(const struct ws_due *d, char buf[WS_DUE_NAME])
{
    char run[WB_UUID_HEX + 1];
    int n = snprintf(buf, WS_DUE_NAME, "%s-%u", wb_uuid_hex(d->run, run).p, d->version);
    return wb_str(buf, (size_t)n);
}

/* A message with the texts of its value. */
struct message {
    struct ws_due due;
    struct wl_value value;
    char name[WS_DUE_NAME], text[TEXT];
};

static int kind_of(uint8_t status)
{
    return wm_status_ended(status) ? WS_DUE_END : status == WM_WAITING ? WS_DUE_WAIT : WS_DUE_KINDS;
}

/* Could this change make a message? */
static bool may_be_due(const struct outbox *o, const struct wl_change *x)
{
    if ((x->kind != WL_SET_RUN && x->kind != WL_ADD_RUN) || !wb_uuid_is_nil(x->run->parent))
        return false;
    int kind = kind_of(x->run->status);
    return kind < WS_DUE_KINDS && o->kinds & 1u << kind;
}

/* Does it: is the stored run of another kind? Nobody changes the row before our commit, because that compares its
 * version: otherwise the commit fails. */
static WEFT_SUSPENDS int is_due(struct outbox *o, const struct wl_owner *owner, const struct wm_run *run,
                                struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(OLD_ARENA);
    struct wl_store *s = o->store.inner;
    struct wm_run old;
    int r = wl_get_run(s, owner, run->id, &a, &old, err);
    if (r == -UPP_ENOTFOUND)
        return 1;
    return r < 0 ? r : kind_of(old.status) != kind_of(run->status);
}

static void put_message(struct message *m, const struct wl_owner *owner, const struct wl_change *x)
{
    m->due = (struct ws_due){.tenant = owner->tenant,
                             .run = x->run->id,
                             .version = x->run->version + (x->kind == WL_SET_RUN),
                             .kind = (uint8_t)kind_of(x->run->status),
                             .created_ms = wb_wall_ms()};
    int n = snprintf(m->text, sizeof m->text, "%s %lld", words[m->due.kind], (long long)m->due.created_ms);
    m->value = (struct wl_value){
        .space = UPP_STR(SPACE), .name = ws_due_name(&m->due, m->name), .bytes = wb_str(m->text, (size_t)n)};
}

/* Commits through the inner store, whose totals are ours. */
static WEFT_SUSPENDS int pass(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    const struct wl_store *inner = s->inner;
    int r = wl_store_commit(s->inner, c, err);
    ws_take_total(&s->count.commits, &inner->count.commits);
    ws_take_total(&s->count.transactions, &inner->count.transactions);
    ws_take_total(&s->count.syncs, &inner->count.syncs);
    ws_take_total(&s->count.rows, &inner->count.rows);
    ws_take_total(&s->count.bytes, &inner->count.bytes);
    return r;
}

/* The caller's changes, then ours: the index of a conflict stays right. */
static WEFT_SUSPENDS int commit_with(struct outbox *o, struct wl_commit *c, struct message *list, struct wl_change *all,
                                     struct upp_err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        all[i] = c->changes[i];
        int r = may_be_due(o, &all[i]) ? is_due(o, &c->owner, all[i].run, err) : 0;
        if (r < 0)
            return r;
        if (r)
            put_message(&list[n++], &c->owner, &all[i]);
    }
    for (size_t i = 0; i < n; i++)
        all[c->n + i] = (struct wl_change){.kind = WL_PUT_VALUE, .value = &list[i].value};
    struct wl_commit whole = *c;
    whole.changes = all;
    whole.n += n;
    int r = pass(&o->store, &whole, err);
    c->conflict = whole.conflict;
    for (size_t i = 0; r >= 0 && o->due && i < n; i++)
        o->due(o->arg, &list[i].due);
    return r;
}

static WEFT_SUSPENDS int commit_any(struct outbox *o, struct wl_commit *c, struct upp_err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += may_be_due(o, &c->changes[i]);
    if (!n)
        return pass(&o->store, c, err);
    struct message *list = wb_calloc(n, sizeof *list);
    struct wl_change *all = wb_calloc(c->n + n, sizeof *all);
    int r = list && all ? commit_with(o, c, list, all, err) : upp_fail(err, UPP_ENOMEM, "no memory for a commit");
    wb_free(all);
    wb_free(list);
    return r;
}

/* Who watches is shown what the caller committed: a message is short, and soon gone. */
static WEFT_SUSPENDS int commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    int r = commit_any(WB_OUTER(s, struct outbox, store), c, err);
    if (r >= 0 && s->watch)
        s->watch->committed(s->watch->arg, c);
    return r;
}

static WEFT_SUSPENDS void close_it(struct wl_store *s)
{
    s->inner->ops->close(s->inner);
    wb_free(WB_OUTER(s, struct outbox, store));
}

static const struct wl_store_ops ops = {
    .size = sizeof ops,
    .name = "outbox",
    .commit = commit,
    .close = close_it,
};

WEFT_SUSPENDS int ws_outbox_open(struct wl_store *inner, unsigned kinds, struct wl_store **ret, struct upp_err *err)
{
    struct outbox *o = wb_calloc(1, sizeof *o);
    if (!o) {
        inner->ops->close(inner);
        return upp_fail(err, UPP_ENOMEM, "no memory for a store");
    }
    o->store.ops = &ops;
    o->store.inner = inner;
    o->kinds = kinds;
    *ret = &o->store;
    return 0;
}

void ws_outbox_listen(struct wl_store *s, void (*due)(void *arg, const struct ws_due *d), void *arg)
{
    struct outbox *o = WB_OUTER(s, struct outbox, store);
    o->due = due;
    o->arg = arg;
}

static bool parse(const struct wl_value *v, struct upp_str tenant, struct ws_due *ret)
{
    struct upp_str rest = v->bytes, word;
    uint64_t ms, version;
    if (v->name.n < WB_UUID_HEX + 2 || !wb_uuid_parse(wb_str_sub(v->name, 0, WB_UUID_HEX), &ret->run) ||
        !wb_str_u64(wb_str_sub(v->name, WB_UUID_HEX + 1, SIZE_MAX), &version) || version > UINT32_MAX ||
        !wb_str_split(&rest, ' ', &word) || !wb_str_u64(rest, &ms))
        return false;
    ret->kind = 0;
    while (ret->kind < WS_DUE_KINDS && !wb_str_eq(word, wb_cstr(words[ret->kind])))
        ret->kind++;
    ret->tenant = tenant;
    ret->version = (uint32_t)version;
    ret->created_ms = (int64_t)ms;
    return ret->kind < WS_DUE_KINDS;
}

WEFT_SUSPENDS int ws_outbox_list(struct wl_store *s, struct upp_str tenant, struct upp_str after, size_t max,
                                 struct wb_arena *a, struct ws_due **ret, size_t *n, struct upp_str *last,
                                 struct upp_err *err)
{
    struct wl_owner owner = {.tenant = tenant};
    struct wl_value *values;
    size_t found;
    int r = wl_list_values(s, &owner, UPP_STR(SPACE), after, max, a, &values, &found, err);
    if (r < 0)
        return r;
    *ret = wb_new_n(a, struct ws_due, found ? found : 1);
    *last = found ? values[found - 1].name : (struct upp_str){0};
    *n = 0;
    for (size_t i = 0; *ret && i < found; i++)
        *n += parse(&values[i], tenant, &(*ret)[*n]);
    return wb_arena_check(a, err);
}

WEFT_SUSPENDS int ws_outbox_has(struct wl_store *s, const struct ws_due *d, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(VALUE_ARENA);
    struct wl_owner owner = {.tenant = d->tenant};
    struct upp_str bytes;
    char name[WS_DUE_NAME];
    int r = wl_get_value(s, &owner, UPP_STR(SPACE), ws_due_name(d, name), &a, &bytes, err);
    return r == -UPP_ENOTFOUND ? 0 : r < 0 ? r : 1;
}

WEFT_SUSPENDS int ws_outbox_remove(struct wl_store *s, const struct ws_due *d, struct upp_err *err)
{
    char name[WS_DUE_NAME];
    struct wl_value value = {.space = UPP_STR(SPACE), .name = ws_due_name(d, name)};
    struct wl_change change = {.kind = WL_DROP_VALUE, .value = &value};
    struct wl_commit c = {.owner = {.tenant = d->tenant}, .changes = &change, .n = 1};
    return pass(s, &c, err);
}
