/* cli/chat/pending.c — what a run waits for: approvals, and results of the client's tools. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "base/utf8.h"
#include "cli/chat/chat.h"
#include "cli/terminal.h"
#include "json/read.h"
#include "json/syntax.h"
#include "json/value.h"
#include "json/write.h"

enum { ARGUMENTS_MAX = 8 << 20, SHOWN_MAX = 8 * ARGUMENTS_MAX, NOTE_BYTES = 4000 };

enum {
    ASK_AGAIN = 100 /* beside enum cli_line */,
    MEMBERS = 40 /* of the arguments that are shown */,
    MEMBER_ROWS = 3,
    NAME_BYTES = 100 /* of a member or a tool: what follows it is to be seen, too */
};

struct call {
    struct upp_str id, tool;
    yyjson_val *given;       /* the arguments */
    struct wb_buf arguments; /* JSON */
    bool approval;
    bool shortened; /* not all of the arguments were shown */
};

static void call_done(struct call *c)
{
    wb_buf_done(&c->arguments);
}

static bool is_word(const struct cli_chat *c, const char *a, const char *b)
{
    struct upp_str word = wb_str_trim(wb_buf_str(&c->line));
    return wb_str_eq_nocase(word, wb_cstr(a)) || wb_str_eq_nocase(word, wb_cstr(b));
}

WEFT_SUSPENDS static int read_line(struct cli_chat *c, const char *prompt, const struct wb_buf *text,
                                   struct upp_err *err)
{
    int r = cli_line_editor_read(c->lines, prompt, text ? text->p : NULL, false, &c->line, err);
    return r == -UPP_ELIMIT ? upp_fail(err, UPP_ELIMIT, "a line has at most %d bytes", CLI_LINE_MAX) : r;
}

/* ---- The call -------------------------------------------------------------------------------- */

/* JSON, of a text without its quotes: all of it can be seen. indent as of cli_reveal. */
static int value_text(yyjson_val *v, unsigned indent, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(ARGUMENTS_MAX);
    wb_buf_clear(out);
    int r = wj_write(v, &json, err);
    if (r < 0)
        return r;
    struct upp_str text = wb_buf_str(&json);
    cli_reveal(out, yyjson_is_str(v) ? wb_str_sub(text, 1, text.n - 2) : text, indent);
    return wb_buf_check(out, err);
}

/* Its beginning, marked if there is more. */
static void add_beginning(struct wb_buf *out, struct upp_str text, size_t max, struct call *call)
{
    size_t n = wb_utf8_cut(text, WB_MIN(text.n, max));
    wb_buf_add(out, wb_str_sub(text, 0, n));
    if (n < text.n)
        wb_buf_add(out, UPP_STR("..."));
    call->shortened |= n < text.n;
}

static int put_line(struct cli_chat *c, const struct cli_note *as, struct call *call, const struct wb_buf *line,
                    struct upp_err *err)
{
    int r = wb_buf_check(line, err);
    if (r >= 0)
        r = cli_chat_note_text(&c->view, as, wb_buf_str(line), err);
    call->shortened |= c->view.cut;
    return r;
}

/* One member per paragraph, of at most a few rows. */
static int show_members(struct cli_chat *c, struct call *call, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(SHOWN_MAX), line = WB_BUF(2u * NOTE_BYTES);
    WB_CLEANUP(wb_buf_done) struct wb_buf title = WB_BUF(SHOWN_MAX);
    struct cli_note as = {.indent = 6, .rows = MEMBER_ROWS};
    yyjson_val *name, *v;
    size_t i, max;
    int r = 0;
    yyjson_obj_foreach(call->given, i, max, name, v)
    {
        if (r >= 0 && i < MEMBERS)
            r = value_text(v, 0, &text, err);
        if (r >= 0 && i < MEMBERS)
            r = value_text(name, 0, &title, err);
        if (r < 0 || i == MEMBERS)
            break;
        wb_buf_clear(&line);
        wb_buf_add(&line, UPP_STR("    "));
        add_beginning(&line, wb_buf_str(&title), NAME_BYTES, call);
        wb_buf_add(&line, UPP_STR(": "));
        add_beginning(&line, wb_buf_str(&text), NOTE_BYTES, call);
        r = put_line(c, &as, call, &line, err);
    }
    call->shortened |= yyjson_obj_size(call->given) > MEMBERS;
    return r;
}

