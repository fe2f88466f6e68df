/* cli/chat/view.c — shows a run's events in a chat: text, reasoning, a line for each call, and notes. */
#include "cli/chat/view.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/utf8.h"
#include "cli/terminal.h"
#include "cli/tree_view.h"
#include "json/number.h"
#include "json/value.h"
#include "json/write.h"

enum {
    REASONING_MAX = 1 << 20,
    SAID_MAX = 4 << 20,
    ARGUMENTS_MAX = 1 << 20,
    NOTE_MAX = 64 << 10,
    HEIGHT = 24,
    NARROW = 20,
    SHOWN_MAX = 2000, /* bytes of reasoning, or of a tool's error */
    SHOWN_CALL = 200
};

void cli_chat_view_init(struct cli_chat_view *v)
{
    const char *term = getenv("TERM");
    *v = (struct cli_chat_view){.terminal = isatty(1) == 1,
                                .utf8 = cli_draws_utf8(stdout),
                                .said = WB_BUF(SAID_MAX),
                                .reasoning = WB_BUF(REASONING_MAX),
                                .agent = WB_BUF(4096),
                                .held = WB_BUF(CLI_QUESTION_MAX)};
    v->terminal = v->terminal && term && term[0] && !wb_str_eq(wb_cstr(term), UPP_STR("dumb"));
    v->styled = v->terminal && cli_colours(stdout);
    cli_screen_init(&v->screen, 79, HEIGHT);
    cli_stream_init(&v->text, &v->screen, &(struct cli_markdown_opts){0});
}

static void forget_calls(struct cli_chat_view *v)
{
    for (size_t i = 0; i < v->calls.n; i++)
        wb_buf_done(&v->calls.p[i].arguments);
    v->calls.n = 0;
}

void cli_chat_view_done(struct cli_chat_view *v)
{
    forget_calls(v);
    wb_vec_done(&v->calls);
    wb_buf_done(&v->said);
    wb_buf_done(&v->reasoning);
    wb_buf_done(&v->agent);
    wb_buf_done(&v->held);
    cli_stream_done(&v->text);
    cli_screen_done(&v->screen);
}

void cli_chat_view_resize(struct cli_chat_view *v)
{
    struct winsize size = {0};
    unsigned columns = cli_columns(stdout);
    unsigned width = columns > NARROW ? columns - 1 : NARROW; /* the last column would wrap */
    cli_screen_resize(&v->screen, width, ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_row ? size.ws_row : HEIGHT);
    v->text.opts = (struct cli_markdown_opts){.width = width, .styled = v->styled, .utf8 = v->utf8};
}

void cli_chat_view_begin(struct cli_chat_view *v, bool fresh)
{
    cli_chat_view_resize(v);
    if (fresh)
        forget_calls(v);
}

int64_t cli_number_at(yyjson_val *object, const char *name)
{
    yyjson_val *v = yyjson_obj_get(object, name);
    int64_t n;
    return v && yyjson_is_raw(v) && wj_num_i64(wj_text(v), &n) ? n : 0;
}

/* ---- Output ----------------------------------------------------------------------------------------------------- */

/* One write for each change. */
static int put_out(struct cli_chat_view *v, struct upp_err *err)
{
    int r = cli_screen_check(&v->screen, err);
    if (v->screen.out.n)
        (void)fwrite(v->screen.out.p, 1, v->screen.out.n, stdout);
    wb_buf_clear(&v->screen.out);
    return fflush(stdout) == 0 ? r : upp_fail(err, UPP_ENET, "standard output is closed");
}

static void end_plain_line(struct cli_chat_view *v)
{
    if (v->open)
        (void)putchar('\n');
    v->open = false;
}

/* Where the row that begins at `from` ends. A word that leaves more than half of the row empty is broken. */
static size_t note_row(const struct cli_cells *t, size_t from, unsigned width, size_t *next)
{
    size_t end = cli_cells_line(t, from, t->list.n, width, false, next);
    if (*next < t->list.n && cli_cells_width(t->list.p + from, end - from) < width / 2)
        end = cli_cells_line(t, from, t->list.n, width, true, next);
    return end;
}

