/* run/middleware.c — the engine's side of middleware: `before`, its changes of the path, what it observes. */
#include "run/engine_state.h"
#include "run/middleware.h"
#include "run/run.h"

#include "base/crash.h"
#include "fiber/loop.h"
#include "json/read.h"
#include "model/upp_json.h"

static const struct upp_str INPUT = UPP_STR_INIT("input");
static const struct upp_str HISTORY = UPP_STR_INIT("history");
static const struct upp_str MEMORY = UPP_STR_INIT("memory");
static const struct upp_str SUMMARY = UPP_STR_INIT("summary");

enum { DATA_BYTES = 4 << 20 };
#define NOWHERE UINT32_MAX /* not in the log */

/* ---- What a run is, for middleware ------------------------------------------------------------------------- */

struct wb_arena *wr_run_memory(struct weft_run *run)
{
    return &wr_of(run)->memory;
}

void **wr_run_slot(struct weft_run *run)
{
    return &wr_of(run)->middleware.slot;
}

struct upp_str wr_run_request(struct weft_run *run)
{
    return wr_of(run)->middleware.request;
}

int wr_run_set_request(struct weft_run *pub, struct upp_str json, struct upp_err *err)
{
    struct wr_run *run = wr_of(pub);
    yyjson_val *v;
    if (run->middleware.request.p && wb_str_eq(run->middleware.request, json))
        return 0;
    int r = wj_read(&run->memory, json, NULL, &v, err);
    if (r >= 0 && !yyjson_is_obj(v))
        r = upp_fail(err, UPP_EINVALID, "it is no object");
    if (r < 0)
        return upp_wrap(err, r, "metadata of the request");
    run->middleware.request = wb_arena_dup(&run->memory, json);
    run->draft.state = true;
    return wb_arena_check(&run->memory, err);
}

const struct upp_model *wr_run_model(struct weft_run *run)
{
    return wr_of(run)->model;
}

const struct upp_wait *wr_run_wait(struct weft_run *run)
{
    return &wr_of(run)->engine->wait;
}

uint64_t wr_run_age_ms(struct weft_run *pub)
{
    struct wr_run *run = wr_of(pub);
    int64_t ms = weft__loop_wall_ms(run->engine->loop) - run->row.started_ms;
    return ms > 0 ? (uint64_t)ms : 0;
}

size_t wr_run_enriched_at(struct weft_run *pub)
{
    const struct wr_run *run = wr_of(pub);
    return run->n_history + run->middleware.n_remembered;
}

const struct upp_message *wr_run_enriched(struct weft_run *pub)
{
    struct wr_run *run = wr_of(pub);
    size_t at = wr_run_enriched_at(pub);
    return at < run->path.n && (run->pub.input || run->middleware.input) ? run->path.p[at] : NULL;
}

/* ---- Before --------------------------------------------------------------------------------------------------- */

int wr_before(struct wr_run *run, struct upp_err *err)
{
    const struct wr_middleware *m = run->def->middleware;
    if (!m || run->middleware.request.p)
        return 0;
    /* What it changes gets its own row. */
    int r = wr_draft_empty(run) ? 0 : wr_flush(run, NULL, err);
    if (r >= 0 && m->before)
        r = m->before(m->arg, &run->pub, err);
    if (r < 0)
        return r;
    if (!run->middleware.request.p)
        run->middleware.request = UPP_STR("{}");
    run->draft.state = true;
    wb_crashpoint("around.before");
    r = wr_flush(run, NULL, err);
    wb_crashpoint("around.after");
    return r;
}

/* Reports new records: each is complete when the step closes or the row is taken. */
void wr_observe(struct wr_run *run)
{
    const struct wr_middleware *m = run->def ? run->def->middleware : NULL;
    struct wr_draft *d = &run->draft;
    if (!m || !m->observe)
        return;
    for (; d->observed < d->records.n; d->observed++) {
        const struct wm_event *ev = &d->records.p[d->observed];
        if (ev->kind == WM_STEP_END || ev->kind == WM_TOOL_STARTED || ev->kind == WM_TOOL_ENDED)
            m->observe(m->arg, &run->pub, ev);
    }
}

