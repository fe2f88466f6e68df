/* session/session.c — sessions: an agent with a thread of the log. */
#include "session/session.h"

#include <stdio.h>
#include <string.h>

#include "thread/repair.h"
#include "base/clock.h"
#include "base/hooks.h"
#include "base/log.h"
#include "base/opts.h"
#include "fiber/loop.h"
#include "json/write.h"
#include "log/change.h"

enum { JSON_MAX = WM_SESSION_BYTES, KEY_MAX = 512, SWEEPS = 64 };

/* ---- Calls ----------------------------------------------------------------------------------------------- */

struct calling {
    struct weft_session *session;
    wa_session_fn *fn;
    void *arg;
};

static WEFT_SUSPENDS int call(void *arg, struct upp_err *err)
{
    struct calling *c = arg;
    return c->fn(c->session, c->arg, err);
}

int wa_session_look(struct weft_session *s, const char *name, wa_session_fn *fn, void *arg, struct upp_err *err)
{
    struct calling c = {.session = s, .fn = fn, .arg = arg};
    return wa_home_do(s->home, name, call, &c, err);
}

int wa_session_change(struct weft_session *s, const char *name, wa_session_fn *fn, void *arg, struct upp_err *err)
{
    if (s->busy || s->running)
        return upp_fail(err, UPP_EINVALID, "%s: session %.*s is busy with another call", name, UPP_FMT(s->id));
    s->busy = true;
    int r = wa_session_look(s, name, fn, arg, err);
    s->busy = false;
    return r;
}

/* ---- Opening and closing --------------------------------------------------------------------------------- */

static int check_opts(const struct weft_session_opts *o, struct upp_err *err)
{
    const struct weft_persistence *p = o->persistence;
    if (o->interval > WEFT_EVERY_TURN)
        return upp_fail(err, UPP_EINVALID, "a session of the unknown interval %u", o->interval);
    if (p && (!p->save || !p->load || !p->erase))
        return upp_fail(err, UPP_EINVALID, "a persistence adapter has save, load and erase");
    return 0;
}

static int make(struct weft_agent *a, const struct weft_session_opts *opts, struct weft_session **ret,
                struct upp_err *err)
{
    int r = check_opts(opts, err);
    if (r < 0)
        return r;
    struct weft_session *s = wb_calloc(1, sizeof *s);
    if (!s)
        return upp_fail(err, UPP_ENOMEM, "no memory for a session");
    s->agent = a;
    s->home = a->home;
    s->doc_memory = (struct wb_arena)WB_ARENA(4ull * JSON_MAX);
    s->subagents = (struct wb_buf)WB_BUF(WM_SESSION_BYTES);
    s->no_checkpoints = opts->no_checkpoints;
    s->every_turn = opts->interval == WEFT_EVERY_TURN;
    s->persists = opts->persistence != NULL;
    if (s->persists)
        s->persistence = *opts->persistence;
    *ret = s;
    return 0;
}

void weft_session_close(struct weft_session *s)
{
    if (!s)
        return;
    wa_session_tree_free(s->tree);
    wa_doc_free(s->reading);
    wb_arena_done(&s->doc_memory);
    wb_buf_done(&s->subagents);
    wb_free(s->texts);
    wb_free(s);
}

void weft_session_closep(struct weft_session **s)
{
    weft_session_close(*s);
}

struct upp_str weft_session_id(const struct weft_session *s)
{
    return s->id;
}

struct weft_agent *weft_session_agent(const struct weft_session *s)
{
    return s->agent;
}

struct upp_str weft_session_metadata(const struct weft_session *s)
{
    return s->metadata.p ? s->metadata : UPP_STR("{}");
}

/* Copies id and metadata, once: programs may use them as long as the session. */
static int take_texts(struct weft_session *s, struct upp_str id, struct upp_str metadata, struct upp_err *err)
{
    char *texts = wb_alloc(id.n + metadata.n + 1);
    if (!texts)
        return upp_fail(err, UPP_ENOMEM, "no memory for a session");
    memcpy(texts, id.p, id.n);
    if (metadata.n)
        memcpy(texts + id.n, metadata.p, metadata.n);
    s->id = wb_str(texts, id.n);
    s->metadata = metadata.p ? wb_str(texts + id.n, metadata.n) : (struct upp_str){0};
    s->texts = texts;
    return 0;
}

