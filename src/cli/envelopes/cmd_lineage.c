/* cli/envelopes/cmd_lineage.c — weft lineage ID: what an envelope follows from, what follows from it, and what that
 * cost. Reads the exchange through the owner of the store, or a log. */
#include "envelope/lineage.h"

#include <stdio.h>

#include "base/defs.h"
#include "cli/store_client.h"
#include "cli/cli.h"
#include "cli/documents/conversion.h"
#include "cli/input.h"
#include "cli/terminal.h"
#include "cli/tree_view.h"
#include "json/read.h"

enum { LINE = 64 << 20 /* bytes: the whole log may be one list */ };
#define ROOM    ((size_t)512 << 20)
#define PICTURE ((size_t)256 << 20)

struct lineage_request {
    const struct cli_command *self;
    struct cli_source from;
    const char *id, *log;
    bool dot, svg, json, ancestors, descendants;
    bool wrong; /* something in the log was no envelope, and was skipped */
    struct we_lineage *lineage;
};

static int add_list(struct lineage_request *q, yyjson_val *list, struct upp_err *err)
{
    yyjson_val *v;
    size_t i, n;
    int r = 0;
    yyjson_arr_foreach(list, i, n, v)
    {
        r = we_lineage_add(q->lineage, v, err);
        if (r < 0)
            break;
    }
    return r;
}

/* One envelope, or a list of them. */
static int add_text(struct lineage_request *q, const char *file, uint64_t line, struct upp_str text,
                    struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    yyjson_val *v;
    if (!wb_str_trim(text).n)
        return 0;
    int r = wj_read(&a, text, UPP_OPTS(wj_read_opts, .max_bytes = LINE), &v, err);
    if (r == -UPP_EINVALID) {
        struct cli_document_ref at = {file, line};
        cli_report(q->self, &at, err);
        q->wrong = true;
        return 0;
    }
    if (r < 0)
        return r;
    return yyjson_is_arr(v) ? add_list(q, v, err) : we_lineage_add(q->lineage, v, err);
}

static int read_log(struct lineage_request *q, struct upp_err *err)
{
    WB_CLEANUP(cli_input_close) struct cli_input in;
    struct upp_str line;
    int r = cli_input_open(&in, q->log, LINE, err);
    while (r >= 0 && (r = cli_input_line(&in, &line, err)) > 0)
        r = add_text(q, in.name, in.lines, line, err);
    return r;
}

WEFT_SUSPENDS static int read_exchange(struct cli_client *p, struct lineage_request *q, struct upp_err *err)
{
    WB_CLEANUP(cli_answer_done) struct cli_answer answer;
    struct upp_str rest, line;
    int r;
    cli_answer_init(&answer);
    wb_buf_clear(&p->path);
    wb_buf_add(&p->path, UPP_STR("/v1/envelopes/"));
    cli_path_add(&p->path, wb_cstr(q->id));
    wb_buf_add(&p->path, UPP_STR("/exchange"));
    r = wb_buf_check(&p->path, err);
    if (r >= 0)
        r = cli_owner_ask(&p->door, &(struct cli_request){.method = "GET", .path = wb_buf_str(&p->path)}, &answer, err);
    if (r >= 0 && answer.status / 100 != 2)
        return cli_answer_fail(&answer, err);
    if (r >= 0)
        r = cli_read_body(&answer, err);
    rest = wb_buf_str(&answer.raw);
    while (r >= 0 && wb_str_split(&rest, '\n', &line))
        r = add_text(q, q->id, 0, line, err);
    return r;
}

static int write_view(const struct lineage_request *q, const struct we_lineage_view *v, struct wb_arena *a,
                      struct wb_buf *out, struct upp_err *err)
{
    if (q->dot)
        return we_lineage_dot(v, out, err);
    if (q->svg)
        return we_lineage_svg(v, a, out, err);
    if (!q->json)
        return we_lineage_text(v, cli_draws_utf8(stdout), cli_columns(stdout), a, out, err);
    int r = we_lineage_json(v, out, err);
    wb_buf_addc(out, '\n');
    return r;
}

