/* cli/documents/log.c — converts a log of documents, in pieces where the result can be joined. */
#include "cli/documents/conversion.h"

#include <errno.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/input.h"
#include "dialects/agentapi/decode.h"
#include "dialects/core/document.h"
#include "dialects/ui/decode.h"

enum {
    PIECE = 4 << 20, /* bytes after which a piece may end */
    WAITS = 3,       /* how often a piece with an unanswered call goes on for a quarter more */
    COPY = 64 << 10,
};

/* ---- In memory ------------------------------------------------------------------------------------------------ */

static bool add_line(struct wb_buf *list, struct upp_str line)
{
    if (!wb_str_trim(line).n)
        return false;
    wb_buf_addc(list, list->n ? ',' : '[');
    wb_buf_add(list, line);
    return true;
}

/* The lines of a log as the items of one list. */
static int join(struct upp_str lines, struct wb_buf *to, struct upp_err *err)
{
    struct upp_str line;
    bool any = false;
    while (wb_str_split(&lines, '\n', &line))
        any |= add_line(to, line);
    wb_buf_addc(to, ']');
    return any ? wb_buf_check(to, err) : upp_fail(err, UPP_EINVALID, "there is no line in it");
}

static int read_ui_stream(const struct cli_conversion *c, struct upp_str lines, struct wb_buf *to, struct upp_err *err)
{
    size_t skipped;
    int r =
        wd_ui_stream_document(lines, c->opts.agent, c->opts.now_ms ? c->opts.now_ms : wb_wall_ms(), to, &skipped, err);
    if (r >= 0 && skipped)
        (void)fprintf(stderr, "weft convert: %zu chunks of unknown types were skipped\n", skipped);
    return r;
}

static bool is_aap_stream(const struct cli_conversion *c, struct upp_str lines)
{
    return (!c->from || c->from == &wd_document_agentapi) && wd_aap_is_stream(lines);
}

static bool is_ui_stream(const struct cli_conversion *c, struct upp_str lines)
{
    return (!c->from || c->from == &wd_document_ui) && wd_ui_is_stream(lines);
}

/* Lines of Server-Sent Events; no line of a log begins like one. */
static bool is_event_field(struct upp_str line)
{
    static const char *const fields[] = {"data:", "id:", "event:", "retry:", ":"};
    for (size_t i = 0; i < WB_LEN(fields); i++)
        if (wb_str_starts(line, wb_cstr(fields[i])))
            return true;
    return false;
}

int cli_log_read(const struct cli_conversion *c, struct upp_str lines, struct wb_buf *to, struct upp_err *err)
{
    if (is_aap_stream(c, lines))
        return wd_aap_stream_document(lines, to, err);
    if (is_ui_stream(c, lines))
        return read_ui_stream(c, lines, to, err);
    return join(lines, to, err);
}

/* ---- Pieces --------------------------------------------------------------------------------------------------- */

struct log {
    struct cli_conversion *c;
    struct cli_document_ref *at; /* the piece's first line */
    struct cli_input in;
    struct wb_buf list, out;
    struct wb_buf ahead; /* the line that begins the next piece */
    uint64_t ahead_line;
    struct wb_arena texts;
    struct wm_doc head; /* what a thread has beside its turns: agents, and the first and last time */
    FILE *spool;
    uint64_t seed;
    bool ended, any;
};

static void log_done(struct log *x)
{
    cli_input_close(&x->in);
    wb_buf_done(&x->list);
    wb_buf_done(&x->out);
    wb_buf_done(&x->ahead);
    wm_doc_done(&x->head);
    wb_arena_done(&x->texts);
    if (x->spool)
        (void)fclose(x->spool);
}

/* What is written of several parts of a list can be joined. */
static bool can_join(const struct wd_document_ops *to)
{
    static const struct wd_document_ops *const lists[] = {&wd_document_thread, &wd_document_pydantic, &wd_document_ui,
                                                          &wd_document_agentapi, &wd_document_envelope};
    for (size_t i = 0; i < WB_LEN(lists); i++)
        if (to == lists[i])
            return true;
    return false;
}