static void wrap_note(struct cli_chat_view *v, const struct cli_note *as, const struct cli_cells *t)
{
    struct wb_buf *out = cli_screen_final(&v->screen);
    const char *bar = v->utf8 ? "\xe2\x94\x82 " : "| ";
    unsigned width = v->screen.width - (as->framed ? 2 : 0);
    unsigned rows = as->rows ? as->rows : CLI_NOTE_ROWS;
    unsigned indent = as->indent ? as->indent : 2;
    indent = indent > width * 2 / 3 ? 2 : indent;
    for (size_t at = 0, next, row = 0; at < t->list.n || !row; at = next, row++) {
        unsigned left = row ? indent : 0, last = row + 1 == rows ? 3 : 0;
        size_t end = note_row(t, at, width - left - last, &next);
        if (last && next < t->list.n) /* it fills the row */
            end = cli_cells_line(t, at, t->list.n, width - left - last, true, &next);
        wb_buf_addf(out, "%s%*s", as->framed ? bar : "", (int)left, "");
        cli_cells_put(out, t->list.p + at, end - at, v->styled);
        v->cut = last && next < t->list.n;
        wb_buf_add(out, wb_cstr(v->cut ? "...\n" : "\n"));
        if (last)
            break;
    }
}

int cli_chat_note_text(struct cli_chat_view *v, const struct cli_note *as, struct upp_str text, struct upp_err *err)
{
    struct cli_cells cells = {0};
    v->cut = false;
    if (!v->terminal) {
        end_plain_line(v);
        (void)fflush(stdout);
        (void)cli_print_line(stderr, text, 0);
        (void)putc('\n', stderr);
        return 0;
    }
    cli_cells_add(&cells, text, as->style);
    for (size_t i = 0; i < cells.list.n; i++)
        if (cells.list.p[i].c == '\n')
            cells.list.p[i].c = ' ', cells.list.p[i].width = 1;
    wrap_note(v, as, &cells);
    int r = cells.failed ? upp_fail(err, UPP_ENOMEM, "no memory") : put_out(v, err);
    cli_cells_done(&cells);
    return r;
}

/* A note that is too long is not shown, which is said. */
static int put_note(struct cli_chat_view *v, const struct cli_note *as, const struct wb_buf *text, struct upp_err *err)
{
    if (text->failed != -UPP_ELIMIT) {
        int r = wb_buf_check(text, err);
        return r < 0 ? r : cli_chat_note_text(v, as, wb_buf_str(text), err);
    }
    int r = cli_chat_note_text(v, as, UPP_STR("(too long to be shown)"), err);
    v->cut = true;
    return r;
}

int cli_chat_note(struct cli_chat_view *v, unsigned style, struct upp_err *err, const char *fmt, ...)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(NOTE_MAX);
    va_list args;
    va_start(args, fmt);
    wb_buf_vaddf(&text, fmt, args);
    va_end(args);
    return put_note(v, &(struct cli_note){.style = style}, &text, err);
}

int cli_chat_note_as(struct cli_chat_view *v, const struct cli_note *as, struct upp_err *err, const char *fmt, ...)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(NOTE_MAX);
    va_list args;
    va_start(args, fmt);
    wb_buf_vaddf(&text, fmt, args);
    va_end(args);
    return put_note(v, as, &text, err);
}

/* Something is going on: shown on a terminal until the next output. */
static int show_live(struct cli_chat_view *v, struct upp_str what, struct upp_str more, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf line = WB_BUF(NOTE_MAX);
    size_t room = v->screen.width > what.n + 8 ? v->screen.width - what.n - 8 : 0;
    if (!v->terminal)
        return 0;
    if (more.n > room) { /* its end is what is new */
        more = wb_str_sub(more, more.n - room, SIZE_MAX);
        while (more.n && ((unsigned char)more.p[0] & 0xc0) == 0x80)
            more = wb_str_sub(more, 1, SIZE_MAX);
    }
    wb_buf_addf(&line, "%.*s %.*s", UPP_FMT(what), UPP_FMT(more));
    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] == '\n')
            line.p[i] = ' ';
    cli_screen_live(&v->screen, wb_buf_str(&line));
    return put_out(v, err);
}

