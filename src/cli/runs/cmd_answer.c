/* cli/runs/cmd_answer.c — weft approve RUN [CALL], weft deny RUN [CALL], weft answer RUN CALL TEXT: answers a call of a
 * waiting run, and follows the run as `weft run` does. */
#include <stdio.h>

#include "base/defs.h"
#include "cli/input.h"
#include "cli/runs/follow.h"
#include "cli/terminal.h"
#include "json/read.h"
#include "json/syntax.h"
#include "json/value.h"
#include "json/write.h"
#include "log/log.h"

enum { INPUT_MAX = 8 << 20, LIST_MAX = 64 << 20, NAMED_MAX = 1 << 20 };

enum what { APPROVE, DENY, ANSWER };

struct answering {
    enum what what;
    struct cli_source from;
    bool json;                           /* of APPROVE and DENY */
    const char *result, *error, *reason; /* of ANSWER: a JSON value, or why the tool failed; of DENY; NULL: none */
    const char *typed;                   /* the run ... */
    char run[64];
    struct upp_str call;   /* empty: the only one that waits */
    struct upp_str output; /* JSON, of ANSWER */
    bool is_error;         /* of ANSWER */
    bool yes;              /* of APPROVE: nobody is asked */
    struct cli_follow f;

    /* What was found: */
    size_t all, n;                    /* calls that wait; those of the right kind, or the named one */
    struct upp_str found, last_event; /* the last of them */
    struct wb_buf others;             /* all that wait, for messages */
    bool unclear;                     /* which call is meant */
    struct wb_buf shown;              /* the last of them, for who decides about it */
    struct wb_buf named;              /* a call that a person chose or agreed to */
};

static const char *kind_of(const struct answering *c)
{
    return c->what == ANSWER ? "a result" : "an approval";
}

/* ---- Which call ------------------------------------------------------------------------------------------------- */

static int take_item(struct answering *c, yyjson_val *item, struct upp_err *err)
{
    struct upp_str call = wj_text_at(item, "call_id");
    bool tool = wb_str_eq(wj_text_at(item, "kind"), UPP_STR("tool"));
    bool named = wb_str_eq(call, c->call);
    c->all++;
    wb_buf_add(&c->others, UPP_STR("  "));
    cli_reveal(&c->others, call, 0);
    wb_buf_addf(&c->others, "  waits for %s: ", tool ? "a result" : "an approval");
    cli_waiting_call(&c->others, item);
    wb_buf_addc(&c->others, '\n');
    if (tool != (c->what == ANSWER) || (c->call.n && !named))
        return wb_buf_check(&c->others, err);
    c->n++;
    c->found = call;
    c->last_event = wj_text_at(item, "last_event_id");
    wb_buf_clear(&c->shown);
    wb_buf_add(&c->shown, UPP_STR("the agent "));
    cli_reveal(&c->shown, wj_text_at(item, "assistant_id"), 0);
    wb_buf_add(&c->shown, UPP_STR(" wants to run:\n  "));
    cli_waiting_call(&c->shown, item);
    wb_buf_addc(&c->shown, '\n');
    int r = cli_follow_id(item, "run_id", "run_", &c->f.shown.run, err);
    if (r >= 0)
        r = cli_follow_id(item, "thread_id", "thread_", &c->f.thread, err);
    if (r >= 0)
        r = wb_buf_check(&c->others, err);
    return r < 0 ? r : wb_buf_check(&c->shown, err);
}

/* Reads what the run waits for, page by page. */
WEFT_SUSPENDS static int find_calls(struct answering *c, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf path = WB_BUF(1u << 20);
    yyjson_val *page, *item;
    size_t i, max;
    wb_buf_clear(&c->others);
    c->n = c->all = 0;
    wb_buf_addf(&path, "/v1/approvals?kind=any&limit=100&run=%s", c->run);
    for (;;) {
        struct cli_request q = {.method = "GET", .path = wb_buf_str(&path)};
        int r = wb_buf_check(&path, err);
        if (r >= 0)
            r = cli_owner_call(&c->f.door, &q, &c->f.arena, &page, err);
        if (r < 0)
            return r;
        yyjson_arr_foreach(yyjson_obj_get(page, "data"), i, max, item)
        {
            r = take_item(c, item, err);
            if (r < 0)
                return r;
        }
        if (!yyjson_is_true(yyjson_obj_get(page, "has_more")))
            return 0;
        wb_buf_clear(&path);
        wb_buf_addf(&path, "/v1/approvals?kind=any&limit=100&run=%s&after=", c->run);
        cli_path_add(&path, wj_text_at(page, "last_id"));
    }
}