/* Is the line a message of the user? 1: yes. A line that is no document by itself is none. */
static int is_users(const struct log *x, struct upp_str line, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf list = WB_BUF(WD_DOC_BYTES + 2);
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    (void)add_line(&list, line);
    wb_buf_addc(&list, ']');
    int r = wb_buf_check(&list, err);
    if (r >= 0)
        r = wd_document_read(&d, x->c->from, wb_buf_str(&list), UPP_OPTS(wd_convert_opts, .forget = true), err);
    if (r < 0)
        return r == -UPP_ENOMEM ? r : 0;
    return d.doc.turns.n && d.doc.turns.p[0].agent == WM_NO_AGENT && d.doc.entries.n &&
           d.doc.entries.p[0].e.kind == WM_ENTRY_MESSAGE;
}

/* Begins or continues a piece, up to a message of the user behind so many bytes, or to the end. */
static int read_piece(struct log *x, struct upp_err *err)
{
    struct upp_str line;
    size_t enough = x->list.n ? x->list.n + PIECE / 4 : PIECE;
    int r = 1;
    if (!x->list.n)
        x->at->line = x->ahead_line;
    if (x->ahead.n)
        (void)add_line(&x->list, wb_buf_str(&x->ahead));
    wb_buf_clear(&x->ahead);
    while ((r = cli_input_line(&x->in, &line, err)) > 0) {
        if (x->list.n >= enough && wb_str_trim(line).n) {
            r = is_users(x, line, err);
            if (r < 0)
                return r;
            if (r > 0) {
                wb_buf_add(&x->ahead, line);
                x->ahead_line = x->in.lines;
                break;
            }
        }
        if (!add_line(&x->list, line))
            continue;
        if (!x->at->line)
            x->at->line = x->in.lines;
        if (x->list.failed)
            break;
    }
    x->ended = r == 0;
    wb_buf_addc(&x->list, ']');
    return r < 0 ? r : wb_buf_check(&x->list, err);
}

static bool has_open_call(const struct wm_doc *d)
{
    for (uint32_t i = 0; i < d->entries.n; i++)
        for (const struct upp_part *p = NULL; (p = upp_part_next(&d->entries.p[i].e.message, p, UPP_PARTS_CALLS));)
            if (!wd_result_of(d, i, p->id))
                return true;
    return false;
}

/* Results belong to the piece of their calls; a call that nobody answers does not hold it up for long. */
static int read_closed_piece(struct log *x, const struct wd_convert_opts *opts, struct wd_document *d,
                             struct upp_err *err)
{
    for (unsigned i = 0;; i++) {
        int r = read_piece(x, err);
        if (r >= 0)
            r = cli_document_read(x->c, wb_buf_str(&x->list), opts, d, err);
        if (r < 0 || x->ended || i == WAITS || !has_open_call(&d->doc))
            return r;
        wd_document_done(d);
        x->list.n--; /* the list goes on */
    }
}

/* ---- Joining -------------------------------------------------------------------------------------------------- */

static void dup_agent(struct wb_arena *a, struct wm_doc_agent *agent)
{
    struct upp_str *const texts[] = {&agent->id,      &agent->name,   &agent->model, &agent->provider,
                                     &agent->created, &agent->config, &agent->prompt};
    for (size_t i = 0; i < WB_LEN(texts); i++)
        if (texts[i]->p)
            *texts[i] = wb_arena_dup(a, *texts[i]);
    agent->prompt_now = (struct upp_str){0};
}

/* An agent that has no model somewhere has none, as within one document. */
static int add_agents(struct log *x, const struct wm_doc *d, struct upp_err *err)
{
    for (size_t i = 0; i < d->agents.n; i++) {
        struct wm_doc_agent agent = d->agents.p[i];
        uint32_t at = 0;
        while (at < x->head.agents.n && !wb_str_eq(x->head.agents.p[at].id, agent.id))
            at++;
        if (at < x->head.agents.n) {
            if (!agent.model.p)
                x->head.agents.p[at].model = agent.model;
            continue;
        }
        dup_agent(&x->texts, &agent);
        int r = wm_doc_agent_add(&x->head, &agent, &at, err);
        if (r < 0)
            return r;
    }
    return wb_arena_check(&x->texts, err);
}

