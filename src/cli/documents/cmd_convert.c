/* cli/documents/cmd_convert.c — weft convert: documents from one dialect to another. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hooks.h"
#include "base/iso8601.h"
#include "cli/cli.h"
#include "cli/documents/conversion.h"
#include "cli/input.h"
#include "cli/setup.h"

struct convert_options {
    struct cli_conversion c;
    const char *from, *to, *view, *agent, *target, *now, *seed, *out, *config;
    bool lines;
};

/* ---- Single documents, and one document per line ------------------------------------------------------------ */

static int report_failure(struct cli_conversion *c, const struct cli_document_ref *at, const struct upp_err *err)
{
    cli_progress_hide(&c->progress);
    cli_report(c->self, at, err);
    return CLI_FAILED;
}

static int convert_whole(struct cli_conversion *c, const char *file, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf list = WB_BUF(2u * WD_DOC_BYTES);
    WB_CLEANUP(cli_input_close) struct cli_input in;
    struct upp_str text;
    int r = cli_input_open(&in, file, WD_DOC_BYTES, err);
    if (r >= 0)
        r = cli_input_all(&in, &text, err);
    if (r >= 0 && c->log) {
        r = cli_log_read(c, text, &list, err);
        text = wb_buf_str(&list);
        wb_buf_done(&in.text); /* it may be long, and is in the list now */
    }
    if (r >= 0)
        r = cli_convert_text(c, &(struct cli_document_ref){.file = in.name}, text, out, err);
    if (r >= 0) {
        wb_buf_addc(out, '\n');
        r = wb_buf_check(out, err);
    }
    return r;
}

static int convert_one(struct cli_conversion *c, const char *file)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(2u * WD_DOC_BYTES);
    struct upp_err err = {0};
    struct cli_document_ref at = {.file = file};
    if (c->log)
        return cli_log_convert(c, &at, stdout, &err) < 0 ? report_failure(c, &at, &err) : CLI_GOOD;
    if (convert_whole(c, file, &out, &err) < 0)
        return report_failure(c, &(struct cli_document_ref){.file = file ? file : "-"}, &err);
    (void)fwrite(out.p, 1, out.n, stdout);
    return CLI_GOOD;
}

/* Flushes before we block on input, so that readers of our output need not wait. */
static void flush_output(void)
{
    (void)fflush(stdout);
}

static int convert_line(struct cli_conversion *c, const struct cli_document_ref *at, struct upp_str line,
                        struct wb_buf *out)
{
    struct upp_err err = {0};
    wb_buf_clear(out);
    int r = cli_convert_text(c, at, line, out, &err);
    if (r >= 0) {
        wb_buf_addc(out, '\n');
        r = wb_buf_check(out, &err);
    }
    if (r < 0)
        return report_failure(c, at, &err);
    (void)fwrite(out->p, 1, out->n, stdout);
    return CLI_GOOD;
}

static int convert_lines(struct cli_conversion *c, const char *file)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(2u * WD_DOC_BYTES);
    WB_CLEANUP(cli_input_close) struct cli_input in;
    struct upp_err err = {0};
    int code = CLI_GOOD, r = cli_input_open(&in, file, WD_DOC_BYTES, &err);
    struct cli_document_ref at = {.file = in.name};
    in.before = flush_output;
    c->many = true;
    if (r >= 0 && isatty(1) != 1) /* otherwise the documents themselves go by */
        cli_progress_begin(&c->progress, c->self, NULL, in.size);
    while (r >= 0 && !ferror(stdout)) {
        struct upp_str line;
        r = cli_input_line(&in, &line, &err);
        cli_progress_to(&c->progress, in.bytes);
        at.line = in.lines;
        if (r == -UPP_ELIMIT)
            code = report_failure(c, &at, &err);
        else if (r <= 0)
            break;
        else if (wb_str_trim(line).n)
            code |= convert_line(c, &at, line, &out);
        r = 0;
    }
    at.line = 0;
    cli_progress_end(&c->progress);
    return r < 0 ? report_failure(c, &at, &err) : code;
}

