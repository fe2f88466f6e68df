/* agent/middleware/logging.c — UAP-10.3: logs what an agent does.
 *
 * At info and above a line has names, ids, counts and times, never content. At debug it has content, cut to 200
 * characters unless include_messages is set, and with masked keys. Content is quoted with JSON's escapes, so that it
 * cannot imitate a line of the log.
 */
#include <inttypes.h>
#include <stdio.h>

#include "agent/middleware/middleware.h"
#include "base/clock.h"
#include "base/hooks.h"
#include "base/iso8601.h"
#include "base/log.h"
#include "base/utf8.h"
#include "json/value.h"
#include "json/write.h"
#include "model/upp_json.h"

enum level { DEBUG, INFO, WARN, ERROR };
static const char *const level_names[] = {"debug", "info", "warn", "error"};
static const char *const level_marks[] = {"DEBUG", "INFO", "WARN", "ERROR"};
static const enum wb_log_level levels[] = {WB_DEBUG, WB_INFO, WB_WARN, WB_ERROR};

enum { CUT = 200, SHORT = 4 * CUT /* bytes */, LINE_BYTES = 64 << 20, KEY_LENGTH = 12 };

/* ---- Lines ----------------------------------------------------------------------------------- */

struct logging {
    struct weft_logging_opts opts;
    uint8_t level;
};

static bool enabled(const struct logging *l, enum level level)
{
    return (unsigned)level >= l->level;
}

/* A line of the program's logger is short (base/log.h): with include_messages longer ones are written here, in its
 * format. */
static void write_long(enum level level, struct upp_str msg, struct upp_str content)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf line = WB_BUF(LINE_BYTES);
    bool json = wb_log_format_of() == WB_LOG_JSON;
    char text[WB_TIME_TEXT];
    struct wb_time t = wb_time_from_ms(wb_wall_ms());
    struct wj_writer w;
    struct upp_str now = wb_time_upp(&t, text);
    wb_buf_addc(&line, '\n');
    wj_writer_init(&w, &line, NULL);
    if (json) {
        wj_write_open(&w, '{');
        wj_put_str(&w, "time", now);
        wj_put_str(&w, "level", wb_cstr(level_names[level]));
        wj_put_str(&w, "msg", msg);
        wj_put_str(&w, "text", content);
        wj_write_close(&w, '}');
    } else {
        wb_buf_addf(&line, "time=%.*s level=%s msg=\"%.*s\" text=", UPP_FMT(now), level_names[level], UPP_FMT(msg));
        wj_write_str(&w, content);
    }
    int r = wj_writer_check(&w);
    wb_buf_addc(&line, '\n');
    if (r >= 0 && !line.failed)
        wb_log_put(levels[level], wb_buf_str(&line));
}

/* To the caller's function, in the specification's form. */
static void write_own(const struct logging *l, enum level level, struct upp_str msg, const struct upp_str *content,
                      bool cut)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf line = WB_BUF(LINE_BYTES);
    struct wj_writer w;
    wj_writer_init(&w, &line, NULL);
    wb_buf_addf(&line, "[%s] %.*s", level_marks[level], UPP_FMT(msg));
    if (content) {
        wb_buf_add(&line, UPP_STR(": "));
        wj_write_str(&w, *content);
        wb_buf_add(&line, cut ? UPP_STR("...") : UPP_STR(""));
    }
    int r = wj_writer_check(&w);
    wb_buf_addc(&line, 0);
    if (r >= 0 && !line.failed)
        l->opts.logger(l->opts.arg, line.p);
}

/* Writes a line to the caller's function, or to the program's logger. A line that does not fit into memory is dropped:
 * logging never fails a run. The message ends with a NUL. */
static void write_line(const struct logging *l, enum level level, struct upp_str msg, const struct upp_str *content,
                       bool cut)
{
    struct wb_log_field fields[3] = {{.kind = WB_LOG_END}, {.kind = WB_LOG_END}, {.kind = WB_LOG_END}};
    if (l->opts.logger) {
        write_own(l, level, msg, content, cut);
        return;
    }
    if (content && content->n > SHORT) {
        write_long(level, msg, *content);
        return;
    }
    if (content)
        fields[0] = (struct wb_log_field)WB_LS("text", *content);
    if (cut)
        fields[1] = (struct wb_log_field)WB_LB("cut", true);
    wb_log_line(levels[level], msg.p, fields);
}

