/* cli/documents/cmd_import.c — weft import FILE: a document as a thread. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/store_client.h"
#include "cli/documents/conversion.h"
#include "cli/documents/dump.h"
#include "dialects/core/document.h"
#include "json/value.h"
#include "json/write.h"
#include "server/doors/v1/routes.h"

enum { PIECE = 64 << 10, FILE_MAX = 60 << 20 /* of a dump: a request of this command is in memory */ };
#define BOUNDARY "weft-import-5b1f0c9e7a"

struct import_request {
    const char *file, *as, *agent, *conflict;
    bool json;
    struct wb_buf document;
    struct cli_source from;
    bool is_dump;
    struct cli_dump dump;

    const struct cli_command *self;
    struct cli_progress progress; /* of a dump */
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

WEFT_SUSPENDS static int import_document(struct cli_client *p, const char *as, struct upp_str document,
                                         struct upp_err *err)
{
    struct import_request *x = p->arg;
    yyjson_val *v;
    wb_buf_clear(&p->path);
    wb_buf_add(&p->path, UPP_STR("/v1/threads/import?from="));
    cli_path_add(&p->path, wb_cstr(as));
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
    struct cli_request q = {.method = "POST", .path = wb_buf_str(&p->path), .body = document};
    r = cli_owner_call(&p->door, &q, &p->arena, &v, err);
    cli_progress_hide(&x->progress);
    return r < 0 ? r : cli_print_thread(v, x->json, err);
}

/* ---- Dumps ------------------------------------------------------------------------------------------------ */

static void say(struct import_request *x, const char *text, struct upp_str what, const char *why)
{
    cli_progress_hide(&x->progress);
    (void)fprintf(stderr, "weft import: %s%.*s%s%s\n", text, UPP_FMT(what), why[0] ? ": " : "", why);
}

/* A quote or a control character would end the header: files of a dump may have any name. */
static void add_name(struct wb_buf *out, struct upp_str name)
{
    for (size_t i = 0; i < name.n; i++)
        wb_buf_addc(out, (unsigned char)name.p[i] < ' ' || name.p[i] == '"' || name.p[i] == '\\' ? '_' : name.p[i]);
}

WEFT_SUSPENDS static int upload(struct cli_client *p, const struct cli_dump_file *f, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf bytes = WB_BUF(FILE_MAX), body = WB_BUF(FILE_MAX + (8 << 10));
    const char *slash = strrchr(f->path, '/');
    struct upp_str name = f->filename.n ? f->filename : wb_cstr(slash ? slash + 1 : f->path);
    struct upp_str purpose = f->purpose.n ? f->purpose : f->image ? UPP_STR("vision") : UPP_STR("assistants");
    yyjson_val *v;
    int r = wb_file_read(f->path, &bytes, err);
    if (r == -UPP_ELIMIT) {
        say(p->arg, "not taken: ", wb_cstr(f->path), "longer than 60 MiB: upload it with POST /v1/files?alias=ID");
        return 0;
    }
    wb_buf_clear(&p->path);
    wb_buf_add(&p->path, UPP_STR("/v1/files?alias="));
    cli_path_add(&p->path, f->id);
    wb_buf_add(&body, UPP_STR("--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\n"));
    wb_buf_add(&body, purpose);
    wb_buf_add(&body, UPP_STR("\r\n--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"file\"; filename=\""));
    add_name(&body, name);
    wb_buf_add(&body, UPP_STR("\"\r\n\r\n"));
    wb_buf_add(&body, wb_buf_str(&bytes));
    wb_buf_add(&body, UPP_STR("\r\n--" BOUNDARY "--\r\n"));
    if (r >= 0)
        r = wb_buf_check(&body, err);
    if (r >= 0)
        r = wb_buf_check(&p->path, err);
    if (r < 0)
        return r;
    struct cli_request q = {.method = "POST",
                            .path = wb_buf_str(&p->path),
                            .body = wb_buf_str(&body),
                            .type = "multipart/form-data; boundary=" BOUNDARY};
    return cli_owner_call(&p->door, &q, &p->arena, &v, err);
}

/* A file that the store has already is not uploaded again. */
WEFT_SUSPENDS static int put_file(struct cli_client *p, const struct cli_dump_file *f, struct upp_err *err)
{
    yyjson_val *v;
    wb_buf_clear(&p->path);
    wb_buf_add(&p->path, UPP_STR("/v1/files/"));
    cli_path_add(&p->path, f->id);
    int r = wb_buf_check(&p->path, err);
    if (r < 0)
        return r;
    struct cli_request q = {.method = "GET", .path = wb_buf_str(&p->path)};
    r = cli_owner_call(&p->door, &q, &p->arena, &v, err);
    if (r != -UPP_ENOTFOUND)
        return r < 0 ? r : 0;
    r = upload(p, f, err);
    return r < 0 ? upp_wrap(err, r, "%s", f->path) : r;
}

/* ---- Assistants of a dump --------------------------------------------------------------------------------- */

/* The server gives an assistant an id of its own; the one of the dump is in its metadata. */
#define ORIGIN "imported_id"

/* 1: an assistant with this origin is stored already. */
WEFT_SUSPENDS static int find_assistant(struct cli_client *p, struct upp_str id, struct upp_err *err)
{
    struct upp_str after = {NULL, 0};
    yyjson_val *v = NULL, *one;
    size_t i, n;
    int r = 0;
    do {
        wb_buf_clear(&p->path);
        wb_buf_add(&p->path, UPP_STR("/v1/assistants?limit=100&order=asc"));
        if (after.n) {
            wb_buf_add(&p->path, UPP_STR("&after="));
            cli_path_add(&p->path, after);
        }
        struct cli_request q = {.method = "GET", .path = wb_buf_str(&p->path)};
        r = wb_buf_check(&p->path, err);
        r = r < 0 ? r : cli_owner_call(&p->door, &q, &p->arena, &v, err);
        if (r < 0)
            return r;
        yyjson_arr_foreach(yyjson_obj_get(v, "data"), i, n, one)
        {
            if (wb_str_eq(wj_text_at(yyjson_obj_get(one, "metadata"), ORIGIN), id))
                return 1;
        }
        after = wj_text_at(v, "last_id");
    } while (after.n && yyjson_is_true(yyjson_obj_get(v, "has_more")));
    return 0;
}

static int write_assistant(const struct cli_dump_object *x, struct wb_buf *out, struct upp_err *err)
{
    static const char *const settings[] = {
        "model",          "name",        "description", "instructions",    "tools",
        "tool_resources", "temperature", "top_p",       "response_format", "reasoning_effort"};
    struct wj_writer w;
    yyjson_val *key, *value;
    size_t i, n;
    wb_buf_clear(out);
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    for (size_t k = 0; k < WB_LEN(settings); k++) {
        yyjson_val *v = yyjson_obj_get(x->v, settings[k]);
        if (v && !yyjson_is_null(v))
            wj_put_value(&w, settings[k], v);
    }
    wj_put_open(&w, "metadata", '{');
    yyjson_obj_foreach(yyjson_obj_get(x->v, "metadata"), i, n, key, value)
    {
        if (!wj_named(key, UPP_STR(ORIGIN)))
            wj_put_member(&w, key);
    }
    wj_put_str(&w, ORIGIN, x->id);
    wj_write_close(&w, '}');
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

/* What the server refuses (a model that the configuration does not have) is named, and the rest goes on. */
WEFT_SUSPENDS static int put_assistant(struct cli_client *p, const struct cli_dump_object *o, struct upp_err *err)
{
    struct import_request *x = p->arg;
    yyjson_val *v;
    int r = find_assistant(p, o->id, err);
    if (r != 0)
        return r < 0 ? r : 0;
    r = write_assistant(o, &x->document, err);
    if (r < 0)
        return r;
    struct cli_request q = {.method = "POST", .path = UPP_STR("/v1/assistants"), .body = wb_buf_str(&x->document)};
    r = cli_owner_call(&p->door, &q, &p->arena, &v, err);
    if (r == -UPP_EINVALID || r == -UPP_ENOTFOUND || r == -UPP_ENOMODEL || r == -UPP_EREFUSED) {
        say(x, "not taken: assistant ", o->id, err->msg);
        return 0;
    }
    cli_progress_hide(&x->progress);
    if (r >= 0 && !x->json)
        cli_note(x->self, "assistant %.*s is %.*s now", UPP_FMT(o->id), UPP_FMT(wj_text_at(v, "id")));
    return r;
}

/* The files, assistants and threads of it that are imported. */
static uint64_t count_all(const struct cli_dump *d)
{
    uint64_t n = d->threads.n;
    for (size_t i = 0; i < d->files.n; i++)
        n += d->files.p[i].path != NULL;
    for (size_t i = 0; i < d->objects.n; i++)
        n += d->objects.p[i].kind == CLI_DUMP_ASSISTANT;
    return n;
}

WEFT_SUSPENDS static int import_thread(struct cli_client *p, size_t i, struct upp_err *err)
{
    struct import_request *x = p->arg;
    wb_buf_clear(&x->document);
    int r = cli_dump_write(&x->dump, i, &x->document, err);
    if (r >= 0)
        r = import_document(p, "assistants", wb_buf_str(&x->document), err);
    return r < 0 ? upp_wrap(err, r, "thread %.*s", UPP_FMT(x->dump.threads.p[i])) : r;
}

WEFT_SUSPENDS static int import_dump(struct cli_client *p, struct upp_err *err)
{
    struct import_request *x = p->arg;
    struct cli_dump *d = &x->dump;
    int r = 0;
    for (size_t i = 0; i < d->notes.n; i++)
        say(x, "", d->notes.p[i], "");
    cli_progress_begin(&x->progress, x->self, "objects", count_all(d));
    for (size_t i = 0; r >= 0 && i < d->files.n; i++)
        if (d->files.p[i].path) {
            r = put_file(p, &d->files.p[i], err);
            cli_progress_add(&x->progress, 1);
        }
    for (size_t i = 0; r >= 0 && i < d->objects.n; i++)
        if (d->objects.p[i].kind == CLI_DUMP_ASSISTANT) {
            r = put_assistant(p, &d->objects.p[i], err);
            cli_progress_add(&x->progress, 1);
        }
    for (size_t i = 0; r >= 0 && i < d->threads.n; i++) {
        r = import_thread(p, i, err);
        cli_progress_add(&x->progress, 1);
    }
    cli_progress_end(&x->progress);
    return r;
}

WEFT_SUSPENDS static int import_all(struct cli_client *p, struct upp_err *err)
{
    struct import_request *x = p->arg;
    if (x->is_dump)
        return import_dump(p, err);
    int r = import_document(p, x->as, wb_buf_str(&x->document), err);
    if (r == -UPP_EREFUSED)
        p->file = x->file;
    return r;
}

/* Reads the document, or the dump. */
static int read_all(struct import_request *x, struct upp_err *err)
{
    bool folder = strcmp(x->file, "-") != 0 && cli_dump_is_folder(x->file), given = strcmp(x->as, "assistants") == 0;
    int r = folder                      ? 0
            : strcmp(x->file, "-") == 0 ? read_input(&x->document, err)
                                        : wb_file_read(x->file, &x->document, err);
    if (r < 0)
        return r;
    if (folder && !given)
        return upp_fail(err, UPP_EINVALID, "a folder is imported with --from assistants");
    if (!folder && !x->document.n)
        return upp_fail(err, UPP_EINVALID, "the document is empty");
    x->is_dump = folder || (given && cli_dump_is_dump(wb_buf_str(&x->document)));
    struct upp_str text = folder ? (struct upp_str){NULL, 0} : wb_buf_str(&x->document);
    return x->is_dump ? cli_dump_read(&x->dump, x->file, text, err) : 0;
}

static const char *const on_conflict[] = {"copy", NULL};

static int run_import(const struct cli_command *self, int argc, char **argv)
{
    struct import_request x = {.self = self, .as = "auto", .document = WB_BUF(SV_IMPORT_BODY)};
    struct upp_err err = {0};
    int bad = cli_parse(self, argc, argv, &x, &x.file, 1, "a file, or - for standard input");
    if (bad)
        return bad;
    if (strcmp(x.as, "auto") != 0 && strcmp(x.as, "uap") != 0 && !cli_dialect(self, "--from", x.as, "auto"))
        return CLI_USAGE;
    if (x.conflict && cli_word(self, "--on-conflict", x.conflict, on_conflict, &(size_t){0}))
        return CLI_USAGE;
    int r = read_all(&x, &err);
    int code = r < 0 ? cli_fail(self, &err)
                     : cli_client_run_with(self, cli_dump_has_assistants(&x.dump), &x.from, false, import_all, &x);
    cli_dump_done(&x.dump);
    wb_buf_done(&x.document);
    return code;
}

static const struct cli_option import_options[] = {
    CLI_VALUE_OF("--from", "DIALECT", "a dialect", struct import_request, as, CLI_DIALECT, NULL,
                 "the dialect of the document (default auto: it is detected)"),
    CLI_VALUE_OF("--as", "DIALECT", "a dialect", struct import_request, as, CLI_DIALECT, NULL, "the same as --from"),
    CLI_VALUE_OF("--agent", "NAME", "an agent", struct import_request, agent, CLI_AGENT, NULL,
                 "the agent of the answers, if the document does not name one"),
    CLI_VALUE_OF("--on-conflict", "copy", "the word copy", struct import_request, conflict, CLI_CHOICE, on_conflict,
                 "if the document's id is taken, imports it as another thread instead of failing"),
    CLI_FLAG("--json", struct import_request, json, "the new thread as one object"),
    CLI_SOURCE_OPTIONS(struct import_request, from),
};

const struct cli_command cli_import = {
    .name = "import",
    .usage = "FILE|FOLDER|- [--from D] [--agent NAME] [--on-conflict copy] [--json] [--tenant T] [--user U]\n"
             "                   [--config FILE] [--store URL]",
    .summary = "imports a document as a thread",
    .help =
        "Reads a document of any dialect (at most 64 MiB), validates all of it, and creates a thread with new ids, "
        "marked\n"
        "as imported. The document's id becomes an alias of the thread. Prints the thread's id. Nothing is started,\n"
        "continued, called or approved; checkpoints of a session can be restored as conversation.\n"
        "What only the document's dialect can represent is stored, and exported with `weft export --as` that dialect.\n"
        "A mistake is reported with its JSON pointer.\n"
        "With --from assistants it also takes a dump of the Assistants API: a folder, JSON lines, or JSON with "
        "threads,\n"
        "messages, runs, run steps, assistants and files in any order, and the files themselves by id or name. Each\n"
        "thread is imported. An assistant is stored once, with a new id, which standard error names, and with its old\n"
        "one as imported_id of its metadata. What is not taken is named on standard error.",
    .run = run_import,
    CLI_OPTIONS(import_options),
    .examples = "weft import thread.json\n"
                "weft import dump/ --from assistants\n"
                "weft export THREAD --as uap | weft import - --on-conflict copy\n",
    .takes = CLI_FILE,
};