static void set_time(struct log *x, struct wm_doc_entry *to, const struct wm_doc_entry *from)
{
    to->e.message.time_ms = from->e.message.time_ms;
    to->e.message.time_text = from->e.message.time_text;
    if (to->e.message.time_text.p)
        to->e.message.time_text = wb_arena_dup(&x->texts, to->e.message.time_text);
}

/* The times of a thread are those of its first and last entry. */
static int add_times(struct log *x, const struct wm_doc *d, struct upp_err *err)
{
    if (!d->entries.n)
        return 0;
    while (x->head.entries.n < 2) {
        struct wm_doc_entry *e = wm_doc_entry_add(&x->head, err);
        if (!e)
            return -UPP_ENOMEM;
        set_time(x, e, &d->entries.p[0]);
    }
    set_time(x, &x->head.entries.p[1], &d->entries.p[d->entries.n - 1]);
    return wb_arena_check(&x->texts, err);
}

static int fail_io(struct upp_err *err)
{
    return upp_fail(err, UPP_ESTORE, "cannot write a temporary file: %s", strerror(errno));
}

static int spool_items(struct log *x, const struct wd_items *items, struct upp_err *err)
{
    size_t n = items->to - items->from;
    if (!n)
        return 0;
    if (x->any && putc(',', x->spool) == EOF)
        return fail_io(err);
    x->any = true;
    return fwrite(x->out.p + items->from, 1, n, x->spool) == n ? 0 : fail_io(err);
}

static int copy_spool(struct log *x, FILE *to, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf piece = WB_BUF(COPY);
    size_t n;
    if (fflush(x->spool) != 0 || fseek(x->spool, 0, SEEK_SET) != 0)
        return fail_io(err);
    if (!wb_buf_reserve(&piece, COPY))
        return wb_buf_check(&piece, err);
    while ((n = fread(piece.p, 1, COPY, x->spool)) > 0)
        (void)fwrite(piece.p, 1, n, to);
    return ferror(x->spool) ? fail_io(err) : 0;
}

static int write_joined(struct log *x, FILE *to, struct upp_err *err)
{
    struct wd_items items = {0, 0};
    struct wd_convert_opts opts = x->c->opts;
    opts.items = &items;
    opts.view = (struct upp_str){0};
    wb_buf_clear(&x->out);
    if (x->c->to == &wd_document_thread) {
        int r = wd_doc_write(&x->head, x->c->to, &opts, &x->out, NULL, err);
        if (r < 0)
            return r;
    } else {
        wb_buf_add(&x->out, UPP_STR("[]"));
        items = (struct wd_items){1, 1};
    }
    wb_buf_addc(&x->out, '\n');
    int r = wb_buf_check(&x->out, err);
    if (r < 0)
        return r;
    (void)fwrite(x->out.p, 1, items.from, to);
    r = copy_spool(x, to, err);
    (void)fwrite(x->out.p + items.to, 1, x->out.n - items.to, to);
    return r;
}

/* ---- Converting ----------------------------------------------------------------------------------------------- */

static int convert_piece(struct log *x, struct wd_document *d, struct wd_convert_opts *opts, struct upp_err *err)
{
    struct wd_items items = {0, 0};
    opts->items = &items;
    wb_buf_clear(&x->out);
    int r = cli_document_convert(x->c, x->at, d, opts, &x->out, err);
    if (r >= 0)
        r = spool_items(x, &items, err);
    if (r >= 0)
        r = add_agents(x, &d->doc, err);
    if (r >= 0)
        r = add_times(x, &d->doc, err);
    x->c->opts.before += (uint32_t)d->doc.entries.n;
    x->c->opts.last = wb_arena_dup(&x->texts, d->last);
    if (x->c->opts.view.n)
        x->c->opts.no_system = true; /* the view's system prompt comes once */
    x->seed++;
    return r;
}

