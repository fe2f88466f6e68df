/* cli/cmd_import.c — weft import FILE: a document as a thread. */
#include <string.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/change.h"
#include "dialects/core/document.h"
#include "server/doors/v1/routes.h"

enum { PIECE = 64 << 10 };

struct importing {
    const char   *file, *as, *agent, *conflict;
    bool          json;
    struct wb_buf document;
    struct cli_as of;
};

static int read_input(struct wb_buf *to, struct upp_err *err)
{
    for (int64_t n = 1; n > 0;) {
        if (!wb_buf_reserve(to, PIECE))
            return wb_buf_check(to, err);
        n = wb_fd_read(0, to->p + to->n, PIECE);
        if (n < 0)
            return wb_fail_sys(err, (int)n, UPP_EINVALID, "standard input");
        to->n += (size_t)n;
    }
    return 0;
}

WEFT_SUSPENDS static int import_it(struct cli_change *p, struct upp_err *err)
{
    struct importing *x = p->arg;
    yyjson_val       *v;
    p->door.as = x->of;
    wb_buf_add(&p->path, UPP_STR("/v1/threads/import?from="));
    cli_path_add(&p->path, wb_cstr(x->as));
    if (x->agent) {
        wb_buf_add(&p->path, UPP_STR("&agent="));
        cli_path_add(&p->path, wb_cstr(x->agent));
    }
    if (x->conflict) {
        wb_buf_add(&p->path, UPP_STR("&on_conflict="));
        cli_path_add(&p->path, wb_cstr(x->conflict));
    }
    int r = wb_buf_check(&p->path, err);
    if (r < 0)
        return r;
    struct cli_request q = {.method = "POST", .path = wb_buf_str(&p->path), .body = wb_buf_str(&x->document)};
    r                    = cli_owner_call(&p->door, &q, &p->arena, &v, err);
    return r < 0 ? r : cli_print_thread(v, x->json, err);
}

static int run(const struct cli_command *self, int argc, char **argv)
{
    struct importing        x    = {.as = "auto", .document = WB_BUF(SV_IMPORT_BODY)};
    const char             *file = NULL, *store = NULL;
    struct upp_err          err       = {0};
    const struct cli_option options[] = {{"--config", "a file", &file, NULL},
                                         {"--store", "sqlite:PATH", &store, NULL},
                                         {"--as", "a dialect", &x.as, NULL},
                                         {"--agent", "an agent", &x.agent, NULL},
                                         {"--on-conflict", "the word copy", &x.conflict, NULL},
                                         {"--json", NULL, NULL, &x.json},
                                         CLI_AS(&x.of)};
    int bad = cli_parse(self, argc, argv, options, WB_LEN(options), &x.file, 1, "a file, or - for standard input");
    if (bad)
        return bad;
    if (strcmp(x.as, "auto") != 0 && !wd_document_find(wb_cstr(x.as)) && strcmp(x.as, "uap") != 0)
        return cli_misuse(self, "--as names a dialect, or is auto: `weft convert --help` lists them");
    if (x.conflict && strcmp(x.conflict, "copy") != 0)
        return cli_misuse(self, "--on-conflict wants the word copy");
    int r = strcmp(x.file, "-") == 0 ? read_input(&x.document, &err) : wb_file_read(x.file, &x.document, &err);
    if (r >= 0 && !x.document.n)
        r = upp_fail(&err, UPP_EINVALID, "the document is empty");
    int code = r < 0 ? cli_fail(self, &err) : cli_change_store(self, file, store, false, import_it, &x);
    wb_buf_done(&x.document);
    return code;
}

const struct cli_command cli_import = {
    .name    = "import",
    .usage   = "FILE|- [--as D] [--agent NAME] [--on-conflict copy] [--json] [--tenant T] [--user U]\n"
               "                   [--config FILE] [--store URL]",
    .summary = "imports a document as a thread",
    .help =
        "Reads a document of any dialect (at most 64 MiB; --as D, or detected), validates all of it, and creates a\n"
        "thread with new ids, marked as imported. The document's id becomes an alias of the thread. Prints the\n"
        "thread's id. Nothing is started, continued, called or approved; checkpoints of a session can be restored as\n"
        "conversation.\n"
        "--agent names the agent of the answers if the document does not. What only the document's dialect can\n"
        "represent is stored, and exported with `weft export --as D`.\n"
        "A mistake is reported with its JSON pointer. If the document's id is taken, the import fails; with\n"
        "--on-conflict copy it is imported as another thread.\n" CLI_AS_HELP,
    .run = run,
};
