/* server/members/messages.c — messages of clients to a thread with members: who wrote them, and what is structured in
 * them.
 *
 * A message that names its actor has the role that follows from it (AITP-3). Structured messages are followed through
 * the thread: what a shared capability does not allow is refused; what is only strange is stored, and reported in
 * metadata.weft.problems. A capability that not all members have is text to those without it: it is stored as it is,
 * metadata.weft.plain names it, and nothing of it is refused.
 */
#include "base/defs.h"
#include "dialects/aitp/aitp.h"
#include "dialects/assistants/objects.h"
#include "dialects/core/convert.h"
#include "json/edit.h"
#include "json/pointer.h"
#include "json/read.h"
#include "json/value.h"
#include "run/engine.h"
#include "server/http/server.h"
#include "server/members/members.h"

/* ---- Transcripts: the structured messages of a thread, as they are read from the log ------------------------------
 */

enum { BYTES = 64 << 20, BATCH = 128, BATCH_BYTES = 256 << 20 };

void sv_transcript_begin(struct sv_transcript *s, const struct wl_thread *t, struct upp_err *err)
{
    *s = (struct sv_transcript){.json = WB_BUF(BYTES)};
    wj_writer_init(&s->w, &s->json, err);
    wj_write_open(&s->w, '{');
    if (t && !wb_uuid_is_nil(t->parent)) /* what it answers may be in the parent */
        wj_put_str(&s->w, "parent_id", UPP_STR("parent"));
    wj_put_open(&s->w, "messages", '[');
}

void sv_transcript_done(struct sv_transcript *s)
{
    wb_buf_done(&s->json);
    wb_vec_done(&s->ids);
}

static bool is_structured(struct upp_str text)
{
    struct upp_str s = wb_str_trim(text);
    return s.n && s.p[0] == '{' && wb_str_find(s, UPP_STR("\"$schema\""), 0) != SIZE_MAX;
}

/* Has the message structured text? */
static bool is_transcribed(const struct upp_message *m)
{
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, 1 << UPP_PART_TEXT));)
        if (is_structured(p->text))
            return true;
    return false;
}

/* Adds a message. */
static int add_to_transcript(struct sv_transcript *s, const struct wm_entry *e, struct wb_uuid id, struct upp_err *err)
{
    if (!wb_vec_push(&s->ids, id, UINT32_MAX))
        return upp_fail(err, UPP_ENOMEM, "no memory for a transcript");
    wj_write_open(&s->w, '{');
    wj_put_i64(&s->w, "created_at", e->message.time_ms / 1000);
    wj_put_text(&s->w, "actor", e->who.n ? e->who : (struct upp_str){NULL, 0});
    wj_put_open(&s->w, "content", '[');
    for (const struct upp_part *p = NULL; (p = upp_part_next(&e->message, p, 1 << UPP_PART_TEXT));)
        wj_write_str(&s->w, p->text.p ? p->text : UPP_STR(""));
    wj_write_close(&s->w, ']');
    wj_write_close(&s->w, '}');
    return wj_writer_check(&s->w);
}

WEFT_SUSPENDS int sv_transcript_read(struct sv_transcript *s, struct wl_store *store, const struct wl_owner *o,
                                     const struct wl_thread *t, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena paths = WB_ARENA(64u << 20), a = WB_ARENA(BATCH_BYTES);
    struct wl_path path;
    int r = wl_thread_path(store, o, t, &paths, &path, err);
    for (uint32_t at = 0; r >= 0 && at < path.length;) {
        struct wl_line *lines;
        size_t n;
        uint32_t some = WB_MIN(path.length - at, (uint32_t)BATCH);
        wb_arena_reset(&a);
        at += some;
        r = wl_path_tail(store, o, &path, at, some, &a, &lines, &n, err);
        for (size_t i = 0; r >= 0 && i < n; i++) {
            const struct wm_entry *e = &lines[i].entry;
            if (e->kind == WM_ENTRY_MESSAGE && wm_is_visible(e) && is_transcribed(&e->message))
                r = add_to_transcript(s, e, lines[i].id, err);
        }
    }
    return r;
}

int sv_transcript_end(struct sv_transcript *s, struct wb_arena *a, yyjson_val **ret, struct upp_err *err)
{
    wj_write_close(&s->w, ']');
    wj_write_close(&s->w, '}');
    int r = wj_writer_check(&s->w);
    return r < 0 ? r : wj_read(a, wb_buf_str(&s->json), UPP_OPTS(wj_read_opts, .max_bytes = BYTES), ret, err);
}

enum { METADATA_MAX = 1 << 20, PROBLEM_MAX = 16 };

#define OURS "assistants" /* the client's metadata of a message: server/doors/objects/message.h */

