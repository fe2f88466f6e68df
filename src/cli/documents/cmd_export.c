/* cli/documents/cmd_export.c — weft export THREAD: a conversation as a document. */
#include <stdio.h>
#include <string.h>

#include "thread/session_doc.h"
#include "thread/doc.h"
#include "base/defs.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/documents/conversion.h"
#include "cli/store_reader.h"
#include "cli/thread_word.h"
#include "dialects/core/convert.h"
#include "json/write.h"
#include "cli/run_view.h"
#include "model/upp_json.h"

enum { LOSS = 1 << 20 /* bytes of a line */ };

struct export_request {
    struct cli_source from;
    const char *thread, *as, *to, *view;   /* to NULL: standard output */
    const struct wd_document_ops *dialect; /* NULL: uap, or the log */
    bool log, json;
    struct cli_progress progress;
    const struct wr_agent_def **defs; /* definitions of agents that have an id ... */
    struct upp_str *ids;              /* ... and those ids */
    size_t n;
};

enum { PAGE = 256 };

static struct upp_str word(const char *const *words, size_t n, uint8_t i)
{
    return wb_cstr(i < n && words[i] ? words[i] : "unknown");
}

static void put_words(struct wj_writer *w, const struct wm_entry *e)
{
    static const char *const kinds[] = {[WM_ENTRY_MESSAGE] = "message",
                                        [WM_ENTRY_EVENT] = "event",
                                        [WM_ENTRY_REPAIR] = "repair",
                                        [WM_ENTRY_TURN] = "turn"};
    static const char *const origins[] = {
        [WM_ORIGIN_RUN] = "run", [WM_ORIGIN_CLIENT] = "client", [WM_ORIGIN_IMPORT] = "import"};
    static const char *const audiences[] = {
        [WM_AUDIENCE_ALL] = "all", [WM_AUDIENCE_RUN] = "run", [WM_AUDIENCE_MODEL] = "model"};
    wj_put_str(w, "kind", word(kinds, WB_LEN(kinds), e->kind));
    wj_put_str(w, "origin", word(origins, WB_LEN(origins), e->origin));
    wj_put_str(w, "audience", word(audiences, WB_LEN(audiences), e->audience));
}

static void put_erased(struct wj_writer *w, const struct wm_erased *erased)
{
    wj_write_name(w, UPP_STR("erased"));
    if (!erased->time_ms) {
        wj_write_null(w);
        return;
    }
    wj_write_open(w, '{');
    wj_write_name(w, UPP_STR("time"));
    wm_time_write(w, erased->time_ms);
    wj_put_str(w, "why", erased->why);
    wj_write_close(w, '}');
}

static void put_said(struct wj_writer *w, const struct wm_entry *e, struct upp_str id)
{
    struct upp_message m = e->message;
    bool message = (e->kind == WM_ENTRY_MESSAGE || e->kind == WM_ENTRY_REPAIR) && !wm_is_hidden(e);
    m.id = m.id.n ? m.id : id;
    wj_write_name(w, UPP_STR("message"));
    if (message)
        wm_message_write(w, &m);
    else
        wj_write_null(w);
    wj_write_name(w, UPP_STR("event"));
    if (e->kind == WM_ENTRY_EVENT && e->data.n)
        wj_write_raw(w, e->data.p, e->data.n);
    else
        wj_write_null(w);
}

static int put_line(const struct wl_line *line, uint32_t at, struct wb_buf *out, struct upp_err *err)
{
    const struct wm_entry *e = &line->entry;
    struct wj_writer w;
    char id[64], run[64];
    struct upp_str own = wb_cstr(cli_id("msg_", line->id, id));
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    wj_put_u64(&w, "at", at);
    wj_put_str(&w, "id", own);
    wj_write_name(&w, UPP_STR("time"));
    wm_time_write(&w, e->message.time_ms);
    wj_put_str(&w, "who", e->who);
    put_words(&w, e);
    wj_put_str(&w, "run",
               wb_uuid_is_nil(line->run) ? (struct upp_str){NULL, 0} : wb_cstr(cli_id("run_", line->run, run)));
    wj_put_u64(&w, "step", e->step);
    wj_put_str(&w, "phase", e->phase);
    put_erased(&w, &e->erased);
    put_said(&w, e, own);
    wj_write_close(&w, '}');
    wb_buf_addc(out, '\n');
    return wj_writer_check(&w);
}

