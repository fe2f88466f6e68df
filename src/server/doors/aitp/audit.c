/* server/doors/aitp/audit.c — GET /v1/threads/{t}/audit: the whole log of a thread in order, one JSON object per line.
 *
 * Rows are read as they are stored, so that nothing is left out: members who come and go, messages, repairs, deletions,
 * runs and their states, tool calls, approvals. Of a deleted thread there is one line: who deleted it, and when.
 *
 * A long audit has pages: ?after=NUMBER continues after that line. Each page reads the log from its beginning, since
 * what a line says depends on those before it, and writes only its own lines.
 */
#include "base/defs.h"
#include "base/iso8601.h"
#include "dialects/assistants/objects.h"
#include "json/read.h"
#include "json/value.h"
#include "log/change.h"
#include "model/upp_json.h"
#include "run/engine.h"
#include "server/doors/aitp/routes.h"
#include "server/doors/objects/find.h"
#include "server/http/server.h"

enum {
    BATCH_ROWS = 64,
    MEMORY = 1 << 30,
    WAITING_MAX = 1024,
    PAGE_BYTES = 16 << 20, /* after so many a page ends: its last line may be long */
    PAGE_LINES = 100000,
};
_Static_assert(4 * PAGE_BYTES <= SV_REPLY_BODY, "a page and a long line fit into a response");

/* A call that waits for an approval or for its output. */
struct waiting {
    struct upp_str call, name;
    struct wb_uuid run; /* that made it: this or a sub-agent's */
    bool approval;
};

struct audit {
    struct sv_exchange *x;
    struct wj_writer w;
    uint64_t number; /* of the next line */
    uint64_t after;  /* of the last one of the page before */
    uint64_t limit, lines;
    size_t line; /* where the line being written begins */
    bool full, more;
    struct wb_uuid run; /* the last one that was looked up ... */
    struct upp_str agent, key;
    struct waiting *waiting; /* WAITING_MAX of them */
    size_t n_waiting;
    struct upp_err *err;
};

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

static void begin_line(struct audit *a, const char *type, int64_t ms)
{
    char text[WB_TIME_TEXT];
    struct wb_time t = wb_time_from_ms(ms);
    a->w.comma = false;
    a->line = a->x->reply.body.n;
    wj_write_open(&a->w, '{');
    wj_put_u64(&a->w, "number", a->number++);
    wj_put_str(&a->w, "time", wb_time_upp(&t, text));
    wj_put_str(&a->w, "type", wb_cstr(type));
}

static void end_line(struct audit *a)
{
    struct wb_buf *body = &a->x->reply.body;
    wj_write_close(&a->w, '}');
    wb_buf_addc(body, '\n');
    if (body->failed)
        return;
    if (a->full || a->number - 1 <= a->after) { /* of another page */
        a->more = a->full;
        body->n = a->line;
        return;
    }
    a->lines++;
    a->full = body->n >= PAGE_BYTES || a->lines == a->limit;
}

/* The last line of a page that is not the last one. */
static void write_more(struct audit *a)
{
    a->w.comma = false;
    wj_write_open(&a->w, '{');
    wj_put_str(&a->w, "type", UPP_STR("more"));
    wj_put_u64(&a->w, "after", a->after + a->lines);
    wj_write_close(&a->w, '}');
    wb_buf_addc(&a->x->reply.body, '\n');
}

static void put_run(struct audit *a, struct wb_uuid run)
{
    if (!wb_uuid_is_nil(run))
        asst_put_id(&a->w, "run_id", "run_", run);
}

static void write_entry(struct audit *a, const struct wm_entry *e, const struct wl_row *row, uint32_t index)
{
    static const char *const types[] = {
        [WM_ENTRY_MESSAGE] = "message", [WM_ENTRY_EVENT] = "event", [WM_ENTRY_REPAIR] = "repair"};
    static const char *const origins[] = {
        [WM_ORIGIN_RUN] = "run", [WM_ORIGIN_CLIENT] = "client", [WM_ORIGIN_IMPORT] = "import"};
    struct wm_id id = {.node = row->node, .index = index, .noun = WM_NOUN_ENTRY, .attempt = e->attempt};
    if (e->kind >= WB_LEN(types) || !types[e->kind])
        return; /* a boundary between turns */
    begin_line(a, types[e->kind], e->message.time_ms);
    asst_put_id(&a->w, "id", "msg_", wm_id_uuid(id));
    wj_put_str(&a->w, "who", e->who.n ? e->who : (struct upp_str){NULL, 0});
    if (e->origin < WB_LEN(origins) && origins[e->origin])
        wj_put_str(&a->w, "origin", wb_cstr(origins[e->origin]));
    put_run(a, row->run);
    if (wm_is_erased(e)) {
        wj_put_open(&a->w, "deleted", '{');
        wj_put_i64(&a->w, "time_ms", e->erased.time_ms);
        wj_put_str(&a->w, "why", e->erased.why);
        wj_write_close(&a->w, '}');
    } else if (e->kind == WM_ENTRY_EVENT)
        wj_put_raw(&a->w, "event", e->data.n ? e->data.p : "{}", e->data.n ? e->data.n : 2);
    else {
        wj_put_open(&a->w, "parts", '[');
        for (size_t i = 0; i < e->message.n_parts; i++)
            wm_part_write(&a->w, &e->message.parts[i]);
        wj_write_close(&a->w, ']');
    }
    end_line(a);
}