void wr_observe_step(struct wr_run *run)
{
    const struct wr_middleware *m = run->def->middleware;
    if (m && m->observe)
        m->observe(m->arg, &run->pub, &(struct wm_event){.kind = WM_STEP_START, .step = run->pub.state.step + 1});
}

/* ---- The path ------------------------------------------------------------------------------------------------- */

static int path_insert(struct wr_run *run, size_t at, const struct upp_message *m, struct upp_err *err)
{
    int r = wr_path_add(run, m, err);
    if (r < 0)
        return r;
    memmove(run->path.p + at + 1, run->path.p + at, (run->path.n - 1 - at) * sizeof *run->path.p);
    run->path.p[at] = m;
    return 0;
}

static int path_set_input(struct wr_run *run, const struct upp_message *m, struct upp_err *err)
{
    size_t at = wr_run_enriched_at(&run->pub);
    bool had = run->pub.input || run->middleware.input;
    run->middleware.input = m;
    if (had) {
        run->path.p[at] = m;
        return 0;
    }
    return path_insert(run, at, m, err);
}

static int path_remember(struct wr_run *run, const struct upp_message *m, struct upp_err *err)
{
    int r = path_insert(run, wr_run_enriched_at(&run->pub), m, err);
    run->middleware.n_remembered += r >= 0;
    return r;
}

/* Replaces the first messages by one. */
static int path_cover(struct wr_run *run, const struct upp_message *m, size_t covers, struct upp_err *err)
{
    if (covers < 1 || covers > run->n_history)
        return upp_fail(err, UPP_ESTORE, "a summary stands for %zu of %zu messages", covers, run->n_history);
    run->path.p[0] = m;
    memmove(run->path.p + 1, run->path.p + covers, (run->path.n - covers) * sizeof *run->path.p);
    run->path.n -= covers - 1;
    if (run->positions.n >= covers) {
        run->positions.p[0] = NOWHERE;
        memmove(run->positions.p + 1, run->positions.p + covers,
                (run->positions.n - covers) * sizeof *run->positions.p);
        run->positions.n -= covers - 1;
    }
    run->n_history -= covers - 1;
    return 0;
}