WEFT_SUSPENDS static int write_log(struct cli_reader *rd, const struct wl_thread *t, struct cli_progress *progress,
                                   struct wb_buf *out, struct upp_err *err)
{
    struct wl_path path;
    int r = wl_thread_path(rd->store, &rd->owner, t, &rd->arena, &path, err);
    if (r >= 0)
        cli_progress_begin(progress, rd->self, "entries", path.length);
    for (uint32_t at = 0; r >= 0 && at < path.length; at += PAGE) {
        uint32_t n = WB_MIN(path.length - at, (uint32_t)PAGE);
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(512u << 20);
        struct wl_line *lines;
        size_t got = 0;
        r = wl_path_tail(rd->store, &rd->owner, &path, at + n, n, &a, &lines, &got, err);
        for (size_t i = 0; r >= 0 && i < got; i++)
            r = put_line(&lines[i], at + (uint32_t)i, out, err);
        cli_progress_to(progress, at + n);
    }
    cli_progress_end(progress);
    return r;
}

/* The ids of the configuration's agents: from the file, or as the store has recorded them. */
WEFT_SUSPENDS static int find_agents(struct cli_reader *rd, struct export_request *x, struct upp_err *err)
{
    x->defs = wb_new_n(&rd->arena, const struct wr_agent_def *, rd->config->n_agents);
    x->ids = wb_new_n(&rd->arena, struct upp_str, rd->config->n_agents);
    for (size_t i = 0; x->defs && x->ids && i < rd->config->n_agents; i++) {
        const struct wr_agent_def *def = &rd->config->agents[i].def;
        struct upp_str id = def->id;
        struct wb_uuid u;
        char text[WB_UUID_TEXT + 1];
        int r = id.n ? 0 : wrt_agent_id(rd->store, def->name, false, &u, err);
        if (r == -UPP_ENOTFOUND)
            continue; /* it has never run */
        if (r < 0)
            return r;
        x->defs[x->n] = def;
        x->ids[x->n++] = id.n ? id : wb_arena_dup(&rd->arena, wb_uuid_text(u, text));
    }
    return wb_arena_check(&rd->arena, err);
}

static struct upp_str agent_id(void *arg, struct upp_str agent)
{
    const struct export_request *x = arg;
    for (size_t i = 0; i < x->n; i++)
        if (wb_str_eq(x->defs[i]->name, agent))
            return x->ids[i];
    return (struct upp_str){NULL, 0};
}

static struct upp_str agent_title(void *arg, struct upp_str agent)
{
    const struct export_request *x = arg;
    for (size_t i = 0; i < x->n; i++)
        if (wb_str_eq(x->defs[i]->name, agent) && !wb_str_eq(x->defs[i]->title, agent))
            return x->defs[i]->title;
    return (struct upp_str){NULL, 0};
}

static int write_out(const struct export_request *x, struct wb_buf *out, struct upp_err *err)
{
    if (!x->log)
        wb_buf_addc(out, '\n');
    int r = wb_buf_check(out, err);
    if (r >= 0 && x->to)
        return wb_file_write(x->to, wb_buf_str(out), 0600, err);
    if (r >= 0)
        (void)fwrite(out->p, 1, out->n, stdout);
    return r;
}

/* The tree and its checkpoints, as SessionJSON of UAP. */
WEFT_SUSPENDS static int write_session(struct cli_reader *rd, const struct wl_thread *t, struct wb_buf *out,
                                       struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena memory = WB_ARENA(1u << 30);
    struct wa_doc_opts opts = {.id_of = agent_id, .title_of = agent_title, .arg = rd->arg, .whole = true};
    struct wm_session doc;
    struct wj_writer w;
    int r = wa_session_doc(rd->store, &rd->owner, t, &opts, &memory, &doc, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, out, err);
    wm_session_write(&w, &doc);
    return wj_writer_check(&w);
}

static void know_agent(void *arg, struct wm_doc_agent *agent)
{
    const struct export_request *x = arg;
    for (size_t i = 0; i < x->n; i++)
        if (wb_str_eq(x->defs[i]->name, agent->name)) {
            agent->id = x->ids[i];
            agent->name = x->defs[i]->title;
            agent->prompt_now = x->defs[i]->system;
            return;
        }
}

static int write_loss(const struct wd_loss *loss, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(LOSS);
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    cli_loss_write(&w, loss);
    wj_write_close(&w, '}');
    return cli_line_out(stderr, &w);
}