/* ---- Text and reasoning ----------------------------------------------------------------------------------------- */

static struct upp_str shortened(struct upp_str text, size_t max)
{
    return wb_str_sub(text, 0, wb_utf8_cut(text, WB_MIN(text.n, max)));
}

/* Until it is complete, a text that begins like a structured message is only shown as one that changes. */
static int hold_text(struct cli_chat_view *v, struct upp_str text, struct upp_err *err)
{
    wb_buf_add(&v->held, text);
    int r = wb_buf_check(&v->held, err);
    if (r < 0)
        return r;
    cli_screen_live(&v->screen, wb_buf_str(&v->held));
    return put_out(v, err);
}

/* It is none, or too long for one. */
static int release_text(struct cli_chat_view *v, struct upp_err *err)
{
    int r = v->held.n ? cli_stream_add(&v->text, wb_buf_str(&v->held), err) : 0;
    wb_buf_clear(&v->held);
    return r;
}

static int end_text(struct cli_chat_view *v, struct upp_err *err)
{
    struct upp_str asker = wb_buf_str(v->agent.n ? &v->agent : v->asked);
    int r = v->held.n ? cli_chat_question(v, asker, wb_buf_str(&v->held), err) : 0;
    if (r > 0)
        wb_buf_clear(&v->held);
    if (r >= 0)
        r = release_text(v, err);
    if (r >= 0)
        r = cli_stream_end(&v->text, err);
    return r < 0 ? r : put_out(v, err);
}

static int end_part(struct cli_chat_view *v, struct upp_err *err)
{
    int r = 0;
    if (v->now == CLI_SHOWS_REASONING) {
        uint64_t ms = wb_mono_ms() - v->since_ms;
        struct upp_str thought = wb_str_trim(wb_buf_str(&v->reasoning));
        thought = shortened(thought, SHOWN_MAX);
        r = v->terminal
                ? cli_chat_note_as(v, &(struct cli_note){.style = CLI_STYLE_FAINT, .rows = 1}, err,
                                   "%s thought for %llu.%llu s: %.*s", v->utf8 ? "\xe2\x88\xb4" : "-",
                                   (unsigned long long)ms / 1000, (unsigned long long)ms % 1000 / 100, UPP_FMT(thought))
                : 0;
    } else if (v->now == CLI_SHOWS_TEXT && v->terminal) {
        r = end_text(v, err);
    } else
        end_plain_line(v);
    wb_buf_clear(&v->reasoning);
    v->now = CLI_SHOWS_NOTHING;
    v->repeats = false;
    return r;
}

static int show_text(struct cli_chat_view *v, struct upp_str text, struct upp_err *err)
{
    int r = v->now == CLI_SHOWS_REASONING ? end_part(v, err) : 0;
    if (r < 0 || !text.n)
        return r;
    bool first = v->now != CLI_SHOWS_TEXT;
    v->now = CLI_SHOWS_TEXT;
    if (!v->terminal) {
        if (isatty(1) == 1) /* one that cannot move its cursor */
            cli_print_text(stdout, text, 0);
        else
            (void)fwrite(text.p, 1, text.n, stdout);
        v->open = text.p[text.n - 1] != '\n';
        return fflush(stdout) == 0 ? 0 : upp_fail(err, UPP_ENET, "standard output is closed");
    }
    bool holds = v->held.n || (first && text.p[0] == '{');
    if (holds && v->held.n + text.n <= CLI_QUESTION_MAX)
        return hold_text(v, text, err);
    r = release_text(v, err);
    if (r >= 0)
        r = cli_stream_add(&v->text, text, err);
    return r < 0 ? r : put_out(v, err);
}

/* The answer that comes again is another one: what was shown of the first does not count. */
static int begin_anew(struct cli_chat_view *v, struct upp_err *err)
{
    v->repeats = false;
    v->said.n = v->again;
    cli_stream_drop(&v->text);
    wb_buf_clear(&v->held);
    (void)cli_screen_final(&v->screen);
    v->now = CLI_SHOWS_NOTHING;
    int r = cli_chat_note(v, CLI_STYLE_FAINT, err, "(the answer broke off, and comes again)");
    return r < 0 ? r : show_text(v, wb_buf_str(&v->said), err);
}