/* Takes id, metadata and thread from the log. */
static int take_thread(struct weft_session *s, struct upp_str id, const struct wl_thread *t, struct upp_err *err)
{
    int r = take_texts(s, id, t->metadata, err);
    if (r >= 0)
        s->thread = t->id;
    return r;
}

struct making {
    const struct weft_session_opts *opts;
    struct upp_str id;
};

static WEFT_SUSPENDS int make_thread(struct weft_session *s, void *arg, struct upp_err *err)
{
    const struct making *m = arg;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    char text[WB_UUID_TEXT + 1];
    struct wl_thread t;
    struct wb_uuid id = {{0}};
    int r = wa_home_keep(s->home, err);
    if (r >= 0 && m->opts->id && (!wb_uuid_parse(wb_cstr(m->opts->id), &id) || wb_uuid_version(id) != 4))
        r = upp_fail(err, UPP_EINVALID, "the id of a session is a UUID of version 4, not '%s'", m->opts->id);
    if (r >= 0)
        r = wl_thread_new(wr_engine_store(s->home->kept), &wa_owner,
                          UPP_OPTS(wl_thread_opts, .id = id,
                                   .metadata = m->opts->metadata ? wb_cstr(m->opts->metadata) : (struct upp_str){0}),
                          &a, &t, err);
    if (r == -UPP_EBUSY)
        return upp_fail(err, UPP_EBUSY, "there is a session %s already", m->opts->id);
    return r < 0 ? r : take_thread(s, wb_uuid_text(t.id, text), &t, err);
}

int weft_session_new(struct weft_agent *a, const struct weft_session_opts *opts, struct weft_session **ret,
                     struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    struct weft_session_opts o;
    wb_opts(&o, sizeof o, opts);
    struct making m = {.opts = &o};
    int r = make(a, &o, &s, err);
    if (r >= 0)
        r = wa_session_change(s, "weft_session_new", make_thread, &m, err);
    if (r >= 0)
        *ret = WB_TAKE(s);
    return r;
}

/* ---- Existing sessions ----------------------------------------------------------------------------------- */

static struct upp_str key_of(struct upp_str id, char out[KEY_MAX])
{
    int n = snprintf(out, KEY_MAX, "session:%.*s", UPP_FMT(id));
    return wb_str(out, n > 0 && n < KEY_MAX ? (size_t)n : 0);
}

static int take_json(struct weft_session *s, struct upp_str json, struct upp_err *err)
{
    int r = wm_session_read(&s->doc_memory, json, &s->doc, err);
    if (r < 0)
        return r;
    s->has_doc = true;
    return take_texts(s, s->doc.id, s->doc.metadata, err);
}

static WEFT_SUSPENDS int load(struct weft_session *s, struct upp_str id, struct upp_err *err)
{
    char key[KEY_MAX];
    struct upp_str json = {0};
    int r = s->persistence.load(s->persistence.arg, key_of(id, key), &json, err);
    if (r >= 0 && !json.p)
        r = upp_fail(err, UPP_ENOTFOUND, "there is no session '%.*s'", UPP_FMT(id));
    if (r >= 0)
        r = take_json(s, json, err);
    upp_text_free(json);
    return r;
}

static WEFT_SUSPENDS int find_session(struct weft_session *s, void *arg, struct upp_err *err)
{
    const struct making *m = arg;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wl_thread t;
    if (!m->id.n || m->id.n > KEY_MAX / 2)
        return upp_fail(err, UPP_ENOTFOUND, "there is no session '%.*s'", (int)WB_MIN(m->id.n, (size_t)64), m->id.p);
    int r = wa_home_keep(s->home, err);
    if (r >= 0)
        r = wl_thread_find(wr_engine_store(s->home->kept), &wa_owner, m->id, &a, &t, err);
    if (r == -UPP_ENOTFOUND && s->persists)
        return load(s, m->id, err);
    if (r == -UPP_ENOTFOUND)
        return upp_fail(err, UPP_ENOTFOUND, "there is no session '%.*s'", UPP_FMT(m->id));
    return r < 0 ? r : take_thread(s, m->id, &t, err);
}