static int choose(struct answering *c, struct upp_err *err)
{
    if (c->n == 1)
        return 0;
    if (!c->others.n)
        return upp_fail(err, UPP_EINVALID, "%s does not wait for answers", c->run);
    c->unclear = true;
    if (c->call.n)
        return upp_fail(err, UPP_EINVALID, "call '%.*s' of %s does not wait for %s; these wait:", UPP_FMT(c->call),
                        c->run, kind_of(c));
    return c->n ? upp_fail(err, UPP_EINVALID, "several calls of %s wait for %s; name one:", c->run, kind_of(c))
                : upp_fail(err, UPP_EINVALID, "no call of %s waits for %s; these wait:", c->run, kind_of(c));
}

/* ---- Who approves has seen the call ------------------------------------------------------------------------------ */

static int none_approved(const struct answering *c, struct upp_err *err)
{
    return upp_fail(err, UPP_EREFUSED, "nothing was approved: %s still waits (`weft deny` denies a call)", c->run);
}

WEFT_SUSPENDS static int ask_which(struct answering *c, struct upp_err *err)
{
    (void)fprintf(stderr, "weft %s: several calls of %s wait for an approval:\n", c->f.shown.name, c->run);
    cli_print_text(stderr, wb_buf_str(&c->others), 0);
    int r = cli_ask_person("Which CALL may run? (Enter: none) ", &c->named, err);
    if (r < 0)
        return r;
    c->call = wb_str_trim(wb_buf_str(&c->named));
    return c->call.n ? find_calls(c, err) : none_approved(c, err);
}

WEFT_SUSPENDS static int ask_whether(struct answering *c, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf said = WB_BUF(CLI_DECISION_MAX);
    (void)fprintf(stderr, "weft %s: ", c->f.shown.name);
    cli_print_text(stderr, wb_buf_str(&c->shown), 0);
    int r = cli_ask_person("May it run? [y/N] ", &said, err);
    if (r < 0)
        return r;
    struct upp_str word = wb_str_trim(wb_buf_str(&said));
    if (!wb_str_eq_nocase(word, UPP_STR("y")) && !wb_str_eq_nocase(word, UPP_STR("yes")))
        return none_approved(c, err);
    wb_buf_clear(&c->named); /* the owner of the store may have to be asked twice; the person not */
    wb_buf_add(&c->named, c->found);
    c->call = wb_buf_str(&c->named);
    return wb_buf_check(&c->named, err);
}

WEFT_SUSPENDS static int find_call(struct answering *c, struct upp_err *err)
{
    int r = find_calls(c, err);
    if (r == -UPP_ENOTFOUND)
        return cli_no_run(c->typed, err);
    bool unseen = c->what == APPROVE && !c->yes && !c->call.n;
    if (r >= 0 && unseen && c->n > 1 && cli_can_ask()) {
        unseen = false; /* who names it has read it in the list */
        r = ask_which(c, err);
    }
    if (r >= 0)
        r = choose(c, err);
    if (r < 0 || !unseen)
        return r;
    if (cli_can_ask())
        return ask_whether(c, err);
    c->unclear = true;
    return upp_fail(err, UPP_EINVALID, "without a terminal nobody can be asked: name the call, or say --yes:");
}

/* ---- The answer ------------------------------------------------------------------------------------------------- */