static int print(struct lineage_request *q, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(PICTURE);
    struct we_lineage_view view;
    uint32_t self = WE_NO_NODE;
    unsigned which = (q->ancestors ? WE_ANCESTORS : 0u) | (q->descendants ? WE_DESCENDANTS : 0u);
    int r = we_lineage_end(q->lineage, err);
    if (r >= 0 && q->id) {
        self = we_lineage_find(q->lineage, wb_cstr(q->id));
        if (self == WE_NO_NODE)
            r = upp_fail(err, UPP_ENOTFOUND, "there is no envelope '%s'", q->id);
    }
    if (r >= 0)
        r = we_lineage_view(q->lineage, self, which ? which : WE_ANCESTORS | WE_DESCENDANTS, &a, &view, err);
    if (r >= 0)
        r = write_view(q, &view, &a, &out, err);
    if (r >= 0)
        r = wb_buf_check(&out, err);
    if (r >= 0)
        (void)fwrite(out.p ? out.p : "", 1, out.n, stdout);
    return r;
}

WEFT_SUSPENDS static int from_store(struct cli_client *p, struct upp_err *err)
{
    struct lineage_request *q = p->arg;
    int r = read_exchange(p, q, err);
    return r < 0 ? r : print(q, err);
}

static int from_log(struct lineage_request *q)
{
    struct upp_err err = {0};
    int r = read_log(q, &err);
    if (r >= 0)
        r = print(q, &err);
    return r < 0 ? cli_fail(q->self, &err) : q->wrong ? CLI_FAILED : CLI_GOOD;
}

static int run_lineage(const struct cli_command *self, int argc, char **argv)
{
    struct lineage_request q = {.self = self};
    size_t words;
    struct upp_err err = {0};
    int code = cli_parse_some(self, argc, argv, &q, &q.id, 1, &words);
    if (code)
        return code;
    if (!words && !q.log)
        return cli_misuse(self, "needs the id of an envelope, or --log FILE");
    if (q.dot + q.svg + q.json > 1)
        return cli_misuse(self, "--dot, --svg and --json exclude each other");
    if (we_lineage_new(&q.lineage, &err) < 0)
        return cli_fail(self, &err);
    q.id = words ? q.id : NULL;
    code = q.log ? from_log(&q) : cli_client_run(self, &q.from, true, from_store, &q);
    we_lineage_free(q.lineage);
    return code;
}

static const struct cli_option lineage_options[] = {
    CLI_VALUE_OF("--log", "FILE", "a file, or -", struct lineage_request, log, CLI_FILE, NULL,
                 "reads a log instead of the store: JSON lines, or a list; without ID, all of it is printed"),
    CLI_FLAG("--ancestors", struct lineage_request, ancestors, "only what it follows from"),
    CLI_FLAG("--descendants", struct lineage_request, descendants, "only what follows from it"),
    CLI_FLAG("--dot", struct lineage_request, dot, "as a graph for Graphviz"),
    CLI_FLAG("--svg", struct lineage_request, svg, "as a picture"),
    CLI_FLAG("--json", struct lineage_request, json, "as GET /v1/envelopes/ID/lineage returns it"),
    CLI_SOURCE_OPTIONS(struct lineage_request, from),
};

const struct cli_command cli_lineage = {
    .name = "lineage",
    .usage = "ID|--log FILE [ID] [--ancestors] [--descendants] [--dot|--svg|--json] [--tenant T] [--user U] [--config "
             "FILE]\n"
             "                    [--store URL]",
    .summary = "what an envelope follows from, and what follows from it",
    .help =
        "Prints an envelope of the store with its ancestors and descendants as a tree: one line each, with its agent,\n"
        "intent, task, score, and its tokens with and without those of what follows. * marks the envelope.\n"
        "Parents that are not in the log and circles are reported.",
    .run = run_lineage,
    CLI_OPTIONS(lineage_options),
    .examples = "weft lineage ID\n"
                "weft lineage --log log.jsonl --svg > graph.svg\n",
};