/* On one line if they fit there. */
static int show_call(struct cli_chat *c, struct call *call, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf line = WB_BUF(2u * NOTE_BYTES);
    const struct cli_note bold = {.style = CLI_STYLE_BOLD};
    WB_CLEANUP(wb_buf_done) struct wb_buf seen = WB_BUF(SHOWN_MAX);
    cli_reveal(&seen, wb_buf_str(&call->arguments), 0);
    if (seen.failed)
        return wb_buf_check(&seen, err);
    struct upp_str json = wb_buf_str(&seen);
    struct upp_str who = wb_cstr(call->approval ? "" : " is for you to run");
    size_t room = c->view.terminal ? c->view.screen.width : NOTE_BYTES;
    bool here = !yyjson_is_obj(call->given) || call->tool.n + json.n + who.n + 3 <= room;
    wb_buf_add(&line, UPP_STR("? "));
    add_beginning(&line, call->tool, NAME_BYTES, call);
    if (here) {
        wb_buf_addc(&line, ' ');
        add_beginning(&line, json, NOTE_BYTES, call);
    }
    wb_buf_add(&line, who);
    int r = put_line(c, &bold, call, &line, err);
    return r < 0 || here ? r : show_members(c, call, err);
}

/* All of the arguments, also what was too long before. */
static int show_all(struct cli_chat *c, const struct call *call, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(SHOWN_MAX), title = WB_BUF(SHOWN_MAX);
    FILE *out = c->view.terminal ? stdout : stderr;
    yyjson_val *name, *v;
    size_t i, max;
    int r = 0;
    if (!yyjson_is_obj(call->given)) {
        cli_reveal(&text, wb_buf_str(&call->arguments), 0);
        cli_print_text(out, wb_buf_str(&text), 0);
        r = wb_buf_check(&text, err);
    }
    yyjson_obj_foreach(call->given, i, max, name, v)
    {
        if (r >= 0)
            r = value_text(v, 6, &text, err);
        if (r >= 0)
            r = value_text(name, 0, &title, err);
        if (r < 0)
            break;
        (void)fputs("    ", out);
        cli_print_text(out, wb_buf_str(&title), 6);
        (void)fputs(": ", out);
        cli_print_text(out, wb_buf_str(&text), 0); /* its lines are indented: none looks like another member */
        (void)fputc('\n', out);
    }
    (void)fflush(out);
    return r;
}

/* ---- The answer ------------------------------------------------------------------------------ */

/* The reason names the arguments to use, and the model calls again with them: its first call stays in the log. */
WEFT_SUSPENDS static int other_arguments(struct cli_chat *c, struct call *call, struct wj_writer *w,
                                         struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf reason = WB_BUF(ARGUMENTS_MAX), typed = WB_BUF(ARGUMENTS_MAX);
    struct wj_syntax syntax;
    wb_buf_add(&typed, wb_buf_str(&call->arguments));
    wb_buf_addc(&typed, '\0');
    int r = wb_buf_check(&typed, err);
    if (r >= 0)
        r = read_line(c, "arguments: ", &typed, err);
    if (r != CLI_LINE_READ)
        return r;
    if (wj_syntax(wb_buf_str(&c->line), WJ_MAX_DEPTH, &syntax, err) < 0) {
        r = cli_chat_note(&c->view, 0, err, "that is no JSON: nothing was sent");
        return r < 0 ? r : ASK_AGAIN;
    }
    wb_buf_addf(&reason, "not with these arguments; call it again with these: %.*s", UPP_FMT(wb_buf_str(&c->line)));
    wj_put_bool(w, "approved", false);
    wj_put_str(w, "reason", wb_buf_str(&reason));
    r = wb_buf_check(&reason, err);
    return r < 0 ? r : CLI_LINE_READ;
}

/* Neither yes nor no. */
static int again(struct cli_chat *c, struct call *call, struct upp_err *err)
{
    bool all = is_word(c, "a", "all");
    call->shortened &= !all;
    int r = all ? show_all(c, call, err)
                : cli_chat_note(&c->view, CLI_STYLE_FAINT, err,
                                "y runs it, n denies it, e lets you edit its arguments, a shows all of them; Ctrl-C "
                                "leaves it waiting");
    return r < 0 ? r : ASK_AGAIN;
}

WEFT_SUSPENDS static int ask_approval(struct cli_chat *c, struct call *call, struct wj_writer *w, struct upp_err *err)
{
    for (;;) {
        int r = read_line(c,
                          call->shortened ? "may it run? [n]o, [e]dit, show [a]ll first: "
                                          : "may it run? [y]es, [n]o, [e]dit arguments: ",
                          NULL, err);
        if (r != CLI_LINE_READ)
            return r;
        if (is_word(c, "y", "yes") && call->shortened) { /* nobody agrees to what he has not seen */
            r = cli_chat_note(&c->view, 0, err, "not all of its arguments were shown: a shows them");
            if (r < 0)
                return r;
            continue;
        }
        if (is_word(c, "y", "yes") || is_word(c, "n", "no")) {
            wj_put_bool(w, "approved", is_word(c, "y", "yes"));
            return CLI_LINE_READ;
        }
        if (is_word(c, "e", "edit"))
            r = other_arguments(c, call, w, err);
        else
            r = again(c, call, err);
        if (r != ASK_AGAIN)
            return r;
    }
}