/* ---- Many files --------------------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(base_name(*(const char *const *)a), base_name(*(const char *const *)b));
}

/* File names must be present and distinct, because the output goes to one folder. Sorts them. */
static int check_names(const struct cli_command *self, const char **files, size_t n)
{
    qsort(files, n, sizeof *files, by_name);
    for (size_t i = 0; i < n; i++) {
        const char *name = base_name(files[i]);
        if (!name[0] || strcmp(name, "-") == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            return cli_misuse(self, "'%s' has no name for a file in --out", files[i]);
        if (i && by_name(&files[i - 1], &files[i]) == 0)
            return cli_misuse(self, "'%s' and '%s' would be one file in --out", files[i - 1], files[i]);
    }
    return 0;
}

/* Would the output overwrite the input file? */
static bool is_same(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int convert_file(struct cli_conversion *c, const char *file, const char *folder, struct wb_buf *out,
                        struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf path = WB_BUF(1u << 16);
    wb_buf_clear(out);
    wb_buf_addf(&path, "%s/%s", folder, base_name(file));
    wb_buf_addc(&path, 0);
    int r = wb_buf_check(&path, err);
    if (r >= 0 && is_same(file, path.p))
        r = upp_fail(err, UPP_EINVALID, "would be replaced by what is made of it: name another folder");
    if (r >= 0)
        r = convert_whole(c, file, out, err);
    return r < 0 ? r : wb_file_write_unsynced(path.p, wb_buf_str(out), 0666, err);
}

static int convert_files(struct cli_conversion *c, const char **files, size_t n, const char *folder)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(2u * WD_DOC_BYTES);
    int code = check_names(c->self, files, n), r;
    struct upp_err err = {0};
    if (code)
        return code;
    r = WB_CALL(mkdir)(folder, 0777);
    if (r < 0 && r != -EEXIST) {
        (void)wb_fail_sys(&err, r, UPP_ESTORE, "cannot make the folder");
        return report_failure(c, &(struct cli_document_ref){.file = folder}, &err);
    }
    c->many = true;
    cli_progress_begin(&c->progress, c->self, "files", n);
    for (size_t i = 0; i < n; i++) {
        wb_err_init(&err);
        if (convert_file(c, files[i], folder, &out, &err) < 0)
            code = report_failure(c, &(struct cli_document_ref){.file = files[i]}, &err);
        cli_progress_add(&c->progress, 1);
    }
    cli_progress_end(&c->progress);
    return code;
}

/* ---- The command -------------------------------------------------------------------------------------------- */

static int parse_options(struct convert_options *q)
{
    struct cli_conversion *c = &q->c;
    struct upp_err err = {0};
    uint64_t target;
    c->opts.size = sizeof c->opts;
    c->opts.view = wb_cstr(q->view);
    c->opts.agent = wb_cstr(q->agent);
    c->seeded = q->seed;
    if (!q->to)
        return cli_misuse(c->self, "wants --to and a dialect");
    if (q->target) {
        if (!wb_str_u64(wb_cstr(q->target), &target) || !target || target > 1000)
            return cli_misuse(c->self, "--target wants a version of the dialect, a whole number");
        c->opts.target = (unsigned)target;
    }
    if (q->seed && !wb_str_u64(wb_cstr(q->seed), &c->opts.seed))
        return cli_misuse(c->self, "--seed wants a whole number");
    if (q->now) {
        struct wb_time now;
        if (wb_time_parse(wb_cstr(q->now), &now, &err) < 0)
            return cli_misuse(c->self, "--now wants a time: %s", err.msg);
        c->opts.now_ms = wb_time_ms(&now);
    }
    if (strcmp(q->from, "auto") != 0 && !(c->from = cli_dialect(c->self, "--from", q->from, "auto")))
        return CLI_USAGE;
    c->to = cli_dialect(c->self, "--to", q->to, NULL);
    if (c->to && q->view && !c->to->views)
        return cli_misuse(c->self, "--view is for pydantic: %s has one view for all agents", q->to);
    return c->to ? 0 : CLI_USAGE;
}

static int convert_all(struct convert_options *q, const char **files, size_t n)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    struct cli_conversion *c = &q->c;
    struct upp_err err = {0};
    int code = parse_options(q);
    if (code)
        return code;
    if (q->config && cli_config_load(q->config, CLI_NEEDS_TEXT, &config, &err) < 0)
        return cli_fail(c->self, &err);
    c->config = config;
    if (q->out && q->lines)
        return cli_misuse(c->self, "takes --lines or --out, not both");
    if (c->log && q->lines)
        return cli_misuse(c->self, "takes --lines or --log, not both");
    if (q->out && !n)
        return cli_misuse(c->self, "--out wants files");
    if (!q->out && n > 1)
        return cli_misuse(c->self, "takes one file, or --out and a folder");
    if (q->out)
        code = convert_files(c, files, n, q->out);
    else
        code = (q->lines ? convert_lines : convert_one)(c, n ? files[0] : NULL);
    return code == CLI_GOOD && c->wrong ? CLI_FAILED : code;
}

