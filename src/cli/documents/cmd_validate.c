/* cli/documents/cmd_validate.c — weft validate: reports every problem of a document. */
#include "cli/cli.h"
#include "cli/documents/conversion.h"
#include "cli/input.h"

enum { LINE = 1 << 20 };

struct validation {
    const struct cli_command *self;
    const char *as_text;
    const struct wd_document_ops *as; /* NULL: detected */
    bool strict, json, lines;
    size_t errors, warnings;
    struct cli_progress progress;
};

static int print(struct validation *v, const struct cli_document_ref *at, const struct wd_problem *p,
                 struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(LINE);
    struct wj_writer w;
    cli_progress_hide(&v->progress);
    if (!v->json) {
        cli_problem_print(stdout, at, p);
        return 0;
    }
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    cli_document_ref_write(&w, at);
    cli_problem_write(&w, p);
    wj_write_close(&w, '}');
    return cli_line_out(stdout, &w);
}

/* Prints one problem that the dialect's validator does not find. */
static int print_other(struct validation *v, const struct cli_document_ref *at, const char *rule, struct upp_err *err)
{
    char sentence[sizeof err->where + sizeof err->msg + 2];
    int n = snprintf(sentence, sizeof sentence, "%s%s%s", err->where, err->where[0] ? ": " : "", err->msg);
    struct wd_problem p = {
        .pointer = UPP_STR(""), .rule = rule, .severity = WD_ERROR, .sentence = wb_str(sentence, (size_t)n)};
    v->errors++;
    return print(v, at, &p, err);
}

static int validate_text(struct validation *v, const struct cli_document_ref *at, struct upp_str text,
                         struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena memory = WB_ARENA(WD_DOC_MEMORY);
    WB_CLEANUP(wd_problems_done) struct wd_problems problems = {0};
    const struct wd_document_ops *whose;
    int r = wd_document_validate(v->as, text, &memory, &problems, &whose, err);
    if (r == -UPP_EINVALID || r == -UPP_ELIMIT) /* not JSON, too deep, or of no known dialect */
        return print_other(v, at, "document", err);
    for (size_t i = 0; r >= 0 && i < problems.list.n; i++)
        r = print(v, at, &problems.list.p[i], err);
    v->errors += problems.errors;
    v->warnings += problems.warnings;
    size_t more = problems.errors + problems.warnings - problems.list.n;
    if (r >= 0 && more) {
        cli_progress_hide(&v->progress);
        cli_document_ref_print(stderr, at);
        (void)fprintf(stderr, ": and %zu more problems\n", more);
    }
    return r;
}

static int validate_lines(struct validation *v, struct cli_input *in, struct cli_document_ref *at, struct upp_err *err)
{
    int r = 0;
    while (r >= 0 && !ferror(stdout)) {
        struct upp_str line;
        r = cli_input_line(in, &line, err);
        at->line = in->lines;
        if (r == -UPP_ELIMIT)
            r = print_other(v, at, "document", err);
        else if (r <= 0)
            break;
        else if (wb_str_trim(line).n)
            r = validate_text(v, at, line, err);
        if (r == -UPP_ENOMEM) { /* only for this document */
            cli_progress_hide(&v->progress);
            cli_report(v->self, at, err);
            v->errors++;
            r = 0;
        }
    }
    if (r >= 0)
        return 0;
    at->line = 0;
    return r;
}

static void validate_file(struct validation *v, const char *file)
{
    WB_CLEANUP(cli_input_close) struct cli_input in;
    struct upp_str text;
    struct upp_err err = {0};
    struct cli_document_ref at = {.file = file};
    int r = cli_input_open(&in, file, WD_DOC_BYTES, &err);
    if (r >= 0 && v->lines)
        r = validate_lines(v, &in, &at, &err);
    else if (r >= 0) {
        r = cli_input_all(&in, &text, &err);
        if (r >= 0)
            r = validate_text(v, &at, text, &err);
        else if (r == -UPP_ELIMIT)
            r = print_other(v, &at, "document", &err);
    }
    if (r >= 0)
        return;
    cli_progress_hide(&v->progress);
    cli_report(v->self, &at, &err);
    v->errors++;
}

static int run_validate(const struct cli_command *self, int argc, char **argv)
{
    struct validation v = {.self = self, .as_text = "auto"};
    size_t n;
    const char **files = (void *)argv; /* the words are moved to its front */
    int code = cli_parse_some(self, argc, argv, &v, files, (size_t)argc, &n);
    if (!code && !n)
        code = cli_misuse(self, "wants files, or - for standard input");
    if (!code && strcmp(v.as_text, "auto") != 0 && !(v.as = cli_dialect(self, "--as", v.as_text, "auto")))
        code = CLI_USAGE;
    if (!code)
        cli_progress_begin(&v.progress, self, "files", n);
    for (size_t i = 0; !code && i < n && !ferror(stdout); i++) {
        validate_file(&v, files[i]);
        cli_progress_add(&v.progress, 1);
    }
    cli_progress_end(&v.progress);
    return code ? code : v.errors || (v.strict && v.warnings) ? CLI_FAILED : CLI_GOOD;
}

static const struct cli_option validate_options[] = {
    CLI_VALUE_OF("--as", "DIALECT", "a dialect, or auto", struct validation, as_text, CLI_DIALECT, NULL,
                 "the rules of this dialect (default auto: it is detected)"),
    CLI_FLAG("--strict", struct validation, strict, "also exits 1 if there is a warning"),
    CLI_FLAG("--json", struct validation, json,
             "one JSON object per line and problem: file, line, pointer, rule, severity, sentence"),
    CLI_FLAG("--lines", struct validation, lines, "each line is a document; FILE is then FILE:LINE"),
};

const struct cli_command cli_validate = {
    .name = "validate",
    .usage = "[--as DIALECT|auto] [--strict] [--json] [--lines] FILE|-...",
    .summary = "validates documents",
    .help =
        "Checks documents against the rules of their dialect and prints one line per problem:\n"
        "FILE: POINTER: RULE: sentence. POINTER is a JSON pointer (empty: the whole document), RULE the id of the\n"
        "rule; a warning has `warning: ` before the sentence. A file that is not JSON or of no known dialect violates\n"
        "the rule `document`. Nothing is printed for a valid document. Exits 1 if there is an error.",
    .run = run_validate,
    CLI_OPTIONS(validate_options),
    .examples = "weft validate thread.json\n"
                "weft validate --as thread --strict --json *.json\n",
    .takes = CLI_FILE,
};
