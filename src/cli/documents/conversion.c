/* cli/documents/conversion.c — converts a document, verifies the result, and writes its losses and problems on
 * standard error. */
#include "cli/documents/conversion.h"

#include <inttypes.h>

#include "base/err.h"
#include "base/words.h"
#include "cli/terminal.h"
#include "dialects/core/writer.h"
#include "json/compare.h"
#include "json/read.h"

enum { LINE_MAX_BYTES = 1 << 20 };

/* ---- Messages about a document ---------------------------------------------------------------------------- */

void cli_document_ref_print(FILE *out, const struct cli_document_ref *at)
{
    cli_print_text(out, wb_cstr(at->file), 0);
    if (at->line)
        (void)fprintf(out, ":%" PRIu64, at->line);
}

void cli_document_ref_write(struct wj_writer *w, const struct cli_document_ref *at)
{
    wj_put_str(w, "file", wb_cstr(at->file));
    if (!at->line)
        return;
    wj_put_u64(w, "line", at->line);
}

void cli_report(const struct cli_command *self, const struct cli_document_ref *at, const struct upp_err *err)
{
    cli_error_print(self, &(struct cli_error){.code = upp_code_name(err->code),
                                              .file = at->file,
                                              .line = at->line,
                                              .where = err->where,
                                              .message = wb_cstr(err->msg)});
}

void cli_problem_write(struct wj_writer *w, const struct wd_problem *p)
{
    wj_put_str(w, "pointer", p->pointer);
    wj_put_str(w, "rule", wb_cstr(p->rule));
    wj_put_str(w, "severity", wb_cstr(p->severity == WD_ERROR ? "error" : "warning"));
    wj_put_str(w, "sentence", p->sentence);
}

/* That of the whole document is empty, and left out. */
static void print_pointer(FILE *out, struct upp_str pointer)
{
    (void)fputs(pointer.n ? ": " : "", out);
    cli_print_text(out, pointer, 0);
}

void cli_problem_print(FILE *out, const struct cli_document_ref *at, const struct wd_problem *p)
{
    cli_document_ref_print(out, at);
    print_pointer(out, p->pointer);
    (void)fprintf(out, ": %s: %s", p->rule, p->severity == WD_ERROR ? "" : "warning: ");
    cli_print_text(out, p->sentence, 0);
    (void)putc('\n', out);
}

void cli_loss_write(struct wj_writer *w, const struct wd_loss *loss)
{
    wj_put_str(w, "pointer", loss->pointer);
    wj_put_str(w, "what", loss->what);
    wj_put_str(w, "why", loss->why);
}

const struct wd_document_ops *cli_dialect(const struct cli_command *self, const char *option, const char *name,
                                          const char *also)
{
    const struct wd_document_ops *found = wd_document_find(wb_cstr(name)), *ops;
    if (found)
        return found;
    WB_CLEANUP(wb_buf_done) struct wb_buf list = WB_BUF(LINE_MAX_BYTES);
    struct wb_guess guess = {0};
    wb_buf_addf(&list, "there is no dialect '%s'; there are:", name);
    for (size_t i = 0; (ops = wd_document_at(i)); i++) {
        wb_buf_addf(&list, "%s %s", i ? "," : "", ops->name);
        wb_guess(&guess, wb_cstr(name), wb_cstr(ops->name));
    }
    if (also) {
        wb_buf_addf(&list, ", %s", also);
        wb_guess(&guess, wb_cstr(name), wb_cstr(also));
    }
    wb_buf_addf(&list, "%s", wb_guessed(&guess));
    cli_error_print(self, &(struct cli_error){.code = "USAGE", .where = option, .message = wb_buf_str(&list)});
    return NULL;
}

/* ---- Losses ------------------------------------------------------------------------------------------------ */

static void begin_line(const struct cli_conversion *c, const struct cli_document_ref *at, struct wj_writer *w,
                       struct wb_buf *out, struct upp_err *err)
{
    wb_buf_clear(out);
    wj_writer_init(w, out, err);
    wj_write_open(w, '{');
    if (c->many)
        cli_document_ref_write(w, at);
}