static int add_text(struct cli_chat_view *v, struct upp_str text, struct upp_err *err)
{
    int r = 0;
    if (v->repeats) {
        struct upp_str rest = wb_str_sub(wb_buf_str(&v->said), v->again, text.n);
        if (wb_str_starts(text, rest)) {
            v->again += rest.n;
            v->repeats = v->again < v->said.n;
            text = wb_str_sub(text, rest.n, SIZE_MAX);
        } else
            r = begin_anew(v, err);
    }
    if (v->said.n + text.n <= SAID_MAX)
        wb_buf_add(&v->said, text);
    return r < 0 ? r : show_text(v, text, err);
}

static int add_reasoning(struct cli_chat_view *v, struct upp_str text, struct upp_err *err)
{
    int r = 0;
    if (v->repeats)
        return 0; /* it was shown */
    if (v->now == CLI_SHOWS_TEXT)
        r = end_part(v, err);
    if (v->now != CLI_SHOWS_REASONING)
        v->since_ms = wb_mono_ms();
    v->now = CLI_SHOWS_REASONING;
    if (v->reasoning.n + text.n < REASONING_MAX) /* only its beginning is shown in the end */
        wb_buf_add(&v->reasoning, text);
    return r < 0 ? r : show_live(v, UPP_STR("thinking:"), wb_buf_str(&v->reasoning), err);
}