static struct wd_convert_opts opts_of(const struct log *x)
{
    struct wd_convert_opts opts = x->c->opts;
    opts.seed += x->seed;
    return opts;
}

static int convert_pieces(struct log *x, FILE *to, struct upp_err *err)
{
    for (bool first = true;; first = false) {
        WB_CLEANUP(wd_document_done) struct wd_document d = {0};
        struct wd_convert_opts opts = opts_of(x);
        wb_buf_clear(&x->list);
        int r = read_closed_piece(x, &opts, &d, err);
        if (r < 0)
            return r;
        if (first && x->ended) { /* it is short: one document, as if it were whole */
            x->at->line = 0;
            r = cli_document_convert(x->c, x->at, &d, &opts, &x->out, err);
            wb_buf_addc(&x->out, '\n');
            if (r >= 0)
                r = wb_buf_check(&x->out, err);
            if (r >= 0)
                (void)fwrite(x->out.p, 1, x->out.n, to);
            return r;
        }
        if (first) {
            x->c->from = d.ops;
            x->c->many = x->c->pieces = true;
            x->spool = tmpfile();
            if (!x->spool)
                return fail_io(err);
        }
        r = convert_piece(x, &d, &opts, err);
        if (r < 0)
            return r;
        if (x->ended)
            return write_joined(x, to, err);
    }
}

/* A recorded stream is one run, and is read whole; so is a log for a dialect whose documents cannot be joined. */
static int convert_whole(struct log *x, FILE *to, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf lines = WB_BUF(WD_DOC_BYTES + 1);
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    struct wd_convert_opts opts = opts_of(x);
    struct upp_str line;
    int r = 1;
    wb_buf_add(&lines, wb_buf_str(&x->ahead));
    while (r > 0 && (r = cli_input_line(&x->in, &line, err)) > 0) {
        wb_buf_addc(&lines, '\n');
        wb_buf_add(&lines, line);
        r = lines.failed ? wb_buf_check(&lines, err) : 1;
    }
    if (r >= 0)
        r = cli_log_read(x->c, wb_buf_str(&lines), &x->list, err);
    wb_buf_done(&lines); /* it may be long, and is in the list now */
    if (r >= 0)
        r = cli_document_read(x->c, wb_buf_str(&x->list), &opts, &d, err);
    if (r >= 0)
        r = cli_document_convert(x->c, x->at, &d, &opts, &x->out, err);
    wb_buf_addc(&x->out, '\n');
    if (r >= 0)
        r = wb_buf_check(&x->out, err);
    if (r >= 0)
        (void)fwrite(x->out.p, 1, x->out.n, to);
    return r;
}

int cli_log_convert(struct cli_conversion *c, struct cli_document_ref *at, FILE *to, struct upp_err *err)
{
    WB_CLEANUP(log_done)
    struct log x = {.c = c,
                    .at = at,
                    .list = WB_BUF(2u * WD_DOC_BYTES),
                    .out = WB_BUF(2u * WD_DOC_BYTES),
                    .ahead = WB_BUF(WD_DOC_BYTES),
                    .texts = WB_ARENA(WD_DOC_MEMORY)};
    struct upp_str line;
    int r = cli_input_open(&x.in, at->file, WD_DOC_BYTES, err);
    at->file = x.in.name;
    while (r >= 0 && !x.ahead.n && (r = cli_input_line(&x.in, &line, err)) > 0)
        if (wb_str_trim(line).n)
            wb_buf_add(&x.ahead, line);
    if (r == 0)
        return upp_fail(err, UPP_EINVALID, "there is no line in it");
    if (r < 0)
        return r;
    x.ahead_line = x.in.lines;
    struct upp_str first = wb_buf_str(&x.ahead);
    bool whole = !can_join(c->to) || is_event_field(first) || is_aap_stream(c, first) || is_ui_stream(c, first);
    r = whole ? convert_whole(&x, to, err) : convert_pieces(&x, to, err);
    if (r >= 0)
        cli_losses_end(c, at);
    return r;
}