/* keep[i]: which message of the current history is number i of the new one; or -1: the next one of `fresh`. */
static int path_history(struct wr_run *run, const int64_t *keep, size_t n, const struct upp_message *const *fresh,
                        size_t n_fresh, struct upp_err *err)
{
    size_t rest = run->path.n - run->n_history, used = 0;
    const struct upp_message **list = wb_new_n(&run->memory, const struct upp_message *, n + rest + 1);
    uint32_t *at = wb_new_n(&run->memory, uint32_t, n + 1);
    if (!list || !at)
        return wb_arena_check(&run->memory, err);
    for (size_t i = 0; i < n; i++) {
        bool old = keep[i] >= 0 && (uint64_t)keep[i] < run->n_history;
        if (!old && (keep[i] != -1 || used == n_fresh))
            return upp_fail(err, UPP_ESTORE, "the history of the run is not whole");
        list[i] = old ? run->path.p[keep[i]] : fresh[used++];
        at[i] = old && (size_t)keep[i] < run->positions.n ? run->positions.p[keep[i]] : NOWHERE;
    }
    memcpy(list + n, run->path.p + run->n_history, rest * sizeof *list);
    run->path.n = run->positions.n = run->n_history = 0;
    int r = 0;
    for (size_t i = 0; r >= 0 && i < n + rest; i++)
        r = wr_path_add(run, list[i], err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        if (!wb_vec_push(&run->positions, at[i], UINT32_MAX))
            r = upp_fail(err, UPP_ENOMEM, "no memory for the path");
    if (r >= 0)
        run->n_history = n;
    return r;
}

/* ---- Changing it ---------------------------------------------------------------------------------------------- */

/* An entry for models only, of no step. */
static struct wm_entry *context_entry(struct wr_run *run, struct upp_str phase, struct upp_err *err)
{
    struct wm_entry *e = wr_draft_entry(run, err);
    if (!e)
        return NULL;
    e->audience = WM_AUDIENCE_RUN;
    e->phase = phase;
    e->step = 0;
    return e;
}

static const struct upp_message *copy_message(struct wr_run *run, const struct upp_message *m, struct upp_err *err)
{
    struct upp_message *copy = wb_new(&run->memory, struct upp_message);
    if (!copy)
        return upp_fail(err, UPP_ENOMEM, "no memory for a message"), NULL;
    return wm_message_copy(&run->memory, m, copy, err) < 0 ? NULL : copy;
}

static struct upp_str entry_id(const struct wr_run *run, uint32_t index, char text[WB_UUID_TEXT + 1])
{
    return wb_uuid_text(wm_id_uuid((struct wm_id){.node = run->row.node, .index = index, .noun = WM_NOUN_ENTRY}), text);
}

/* Refers to both texts: neither is stored a second time. */
static int draft_enriched(struct wr_run *run, uint32_t enriched, struct upp_err *err)
{
    char id[2][WB_UUID_TEXT + 1];
    struct upp_str data =
        wb_arena_printf(&run->memory, "{\"original\":{\"entry\":\"%.*s\"},\"enriched\":{\"entry\":\"%.*s\"}}",
                        UPP_FMT(entry_id(run, run->row.input, id[0])), UPP_FMT(entry_id(run, enriched, id[1])));
    int r = wb_arena_check(&run->memory, err);
    return r < 0 ? r
                 : weft_run_event(&run->pub,
                                  &(struct weft_system_event){.type = UPP_STR("prompt.enriched"), .data = data}, err);
}

/* Moves what was added to the draft since then to its front. */
static void to_front(struct wr_run *run, size_t entries, size_t records)
{
    struct wr_draft *d = &run->draft;
    uint32_t n = (uint32_t)(d->entries.n - entries);
    for (size_t i = 0; i < n; i++) {
        struct wm_entry e = d->entries.p[entries + i];
        memmove(d->entries.p + i + 1, d->entries.p + i, entries * sizeof e);
        d->entries.p[i] = e;
    }
    for (size_t i = 0; i < d->records.n; i++) /* in `before` all records refer to entries */
        d->records.p[i].message.index += i < records ? n : 0u - (uint32_t)entries;
    for (size_t i = 0; records + i < d->records.n; i++) {
        struct wm_event ev = d->records.p[records + i];
        memmove(d->records.p + i + 1, d->records.p + i, records * sizeof ev);
        d->records.p[i] = ev;
    }
}

int wr_run_set_input(struct weft_run *pub, const struct upp_message *m, struct upp_err *err)
{
    struct wr_run *run = wr_of(pub);
    size_t had = run->draft.entries.n, records = run->draft.records.n;
    if (m->role != UPP_ROLE_USER)
        return upp_fail(err, UPP_EINVALID, "an input is a message of the user");
    const struct upp_message *copy = copy_message(run, m, err);
    struct wm_entry *e = copy ? context_entry(run, INPUT, err) : NULL;
    if (!e)
        return -UPP_ENOMEM;
    int64_t time_ms = e->message.time_ms;
    e->message = *copy;
    e->message.time_ms = time_ms;
    int r = run->pub.input ? draft_enriched(run, run->end.length, err) : 0;
    if (r >= 0)
        r = path_set_input(run, copy, err);
    if (r < 0) {
        run->draft.entries.n = had;
        run->draft.records.n = records;
        return r;
    }
    to_front(run, had, records);
    return 0;
}

static int64_t find_old(const struct wr_run *run, const struct upp_message *m, size_t from)
{
    for (size_t i = from; i < run->n_history; i++)
        if (run->path.p[i] == m)
            return (int64_t)i;
    for (size_t i = 0; i < from && i < run->n_history; i++)
        if (run->path.p[i] == m)
            return (int64_t)i;
    return -1;
}

static int draft_history(struct wr_run *run, const int64_t *keep, size_t n, const struct upp_message *const *fresh,
                         size_t n_fresh, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(DATA_BYTES);
    struct wj_writer w;
    wj_writer_init(&w, &b, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "type", HISTORY);
    wj_put_open(&w, "keep", '[');
    for (size_t i = 0; i < n; i++)
        wj_write_i64(&w, keep[i]);
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    struct wm_entry *e = r >= 0 ? context_entry(run, HISTORY, err) : NULL;
    if (!e)
        return r < 0 ? r : -UPP_ENOMEM;
    e->kind = WM_ENTRY_EVENT;
    e->data = wb_arena_dup(&run->memory, wb_buf_str(&b));
    for (size_t i = 0; i < n_fresh; i++) {
        e = context_entry(run, HISTORY, err);
        if (!e)
            return upp_fail(err, UPP_ELIMIT, "another history has too many messages of its own");
        int64_t time_ms = e->message.time_ms;
        e->message = *fresh[i];
        e->message.time_ms = time_ms;
    }
    return wb_arena_check(&run->memory, err);
}

int wr_run_set_history(struct weft_run *pub, const struct upp_message *const *list, size_t n, struct upp_err *err)
{
    struct wr_run *run = wr_of(pub);
    size_t had = run->draft.entries.n, n_fresh = 0, from = 0;
    int64_t *keep = wb_new_n(&run->memory, int64_t, n + 1);
    const struct upp_message **fresh = wb_new_n(&run->memory, const struct upp_message *, n + 1);
    if (!keep || !fresh)
        return wb_arena_check(&run->memory, err);
    for (size_t i = 0; i < n; i++) {
        keep[i] = find_old(run, list[i], from);
        if (keep[i] >= 0)
            from = (size_t)keep[i] + 1;
        else if (!(fresh[n_fresh++] = copy_message(run, list[i], err)))
            return -(err && err->code ? err->code : UPP_ENOMEM);
    }
    int r = run->engine->store ? draft_history(run, keep, n, fresh, n_fresh, err) : 0;
    if (r >= 0)
        r = path_history(run, keep, n, fresh, n_fresh, err);
    if (r < 0)
        run->draft.entries.n = had;
    return r;
}

static struct upp_message *user_text(struct wr_run *run, struct upp_str text, struct upp_err *err)
{
    struct upp_message *m = wb_new(&run->memory, struct upp_message);
    struct upp_part *part = wb_new(&run->memory, struct upp_part);
    if (!m || !part)
        return upp_fail(err, UPP_ENOMEM, "no memory for a message"), NULL;
    *part = (struct upp_part){.kind = UPP_PART_TEXT, .text = wb_arena_dup(&run->memory, text.p ? text : UPP_STR(""))};
    *m = (struct upp_message){.role = UPP_ROLE_USER, .parts = part, .n_parts = 1, .time_ms = wr_now(run)};
    return wb_arena_check(&run->memory, err) < 0 ? NULL : m;
}

int wr_run_remember(struct weft_run *pub, struct upp_str text, struct upp_err *err)
{
    struct wr_run *run = wr_of(pub);
    struct upp_message *m = user_text(run, text, err);
    struct wm_entry *e = m ? context_entry(run, MEMORY, err) : NULL;
    if (!e)
        return -UPP_ENOMEM;
    e->message = *m;
    int r = path_remember(run, m, err);
    if (r < 0)
        run->draft.entries.n--;
    return r;
}

/* The first position of the log that the summary does not cover. */
static uint32_t position_after(const struct wr_run *run, size_t covers)
{
    for (size_t i = covers; i < run->positions.n; i++)
        if (run->positions.p[i] != NOWHERE)
            return run->positions.p[i];
    return run->middleware.input_position;
}

int wr_run_summarise(struct weft_run *pub, size_t covers, struct upp_str text, const struct upp_usage *u,
                     struct upp_err *err)
{
    struct wr_run *run = wr_of(pub);
    struct upp_message *m = user_text(run, text, err);
    int r = m ? wr_cycle_add(run, u, err) : -UPP_ENOMEM;
    if (r < 0)
        return r;
    struct wm_entry *e = run->engine->store ? context_entry(run, SUMMARY, err) : NULL;
    if (run->engine->store && !e)
        return -UPP_ENOMEM;
    if (e) {
        e->audience = WM_AUDIENCE_MODEL;
        e->message = *m;
        e->data = wb_arena_printf(&run->memory, "{\"through\":%u,\"covers\":%zu}", position_after(run, covers), covers);
        r = wb_arena_check(&run->memory, err);
    }
    if (r >= 0)
        r = path_cover(run, m, covers, err);
    if (r < 0 && e)
        run->draft.entries.n--;
    run->draft.state = true; /* with its usage */
    return r;
}

/* ---- From the log --------------------------------------------------------------------------------------------- */

static uint64_t number_in(struct wr_run *run, struct upp_str json, const char *name, uint64_t otherwise)
{
    yyjson_val *v;
    uint64_t n;
    if (!json.p || wj_read(&run->memory, json, NULL, &v, NULL) < 0 || !(v = yyjson_obj_get(v, name)))
        return otherwise;
    return wb_str_u64(wj_text(v), &n) ? n : otherwise;
}

bool wr_is_summary(struct wr_run *run, const struct wl_line *line, uint32_t at, uint32_t *through)
{
    if (line->entry.audience != WM_AUDIENCE_MODEL || wm_is_erased(&line->entry) || wb_uuid_eq(line->run, run->row.id))
        return false;
    uint64_t n = number_in(run, line->entry.data, "through", at);
    *through = n < at ? (uint32_t)n : at;
    return true;
}

bool wr_counts_history(const struct wr_run *run, const struct wl_line *line)
{
    const struct wm_entry *e = &line->entry;
    return wb_uuid_eq(line->run, run->row.id) && wr_is_context(e) &&
           (e->audience == WM_AUDIENCE_MODEL || e->kind == WM_ENTRY_EVENT);
}

bool wr_is_context(const struct wm_entry *e)
{
    if (e->audience == WM_AUDIENCE_MODEL)
        return true;
    return e->audience == WM_AUDIENCE_RUN && !e->step &&
           (wb_str_eq(e->phase, INPUT) || wb_str_eq(e->phase, HISTORY) || wb_str_eq(e->phase, MEMORY));
}

static bool is_history(const struct wr_run *run, const struct wl_line *line, uint8_t kind)
{
    return line->entry.kind == kind && wb_uuid_eq(line->run, run->row.id) && wr_is_context(&line->entry) &&
           wb_str_eq(line->entry.phase, HISTORY);
}

/* The new messages of the history follow its entry. */
static int restore_history(struct wr_run *run, struct upp_str data, struct wl_line *const *lines, size_t n,
                           struct upp_err *err)
{
    yyjson_val *v = NULL;
    int r = wj_read(&run->memory, data, NULL, &v, err);
    v = r < 0 ? NULL : yyjson_obj_get(v, "keep");
    if (r < 0 || !yyjson_is_arr(v))
        return upp_fail(err, UPP_ESTORE, "the history of the run is no list");
    size_t n_keep = yyjson_arr_size(v), n_fresh = 0;
    int64_t *keep = wb_new_n(&run->memory, int64_t, n_keep + 1);
    const struct upp_message **fresh = wb_new_n(&run->memory, const struct upp_message *, n + 1);
    if (!keep || !fresh)
        return wb_arena_check(&run->memory, err);
    yyjson_val *item = n_keep ? unsafe_yyjson_get_first(v) : NULL;
    for (size_t i = 0; i < n_keep; i++, item = unsafe_yyjson_get_next(item))
        if (!wb_str_i64(wj_text(item), &keep[i]))
            return upp_fail(err, UPP_ESTORE, "the history of the run is no list of numbers");
    for (size_t i = 0; i < n && !is_history(run, lines[i], WM_ENTRY_EVENT); i++)
        if (is_history(run, lines[i], WM_ENTRY_MESSAGE))
            fresh[n_fresh++] = &lines[i]->entry.message;
    return path_history(run, keep, n_keep, fresh, n_fresh, err);
}

/* In the order in which they were made: each refers to the path as it was then. */
int wr_context_restore(struct wr_run *run, struct wl_line *const *lines, size_t n, struct upp_err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < n; i++) {
        const struct wm_entry *e = &lines[i]->entry;
        if (!wb_uuid_eq(lines[i]->run, run->row.id) || !wr_is_context(e))
            continue;
        if (e->audience == WM_AUDIENCE_MODEL)
            r = path_cover(run, &e->message, number_in(run, e->data, "covers", 0), err);
        else if (e->kind == WM_ENTRY_EVENT)
            r = restore_history(run, e->data, lines + i + 1, n - i - 1, err);
        else if (wb_str_eq(e->phase, INPUT))
            r = path_set_input(run, &e->message, err);
        else if (wb_str_eq(e->phase, MEMORY))
            r = path_remember(run, &e->message, err);
    }
    return r;
}