/* One JSON line per loss. */
static int report(const struct cli_conversion *c, const struct cli_document_ref *at, const struct wd_problems *problems,
                  const struct wd_losses *losses, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(LINE_MAX_BYTES);
    struct wj_writer w;
    int r = 0;
    for (size_t i = 0; r >= 0 && i < problems->list.n; i++) {
        begin_line(c, at, &w, &out, err);
        cli_problem_write(&w, &problems->list.p[i]);
        wj_write_close(&w, '}');
        r = cli_line_out(stderr, &w);
    }
    for (size_t i = 0; r >= 0 && i < losses->list.n; i++) {
        begin_line(c, at, &w, &out, err);
        cli_loss_write(&w, &losses->list.p[i]);
        wj_write_close(&w, '}');
        r = cli_line_out(stderr, &w);
    }
    if (r >= 0 && losses->more) {
        begin_line(c, at, &w, &out, err);
        wj_put_u64(&w, "more", losses->more);
        wj_write_close(&w, '}');
        r = cli_line_out(stderr, &w);
    }
    return r;
}

static void print_more(const struct cli_document_ref *at, size_t more)
{
    cli_document_ref_print(stderr, at);
    (void)fprintf(stderr, ": lost: and %zu more, which --report tells\n", more);
}

/* One line of text per loss, up to CLI_LOSSES_SHOWN. */
static void print_losses(struct cli_conversion *c, const struct cli_document_ref *at,
                         const struct wd_problems *problems, const struct wd_losses *losses)
{
    size_t n = WB_MIN(losses->list.n, CLI_LOSSES_SHOWN - c->losses_shown);
    for (size_t i = 0; i < WB_MIN(problems->list.n, (size_t)CLI_LOSSES_SHOWN); i++)
        cli_problem_print(stderr, at, &problems->list.p[i]);
    for (size_t i = 0; i < n; i++) {
        const struct wd_loss *loss = &losses->list.p[i];
        cli_document_ref_print(stderr, at);
        (void)fputs(": lost", stderr);
        print_pointer(stderr, loss->pointer);
        (void)fputs(": ", stderr);
        cli_print_text(stderr, loss->what, 0);
        (void)fputs(": ", stderr);
        cli_print_text(stderr, loss->why, 0);
        (void)putc('\n', stderr);
    }
    size_t more = losses->list.n + losses->more - n;
    if (c->pieces) {
        c->losses_shown += n;
        c->losses_more += more;
    } else if (more)
        print_more(at, more);
}

void cli_losses_end(struct cli_conversion *c, const struct cli_document_ref *at)
{
    if (c->losses_more)
        print_more(&(struct cli_document_ref){.file = at->file}, c->losses_more);
}

/* ---- Converting --------------------------------------------------------------------------------------------- */

/* The same bytes give the same ids, other documents other ids. */
static uint64_t seed_of(struct upp_str text)
{
    uint64_t h = text.n, word = 0;
    for (size_t i = 0; i < text.n; i += sizeof word) {
        size_t n = WB_MIN(text.n - i, sizeof word);
        word = 0;
        for (size_t k = 0; k < n; k++) /* independent of the machine's byte order */
            word |= (uint64_t)(uint8_t)text.p[i + k] << 8 * k;
        h = (h ^ word) * 0x9e3779b97f4a7c15;
        h ^= h >> 29;
    }
    return h;
}