/* What is added to the metadata of one message. */
struct remark {
    yyjson_val *given, *metadata; /* the message, and its metadata; NULL: none */
    struct upp_str actor;
    struct upp_str role; /* that the request had, and was not believed; empty: none */
    bool supplied;       /* an assistant's message that the client supplied without an actor */
};

struct receiving {
    struct sv_exchange *x;
    const struct sv_body *b;
    const struct wl_thread *t;
    bool fresh;
    struct wd_aitp_members members;
    struct upp_str client; /* the actor that the client is; empty: the owner */
    struct remark *remarks;
    struct sv_entries *e;
    struct sv_transcript transcript;
    size_t old; /* messages in it that were in the log before */
    yyjson_val *thread;
    struct wd_problems problems;
    struct wd_aitp_exchanges exchanges;
    struct upp_err *err;
};

static void receiving_done(struct receiving *q)
{
    sv_transcript_done(&q->transcript);
    wd_problems_done(&q->problems);
    wd_aitp_exchanges_done(&q->exchanges);
}

/* ---- Authors ---------------------------------------------------------------------------------------------------- */

static int refuse_actor(const struct receiving *q, yyjson_val *given, struct upp_str actor)
{
    char shown[WJ_QUOTED];
    yyjson_val *in = sv_member(sv_member(given, UPP_STR("metadata")), UPP_STR("actor"));
    int r = q->client.p && !wb_str_eq(q->client, actor)
                ? sv_members_refuse(q->err, "this API key is that of the actor '%.*s', who cannot speak for %s",
                                    UPP_FMT(q->client), wj_quote(actor, shown, sizeof shown))
                : sv_members_refuse(q->err, "%s is no member of this thread", wj_quote(actor, shown, sizeof shown));
    wj_pointer_err(q->err, q->b->root, in ? in : sv_member(given, UPP_STR("actor")));
    return r;
}

/* The author of a message that names none. */
static void attribute(struct receiving *q, struct wm_entry *e, struct remark *m)
{
    const struct wr_agent_def *def = wr_agent(q->x->core->engine, q->x->agent);
    struct upp_str agent = def ? def->name : (struct upp_str){NULL, 0};
    bool user = e->message.role == UPP_ROLE_USER;
    m->supplied = !user;
    m->actor = user ? q->members.creator : wd_aitp_other(&q->members, agent);
    if (!m->actor.p) /* nobody else is a member yet */
        m->actor = agent;
}

static int name_author(struct receiving *q, struct wm_entry *e, struct remark *m)
{
    struct upp_str actor = wd_aitp_actor(m->given), role = wj_text_at(m->given, "role");
    if (actor.p ? !wd_aitp_member(&q->members, actor) || (q->client.p && !wb_str_eq(q->client, actor)) : false)
        return refuse_actor(q, m->given, actor);
    m->actor = actor.p ? actor : q->client;
    if (m->actor.p) {
        e->message.role = wd_aitp_role(&q->members, m->actor);
        if (role.p && !wb_str_eq(role, e->message.role == UPP_ROLE_USER ? UPP_STR("user") : UPP_STR("assistant")))
            m->role = role;
    } else
        attribute(q, e, m);
    if (!m->supplied && !wd_aitp_member(&q->members, m->actor)) /* the creator has left */
        return sv_members_refuse(q->err, "metadata.actor names who wrote the message: '%.*s' is no member any more",
                                 UPP_FMT(m->actor));
    e->who = m->actor;
    return 0;
}

/* ---- Structured messages ---------------------------------------------------------------------------------------- */

/* The message of the transcript that a problem is about: "/messages/N/content/K". */
static size_t message_of(const struct wd_problem *p)
{
    struct upp_str rest = wb_str_sub(p->pointer, sizeof "/messages/" - 1, SIZE_MAX), number;
    uint64_t n;
    return wb_str_split(&rest, '/', &number) && wb_str_u64(number, &n) ? (size_t)n : SIZE_MAX;
}

/* Is everything structured in the message of capabilities that all members have? */
static int is_shared(struct receiving *q, yyjson_val *message, struct wj_writer *plain, bool *ret)
{
    yyjson_val *item, *inside;
    size_t i, n;
    int r = 0;
    *ret = true;
    yyjson_arr_foreach(yyjson_obj_get(message, "content"), i, n, item)
    {
        struct wd_aitp_schema s;
        r = r < 0 ? r : wd_aitp_structured(&q->x->arena, item, &inside, q->err);
        if (r <= 0 || !wd_aitp_schema_parse(wj_text_at(inside, "$schema"), &s) || wd_aitp_shares(q->members.actors, &s))
            continue;
        *ret = false;
        if (plain)
            wj_write_str(plain, s.name);
    }
    return r < 0 ? r : 0;
}