/* JSON as it is, anything else as a text. */
WEFT_SUSPENDS static int ask_result(struct cli_chat *c, struct wj_writer *w, struct upp_err *err)
{
    struct wj_syntax syntax;
    int r = read_line(c, "its result: ", NULL, err);
    if (r != CLI_LINE_READ)
        return r;
    struct upp_str text = wb_buf_str(&c->line);
    if (wj_syntax(text, WJ_MAX_DEPTH, &syntax, NULL) >= 0)
        wj_put_raw(w, "output", text.p, text.n);
    else
        wj_put_str(w, "output", text);
    return CLI_LINE_READ;
}

/* 1: an answer is in c->answers. */
WEFT_SUSPENDS static int ask_call(struct cli_chat *c, struct wb_arena *arena, yyjson_val *pending, struct upp_err *err)
{
    WB_CLEANUP(call_done)
    struct call call = {.id = wj_text_at(pending, "toolCallId"),
                        .tool = wj_text_at(pending, "toolName"),
                        .given = yyjson_obj_get(pending, "arguments"),
                        .arguments = WB_BUF(ARGUMENTS_MAX),
                        .approval = yyjson_is_true(yyjson_obj_get(pending, "approval"))};
    struct wj_writer w;
    struct upp_str exact = wj_text_at(pending, "argumentsJson");
    int r = 0;
    if (exact.p) { /* what the tool receives */
        wb_buf_add(&call.arguments, exact);
        r = wb_buf_check(&call.arguments, err);
        if (r >= 0 && wj_read(arena, exact, NULL, &call.given, NULL) < 0)
            call.given = NULL;
    } else if (call.given)
        r = wj_write(call.given, &call.arguments, err);
    if (r >= 0)
        r = show_call(c, &call, err);
    if (r < 0)
        return r;
    wb_buf_clear(&c->answers);
    wj_writer_init(&w, &c->answers, err);
    wj_write_open(&w, '{');
    wj_put_open(&w, "answers", '[');
    wj_write_open(&w, '{');
    wj_put_str(&w, "call_id", call.id);
    r = call.approval ? ask_approval(c, &call, &w, err) : ask_result(c, &w, err);
    wj_write_close(&w, '}');
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    if (r < 0 || r != CLI_LINE_READ)
        return r < 0 ? r : 0;
    r = wj_writer_check(&w);
    return r < 0 ? r : 1;
}

/* Sends the answer. If the server died meanwhile, it may have it already. If other calls still wait, an event says so:
 * it is followed, too, or it would come after the last answer and be taken for the state of the run. */
WEFT_SUSPENDS static int send_answer(struct cli_follow *f, struct upp_err *err)
{
    struct cli_chat *c = f->arg;
    yyjson_val *run;
    char id[64];
    wb_arena_reset(&f->arena);
    struct upp_str path = wb_arena_printf(&f->arena, "/v1/runs/%s/answers", cli_id("run_", f->shown.run, id));
    struct cli_request q = {.method = "POST", .path = path, .body = wb_buf_str(&c->answers)};
    int r = wb_arena_check(&f->arena, err);
    if (r >= 0)
        r = cli_owner_call(&f->door, &q, &f->arena, &run, err);
    bool again = c->attempts++ > 0;
    if (r == -UPP_EREFUSED && again)
        return 0;
    return r;
}

WEFT_SUSPENDS int cli_chat_answer(struct cli_chat *c, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena arena = WB_ARENA(64u << 20);
    yyjson_val *list, *p;
    size_t i, max;
    int r = wj_read(&arena, wb_arena_dup(&arena, wb_buf_str(&c->f.shown.pending)), NULL, &list, err);
    if (r < 0)
        return r;
    yyjson_arr_foreach(list, i, max, p)
    {
        r = ask_call(c, &arena, p, err);
        if (r <= 0)
            return r < 0 ? r : cli_chat_note(&c->view, CLI_STYLE_FAINT, err, "(it still waits; /approve asks again)");
        c->attempts = 0;
        c->f.start = send_answer;
        cli_chat_view_begin(&c->view, false);
        r = cli_follow_run(&c->f, err);
        if (r < 0)
            return r;
    }
    r = cli_chat_view_end(&c->view, err);
    return r < 0 ? r : 1;
}
