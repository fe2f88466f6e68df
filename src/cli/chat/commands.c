/* cli/chat/commands.c — the lines of the chat that begin with a slash: one row each. */
#include "cli/chat/chat.h"

#include <stdio.h>

#include "base/defs.h"
#include "base/file.h"
#include "cli/chat/paste.h"
#include "cli/terminal.h"
#include "dialects/core/convert.h"
#include "json/value.h"
#include "json/write.h"
#include "runtime/config_read.h"

int cli_chat_path(struct cli_chat *c, const char *rest, struct upp_str *ret, struct upp_err *err)
{
    if (!c->thread.n)
        return upp_fail(err, UPP_EINVALID, "there is no conversation yet: say something first");
    *ret = wb_arena_printf(&c->arena, "/v1/threads/%.*s%s", UPP_FMT(wb_buf_str(&c->thread)), rest);
    return wb_arena_check(&c->arena, err);
}

/* Whoever is chosen is asked, also what another one was asked before. */
WEFT_SUSPENDS static int choose_agent(struct cli_chat *c, struct upp_str name, struct upp_err *err)
{
    int r = cli_chat_set_agent(c, name, err);
    if (r >= 0 && name.n)
        wb_buf_clear(&c->asked);
    return r;
}

/* ---- Asking again ----------------------------------------------------------------------------------------------- */

/* The question of the thread's last run: its id and its text. */
WEFT_SUSPENDS static int last_question(struct cli_chat *c, struct upp_str *id, struct upp_str *text,
                                       struct upp_err *err)
{
    struct upp_str path;
    yyjson_val *v;
    int r = cli_chat_path(c, "/messages?limit=1", &path, err);
    if (r >= 0)
        r = cli_chat_call(c, "GET", path, NULL, &v, err);
    yyjson_val *last = r < 0 ? NULL : yyjson_arr_get_first(yyjson_obj_get(v, "data"));
    struct upp_str run = wj_text_at(last, "run_id");
    if (r >= 0 && run.n) {
        path = wb_arena_printf(&c->arena, "/v1/threads/%.*s/messages?limit=1&order=asc&run_id=%.*s",
                               UPP_FMT(wb_buf_str(&c->thread)), UPP_FMT(run));
        r = cli_chat_call(c, "GET", path, NULL, &v, err);
        last = r < 0 ? NULL : yyjson_arr_get_first(yyjson_obj_get(v, "data"));
    }
    if (r < 0)
        return r;
    if (!last || !wb_str_eq(wj_text_at(last, "role"), UPP_STR("user")))
        return upp_fail(err, UPP_ENOTFOUND, "the thread ends without a question");
    *id = wj_text_at(last, "id");
    *text = wj_text_at(yyjson_obj_get(yyjson_arr_get_first(yyjson_obj_get(last, "content")), "text"), "value");
    return 0;
}

WEFT_SUSPENDS int cli_chat_edit(struct cli_chat *c, struct upp_str text, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(4096), said = WB_BUF(CLI_LINE_MAX);
    struct upp_str id, old, path;
    yyjson_val *v;
    wb_buf_add(&said, text);
    int r = last_question(c, &id, &old, err);
    if (r >= 0 && !text.n)
        wb_buf_add(&said, old);
    if (r >= 0)
        r = wb_buf_check(&said, err);
    if (r >= 0)
        r = cli_chat_body(&body, "before", id, err);
    if (r >= 0)
        r = cli_chat_path(c, "/restore", &path, err);
    if (r >= 0)
        r = cli_chat_call(c, "POST", path, &body, &v, err);
    if (r < 0)
        return r;
    if (c->asked.n) { /* that question was not for the one that took over */
        wb_buf_clear(&c->agent);
        wb_buf_add(&c->agent, wb_buf_str(&c->asked));
    }
    wb_buf_clear(&c->text);
    wb_buf_add(&c->text, wb_buf_str(&said));
    return cli_chat_say(c, err);
}

WEFT_SUSPENDS static int retry(struct cli_chat *c, struct upp_str rest, struct upp_err *err)
{
    (void)rest;
    return cli_chat_edit(c, UPP_STR(""), err);
}

/* Without a text, the question is typed already when the next line is read. */
WEFT_SUSPENDS static int edit(struct cli_chat *c, struct upp_str rest, struct upp_err *err)
{
    struct upp_str id, text;
    if (rest.n)
        return cli_chat_edit(c, rest, err);
    int r = last_question(c, &id, &text, err);
    if (r >= 0 && !cli_line_editor_is_terminal(c->lines))
        r = upp_fail(err, UPP_EINVALID, "/edit wants a text, if there is no terminal to edit it");
    if (r < 0)
        return r;
    for (size_t i = 0; i < text.n; i++) {
        bool quoted = text.p[i] == '\n' || text.p[i] == '\t'; /* a line end would send it */
        if (quoted)
            wb_buf_addc(&c->again, CLI_PASTE_QUOTE);
        wb_buf_addc(&c->again, (unsigned char)text.p[i] < ' ' && !quoted ? ' ' : text.p[i]);
    }
    return wb_buf_check(&c->again, err);
}