/* The history in another dialect; losses are reported on standard error. */
WEFT_SUSPENDS static int write_history(struct cli_reader *rd, const struct wl_thread *t, struct wb_buf *out,
                                       struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena memory = WB_ARENA(1u << 30);
    WB_CLEANUP(wm_doc_done) struct wm_doc doc = {0};
    WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &memory};
    struct export_request *x = rd->arg;
    struct wa_thread_doc_opts opts = {.agent = know_agent, .arg = x, .dialect = wb_cstr(x->dialect->name)};
    struct upp_str view = x->view ? wb_cstr(x->view) : (struct upp_str){NULL, 0};
    struct upp_str seen = x->view ? agent_id(x, view) : view; /* named as in the configuration */
    int r = wa_thread_doc(rd->store, &rd->owner, t, &opts, &memory, &doc, err);
    if (r >= 0)
        r = wd_doc_write(&doc, x->dialect, UPP_OPTS(wd_convert_opts, .view = seen.p ? seen : view), out, &losses, err);
    for (size_t i = 0; r >= 0 && i < losses.list.n; i++)
        if (x->json)
            r = write_loss(&losses.list.p[i], err);
        else
            (void)fprintf(stderr, "weft export: lost: %.*s%s%.*s: %.*s\n", UPP_FMT(losses.list.p[i].pointer),
                          losses.list.p[i].pointer.n ? ": " : "", UPP_FMT(losses.list.p[i].what),
                          UPP_FMT(losses.list.p[i].why));
    return r;
}

WEFT_SUSPENDS static int export_thread(struct cli_reader *rd, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(WM_SESSION_BYTES);
    struct export_request *x = rd->arg;
    struct wl_thread t;
    if (x->from.as.tenant || x->from.as.user)
        rd->report = (struct cli_report){
            .action = "data.export", .target = x->thread, .tenant = x->from.as.tenant, .user = x->from.as.user};
    int r = cli_thread_find(rd, x->thread, &t, err);
    if (r >= 0)
        r = find_agents(rd, x, err);
    if (r >= 0)
        r = x->log       ? write_log(rd, &t, &x->progress, &out, err)
            : x->dialect ? write_history(rd, &t, &out, err)
                         : write_session(rd, &t, &out, err);
    return r < 0 ? r : write_out(x, &out, err);
}

static int run_export(const struct cli_command *self, int argc, char **argv)
{
    struct export_request x = {0};
    int bad = cli_parse(self, argc, argv, &x, &x.thread, 1, "the id of a thread");
    if (bad)
        return bad;
    bool uap = x.as && strcmp(x.as, "uap") == 0;
    x.log = x.as && strcmp(x.as, "log") == 0;
    if (!x.as)
        return cli_misuse(
            self,
            "wants --as and a dialect (thread, pydantic, ui, agentapi, aitp, assistants, envelope, upp, uap), or log");
    if (!uap && !x.log && !(x.dialect = cli_dialect(self, "--as", x.as, "log")))
        return CLI_USAGE;
    if (x.view && !(x.dialect && x.dialect->views))
        return cli_misuse(self, "--view is for pydantic: %s has one view for all agents", x.as);
    return cli_read_store(self, &x.from, false, export_thread, &x);
}

static const struct cli_option export_options[] = {
    CLI_VALUE_OF("--as", "DIALECT|log", "a dialect", struct export_request, as, CLI_DIALECT, NULL,
                 "the dialect of the document; log: every entry in order, one JSON object per line"),
    CLI_VALUE_OF("--view", "AGENT", "an agent", struct export_request, view, CLI_AGENT, NULL,
                 "with pydantic: the history as this agent sees it"),
    CLI_VALUE_OF("-o", "FILE", "a file", struct export_request, to, CLI_FILE, NULL,
                 "writes to FILE, which is replaced atomically"),
    CLI_FLAG("--json", struct export_request, json,
             "losses and errors on standard error as JSON lines; a loss has pointer, what, why"),
    CLI_SOURCE_OPTIONS(struct export_request, from),
};

const struct cli_command cli_export = {
    .name = "export",
    .usage =
        "THREAD --as D|log [--view AGENT] [-o FILE] [--json] [--tenant T] [--user U] [--config FILE] [--store URL]",
    .summary = "exports a thread as a document",
    .help = "Writes the thread to standard output, or to FILE: as UAP's SessionJSON with its tree and its checkpoints\n"
            "(uap), or its history in any other dialect: thread, pydantic, ui, agentapi, aitp, assistants, envelope, "
            "upp.\n"
            "Residue of an imported document is exported in its own dialect. What the dialect cannot represent is\n"
            "reported on standard error.\n"
            "An entry of --as log has at, id, time, who, kind, origin, audience, run, step, phase, erased, message,\n"
            "event; those that only a run or a model sees are there too.\n"
            "The database can be read while a server uses it.",
    .run = run_export,
    CLI_OPTIONS(export_options),
    .examples = "weft export THREAD --as ui\n"
                "weft export THREAD --as uap -o thread.json\n",
};