static int write_answer(const struct answering *c, struct wb_buf *out, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    wj_put_open(&w, "answers", '[');
    wj_write_open(&w, '{');
    wj_put_str(&w, "call_id", c->found);
    if (c->what == ANSWER)
        wj_put_raw(&w, "output", c->output.p, c->output.n);
    else
        wj_put_bool(&w, "approved", c->what == APPROVE);
    if (c->is_error)
        wj_put_bool(&w, "is_error", true);
    if (c->reason)
        wj_put_str(&w, "reason", wb_cstr(c->reason));
    wj_write_close(&w, '}');
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

/* The run resumes when all its calls have their answers. */
static bool still_waits(yyjson_val *run)
{
    yyjson_val *action = yyjson_obj_get(run, "required_action");
    return action && !yyjson_is_null(action);
}

WEFT_SUSPENDS static int answer(struct cli_follow *f, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(CLI_MAX_BODY);
    struct answering *c = f->arg;
    yyjson_val *run;
    int r = find_call(c, err);
    if (r >= 0)
        r = write_answer(c, &body, err);
    if (r < 0)
        return r;
    struct cli_request q = {
        .method = "POST", .path = wb_arena_printf(&f->arena, "/v1/runs/%s/answers", c->run), .body = wb_buf_str(&body)};
    (void)snprintf(f->last_id, sizeof f->last_id, "%.*s", UPP_FMT(c->last_event)); /* what follows is new */
    r = wb_arena_check(&f->arena, err);
    if (r >= 0)
        r = cli_owner_call(&f->door, &q, &f->arena, &run, err);
    if (r < 0 || c->all == 1 || !still_waits(run))
        return r;
    (void)fprintf(stderr, "weft %s: stored; %s still waits for other calls\n", f->shown.name, c->run);
    wb_buf_add(&f->shown.status, UPP_STR("waiting"));
    return 1;
}

/* ---- The commands ----------------------------------------------------------------------------------------------- */

static void answering_init(struct answering *c, const struct cli_command *self, enum what what)
{
    *c = (struct answering){
        .what = what, .others = WB_BUF(LIST_MAX), .shown = WB_BUF(LIST_MAX), .named = WB_BUF(NAMED_MAX)};
    cli_follow_init(&c->f, CLI_SHOW_TEXT, self->name);
    c->f.start = answer;
    c->f.arg = c;
}

static void answering_done(struct answering *c)
{
    cli_follow_done(&c->f);
    wb_buf_done(&c->others);
    wb_buf_done(&c->shown);
    wb_buf_done(&c->named);
}

static int answer_run(const struct cli_command *self, struct answering *c, const char *run)
{
    struct upp_err err = {0};
    if (cli_run_id(run, c->run, &err) < 0)
        return cli_fail(self, &err);
    c->typed = run;
    int code = cli_follow(self, &c->f, &c->from, true);
    if (!c->unclear)
        return code;
    cli_print_text(stderr, wb_buf_str(&c->others), 0);
    return CLI_USAGE;
}

static int run_decide(const struct cli_command *self, int argc, char **argv, enum what what)
{
    WB_CLEANUP(answering_done) struct answering c;
    const char *words[2];
    size_t n;
    answering_init(&c, self, what);
    int bad = cli_parse_some(self, argc, argv, &c, words, 2, &n);
    if (bad)
        return bad;
    if (!n)
        return cli_misuse(self, "wants the id of a run");
    c.call = n > 1 ? wb_cstr(words[1]) : UPP_STR("");
    c.f.shown.how = c.json ? CLI_SHOW_OBJECT : CLI_SHOW_TEXT;
    return answer_run(self, &c, words[0]);
}

static int run_approve(const struct cli_command *self, int argc, char **argv)
{
    return run_decide(self, argc, argv, APPROVE);
}

static int run_deny(const struct cli_command *self, int argc, char **argv)
{
    return run_decide(self, argc, argv, DENY);
}

/* A text as a JSON string. */
static int quote(struct upp_str text, struct wb_buf *out, struct upp_str *ret, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, out, err);
    wj_write_str(&w, text);
    *ret = wb_buf_str(out);
    return wj_writer_check(&w);
}

static int run_answer(const struct cli_command *self, int argc, char **argv)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf in = WB_BUF(INPUT_MAX), quoted = WB_BUF(CLI_MAX_BODY);
    WB_CLEANUP(answering_done) struct answering c;
    struct wj_syntax syntax;
    struct upp_err err = {0};
    const char *words[3];
    size_t n;
    answering_init(&c, self, ANSWER);
    int bad = cli_parse_some(self, argc, argv, &c, words, 3, &n);
    if (bad)
        return bad;
    if (n < 2 || (n == 3) + !!c.result + !!c.error != 1)
        return cli_misuse(self, "wants the id of a run, the id of a call, and its result: a text, --json or --error");
    c.call = wb_cstr(words[1]);
    c.is_error = c.error != NULL;
    c.output = wb_cstr(c.result);
    int r = 0;
    if (c.result && wj_syntax(c.output, WJ_MAX_DEPTH, &syntax, &err) < 0)
        return cli_misuse(self, "--json is no JSON: %s", err.msg);
    if (!c.result) {
        struct upp_str text;
        r = cli_follow_text(c.error ? c.error : words[2], &in, &text, &err);
        if (r >= 0)
            r = quote(text, &quoted, &c.output, &err);
    }
    return r < 0 ? cli_fail(self, &err) : answer_run(self, &c, words[0]);
}