static int check_shapes(struct receiving *q)
{
    yyjson_val *messages = yyjson_obj_get(q->thread, "messages"), *m, *item, *inside;
    size_t i, n, k, l;
    int r = 0;
    yyjson_arr_foreach(messages, i, n, m)
    {
        if (i < q->old)
            continue;
        yyjson_arr_foreach(yyjson_obj_get(m, "content"), k, l, item)
        {
            r = r < 0 ? r : wd_aitp_structured(&q->x->arena, item, &inside, q->err);
            if (r > 0)
                (void)wd_aitp_check_inside(item, inside, false, &q->problems); /* it has reported them */
        }
    }
    return r < 0 ? r : 0;
}

static int refuse_problems(struct receiving *q)
{
    yyjson_val *messages = yyjson_obj_get(q->thread, "messages");
    for (size_t i = 0; i < q->problems.list.n; i++) {
        const struct wd_problem *p = &q->problems.list.p[i];
        size_t at = message_of(p);
        bool shared;
        if (p->severity != WD_ERROR)
            continue;
        int r = is_shared(q, yyjson_arr_get(messages, at), NULL, &shared);
        if (r < 0)
            return r;
        if (shared)
            return upp_fail(q->err, UPP_EINVALID, "%s: %.*s", p->rule, UPP_FMT(p->sentence));
    }
    return 0;
}

WEFT_SUSPENDS static int follow_structured(struct receiving *q)
{
    struct wl_store *s = q->x->server->opts.store;
    bool any = false;
    for (size_t i = 0; i < q->e->n; i++)
        any |= is_transcribed(&q->e->p[i].message);
    if (!any)
        return 0;
    sv_transcript_begin(&q->transcript, q->t, q->err);
    int r = q->fresh ? 0 : sv_transcript_read(&q->transcript, s, &q->x->owner, q->t, q->err);
    q->old = q->transcript.ids.n;
    for (size_t i = 0; r >= 0 && i < q->e->n; i++)
        if (is_transcribed(&q->e->p[i].message))
            r = add_to_transcript(&q->transcript, &q->e->p[i], WB_UUID_NIL, q->err);
    if (r >= 0)
        r = sv_transcript_end(&q->transcript, &q->x->arena, &q->thread, q->err);
    if (r < 0)
        return r;
    q->problems.a = &q->x->arena;
    q->problems.root = q->thread;
    q->exchanges.from = (uint32_t)q->old;
    r = check_shapes(q);
    if (r >= 0)
        r = wd_aitp_follow(&q->exchanges, q->thread, &q->problems, q->err);
    if (r >= 0 && q->problems.failed)
        r = upp_fail(q->err, UPP_ENOMEM, "no memory to check a message");
    return r < 0 ? r : refuse_problems(q);
}

/* ---- Metadata --------------------------------------------------------------------------------------------------- */

static void put_problems(struct receiving *q, struct wj_writer *w, size_t message)
{
    size_t n = 0;
    for (size_t i = 0; i < q->problems.list.n; i++) {
        const struct wd_problem *p = &q->problems.list.p[i];
        if (message_of(p) != message || n++ >= PROBLEM_MAX)
            continue;
        if (n == 1)
            wj_put_open(w, "problems", '[');
        wj_write_open(w, '{');
        wj_put_str(w, "rule", wb_cstr(p->rule));
        wj_put_str(w, "severity", p->severity == WD_ERROR ? UPP_STR("error") : UPP_STR("warning"));
        wj_put_str(w, "message", p->sentence);
        wj_write_close(w, '}');
    }
    if (n)
        wj_write_close(w, ']');
    if (n > PROBLEM_MAX)
        wj_put_u64(w, "more_problems", n - PROBLEM_MAX);
}

/* metadata.weft, if there is something to say. `at`: the message in the transcript; SIZE_MAX: it is not there. */
static int put_remarks(struct receiving *q, struct wj_writer *w, const struct remark *m, size_t at)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(METADATA_MAX);
    struct wj_writer in;
    bool shared = true;
    int r = 0;
    wj_writer_init(&in, &out, q->err);
    wj_write_open(&in, '{');
    wj_put_text(&in, "role", m->role);
    if (m->supplied)
        wj_put_str(&in, "supplied_by", UPP_STR("client"));
    if (at != SIZE_MAX) {
        yyjson_val *message = yyjson_arr_get(yyjson_obj_get(q->thread, "messages"), at);
        r = is_shared(q, message, NULL, &shared);
        if (r >= 0 && !shared) {
            wj_put_open(&in, "plain", '[');
            r = is_shared(q, message, &in, &shared);
            wj_write_close(&in, ']');
        }
        put_problems(q, &in, at);
    }
    wj_write_close(&in, '}');
    if (r >= 0)
        r = wj_writer_check(&in);
    if (r >= 0 && out.n > 2)
        wj_put_raw(w, "weft", out.p, out.n);
    return r;
}