WEFT_SUSPENDS static int look_up(struct audit *a, struct wb_uuid run)
{
    struct wm_run row;
    if (wb_uuid_eq(a->run, run))
        return 0;
    int r = wl_get_run(a->x->server->opts.store, &a->x->owner, run, &a->x->arena, &row, a->err);
    a->run = run;
    a->agent = a->key = (struct upp_str){NULL, 0};
    if (r >= 0) {
        a->agent = row.agent;
        a->key = wr_run_key(&row);
    }
    return r == -UPP_ENOTFOUND ? 0 : r; /* the sweep has removed it */
}

static bool is_denied(const struct wm_row *row, struct upp_str call)
{
    for (size_t i = 0; i < row->n_records; i++)
        if (row->records[i].kind == WM_TOOL_ENDED && row->records[i].tool_ended.outcome == WM_DENIED &&
            wb_str_eq(row->records[i].call.id, call))
            return true;
    return false;
}

/* The same of a sub-agent's call: the denial is in the log of its own run. */
WEFT_SUSPENDS static int was_denied_below(struct audit *a, const struct waiting *c, bool *ret)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena m = WB_ARENA(MEMORY);
    struct wl_store *s = a->x->server->opts.store;
    struct wm_run run;
    struct wl_rows rows = {.more = true};
    int r = wl_get_run(s, &a->x->owner, c->run, &a->x->arena, &run, a->err);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? 0 : r; /* the sweep has removed it */
    struct wl_range range = {.node = run.node, .to = UINT64_MAX, .max_rows = BATCH_ROWS};
    while (r >= 0 && rows.more && !*ret) {
        wb_arena_reset(&m);
        r = wl_store_rows(s, &a->x->owner, &range, &m, &rows, a->err);
        for (size_t i = 0; r >= 0 && i < rows.n && !*ret; i++) {
            struct wm_row row;
            r = wm_row_read(&m, rows.p[i].format, rows.p[i].body, rows.p[i].tape, &row, a->err);
            *ret = r >= 0 && is_denied(&row, c->call);
            range.from = rows.p[i].pos + 1;
        }
        if (r >= 0 && !rows.n)
            break;
    }
    return r;
}

static bool is_pending(const struct wm_event *ev, struct upp_str call)
{
    for (size_t i = 0; i < ev->run.n_pending; i++)
        if (wb_str_eq(ev->run.pending[i].call, call))
            return true;
    return false;
}

static void put_who(struct audit *a, struct upp_str who, struct upp_str key)
{
    wj_put_text(&a->w, "who", who.n ? who : (struct upp_str){NULL, 0});
    wj_put_text(&a->w, "api_key", key.n ? key : (struct upp_str){NULL, 0});
}

WEFT_SUSPENDS static int write_answer(struct audit *a, const struct wm_row *row, const struct wl_row *stored,
                                      const struct wm_event *ev, const struct waiting *c)
{
    bool denied = is_denied(row, c->call);
    int r = c->approval && !denied && !wb_uuid_eq(c->run, stored->run) ? was_denied_below(a, c, &denied) : 0;
    begin_line(a, c->approval ? "approval" : "answer", ev->time_ms);
    put_run(a, stored->run);
    wj_put_str(&a->w, "call", c->call);
    wj_put_str(&a->w, "tool", c->name);
    if (c->approval)
        wj_put_bool(&a->w, "granted", !denied);
    put_who(a, ev->run.answered_by, ev->run.api_key);
    end_line(a);
    return r;
}

static void write_asked(struct audit *a, const struct wm_row *row, const struct wl_row *stored,
                        const struct wm_pending *p)
{
    if (!p->approval)
        return;
    begin_line(a, "approval.asked", row->time_ms);
    put_run(a, stored->run);
    wj_put_str(&a->w, "call", p->call);
    wj_put_str(&a->w, "tool", p->name);
    end_line(a);
}