/* Writes the document in its own dialect and compares it with the input, token for token. */
static int verify(struct wd_document *d, const struct wd_convert_opts *opts, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WD_DOC_MEMORY);
    WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(2u * WD_DOC_BYTES), now = WB_BUF(2u * WD_DOC_BYTES);
    struct wd_convert_opts own = {.size = sizeof own, .now_ms = opts->now_ms, .seed = opts->seed};
    yyjson_val *again;
    struct upp_err why = {0};
    int r = wd_document_write(d, d->ops, &own, &now, NULL, err);
    if (r >= 0)
        r = wj_read(&a, wb_buf_str(&now),
                    UPP_OPTS(wj_read_opts, .max_bytes = 2u * WD_DOC_BYTES, .depth = 2 * WD_DOC_DEPTH), &again, err);
    if (r < 0)
        return r;
    wb_buf_clear(&now);
    r = wj_write(again, &now, err);
    if (r >= 0)
        r = wj_write(d->root, &was, err);
    if (r < 0 || wb_str_eq(wb_buf_str(&was), wb_buf_str(&now)))
        return r;
    r = wj_equal(d->root, again, &why);
    if (r < 0)
        return upp_fail(err, UPP_ENOMEM, "no memory to compare");
    if (r > 0)
        return upp_fail(err, UPP_EINVALID, "written back as %s it says the same in another order or spelling",
                        d->ops->name);
    r = upp_fail(err, UPP_EINVALID, "written back as %s it differs: %s", d->ops->name, why.msg);
    wb_err_where(err, wb_cstr(why.where));
    return r;
}

static bool is_meant(const struct wm_doc_agent *a, struct upp_str name)
{
    return name.n && (wb_str_eq(a->id, name) || wb_str_eq(a->name, name) || wb_str_eq(a->config, name));
}

/* The agent of the configuration that an agent of a document is. By its id, before its name, before its title: that is
 * the name which documents have. NULL: none. */
static const struct wr_agent_def *configured(const struct wc_config *config, const struct wm_doc_agent *a)
{
    for (int how = 0; config && how < 3; how++)
        for (size_t k = 0; k < config->n_agents; k++) {
            const struct wr_agent_def *def = &config->agents[k].def;
            if (is_meant(a, how == 0 ? def->id : how == 1 ? def->name : def->title))
                return def;
        }
    return NULL;
}

/* Adds the current system prompts of the document's agents. */
static void give_prompts(const struct wc_config *config, struct wm_doc *doc)
{
    for (size_t i = 0; i < doc->agents.n; i++) {
        const struct wr_agent_def *def = configured(config, &doc->agents.p[i]);
        if (def)
            doc->agents.p[i].prompt_now = def->system;
    }
}

/* The id in the document of an agent by its config_ref, or its name in the configuration; otherwise the word itself. */
static struct upp_str find_view(const struct wc_config *config, const struct wm_doc *doc, struct upp_str view)
{
    if (!view.n || wm_doc_agent_find(doc, view) != WM_NO_AGENT)
        return view;
    for (size_t i = 0; i < doc->agents.n; i++) {
        const struct wr_agent_def *def = configured(config, &doc->agents.p[i]);
        if (is_meant(&doc->agents.p[i], view) || (def && wb_str_eq(def->name, view)))
            return doc->agents.p[i].id;
    }
    return view;
}

static int tell_written(const struct cli_conversion *c, const struct cli_document_ref *at, const struct wd_problem *p,
                        struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(LINE_MAX_BYTES);
    struct wj_writer w;
    if (c->report) {
        begin_line(c, at, &w, &out, err);
        cli_problem_write(&w, p);
        wj_put_bool(&w, "written", true);
        wj_write_close(&w, '}');
        return cli_line_out(stderr, &w);
    }
    cli_document_ref_print(stderr, at);
    (void)fputs(": written", stderr);
    print_pointer(stderr, p->pointer);
    (void)fprintf(stderr, ": %s: ", p->rule);
    cli_print_text(stderr, p->sentence, 0);
    (void)putc('\n', stderr);
    return 0;
}