static int write_metadata(struct receiving *q, size_t i, size_t at)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(2 * METADATA_MAX);
    const struct remark *m = &q->remarks[i];
    struct wj_writer w;
    wj_writer_init(&w, &out, q->err);
    wj_write_open(&w, '{');
    wj_put_open(&w, OURS, '{');
    wj_put_members_but(&w, m->metadata, WJ_NAMES("actor", "weft"));
    wj_put_str(&w, "actor", m->actor);
    int r = put_remarks(q, &w, m, at);
    wj_write_close(&w, '}');
    wj_write_close(&w, '}');
    return r < 0 ? r : wj_writer_text(&w, &q->x->arena, &q->e->p[i].message.metadata);
}

WEFT_SUSPENDS int sv_members_receive(struct sv_exchange *x, const struct sv_body *b, const struct wl_thread *t,
                                     bool fresh, struct sv_entries *e, struct upp_err *err)
{
    WB_CLEANUP(receiving_done)
    struct receiving q = {
        .x = x, .b = b, .t = t, .fresh = fresh, .e = e, .exchanges = {.a = WB_ARENA(64u << 20)}, .err = err};
    yyjson_val *root = NULL;
    if (!sv_has_members(t))
        return 0;
    int r = wj_read(&x->arena, t->metadata, NULL, &root, err);
    q.members = wd_aitp_members_of(root);
    if (r >= 0)
        r = sv_members_client(x, root, &q.client, err);
    q.remarks = wb_new_n(&x->arena, struct remark, e->n + 1);
    if (r >= 0 && !q.remarks)
        r = wb_arena_check(&x->arena, err);
    for (size_t i = 0; r >= 0 && i < e->n; i++) {
        yyjson_val *v = e->from[i];
        q.remarks[i] = (struct remark){.given = v, .metadata = sv_member(v, UPP_STR("metadata"))};
        r = name_author(&q, &e->p[i], &q.remarks[i]);
    }
    if (r >= 0)
        r = follow_structured(&q);
    size_t at = q.old;
    for (size_t i = 0; r >= 0 && i < e->n; i++) {
        bool in = q.thread && is_transcribed(&e->p[i].message);
        r = write_metadata(&q, i, in ? at : SIZE_MAX);
        at += in;
    }
    return r;
}

/* The actor who wrote the message on another AITP service; empty: none. */
static int remote_actor(struct wb_arena *a, const struct upp_message *m, struct upp_str *ret, struct upp_err *err)
{
    yyjson_val *v = NULL;
    *ret = (struct upp_str){0};
    if (m->role != UPP_ROLE_ASSISTANT || wb_str_find(m->metadata, UPP_STR("\"" WD_AITP_REMOTE "\""), 0) == SIZE_MAX)
        return 0;
    int r = wj_read(a, m->metadata, NULL, &v, err);
    if (r >= 0)
        *ret = wj_text_at(yyjson_obj_get(v, WD_AITP_REMOTE), "actor");
    return r;
}

int sv_members_name_author(struct wb_arena *a, const struct wl_thread *t, struct wl_line *line, struct upp_err *err)
{
    struct upp_message *m = &line->entry.message;
    struct wd_aitp_members members = {0};
    yyjson_val *old, *mine;
    struct upp_str there;
    int r = remote_actor(a, m, &there, err);
    if (r < 0 || (!there.n && !(sv_has_members(t) && line->entry.who.n)))
        return r;
    r = sv_members_read(a, t->metadata, &members, err);
    if (r >= 0)
        r = asst_stored(a, m->metadata, &old, err);
    if (r < 0)
        return r;
    mine = sv_member(old, UPP_STR(OURS));
    if (sv_member(mine, UPP_STR("actor")))
        return 0;
    bool known = there.n && (!members.actors || wd_aitp_member(&members, there));
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(2 * METADATA_MAX);
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_open(&w, OURS, '{');
    wj_put_members(&w, mine);
    wj_put_str(&w, "actor", known ? there : line->entry.who);
    if (there.n && !known) { /* here it is a member under the name of our agent */
        wj_put_open(&w, "weft", '{');
        wj_put_str(&w, "remote_actor", there);
        wj_write_close(&w, '}');
    }
    wj_write_close(&w, '}');
    wj_write_close(&w, '}');
    return wj_writer_text(&w, a, &m->metadata);
}