UPP_PRINTF(3, 4) static void log_line(const struct logging *l, enum level level, const char *fmt, ...)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf msg = WB_BUF(LINE_BYTES);
    va_list args;
    if (!enabled(l, level))
        return;
    va_start(args, fmt);
    wb_buf_vaddf(&msg, fmt, args);
    va_end(args);
    wb_buf_addc(&msg, 0);
    if (!msg.failed)
        write_line(l, level, wb_str(msg.p, msg.n - 1), NULL, false);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

/* Prefixes of API keys and tokens. */
static const char *const key_heads[] = {"sk-",  "sk_",   "pk_",   "rk_",   "AIza",        "AKIA",   "ASIA",  "ghp_",
                                        "gho_", "ghs_",  "ghu_",  "ghr_",  "github_pat_", "glpat-", "gsk_",  "xai-",
                                        "hf_",  "xoxb-", "xoxp-", "xapp-", "ya29.",       "eyJ",    "pplx-", "r8_"};

static bool in_key(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
           c == '.' || c == '+' || c == '/';
}

/* True for a word with a key's prefix, also after a '/', '.' or '+' in it, as in a URL. */
static bool key_head(struct upp_str word)
{
    for (size_t at = 0; at + KEY_LENGTH <= word.n; at++) {
        if (at && word.p[at - 1] != '/' && word.p[at - 1] != '.' && word.p[at - 1] != '+')
            continue;
        for (size_t i = 0; i < WB_LEN(key_heads); i++)
            if (wb_str_starts(wb_str_sub(word, at, SIZE_MAX), wb_cstr(key_heads[i])))
                return true;
    }
    return false;
}

/* True after "Bearer", or after a name such as "password". */
static bool key_named(struct upp_str before)
{
    static const char *const names[] = {"bearer", "api_key", "apikey", "api-key", "password", "secret", "token"};
    size_t n = before.n;
    while (n && !in_key(before.p[n - 1]))
        n--;
    if (before.n - n > 4)
        return false;
    for (size_t i = 0; i < WB_LEN(names); i++) {
        struct upp_str name = wb_cstr(names[i]);
        if (n >= name.n && wb_str_eq_nocase(wb_str(before.p + n - name.n, name.n), name))
            return true;
    }
    return false;
}

/* Adds the text with keys masked. */
static void add_masked(struct wb_buf *out, struct upp_str text)
{
    for (size_t at = 0; at < text.n;) {
        size_t end = at;
        while (end < text.n && in_key(text.p[end]))
            end++;
        struct upp_str word = wb_str_sub(text, at, end - at);
        if (word.n >= KEY_LENGTH && (key_head(word) || key_named(wb_str_sub(text, 0, at))))
            wb_buf_add(out, UPP_STR("***"));
        else
            wb_buf_add(out, word);
        if (end < text.n)
            wb_buf_addc(out, text.p[end++]);
        at = end;
    }
}

static size_t first_characters(struct upp_str s, size_t max)
{
    size_t at = 0;
    uint32_t c;
    for (size_t i = 0; i < max && at < s.n; i++) {
        size_t n = wb_wtf8_decode(s, at, &c);
        at += n ? n : 1;
    }
    return at;
}

/* Logs content: only at debug. */
static void log_content(const struct logging *l, const char *what, struct upp_str text)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf masked = WB_BUF(LINE_BYTES), clean = WB_BUF(LINE_BYTES);
    if (!enabled(l, DEBUG))
        return;
    add_masked(&masked, text);
    struct upp_str all = wb_buf_str(&masked);
    size_t cut = l->opts.include_messages ? all.n : first_characters(all, CUT);
    wb_utf8_add_clean(&clean, wb_str_sub(all, 0, cut));
    struct upp_str content = wb_buf_str(&clean);
    if (!masked.failed && !clean.failed)
        write_line(l, DEBUG, wb_cstr(what), &content, cut < all.n);
}