static void take_back(struct cli_chat_view *v)
{
    v->repeats = v->said.n > 0;
    v->again = 0;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------ */

static struct cli_call *find_call(struct cli_chat_view *v, struct upp_str id)
{
    for (size_t i = 0; i < v->calls.n; i++)
        if (wb_str_eq(wb_cstr(v->calls.p[i].id), wb_str_sub(id, 0, sizeof v->calls.p[i].id - 1)))
            return &v->calls.p[i];
    return NULL;
}

/* The calls of a message, with their arguments. */
static int add_calls(struct cli_chat_view *v, yyjson_val *data, struct upp_err *err)
{
    yyjson_val *list = yyjson_obj_get(data, "toolCalls"), *c;
    size_t i, max;
    yyjson_arr_foreach(list, i, max, c)
    {
        struct cli_call call = {.arguments = WB_BUF(ARGUMENTS_MAX)};
        yyjson_val *args = yyjson_obj_get(c, "arguments");
        (void)snprintf(call.id, sizeof call.id, "%.*s", UPP_FMT(wj_text_at(c, "toolCallId")));
        (void)snprintf(call.name, sizeof call.name, "%.*s", UPP_FMT(wj_text_at(c, "toolName")));
        if (args && wj_write(args, &call.arguments, NULL) < 0)
            wb_buf_clear(&call.arguments); /* too long to be shown */
        if (v->calls.n == CLI_CALLS_MAX)
            forget_calls(v);
        if (!wb_vec_push(&v->calls, call, CLI_CALLS_MAX)) {
            wb_buf_done(&call.arguments);
            return upp_fail(err, UPP_ENOMEM, "no memory for a call");
        }
    }
    return 0;
}

static int begin_call(struct cli_chat_view *v, yyjson_val *data, struct upp_err *err)
{
    struct cli_call *c = find_call(v, wj_text_at(data, "toolCallId"));
    int r = end_part(v, err);
    if (c)
        c->since_ms = cli_number_at(data, "timestamp");
    return r < 0 ? r : show_live(v, wj_text_at(data, "toolName"), UPP_STR("..."), err);
}

/* How a call failed: that a person denied it is no failure of the tool. The engine says it with these words. */
static const char *verdict(bool failed, struct upp_str *result)
{
    static const struct upp_str denied = UPP_STR_INIT("Tool execution denied by approval handler");
    if (!failed)
        return "";
    if (!wb_str_starts(*result, denied))
        return " failed: ";
    *result = wb_str_sub(*result, denied.n, SIZE_MAX); /* ": why" */
    return " denied";
}

static int end_call(struct cli_chat_view *v, yyjson_val *data, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf result = WB_BUF(ARGUMENTS_MAX);
    struct cli_call *c = find_call(v, wj_text_at(data, "toolCallId"));
    bool failed = yyjson_is_true(yyjson_obj_get(data, "isError"));
    yyjson_val *value = yyjson_obj_get(data, "result");
    int64_t ms = c && c->since_ms ? cli_number_at(data, "timestamp") - c->since_ms : 0;
    int r = end_part(v, err);
    if (failed && value && yyjson_is_str(value))
        wb_buf_add(&result, wj_text(value));
    else if (failed && value && wj_write(value, &result, NULL) < 0)
        wb_buf_clear(&result);
    if (r < 0)
        return r;
    struct upp_str arguments = c ? wb_buf_str(&c->arguments) : UPP_STR(""), why = wb_buf_str(&result);
    const char *how = verdict(failed, &why);
    char time[32] = "";
    if (c && c->since_ms) /* it has begun */
        (void)snprintf(time, sizeof time, " %lld ms", (long long)ms);
    why = shortened(why, SHOWN_MAX);
    return cli_chat_note(v, CLI_STYLE_FAINT, err, "%s %.*s %.*s%s%s%s%.*s", v->utf8 ? "\xe2\x97\x8f" : "*",
                         UPP_FMT(wj_text_at(data, "toolName")), UPP_FMT(shortened(arguments, SHOWN_CALL)),
                         arguments.n > SHOWN_CALL ? "..." : "", time, how, UPP_FMT(why));
}

/* ---- Events ----------------------------------------------------------------------------------------------------- */

static int hand_over(struct cli_chat_view *v, yyjson_val *data, struct upp_err *err)
{
    yyjson_val *to = yyjson_arr_get_first(yyjson_obj_get(data, "targetAgents"));
    if (!wb_str_eq(wj_text_at(data, "eventType"), UPP_STR("agent.handoff")) || !to || !yyjson_is_str(to))
        return 0;
    wb_buf_clear(&v->agent);
    wb_buf_add(&v->agent, wj_text(to));
    int r = end_part(v, err);
    return r < 0 ? r
                 : cli_chat_note(v, CLI_STYLE_BOLD, err, "%s %.*s", v->utf8 ? "\xe2\x86\x92" : "->",
                                 UPP_FMT(wj_text(to)));
}

int cli_chat_view_event(void *view, struct upp_str type, yyjson_val *event, yyjson_val *data, struct upp_err *err)
{
    struct cli_chat_view *v = view;
    bool aside = yyjson_obj_get(event, "aside") != NULL; /* scaffolding of a strategy */
    if (wb_str_eq(type, UPP_STR("text_delta")) && !aside)
        return add_text(v, wj_text_at(data, "text"), err);
    if (wb_str_eq(type, UPP_STR("reasoning_delta")) || (aside && wb_str_eq(type, UPP_STR("text_delta"))))
        return add_reasoning(v, wj_text_at(data, "text"), err);
    if (wb_str_eq(type, UPP_STR("message_start")) && !v->repeats) {
        wb_buf_clear(&v->said);
        return end_part(v, err);
    }
    if (wb_str_eq(type, UPP_STR("content_block_stop")) && !v->repeats)
        return end_part(v, err);
    if (wb_str_eq(type, UPP_STR("attempt_void"))) {
        take_back(v);
        return 0;
    }
    if (wb_str_eq(type, UPP_STR("action")))
        return add_calls(v, data, err);
    if (wb_str_eq(type, UPP_STR("tool_execution_start")))
        return begin_call(v, data, err);
    if (wb_str_eq(type, UPP_STR("tool_execution_end")))
        return end_call(v, data, err);
    return wb_str_eq(type, UPP_STR("system_event")) ? hand_over(v, data, err) : 0;
}

int cli_chat_view_end(struct cli_chat_view *v, struct upp_err *err)
{
    int r = end_part(v, err);
    (void)cli_screen_final(&v->screen);
    return r < 0 ? r : put_out(v, err);
}