static const struct cli_option approve_options[] = {
    CLI_FLAG("--yes", struct answering, yes, "without CALL: approves the only call, and asks nobody"),
    CLI_FLAG("--json", struct answering, json, "one JSON object at the end, like that of `weft run`"),
    CLI_SOURCE_OPTIONS(struct answering, from),
};

const struct cli_command cli_approve = {
    .name = "approve",
    .usage = "RUN [CALL] [--yes] [--json] [--tenant T] [--user U] [--config FILE] [--store URL]",
    .summary = "lets a waiting call run",
    .help = "Approves a call that waits for an approval. Without CALL it shows the call on the terminal and asks: y\n"
            "approves it, Enter leaves it waiting (exit 1). If several wait, it lists them and asks which. Without a\n"
            "terminal it wants CALL, or --yes if only one call waits; otherwise it lists them and exits 2.\n"
            "If a server owns the store, the run continues there; otherwise this command executes it. Either way it\n"
            "prints the rest of the answer, and exits like `weft run`. While other calls of the run still wait, it\n"
            "only stores the answer and exits 0.\n"
            "`weft approvals` lists what waits.",
    .run = run_approve,
    CLI_OPTIONS(approve_options),
    .examples = "weft approve RUN\n"
                "weft approve RUN CALL --json\n"
                "weft approve RUN --yes              # in a script\n",
};

static const struct cli_option deny_options[] = {
    CLI_VALUE("--reason", "TEXT", "a text", struct answering, reason, "the reason, which the model receives"),
    CLI_FLAG("--json", struct answering, json, "one JSON object at the end, like that of `weft run`"),
    CLI_SOURCE_OPTIONS(struct answering, from),
};

const struct cli_command cli_deny = {
    .name = "deny",
    .usage = "RUN [CALL] [--reason TEXT] [--json] [--tenant T] [--user U] [--config FILE] [--store URL]",
    .summary = "denies a waiting call",
    .help = "Denies a call that waits for an approval. CALL may be left out if only one waits; otherwise the command "
            "lists\n"
            "them and exits 2.\n"
            "If a server owns the store, the run continues there; otherwise this command executes it. Either way it "
            "prints\n"
            "the rest of the answer, and exits like `weft run`. While other calls of the run still wait, it only "
            "stores the\n"
            "answer and exits 0.\n"
            "`weft approvals` lists what waits.",
    .run = run_deny,
    CLI_OPTIONS(deny_options),
    .examples = "weft deny RUN --reason \"too expensive\"\n",
};

static const struct cli_option answer_options[] = {
    CLI_VALUE("--json", "JSON", "a JSON value", struct answering, result, "the result, as any JSON value"),
    CLI_VALUE("--error", "TEXT", "a text", struct answering, error, "the tool has failed, for this reason"),
    CLI_SOURCE_OPTIONS(struct answering, from),
};

const struct cli_command cli_answer = {
    .name = "answer",
    .usage = "RUN CALL {TEXT | --json JSON | --error TEXT} [--tenant T] [--user U] [--config FILE] [--store URL]",
    .summary = "gives a waiting call its result",
    .help = "Gives a call of a client's tool its result: TEXT (-: standard input) as a JSON string, or any JSON value\n"
            "with --json.\n"
            "If a server owns the store, the run continues there; otherwise this command executes it. Either way it "
            "prints\n"
            "the rest of the answer, and exits like `weft run`. While other calls of the run still wait, it only "
            "stores the\n"
            "answer and exits 0.\n"
            "`weft approvals` lists what waits.",
    .run = run_answer,
    CLI_OPTIONS(answer_options),
    .examples = "weft answer RUN CALL \"18 degrees\"\n"
                "weft answer RUN CALL --json '{\"celsius\": 18}'\n"
                "weft answer RUN CALL --error \"no such city\"\n",
};