/* Answers are not records of their own: what waited and waits no more was answered, if the run goes on: else it was
 * cancelled or has expired. */
WEFT_SUSPENDS static int write_answers(struct audit *a, const struct wm_row *row, const struct wl_row *stored,
                                       const struct wm_event *ev)
{
    size_t kept = 0;
    int r = 0;
    for (size_t i = 0; r >= 0 && i < a->n_waiting; i++)
        if (is_pending(ev, a->waiting[i].call))
            a->waiting[kept++] = a->waiting[i];
        else if (ev->run.status == WM_RUNNING || ev->run.status == WM_WAITING)
            r = write_answer(a, row, stored, ev, &a->waiting[i]);
    a->n_waiting = kept;
    for (size_t i = 0; i < ev->run.n_pending && a->n_waiting < WAITING_MAX; i++) {
        const struct wm_pending *p = &ev->run.pending[i];
        bool known = false;
        for (size_t k = 0; k < kept; k++)
            known |= wb_str_eq(a->waiting[k].call, p->call);
        if (known)
            continue;
        a->waiting[a->n_waiting++] = (struct waiting){.call = wb_arena_dup(&a->x->arena, p->call),
                                                      .name = wb_arena_dup(&a->x->arena, p->name),
                                                      .run = p->run,
                                                      .approval = p->approval};
        write_asked(a, row, stored, p);
    }
    return r;
}

WEFT_SUSPENDS static int write_record(struct audit *a, const struct wm_row *row, const struct wl_row *stored,
                                      const struct wm_event *ev)
{
    static const char *const outcomes[] = {
        "", "done", "error", "unknown", "denied", "stopped", "invalid",
    };
    int r = 0;
    if (ev->kind == WM_RUN) {
        r = look_up(a, stored->run);
        if (r >= 0)
            r = write_answers(a, row, stored, ev);
        begin_line(a, "run", row->time_ms);
        put_run(a, stored->run);
        wj_put_str(&a->w, "status", wr_status_name(ev->run.status));
        put_who(a, a->agent, a->key);
        end_line(a);
    } else if (ev->kind == WM_TOOL_STARTED || ev->kind == WM_TOOL_ENDED) {
        if (wm_is_branch(ev))
            return 0;
        begin_line(a, ev->kind == WM_TOOL_STARTED ? "tool.started" : "tool.ended", row->time_ms);
        put_run(a, stored->run);
        wj_put_str(&a->w, "call", ev->call.id);
        wj_put_str(&a->w, "tool", ev->call.name);
        if (ev->kind == WM_TOOL_ENDED)
            wj_put_str(&a->w, "outcome",
                       wb_cstr(ev->tool_ended.outcome < WB_LEN(outcomes) ? outcomes[ev->tool_ended.outcome] : ""));
        end_line(a);
    } else if (ev->kind == WM_VOID) {
        begin_line(a, "run.resumed", row->time_ms);
        put_run(a, stored->run);
        end_line(a);
    }
    return r;
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

/* `length`: how many entries of the node are on the path; the rows at the end of the last node are all of it. */
WEFT_SUSPENDS static int write_row(struct audit *a, const struct wl_row *stored, uint32_t length, struct wb_arena *m)
{
    struct wm_row row;
    uint32_t first = wl_pos_index(stored->pos);
    int r = wm_row_read(m, stored->format, stored->body, stored->tape, &row, a->err);
    for (size_t i = 0; r >= 0 && i < row.n_entries && first + i < length; i++)
        write_entry(a, &row.entries[i], stored, first + (uint32_t)i);
    for (size_t i = 0; r >= 0 && i < row.n_records; i++)
        r = write_record(a, &row, stored, &row.records[i]);
    return r < 0 ? r : wj_writer_check(&a->w);
}

WEFT_SUSPENDS static int write_span(struct audit *a, const struct wl_span *span, bool whole)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena m = WB_ARENA(MEMORY);
    struct wl_store *s = a->x->server->opts.store;
    struct wl_range range = {
        .node = span->node, .to = whole ? UINT64_MAX : wl_pos(span->length, 0), .max_rows = BATCH_ROWS};
    struct wl_rows rows = {.more = true};
    int r = 0;
    while (r >= 0 && rows.more && !a->more) {
        wb_arena_reset(&m);
        r = wl_store_rows(s, &a->x->owner, &range, &m, &rows, a->err);
        for (size_t i = 0; r >= 0 && i < rows.n && !a->more; i++) {
            r = write_row(a, &rows.p[i], whole ? UINT32_MAX : span->length, &m);
            range.from = rows.p[i].pos + 1;
        }
        if (r >= 0 && !rows.n)
            break;
    }
    return r;
}