WEFT_SUSPENDS static int branch(struct cli_chat *c, struct upp_str at, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(4096);
    struct upp_str path;
    yyjson_val *v;
    int r = cli_chat_body(&body, "at", at, err);
    if (r >= 0)
        r = cli_chat_path(c, "/fork", &path, err);
    if (r >= 0)
        r = cli_chat_call(c, "POST", path, &body, &v, err);
    if (r < 0)
        return r;
    r = cli_chat_note(&c->view, CLI_STYLE_FAINT, err, "in %.*s; /switch %.*s goes back", UPP_FMT(wj_text_at(v, "id")),
                      UPP_FMT(wb_buf_str(&c->thread)));
    wb_buf_clear(&c->thread);
    cli_path_add(&c->thread, wj_text_at(v, "id"));
    return r;
}

static int cost(struct cli_chat *c, struct upp_str rest, struct upp_err *err)
{
    (void)rest;
    return cli_chat_note(&c->view, 0, err, "%u run%s, %llu tokens in, %llu out", c->runs, c->runs == 1 ? "" : "s",
                         (unsigned long long)c->in, (unsigned long long)c->out);
}

/* ---- Documents -------------------------------------------------------------------------------------------------- */

/* The server would speak of a parameter of its route. */
static int check_dialect(struct upp_str name, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf known = WB_BUF(1024);
    const struct wd_document_ops *ops;
    struct wc_guess guess = {0};
    if (wd_document_find(name))
        return 0;
    for (size_t i = 0; (ops = wd_document_at(i)); i++) {
        wb_buf_addf(&known, "%s %s", i ? "," : "", ops->name);
        wc_guess(&guess, name, wb_cstr(ops->name));
    }
    int r = wb_buf_check(&known, err);
    return r < 0 ? r
                 : upp_fail(err, UPP_EINVALID, "there is no dialect '%.*s'; there are:%.*s%s", UPP_FMT(name),
                            UPP_FMT(wb_buf_str(&known)), wc_guessed(&guess));
}

WEFT_SUSPENDS static int export_it(struct cli_chat *c, struct upp_str rest, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf path = WB_BUF(4096), file = WB_BUF(4096);
    WB_CLEANUP(cli_answer_done) struct cli_answer a;
    struct upp_str as, base;
    cli_answer_init(&a);
    if (!wb_str_split(&rest, ' ', &as) || !as.n)
        return upp_fail(err, UPP_EINVALID, "/export wants a dialect, and may have a file: /export uap chat.json");
    int r = check_dialect(as, err);
    if (r >= 0)
        r = cli_chat_path(c, "/export?as=", &base, err);
    if (r < 0)
        return r;
    wb_buf_add(&path, base);
    cli_path_add(&path, as);
    r = wb_buf_check(&path, err);
    if (r >= 0)
        r = cli_owner_ask(&c->f.door, &(struct cli_request){.method = "GET", .path = wb_buf_str(&path)}, &a, err);
    if (r >= 0 && a.status / 100 != 2)
        return cli_answer_fail(&a, err);
    if (r >= 0)
        r = cli_read_body(&a, err);
    rest = wb_str_trim(rest.p ? rest : UPP_STR(""));
    if (r >= 0 && rest.n) {
        wb_buf_add(&file, rest);
        wb_buf_addc(&file, '\0');
        r = wb_buf_check(&file, err);
        if (r >= 0)
            r = wb_file_write(file.p, wb_buf_str(&a.raw), 0600, err);
        return r < 0 ? r : cli_chat_note(&c->view, CLI_STYLE_FAINT, err, "%zu bytes in %s", a.raw.n, file.p);
    }
    if (r >= 0) {
        cli_print_text(stdout, wb_buf_str(&a.raw), 0);
        (void)putchar('\n');
        (void)fflush(stdout);
    }
    return r;
}

/* ---- What waits ------------------------------------------------------------------------------------------------- */

/* As the last event of a waiting run has it. */
static void write_pending(struct wj_writer *w, yyjson_val *item)
{
    yyjson_val *function = yyjson_obj_get(item, "function");
    struct upp_str arguments = wj_text_at(function, "arguments");
    wj_write_open(w, '{');
    wj_put_str(w, "toolCallId", wj_text_at(item, "call_id"));
    wj_put_str(w, "toolName", wj_text_at(function, "name"));
    wj_put_raw(w, "arguments", arguments.n ? arguments.p : "null", arguments.n ? arguments.n : 4);
    wj_put_bool(w, "approval", wb_str_eq(wj_text_at(item, "kind"), UPP_STR("approval")));
    wj_write_close(w, '}');
}