int weft_session_open(struct weft_agent *a, struct upp_str id, const struct weft_session_opts *opts,
                      struct weft_session **ret, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    struct weft_session_opts o;
    wb_opts(&o, sizeof o, opts);
    struct making m = {.opts = &o, .id = id};
    int r = make(a, &o, &s, err);
    if (r >= 0)
        r = wa_session_change(s, "weft_session_open", find_session, &m, err);
    if (r >= 0)
        *ret = WB_TAKE(s);
    return r;
}

/* In a program only weft_session_erase sweeps. What is in memory only cannot be restored and is removed at once; what
 * is in a file, when its retention has expired. A failure leaves the rest to the next sweep. */
static WEFT_SUSPENDS void sweep(struct wl_store *store)
{
    const struct wl_store *base = store;
    struct wl_swept n = {.more = true};
    struct upp_err why = {0};
    while (base->inner)
        base = base->inner;
    const bool in_memory = strcmp(base->ops->name, "memory") == 0;
    const struct wl_retention keep = {.size = sizeof keep, .deleted_ms = in_memory ? -1 : 0, .journal_ms = -1};
    for (unsigned i = 0; n.more && i < SWEEPS; i++)
        if (wl_sweep(store, &wa_owner, wb_wall_ms(), &keep, &n, &why) < 0) {
            wb_log(WB_DEBUG, "an erased session was not swept", WB_LZ("why", why.msg));
            return;
        }
}

static WEFT_SUSPENDS int erase(struct weft_session *s, void *arg, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wl_store *store = s->home->kept ? wr_engine_store(s->home->kept) : NULL;
    struct wl_thread t;
    char key[KEY_MAX];
    (void)arg;
    int r = wa_session_stored(s) ? wa_session_thread(s, &a, &t, err) : -UPP_ENOTFOUND;
    if (r >= 0)
        r = wr_thread_delete(s->home->kept, &wa_owner, &t, NULL, err);
    if (r >= 0)
        sweep(store);
    if (r >= 0 || r == -UPP_ENOTFOUND)
        r = s->persists ? s->persistence.erase(s->persistence.arg, key_of(s->id, key), err) : 0;
    return r;
}

int weft_session_erase(struct weft_session *s, struct upp_err *err)
{
    return wa_session_change(s, "weft_session_erase", erase, NULL, err);
}

/* ---- Reading and writing the log --------------------------------------------------------------------------- */

int wa_session_thread(struct weft_session *s, struct wb_arena *a, struct wl_thread *ret, struct upp_err *err)
{
    struct wl_store *store = wr_engine_store(s->home->kept);
    int r = wl_get_thread(store, &wa_owner, s->thread, a, ret, err);
    return r == -UPP_ENOTFOUND ? upp_fail(err, UPP_ENOTFOUND, "session %.*s was erased", UPP_FMT(s->id)) : r;
}

void wa_session_stale(struct weft_session *s)
{
    if (wa_session_stored(s)) /* otherwise the document is the only copy */
        s->has_doc = false;
}

static struct upp_str id_of(void *home, struct upp_str agent)
{
    const struct weft_agent *a = wa_home_find(home, agent);
    return a ? wa_agent_id(a) : (struct upp_str){0};
}

static WEFT_SUSPENDS int read_new(struct weft_session *s, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wl_thread t;
    if (!s->reading && !(s->reading = wa_doc_new()))
        return upp_fail(err, UPP_ENOMEM, "no memory for a session");
    struct wa_doc_opts opts = {.no_checkpoints = s->no_checkpoints,
                               .every_turn = s->every_turn,
                               .agent_id = wa_agent_id(s->agent),
                               .id_of = id_of,
                               .arg = s->home};
    int r = wa_session_thread(s, &a, &t, err);
    if (r >= 0)
        r = wa_doc_read(s->reading, wr_engine_store(s->home->kept), &wa_owner, &t, &opts, &s->doc, err);
    if (r < 0)
        return r;
    s->doc.id = s->id;
    s->has_doc = true;
    return 0;
}

int wa_session_read(struct weft_session *s, struct upp_err *err)
{
    int r = 0;
    while (r >= 0 && s->is_reading) /* by another fiber; its result serves both */
        r = weft_cond_wait(&s->read_done, err);
    if (r < 0 || s->has_doc)
        return r;
    s->is_reading = true;
    r = read_new(s, err);
    s->is_reading = false;
    weft_cond_broadcast(&s->read_done);
    return r;
}

/* The document as it goes into the log: calls have results, and counts of all messages of a node are adjusted. The
 * session's own copy stays as it came, in case the write fails. */
