/* cli/run_view.c — prints a run's events, and why it waits or failed, as text or as JSON. */
#include "cli/run_view.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/defs.h"
#include "cli/terminal.h"
#include "log/log.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"

enum { TEXT_MAX = 64 << 20, SMALL_MAX = 16 << 20, HELD_MAX = 64 << 10, ID_WIDTH = 8 };

static bool same_place(void)
{
    struct stat out, error;
    return fstat(1, &out) == 0 && fstat(2, &error) == 0 && out.st_dev == error.st_dev && out.st_ino == error.st_ino;
}

/* With the lock held: prints the log lines that were held back. */
static void release(struct cli_run_view *s)
{
    if (s->open || !s->held.n)
        return;
    (void)fflush(stdout);
    (void)fwrite(s->held.p, 1, s->held.n, stderr);
    wb_buf_clear(&s->held);
}

static void end_line_held(struct cli_run_view *s)
{
    if (s->open)
        (void)putchar('\n');
    s->open = false;
    release(s);
}

static void end_line(struct cli_run_view *s)
{
    (void)pthread_mutex_lock(&s->lock);
    end_line_held(s);
    (void)pthread_mutex_unlock(&s->lock);
}

void cli_run_view_log(void *shown, enum wb_log_level level, struct upp_str line)
{
    struct cli_run_view *s = shown;
    (void)level;
    (void)pthread_mutex_lock(&s->lock);
    bool fits = s->held.n + line.n < HELD_MAX;
    if (!fits) /* too much to hold back */
        end_line_held(s);
    if (fits && s->open && s->same) {
        wb_buf_add(&s->held, line);
        wb_buf_addc(&s->held, '\n');
    } else
        (void)fprintf(stderr, "%.*s\n", UPP_FMT(line));
    (void)pthread_mutex_unlock(&s->lock);
}

void cli_run_view_init(struct cli_run_view *s, enum cli_show how)
{
    *s = (struct cli_run_view){.how = how,
                               .name = "run",
                               .terminal = isatty(1) == 1,
                               .same = same_place(),
                               .lock = PTHREAD_MUTEX_INITIALIZER,
                               .held = WB_BUF(HELD_MAX),
                               .arena = WB_ARENA(512u << 20),
                               .text = WB_BUF(TEXT_MAX),
                               .status = WB_BUF(32),
                               .usage = WB_BUF(SMALL_MAX),
                               .cut = WB_BUF(SMALL_MAX),
                               .error = WB_BUF(SMALL_MAX),
                               .pending = WB_BUF(SMALL_MAX)};
}

void cli_run_view_done(struct cli_run_view *s)
{
    if (s->how == CLI_SHOW_TEXT)
        end_line(s); /* the run failed in the middle of a line */
    wb_buf_done(&s->held);
    wb_arena_done(&s->arena);
    wb_buf_done(&s->text);
    wb_buf_done(&s->status);
    wb_buf_done(&s->usage);
    wb_buf_done(&s->cut);
    wb_buf_done(&s->error);
    wb_buf_done(&s->pending);
}

const char *cli_id(const char *prefix, struct wb_uuid id, char out[64])
{
    char hex[WB_UUID_HEX + 1];
    (void)wb_uuid_hex(id, hex);
    (void)snprintf(out, 64, "%s%s", prefix, hex);
    return out;
}

int cli_no_run(const char *typed, struct upp_err *err)
{
    return upp_fail(err, UPP_ENOTFOUND, "no run '%s'", typed);
}

int cli_run_id(const char *typed, char ret[64], struct upp_err *err)
{
    struct wb_uuid id;
    if (!wl_id_parse(wb_cstr(typed), UPP_STR("run_"), &id))
        return cli_no_run(typed, err);
    (void)cli_id("run_", id, ret);
    return 0;
}

bool cli_run_view_is(const struct cli_run_view *s, const char *status)
{
    return wb_str_eq(wb_buf_str(&s->status), wb_cstr(status));
}

bool cli_run_view_over(const struct cli_run_view *s)
{
    static const char *const words[] = {"completed", "incomplete", "failed", "cancelled", "expired", "waiting"};
    for (size_t i = 0; i < WB_LEN(words); i++)
        if (cli_run_view_is(s, words[i]))
            return true;
    return false;
}

/* ---- Events --------------------------------------------------------------------------------------------- */

static void say(struct cli_run_view *s, struct upp_str text)
{
    if (!text.n)
        return;
    (void)pthread_mutex_lock(&s->lock);
    if (s->terminal)
        cli_print_text(stdout, text, 0);
    else
        (void)fwrite(text.p, 1, text.n, stdout);
    (void)fflush(stdout);
    s->open = text.p[text.n - 1] != '\n';
    release(s);
    (void)pthread_mutex_unlock(&s->lock);
}