WEFT_SUSPENDS static int approve(struct cli_chat *c, struct upp_str rest, struct upp_err *err)
{
    struct cli_run_view *s = &c->f.shown;
    yyjson_val *v, *item, *first = NULL;
    size_t i, max;
    struct wj_writer w;
    (void)rest;
    int r = cli_chat_call(c, "GET", UPP_STR("/v1/approvals?kind=any&limit=100"), NULL, &v, err);
    if (r < 0)
        return r;
    wb_buf_clear(&s->pending);
    wj_writer_init(&w, &s->pending, err);
    wj_write_open(&w, '[');
    yyjson_arr_foreach(yyjson_obj_get(v, "data"), i, max, item)
    {
        if (!wb_str_eq(wj_text_at(item, "thread_id"), wb_buf_str(&c->thread)))
            continue;
        first = first ? first : item;
        if (wb_str_eq(wj_text_at(item, "run_id"), wj_text_at(first, "run_id")))
            write_pending(&w, item);
    }
    wj_write_close(&w, ']');
    r = wj_writer_check(&w);
    if (r < 0 || !first)
        return r < 0 ? r : cli_chat_note(&c->view, CLI_STYLE_FAINT, err, "nothing waits in this thread");
    r = cli_follow_id(first, "run_id", "run_", &s->run, err);
    if (r < 0)
        return r;
    (void)snprintf(c->f.last_id, sizeof c->f.last_id, "%.*s", UPP_FMT(wj_text_at(first, "last_event_id")));
    wb_buf_clear(&s->status);
    wb_buf_add(&s->status, UPP_STR("waiting"));
    return cli_chat_finish(c, err);
}

/* ---- The table -------------------------------------------------------------------------------------------------- */

static int quit(struct cli_chat *c, struct upp_str rest, struct upp_err *err)
{
    (void)rest;
    (void)err;
    c->leaves = true;
    return 0;
}

static int help(struct cli_chat *c, struct upp_str rest, struct upp_err *err);

static const struct {
    const char *name, *takes, *does;
    int (*run)(struct cli_chat *c, struct upp_str rest, struct upp_err *err);
} commands[] = {
    {"/help", "", "this list", help},
    {"/new", "", "begin a new conversation with the same agent", cli_chat_new},
    {"/threads", "[NUMBER]", "list the newest conversations, or go to one of them", cli_chat_threads},
    {"/branch", "[MESSAGE]", "continue in a copy of the conversation, from here or from a message", branch},
    {"/tree", "", "the branches of the conversation", cli_chat_tree},
    {"/switch", "NUMBER | THREAD", "go to a node of the tree, or to another conversation", cli_chat_switch},
    {"/retry", "", "ask the last question again, on a branch", retry},
    {"/edit", "[TEXT]", "edit the last question and ask it, on a branch", edit},
    {"/agent", "[NAME]", "talk to another agent; without a name, list them", choose_agent},
    {"/model", "[NAME]", "use another model; - is the agent's own; without a name, list them", cli_chat_set_model},
    {"/cost", "", "tokens of this chat", cost},
    {"/export", "DIALECT [FILE]", "the conversation as a document", export_it},
    {"/approve", "", "answer what waits in this thread", approve},
    {"/quit", "", "leave", quit},
};

static int help(struct cli_chat *c, struct upp_str rest, struct upp_err *err)
{
    (void)rest;
    int r = 0;
    for (size_t i = 0; r >= 0 && i < WB_LEN(commands); i++)
        r = cli_chat_note_as(&c->view, &(struct cli_note){.indent = 27}, err, "%-9s %-16s %s", commands[i].name,
                             commands[i].takes, commands[i].does);
    return r < 0 || !c->view.terminal
               ? r
               : cli_chat_note(&c->view, CLI_STYLE_FAINT, err,
                               "Ctrl-C stops an answer; \\ at the end of a line continues it in the next one");
}

WEFT_SUSPENDS int cli_chat_command(struct cli_chat *c, struct upp_str line, struct upp_err *err)
{
    struct wc_guess guess = {0};
    struct upp_str rest = line, word;
    (void)wb_str_split(&rest, ' ', &word);
    rest = wb_str_trim(rest.p ? rest : UPP_STR(""));
    for (size_t i = 0; i < WB_LEN(commands); i++) {
        if (wb_str_eq(word, wb_cstr(commands[i].name)))
            return commands[i].run(c, rest, err);
        wc_guess(&guess, word, wb_cstr(commands[i].name));
    }
    return upp_fail(err, UPP_EINVALID, "there is no command '%.*s'%s", UPP_FMT(word),
                    wc_guessed(&guess)[0] ? wc_guessed(&guess) : "; /help lists them");
}