WEFT_SUSPENDS static int write_thread(struct audit *a, const struct wl_thread *t)
{
    struct wl_path path;
    yyjson_val **actors = NULL;
    size_t n = 0;
    int r = wl_thread_path(a->x->server->opts.store, &a->x->owner, t, &a->x->arena, &path, a->err);
    if (r >= 0)
        r = sv_members_made_with(a->x, t, &path, &actors, &n, a->err);
    if (r < 0)
        return r;
    begin_line(a, "thread.created", t->created_ms);
    asst_put_id(&a->w, "id", "thread_", t->id);
    wj_put_str(&a->w, "who", t->owner.user.n ? t->owner.user : (struct upp_str){NULL, 0});
    asst_put_id(&a->w, "parent_id", "thread_", t->parent);
    if (actors) {
        wj_put_open(&a->w, "actors", '[');
        for (size_t i = 0; i < n; i++)
            wd_aitp_put_member(&a->w, actors[i]);
        wj_write_close(&a->w, ']');
    }
    end_line(a);
    for (size_t i = 0; r >= 0 && i < path.n && !a->more; i++)
        r = write_span(a, &path.spans[i], i + 1 == path.n && !t->at);
    if (r >= 0 && a->more)
        write_more(a);
    return r;
}

/* What is left of a thread that was deleted. -UPP_ENOTFOUND: there was none, or it was another owner's. */
WEFT_SUSPENDS static int write_deleted(struct audit *a)
{
    struct wb_uuid u;
    struct upp_str text;
    yyjson_val *note;
    char name[WB_UUID_TEXT + 1];
    uint64_t ms = 0;
    if (!wl_id_parse(a->x->params[0], UPP_STR("thread_"), &u))
        return -UPP_ENOTFOUND;
    int r = wl_get_value(a->x->server->opts.store, &a->x->owner, UPP_STR(WL_AUDIT), wb_uuid_text(u, name), &a->x->arena,
                         &text, NULL);
    if (r >= 0)
        r = wj_read(&a->x->arena, text, NULL, &note, a->err);
    if (r < 0)
        return r;
    if (!wb_str_eq(wj_text_at(note, "user"), a->x->owner.user))
        return -UPP_ENOTFOUND;
    (void)wb_str_u64(wj_text(yyjson_obj_get(note, "time")), &ms); /* we wrote it */
    begin_line(a, "thread.deleted", (int64_t)ms);
    asst_put_id(&a->w, "id", "thread_", u);
    wj_put_str(&a->w, "who", a->x->owner.user.n ? a->x->owner.user : (struct upp_str){NULL, 0});
    end_line(a);
    return wj_writer_check(&a->w);
}

/* Which lines: ?after=NUMBER&limit=NUMBER. */
static int read_page(struct audit *a, struct upp_err *err)
{
    struct upp_str text;
    int r = sv_query(a->x, UPP_STR("limit"), &text, err);
    a->limit = PAGE_LINES;
    if (r > 0 && (!wb_str_u64(text, &a->limit) || !a->limit || a->limit > PAGE_LINES))
        return upp_fail(err, UPP_EINVALID, "limit is 1 to %d", PAGE_LINES);
    if (r >= 0)
        r = sv_query(a->x, UPP_STR("after"), &text, err);
    if (r > 0 && !wb_str_u64(text, &a->after))
        return upp_fail(err, UPP_EINVALID, "after is the number of a line");
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS int sv_aitp_audit(struct sv_exchange *x, struct upp_err *err)
{
    struct audit a = {.x = x, .number = 1, .err = err};
    struct wl_thread t;
    wj_writer_init(&a.w, &x->reply.body, err);
    a.waiting = wb_new_n(&x->arena, struct waiting, WAITING_MAX);
    int r = a.waiting ? read_page(&a, err) : wb_arena_check(&x->arena, err);
    if (r < 0)
        return r;
    r = sv_find_thread(x, &t, err);
    int found = r == -UPP_ENOTFOUND ? write_deleted(&a) : r;
    if (found < 0)
        return found == -UPP_ENOTFOUND ? r : found;
    if (r >= 0)
        r = write_thread(&a, &t);
    else
        r = 0;
    x->reply.status = 200;
    x->reply.type = "application/x-ndjson";
    if (r == -UPP_ELIMIT)
        return upp_fail(err, UPP_EREFUSED,
                        "line %llu of the audit is longer than a response of %d bytes: after=%llu continues behind it",
                        (unsigned long long)a.number, SV_REPLY_BODY, (unsigned long long)a.number);
    return r;
}