/* Stores a value as JSON in a buffer; empty: none. */
static int set_json(struct wb_buf *to, yyjson_val *v, struct upp_err *err)
{
    wb_buf_clear(to);
    return v ? wj_write(v, to, err) : 0;
}

static int run_state(struct cli_run_view *s, yyjson_val *data, struct upp_err *err)
{
    (void)wb_uuid_parse(wj_text_at(data, "runId"), &s->run);
    wb_buf_clear(&s->status);
    wb_buf_add(&s->status, wj_text_at(data, "status"));
    int r = set_json(&s->usage, yyjson_obj_get(data, "usage"), err);
    if (r >= 0)
        r = set_json(&s->cut, yyjson_obj_get(data, "incomplete"), err);
    if (r >= 0)
        r = set_json(&s->error, yyjson_obj_get(data, "error"), err);
    if (r >= 0)
        r = set_json(&s->pending, yyjson_obj_get(data, "pending"), err);
    return r;
}

/* Prints a line for people: the event's id and type, and the relevant data. */
static int print_line(struct upp_str id, struct upp_str type, yyjson_val *data, struct upp_err *err)
{
    static const char *const shown[] = {
        "status", "stepNumber", "toolName",  "toolCallId",  "text",         "argumentsJson", "result", "isError",
        "last",   "eventType",  "eventData", "sourceAgent", "targetAgents", "incomplete",    "error",  "usage"};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(TEXT_MAX);
    cli_print_text(stdout, id, 0);
    (void)printf("%*s ", id.n < ID_WIDTH ? (int)(ID_WIDTH - id.n) : 0, "");
    cli_print_text(stdout, type, 0);
    for (size_t i = 0; i < WB_LEN(shown); i++) {
        yyjson_val *v = yyjson_obj_get(data, shown[i]);
        if (!v)
            continue;
        wb_buf_clear(&out);
        int r = wj_write(v, &out, err);
        if (r < 0)
            return r;
        (void)printf(" %s=", shown[i]);
        cli_print_text(stdout, wb_buf_str(&out), 0);
    }
    (void)putchar('\n');
    (void)fflush(stdout);
    return 0;
}

/* Prints the event's text for people, as it arrives. */
static void print_text(struct cli_run_view *s, struct upp_str type, yyjson_val *data)
{
    if (wb_str_eq(type, UPP_STR("message_start"))) {
        wb_buf_clear(&s->text);
        if (s->how == CLI_SHOW_TEXT)
            end_line(s);
    } else if (wb_str_eq(type, UPP_STR("text_delta"))) {
        wb_buf_add(&s->text, wj_text_at(data, "text"));
        if (s->how == CLI_SHOW_TEXT)
            say(s, wj_text_at(data, "text"));
    } else if (wb_str_eq(type, UPP_STR("attempt_void"))) {
        wb_buf_clear(&s->text);
        if (s->how == CLI_SHOW_TEXT && s->open) {
            end_line(s);
            (void)fflush(stdout);
            (void)fprintf(stderr, "weft %s: what was said last is void; it comes again\n", s->name);
        }
    }
}

int cli_run_view_event(struct cli_run_view *s, struct upp_str id, struct upp_str data, struct upp_err *err)
{
    yyjson_val *root;
    wb_arena_reset(&s->arena);
    int r = wj_read(&s->arena, data, NULL, &root, err);
    if (r < 0)
        return upp_wrap(err, r, "an event of the run");
    yyjson_val *uap = yyjson_obj_get(root, "uap"), *inner = uap ? uap : yyjson_obj_get(root, "upp");
    yyjson_val *what = yyjson_obj_get(inner, uap ? "data" : "delta");
    struct upp_str type = wj_text_at(inner, "type");
    if (uap && wb_str_eq(type, UPP_STR("run")))
        r = run_state(s, what, err);
    else if (!yyjson_obj_get(root, "aside")) /* scaffolding is not part of the answer */
        print_text(s, type, what);
    if (r < 0)
        return r;
    if (s->how == CLI_SHOW_NOT)
        return s->on_event(s->arg, type, root, what, err);
    if (s->how == CLI_SHOW_EVENTS) {
        (void)printf("%.*s\n", UPP_FMT(data));
        (void)fflush(stdout);
    }
    return s->how == CLI_SHOW_LINES ? print_line(id, type, what, err) : wb_buf_check(&s->text, err);
}

/* ---- The end ---------------------------------------------------------------------------------------------- */

static void raw_member(struct wj_writer *w, const char *name, const struct wb_buf *json)
{
    wj_write_name(w, wb_cstr(name));
    if (json->n)
        wj_write_raw(w, json->p, json->n);
    else
        wj_write_null(w);
}