/* Validates the output against the rules of its dialect: mistakes of the input may have been converted. */
static int check_written(struct cli_conversion *c, const struct cli_document_ref *at, struct upp_str text,
                         struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena memory = WB_ARENA(WD_DOC_MEMORY);
    WB_CLEANUP(wd_problems_done) struct wd_problems problems = {0};
    const struct wd_document_ops *ops;
    size_t shown = 0;
    if (text.n > WD_DOC_BYTES) { /* no command would read it */
        struct wd_problem p = {.rule = "document", .severity = WD_ERROR, .sentence = UPP_STR("longer than 256 MiB")};
        c->wrong = true;
        return tell_written(c, at, &p, err);
    }
    int r = wd_document_validate(c->to, text, &memory, &problems, &ops, err);
    if (r < 0 || !problems.errors)
        return r;
    cli_progress_hide(&c->progress);
    c->wrong = true;
    for (size_t i = 0; r >= 0 && i < problems.list.n && (c->report || shown < CLI_LOSSES_SHOWN); i++)
        if (problems.list.p[i].severity == WD_ERROR) {
            r = tell_written(c, at, &problems.list.p[i], err);
            shown++;
        }
    return r;
}

/* Can the output be converted back for comparison? Not from one agent's view, or if parts were to be left out. */
static bool is_whole(const struct cli_conversion *c, size_t bytes)
{
    return !c->opts.view.n && !c->opts.target && !c->opts.pure && !c->opts.no_system &&
           (c->report || (!c->pieces && bytes <= CLI_RETURN_BYTES));
}

int cli_document_read(struct cli_conversion *c, struct upp_str text, const struct wd_convert_opts *opts,
                      struct wd_document *ret, struct upp_err *err)
{
    struct wd_convert_opts own = *opts;
    if (!c->seeded)
        own.seed = seed_of(text);
    int r = wd_document_read(ret, c->from, text, &own, err);
    return r >= 0 && c->log && !c->pieces && !ret->doc.entries.n
               ? upp_fail(err, UPP_EINVALID, "nothing in its lines was understood as %s", ret->ops->title)
               : r;
}

/* A thread has what stands between the items of a list in a member of its own, which the parts of one do not have. */
static void lose_residue(const struct cli_conversion *c, const struct wm_doc *d, struct wd_losses *losses)
{
    if (!c->pieces || c->to != &wd_document_thread || c->opts.pure)
        return;
    for (const struct wm_residue *x = d->residue; x; x = x->next)
        if (x->json.n)
            wd_loss_add(losses, UPP_STR(""), UPP_STR("what is no item of the list"),
                        UPP_STR("the log is long, and was converted in pieces"));
}

int cli_document_convert(struct cli_conversion *c, const struct cli_document_ref *at, struct wd_document *d,
                         const struct wd_convert_opts *given, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena memory = WB_ARENA(WD_DOC_MEMORY);
    WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &memory};
    struct wd_convert_opts opts = *given;
    size_t from = 0;
    opts.seed = d->seed;
    int r = c->verify ? verify(d, &opts, err) : 0;
    if (r >= 0) {
        give_prompts(c->config, &d->doc);
        opts.view = find_view(c->config, &d->doc, opts.view);
        from = out->n;
        r = wd_document_write(d, c->to, &opts, out, &losses, err);
        lose_residue(c, &d->doc, &losses);
    }
    struct upp_str written = wb_str_sub(wb_buf_str(out), from, SIZE_MAX);
    opts.items = NULL; /* they are of this output */
    if (r >= 0 && is_whole(c, d->bytes))
        r = wd_document_returns(d, c->to, written, &opts, &losses, err);
    if (r >= 0)
        r = check_written(c, at, written, err);
    if (r >= 0)
        r = wb_arena_check(&memory, err);
    if (r < 0 || !(d->problems.list.n + losses.list.n))
        return r;
    cli_progress_hide(&c->progress);
    if (c->report)
        return report(c, at, &d->problems, &losses, err);
    print_losses(c, at, &d->problems, &losses);
    return 0;
}

int cli_convert_text(struct cli_conversion *c, const struct cli_document_ref *at, struct upp_str text,
                     struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    int r = cli_document_read(c, text, &c->opts, &d, err);
    return r < 0 ? r : cli_document_convert(c, at, &d, &c->opts, out, err);
}