static void log_message(const struct logging *l, struct weft_context *c, const char *what, const struct upp_message *m)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(LINE_BYTES);
    (void)c;
    if (enabled(l, DEBUG) && m)
        log_content(l, what, wm_message_text(&a, m));
}

/* ---- The run --------------------------------------------------------------------------------- */

/* " in 1.2s"; "" with no_timing. */
static const char *duration(const struct logging *l, struct weft_context *c, const char *word, char text[40])
{
    uint64_t ms = l->opts.no_timing ? 0 : wr_run_age_ms(c->run);
    text[0] = 0;
    if (!l->opts.no_timing)
        (void)snprintf(text, 40, " %s %" PRIu64 ".%" PRIu64 "s", word, ms / 1000, ms % 1000 / 100);
    return text;
}

static WEFT_SUSPENDS int before(void *own, struct weft_context *c, struct upp_err *err)
{
    const struct logging *l = own;
    (void)err;
    log_line(l, INFO, "Agent %.*s starting execution", UPP_FMT(weft_run_agent_id(c->run)));
    log_message(l, c, "Input", c->input);
    return 0;
}

static WEFT_SUSPENDS int after(void *own, struct weft_context *c, struct upp_turn **turn, struct upp_err *err)
{
    const struct logging *l = own;
    const struct upp_usage *u = &(*turn)->usage;
    char text[40];
    (void)err;
    log_message(l, c, "Output", (*turn)->response);
    log_line(l, INFO, "Agent %.*s completed%s (%" PRIu64 " tokens)", UPP_FMT(weft_run_agent_id(c->run)),
             duration(l, c, "in", text), u->input + u->output);
    return 0;
}

/* Splits "while planning: model: connection refused" into its parts, the outermost first. */
static void causes(const struct logging *l, const struct upp_err *why)
{
    struct upp_str rest = wb_cstr(why->msg);
    for (int i = 0; i < 16 && enabled(l, DEBUG); i++) {
        size_t colon = i == 15 ? SIZE_MAX : wb_str_find(rest, UPP_STR(": "), 0);
        log_content(l, i ? "Caused by" : "Error", wb_str_sub(rest, 0, colon));
        if (colon == SIZE_MAX)
            break;
        rest = wb_str_sub(rest, colon + 2, SIZE_MAX);
    }
    if (why->cause[0])
        log_content(l, "Caused by", wb_cstr(why->cause));
    if (why->where[0])
        log_content(l, "At", wb_cstr(why->where));
}

static WEFT_SUSPENDS int on_error(void *own, struct weft_context *c, const struct upp_err *why, struct upp_turn **ret,
                                  struct upp_err *err)
{
    const struct logging *l = own;
    char text[40], status[24] = "";
    (void)ret;
    (void)err;
    if (why->http)
        (void)snprintf(status, sizeof status, ", status %d", why->http);
    log_line(l, ERROR, "Agent %.*s failed%s: %s (%s%s%s%s)", UPP_FMT(weft_run_agent_id(c->run)),
             duration(l, c, "after", text), upp_code_text(why->code), upp_code_name(why->code),
             why->provider[0] ? ", " : "", why->provider, status);
    causes(l, why);
    return 0;
}

/* ---- Steps and calls ------------------------------------------------------------------------- */

/* A run of one step without tools has no step lines: those of step 1 are delayed until there is more. */
enum { STARTED = 1, ENDED = 2, LOGGED = 4 };

static void flush_first_step(const struct logging *l, struct weft_context *c, uint64_t *word)
{
    if (*word & LOGGED)
        return;
    struct upp_str id = weft_run_agent_id(c->run);
    if (*word & STARTED)
        log_line(l, INFO, "Agent %.*s step 1 started", UPP_FMT(id));
    if (*word & ENDED)
        log_line(l, INFO, "Agent %.*s step 1 ended (%" PRIu64 " tokens)", UPP_FMT(id), *word >> 8);
    *word |= LOGGED;
}