static int print_object(struct cli_run_view *s, struct wb_uuid thread, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(512u << 20);
    struct wj_writer w;
    char id[64];
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "run", wb_cstr(cli_id("run_", s->run, id)));
    wj_put_str(&w, "thread", wb_cstr(cli_id("thread_", thread, id)));
    wj_put_str(&w, "status", wb_buf_str(&s->status));
    wj_put_str(&w, "text", wb_buf_str(&s->text));
    raw_member(&w, "incomplete", &s->cut);
    raw_member(&w, "usage", &s->usage);
    raw_member(&w, "error", &s->error);
    raw_member(&w, "pending", &s->pending);
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r >= 0)
        (void)printf("%.*s\n", UPP_FMT(wb_buf_str(&out)));
    return r;
}

int cli_run_view_end(struct cli_run_view *s, struct wb_uuid thread, struct upp_err *err)
{
    if (s->how == CLI_SHOW_TEXT)
        end_line(s);
    return s->how == CLI_SHOW_OBJECT ? print_object(s, thread, err) : 0;
}

/* An id that a model made up, in a line that people copy to their shell: one word, and no option. */
static void print_word(FILE *out, struct upp_str word)
{
    static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-";
    bool plain = word.n > 0;
    for (size_t i = 0; i < word.n && plain; i++)
        plain = memchr(known, word.p[i], sizeof known - 1) != NULL;
    (void)fputs(word.n && word.p[0] == '-' ? "-- " : "", out);
    if (plain) {
        (void)fwrite(word.p, 1, word.n, out);
        return;
    }
    (void)putc('\'', out);
    for (size_t at = 0, n; at < word.n; at += n) {
        uint32_t c;
        n = cli_safe_char(word, at, &c);
        if (c == '\'')
            (void)fputs("'\\''", out);
        else
            cli_print_text(out, c == '\n' || c == '\t' ? UPP_STR("?") : wb_str_sub(word, at, n), 0);
    }
    (void)putc('\'', out);
}

static void explain_pending(struct cli_run_view *s, const char *run)
{
    yyjson_val *list, *p;
    size_t i, max;
    (void)fprintf(stderr, "weft %s: %s waits for answers:\n", s->name, run);
    if (wj_read(&s->arena, wb_buf_str(&s->pending), NULL, &list, NULL) < 0 || !yyjson_is_arr(list))
        return;
    yyjson_arr_foreach(list, i, max, p)
    {
        WB_CLEANUP(wb_buf_done) struct wb_buf arguments = WB_BUF(SMALL_MAX), shown = WB_BUF(8 * SMALL_MAX);
        yyjson_val *v = yyjson_obj_get(p, "arguments");
        struct upp_str exact = wj_text_at(p, "argumentsJson");
        struct upp_str call = wj_text_at(p, "toolCallId");
        bool approval = yyjson_is_true(yyjson_obj_get(p, "approval"));
        if (v && wj_write(v, &arguments, NULL) < 0)
            wb_buf_clear(&arguments);
        cli_reveal(&shown, exact.p ? exact : wb_buf_str(&arguments), 0);
        (void)fputs("  ", stderr);
        cli_print_text(stderr, wj_text_at(p, "toolName"), 4);
        (void)putc(' ', stderr);
        cli_print_text(stderr, shown.failed ? UPP_STR("(too long to be shown)") : wb_buf_str(&shown), 4);
        (void)fprintf(stderr, ": %s\n    weft %s %s ", approval ? "may it run?" : "what is its result?",
                      approval ? "approve" : "answer", run);
        print_word(stderr, call);
        (void)fputs(approval ? "    (or: weft deny)\n" : " TEXT\n", stderr);
    }
}

void cli_run_view_explain(struct cli_run_view *s)
{
    char id[64];
    const char *run = cli_id("run_", s->run, id);
    yyjson_val *error;
    wb_arena_reset(&s->arena);
    if (cli_run_view_is(s, "waiting")) {
        explain_pending(s, run);
        return;
    }
    (void)fprintf(stderr, "weft %s: %s ", s->name, run);
    if (s->cut.n && wj_read(&s->arena, wb_buf_str(&s->cut), NULL, &error, NULL) >= 0) {
        (void)fputs("is incomplete: it has reached ", stderr);
        cli_print_text(stderr, wj_text_at(error, "reason"), 0);
    } else
        cli_print_text(stderr, wb_buf_str(&s->status), 0);
    if (!s->cut.n && s->error.n && wj_read(&s->arena, wb_buf_str(&s->error), NULL, &error, NULL) >= 0) {
        (void)fputs(": ", stderr);
        cli_print_text(stderr, wj_text_at(error, "message"), 0);
    }
    (void)putc('\n', stderr);
}