static int mend(const struct weft_session *s, struct wb_arena *a, struct wm_session *ret, struct upp_message *closing,
                struct upp_err *err)
{
    const struct wm_session *doc = &s->doc;
    *ret = *doc;
    ret->tree.nodes = wb_new_n(a, struct wm_tree_node, doc->tree.n);
    ret->checkpoints = wb_new_n(a, struct wm_checkpoint, doc->n_checkpoints);
    int r = wb_arena_check(a, err);
    if (r < 0)
        return r;
    memcpy(ret->tree.nodes, doc->tree.nodes, doc->tree.n * sizeof *doc->tree.nodes);
    if (doc->n_checkpoints)
        memcpy(ret->checkpoints, doc->checkpoints, doc->n_checkpoints * sizeof *doc->checkpoints);
    return wa_repair_session(a, ret, closing, err);
}

int wa_session_flush(struct weft_session *s, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 30);
    struct wm_session doc;
    struct wl_thread t;
    struct upp_message closing;
    if (wa_session_stored(s))
        return s->tree ? wa_session_tree_store(s, err) : 0;
    int r = wa_home_keep(s->home, err);
    if (r >= 0)
        r = mend(s, &a, &doc, &closing, err);
    if (r >= 0)
        r = wa_session_put(wr_engine_store(s->home->kept), &wa_owner, &doc,
                           s->agent ? wa_agent_name(s->agent) : (struct upp_str){0}, r > 0 ? &closing : NULL, true, &a,
                           &t, err);
    if (r >= 0) {
        s->thread = t.id;
        wa_session_stale(s);
        wb_arena_done(&s->doc_memory);
    }
    return r;
}

/* ---- SessionJSON ----------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int write(struct weft_session *s, void *arg, struct upp_err *err)
{
    struct wb_buf *out = arg;
    struct wj_writer w;
    int r = wa_session_read(s, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, out, err);
    wm_session_write(&w, &s->doc);
    return wj_writer_check(&w);
}

static WEFT_SUSPENDS int flush_and_write(struct weft_session *s, void *arg, struct upp_err *err)
{
    int r = wa_session_stored(s) ? wa_session_flush(s, err) : 0;
    return r < 0 ? r : write(s, arg, err);
}

int weft_session_to_json(struct weft_session *s, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(JSON_MAX);
    int r = s->busy || s->running ? wa_session_look(s, "weft_session_to_json", write, &out, err)
                                  : wa_session_change(s, "weft_session_to_json", flush_and_write, &out, err);
    wb_buf_addc(&out, 0);
    if (r >= 0)
        r = wb_buf_check(&out, err);
    if (r < 0)
        return r;
    *ret = wb_str(out.p, out.n - 1);
    out = (struct wb_buf)WB_BUF(JSON_MAX);
    return 0;
}

int weft_session_from_json(struct weft_agent *a, struct upp_str json, const struct weft_session_opts *opts,
                           struct weft_session **ret, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    struct weft_session_opts o;
    wb_opts(&o, sizeof o, opts);
    if (o.id || o.metadata)
        return upp_fail(err, UPP_EINVALID, "weft_session_from_json: id and metadata are the document's");
    int r = make(a, &o, &s, err);
    if (r >= 0)
        r = take_json(s, json, err);
    if (r >= 0)
        *ret = WB_TAKE(s);
    return r;
}

/* ---- A program's own store ------------------------------------------------------------------------------- */

int wa_session_persist(struct weft_session *s, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(JSON_MAX);
    char key[KEY_MAX];
    if (!s->persists)
        return 0;
    wa_session_stale(s);
    int r = write(s, &out, err);
    if (r >= 0)
        r = s->persistence.save(s->persistence.arg, key_of(s->id, key), wb_buf_str(&out), err);
    return r < 0 ? upp_wrap(err, r, "session %.*s could not be saved", UPP_FMT(s->id)) : 0;
}

static WEFT_SUSPENDS int save(struct weft_session *s, void *arg, struct upp_err *err)
{
    (void)arg;
    int r = wa_session_flush(s, err);
    return r < 0 ? r : wa_session_persist(s, err);
}

int weft_session_save(struct weft_session *s, struct upp_err *err)
{
    return wa_session_change(s, "weft_session_save", save, NULL, err);
}