static void step(const struct logging *l, struct weft_context *c, const struct wm_event *ev)
{
    uint64_t *word = wa_context_word(c);
    bool begins = ev->kind == WM_STEP_START;
    uint64_t tokens = begins ? 0 : ev->step_end.usage.input + ev->step_end.usage.output;
    struct upp_str id = weft_run_agent_id(c->run);
    if (ev->step == 1 && !(*word & LOGGED)) {
        *word |= begins ? STARTED : ENDED | tokens << 8;
        return;
    }
    flush_first_step(l, c, word);
    if (begins)
        log_line(l, INFO, "Agent %.*s step %" PRIu32 " started", UPP_FMT(id), ev->step);
    else
        log_line(l, INFO, "Agent %.*s step %" PRIu32 " ended (%" PRIu64 " tokens)", UPP_FMT(id), ev->step, tokens);
}

/* The model chose the tool's name: it is quoted, whatever it contains. */
static void call(const struct logging *l, struct weft_context *c, const struct wm_event *ev)
{
    static const char *const outcomes[] = {
        "?", "ended", "failed", "has an unknown outcome", "was denied", "was stopped", "has arguments that do not fit"};
    struct upp_str id = weft_run_agent_id(c->run);
    char name[WJ_QUOTED], ms[32] = "";
    flush_first_step(l, c, wa_context_word(c));
    wj_quote(ev->call.name, name, sizeof name);
    if (ev->kind == WM_TOOL_STARTED) {
        log_line(l, INFO, "Agent %.*s calls tool %s", UPP_FMT(id), name);
        log_content(l, "Arguments", ev->tool_started.arguments);
        return;
    }
    if (!l->opts.no_timing && ev->tool_ended.outcome <= WM_ERROR)
        (void)snprintf(ms, sizeof ms, " in %" PRIu64 "ms", ev->tool_ended.ms);
    log_line(l, ev->tool_ended.outcome == WM_DONE ? INFO : WARN, "Agent %.*s tool %s %s%s", UPP_FMT(id), name,
             outcomes[ev->tool_ended.outcome < WB_LEN(outcomes) ? ev->tool_ended.outcome : 0], ms);
    log_content(l, "Result", ev->tool_ended.result);
}

static void observe(void *own, struct weft_context *c, const struct wm_event *ev)
{
    if (ev->kind == WM_STEP_START || ev->kind == WM_STEP_END)
        step(own, c, ev);
    else
        call(own, c, ev);
}

/* ---- Options --------------------------------------------------------------------------------- */

static int make(const void *opts, void **own, struct upp_err *err)
{
    struct logging *l = wb_calloc(1, sizeof *l);
    void *copy = NULL;
    int r = l ? wa_opts_copy(opts, sizeof l->opts, &copy, err) : upp_fail(err, UPP_ENOMEM, "no memory for logging");
    if (r >= 0) {
        l->opts = *(struct weft_logging_opts *)copy;
        l->level = UINT8_MAX;
        for (uint8_t i = 0; i < WB_LEN(level_names); i++)
            if (wb_str_eq(wb_cstr(l->opts.level ? l->opts.level : "info"), wb_cstr(level_names[i])))
                l->level = i;
        if (l->level == UINT8_MAX)
            r = upp_fail(err, UPP_EINVALID, "level '%s' is none of debug, info, warn, error", l->opts.level);
    }
    wb_free(copy);
    if (r < 0)
        wb_free(l);
    else
        *own = l;
    return r;
}

static void drop(void *own)
{
    wb_free(own);
}

const struct weft_middleware_kind wa_logging = {.name = "logging",
                                                .make = make,
                                                .free = drop,
                                                .before = before,
                                                .after = after,
                                                .on_error = on_error,
                                                .observe = observe};

struct weft_middleware weft_logging_with(const struct weft_logging_opts *opts)
{
    return (struct weft_middleware){.name = "logging", .kind = &wa_logging, .opts = opts};
}