static int run_convert(const struct cli_command *self, int argc, char **argv)
{
    struct convert_options q = {.c = {.self = self}, .from = "auto"};
    size_t n;
    const char **files = (void *)argv; /* the words are moved to its front */
    int code = cli_parse_some(self, argc, argv, &q, files, (size_t)argc, &n);
    return code ? code : convert_all(&q, files, n);
}

static const struct cli_option convert_options[] = {
    CLI_VALUE_OF("--to", "DIALECT", "a dialect", struct convert_options, to, CLI_DIALECT, NULL, "the dialect to write"),
    CLI_VALUE_OF("--from", "DIALECT", "a dialect, or auto", struct convert_options, from, CLI_DIALECT, NULL,
                 "the dialect of the document (default auto: it is detected)"),
    CLI_VALUE_OF("--view", "AGENT", "an agent", struct convert_options, view, CLI_AGENT, NULL,
                 "the conversation as this agent sees it (pydantic)"),
    CLI_VALUE_OF("--agent", "AGENT", "an agent", struct convert_options, agent, CLI_AGENT, NULL,
                 "the agent of the document, if the document does not name one"),
    CLI_VALUE_OF("--config", "FILE", "a file", struct convert_options, config, CLI_FILE, NULL,
                 "the configuration with the viewing agent's system prompt; without it none is read"),
    CLI_VALUE("--target", "N", "a version of the dialect", struct convert_options, target,
              "the version of the dialect, if it has several"),
    CLI_FLAG("--pure", struct convert_options, c.opts.pure,
             "only what the dialect itself defines, without the text of system prompts"),
    CLI_FLAG("--no-system", struct convert_options, c.opts.no_system, "without the viewing agent's system prompt"),
    CLI_FLAG("--report", struct convert_options, c.report,
             "all losses as JSON lines on standard error: pointer, what, why"),
    CLI_FLAG("--json", struct convert_options, c.report, "the same as --report, and errors as JSON lines, too"),
    CLI_FLAG("--verify", struct convert_options, c.verify,
             "also writes the document in its own dialect; fails if that differs from the input"),
    CLI_VALUE("--now", "TIME", "a time", struct convert_options, now,
              "missing times are this one (default: 1970-01-01T00:00:00Z)"),
    CLI_VALUE("--seed", "N", "a whole number", struct convert_options, seed,
              "new ids are derived from it (default: from the bytes of the document)"),
    CLI_FLAG("--lines", struct convert_options, lines,
             "each line is a document; a bad one is reported with its number and skipped, and the exit code is 1"),
    CLI_FLAG("--log", struct convert_options, c.log,
             "the lines are the items of one list, and the list is the document"),
    CLI_VALUE_OF(
        "--out", "DIR", "a folder", struct convert_options, out, CLI_FOLDER, NULL,
        "writes DIR/NAME for each of any number of files; a bad one is reported and skipped, and the exit code is 1"),
};

const struct cli_command cli_convert = {
    .name = "convert",
    .usage = "--to DIALECT [--from DIALECT|auto] [--view AGENT] [--config FILE] [--agent AGENT]\n"
             "         [--target N] [--pure] [--no-system] [--now TIME] [--seed N] [--report|--json] [--verify]\n"
             "         [--lines|--log] [FILE|-] | ... --out DIR FILE...",
    .summary = "converts a document to another dialect",
    .help =
        "Reads a conversation from FILE or standard input and writes it in another dialect to standard output.\n"
        "The dialects: thread, pydantic, ui, agentapi, aitp, assistants, envelope, upp, uap.\n"
        "Losses go to standard error: FILE: lost: POINTER: WHAT: WHY. They are found by converting the result back;\n"
        "for documents above 32 MiB only with --report.\n"
        "If the result violates the rules of `weft validate`, it is still written, its problems go to standard error\n"
        "as FILE: written: POINTER: RULE: SENTENCE, and the command exits 1.\n"
        "With --log, a log of envelopes is one conversation. The lines of an Agent API stream, also as SSE, are the\n"
        "response that they make up. A log without any recognised line is an error.\n"
        "The same input gives the same output. A document or log has at most 256 MiB and takes up to twelve times its\n"
        "size in memory. The output has at most 512 MiB; above 256 MiB the command exits 1, because no command would "
        "read\n"
        "it.",
    .run = run_convert,
    CLI_OPTIONS(convert_options),
    .examples = "weft convert --to thread messages.json\n"
                "weft convert --to pydantic --view planner --config weft.yaml thread.json\n"
                "weft convert --to thread --lines <log.jsonl >threads.jsonl\n"
                "weft convert --to thread --out made in/*.json\n",
    .takes = CLI_FILE,
};
