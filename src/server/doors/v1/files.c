/* server/doors/v1/files.c — /v1/files. */
#include "base/defs.h"
#include "server/doors/files.h"
#include "server/doors/objects/find.h"
#include "server/doors/objects/list_page.h"
#include "server/doors/v1/routes.h"
#include "server/http/server.h"

enum { LIMIT = 10000 /* OpenAI's */ };

static int answer_file(struct sv_exchange *x, const struct wl_file *f, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, &x->reply.body, err);
    sv_file_write(&w, f);
    return sv_finish(x, &w);
}

WEFT_SUSPENDS int sv_create_file(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_file f;
    int r = sv_file_receive(x, &f, err);
    return r < 0 ? r : answer_file(x, &f, err);
}

WEFT_SUSPENDS static int find_file(struct sv_exchange *x, struct wl_file *ret, struct upp_err *err)
{
    return wl_file_find(x->server->opts.store, &x->owner, x->params[0], &x->arena, ret, err);
}

WEFT_SUSPENDS int sv_get_file(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_file f;
    int r = find_file(x, &f, err);
    return r < 0 ? r : answer_file(x, &f, err);
}

WEFT_SUSPENDS int sv_get_file_content(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_file f;
    int r = find_file(x, &f, err);
    return r < 0 ? r : sv_file_send(x, &f, err);
}

WEFT_SUSPENDS int sv_delete_file(struct sv_exchange *x, struct upp_err *err)
{
    struct wl_file f;
    char id[WL_FILE_ID + 1];
    int r = find_file(x, &f, err);
    if (r >= 0)
        r = wl_file_delete(x->server->opts.store, &x->owner, &f, err);
    return r < 0 ? r : sv_answer_deleted(x, wl_file_id(f.id, id), "file", err);
}

struct listing {
    struct sv_exchange *x;
    struct wl_file_query query;
    struct wl_file *found;
    size_t n;
};

static int read_query(struct sv_exchange *x, struct wl_file_query *ret, struct upp_err *err)
{
    struct upp_str text;
    uint64_t limit;
    *ret = (struct wl_file_query){0};
    int r = sv_read_limit_of(x, LIMIT, LIMIT, &limit, &ret->ascending, err);
    ret->max = (size_t)limit;
    if (r >= 0)
        r = sv_query(x, UPP_STR("purpose"), &ret->purpose, err);
    if (r >= 0)
        r = sv_query(x, UPP_STR("after"), &text, err);
    if (r > 0 && !wl_id_parse(text, UPP_STR(WL_FILE_PREFIX), &ret->after))
        return upp_fail(err, UPP_EINVALID, "'after' names no file: '%.*s'", UPP_FMT(text));
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS static int read_files(struct wl_store *s, void *arg, struct upp_err *err)
{
    struct listing *l = arg;
    struct wl_file_query q = l->query;
    q.max++;
    return wl_file_list(s, &l->x->owner, &q, &l->x->arena, &l->found, &l->n, err);
}

WEFT_SUSPENDS int sv_list_files(struct sv_exchange *x, struct upp_err *err)
{
    struct listing l = {.x = x};
    struct wj_writer w;
    int r = read_query(x, &l.query, err);
    if (r >= 0)
        r = wl_store_at_once(x->server->opts.store, read_files, &l, err);
    if (r < 0)
        return r;
    size_t n = WB_MIN(l.n, l.query.max);
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (size_t i = 0; i < n; i++)
        sv_file_write(&w, &l.found[i]);
    sv_list_end(&w, WL_FILE_PREFIX, n ? l.found[0].id : WB_UUID_NIL, n ? l.found[n - 1].id : WB_UUID_NIL,
                l.n > l.query.max);
    return sv_finish(x, &w);
}
