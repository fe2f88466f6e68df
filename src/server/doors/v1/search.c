/* server/doors/v1/search.c — GET /v1/search, an extension: messages by words, agent, tool, time and thread.
 *
 * ?q=&agent=&tool=&after=&before=&thread=&limit=&cursor= ; after and before are times (RFC 3339, or seconds since
 * 1970), before is exclusive. `index` tells how much of the log the result covers.
 */
#include <stdio.h>

#include "base/defs.h"
#include "dialects/assistants/objects.h"
#include "log/search.h"
#include "server/doors/objects/list_page.h"
#include "server/doors/v1/routes.h"
#include "server/http/server.h"

enum { LIMIT = 20 };

static int read_number(struct sv_exchange *x, const char *name, uint64_t min, uint64_t max, uint64_t *ret,
                       struct upp_err *err)
{
    struct upp_str text;
    int r = sv_query(x, wb_cstr(name), &text, err);
    if (r > 0 && (!wb_str_u64(text, ret) || *ret < min || *ret > max))
        return upp_fail(err, UPP_EINVALID, "%s is a whole number from %llu to %llu, not '%.*s'", name,
                        (unsigned long long)min, (unsigned long long)max, UPP_FMT(text));
    return r;
}

WEFT_SUSPENDS static int read_search(struct sv_exchange *x, struct wl_search *ret, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_thread thread;
    struct upp_str text;
    uint64_t limit = LIMIT;
    *ret = (struct wl_search){.size = sizeof *ret};
    int r = sv_query(x, UPP_STR("q"), &ret->words, err);
    if (r >= 0)
        r = sv_query(x, UPP_STR("agent"), &ret->who, err);
    if (r >= 0)
        r = sv_query(x, UPP_STR("tool"), &ret->tool, err);
    if (r >= 0)
        r = sv_read_time(x, UPP_STR("after"), &ret->since_ms, err);
    if (r >= 0)
        r = sv_read_time(x, UPP_STR("before"), &ret->until_ms, err);
    if (r >= 0)
        r = read_number(x, "limit", 1, WL_SEARCH_MAX, &limit, err);
    if (r >= 0)
        r = read_number(x, "cursor", 1, INT64_MAX, &ret->after, err);
    if (r >= 0)
        r = sv_query(x, UPP_STR("thread"), &text, err);
    if (r <= 0) {
        ret->max = limit;
        return r;
    }
    r = wl_thread_find(s, &x->owner, text, &x->arena, &thread, err);
    ret->max = limit;
    if (r >= 0)
        ret->thread = thread.id;
    return r;
}

static void write_found(struct wj_writer *w, const struct wl_found *f)
{
    size_t behind = f->match + f->match_n;
    struct upp_str role = sv_role_name(f->role);
    wj_write_open(w, '{');
    wj_put_str(w, "object", UPP_STR("search.result"));
    asst_put_id(w, "message_id", "msg_", f->entry);
    wj_put_open(w, "threads", '[');
    for (size_t i = 0; i < f->n_in; i++) {
        wj_write_open(w, '{');
        asst_put_id(w, "id", "thread_", f->in[i].thread);
        wj_put_bool(w, "abandoned", f->in[i].abandoned);
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
    if (f->more)
        wj_put_bool(w, "more_threads", true);
    wj_put_str(w, "role", role.p ? role : UPP_STR("assistant"));
    wj_put_str(w, "agent", f->who);
    wj_put_i64(w, "created_at", f->time_ms / 1000);
    wj_put_open(w, "snippet", '{');
    wj_put_str(w, "before", wb_str(f->snippet.p, f->match));
    wj_put_str(w, "match", wb_str(f->snippet.p + f->match, f->match_n));
    wj_put_str(w, "after", wb_str(f->snippet.p + behind, f->snippet.n - behind));
    wj_write_close(w, '}');
    wj_write_close(w, '}');
}

static void write_index(struct wj_writer *w, const struct wl_results *r)
{
    wj_put_open(w, "index", '{');
    wj_put_u64(w, "rows_behind", r->end - WB_MIN(r->upto, r->end)); /* not totals: they are of all tenants */
    wj_put_bool(w, "scanned", r->scanned);
    wj_put_bool(w, "cut", r->cut);
    wj_put_bool(w, "whole_words", r->whole);
    wj_put_u64(w, "text_bytes", WL_SEARCH_TEXT);
    wj_write_close(w, '}');
}

WEFT_SUSPENDS int sv_search(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_search q;
    struct wl_results found;
    struct wj_writer w;
    char cursor[32];
    int r = read_search(x, &q, err);
    if (r >= 0)
        r = wl_search(x->server->opts.store, &x->owner, &q, &x->arena, &found, err);
    if (r < 0)
        return r;
    int n = snprintf(cursor, sizeof cursor, "%llu", (unsigned long long)found.next);
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (size_t i = 0; i < found.n; i++)
        write_found(&w, &found.p[i]);
    wj_write_close(&w, ']');
    wj_put_bool(&w, "has_more", found.next != 0);
    wj_put_str(&w, "cursor", found.next ? wb_str(cursor, (size_t)n) : (struct upp_str){0});
    write_index(&w, &found);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}
