/* cli/chat/cmd_chat.c — weft chat [AGENT]: a conversation in the terminal. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/defs.h"
#include "cli/chat/chat.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"

/* ---- Requests --------------------------------------------------------------------------------------------------- */

int cli_chat_body(struct wb_buf *out, const char *name, struct upp_str value, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    if (value.n)
        wj_put_str(&w, name, value);
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

WEFT_SUSPENDS int cli_chat_call(struct cli_chat *c, const char *method, struct upp_str path, const struct wb_buf *body,
                                yyjson_val **ret, struct upp_err *err)
{
    struct cli_request q = {.method = method, .path = path};
    if (body)
        q.body = wb_buf_str(body);
    int r = wb_arena_check(&c->arena, err);
    if (r >= 0)
        r = cli_owner_call(&c->f.door, &q, &c->arena, ret, err);
    if (r != -UPP_ENET && r != -UPP_EBUSY)
        return r;
    cli_owner_close(&c->f.door);
    r = cli_owner_open(&c->f.door, true, err);
    return r < 0 ? r : cli_owner_call(&c->f.door, &q, &c->arena, ret, err);
}

/* ---- Runs ------------------------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int start(struct cli_follow *f, struct upp_err *err)
{
    struct cli_chat *c = f->arg;
    char id[64];
    wb_arena_reset(&f->arena);
    f->last_id[0] = 0;
    int r = cli_start_run(f,
                          &(struct cli_start){.thread = wb_buf_str(&c->thread),
                                              .agent = wb_buf_str(&c->agent),
                                              .model = wb_buf_str(&c->model),
                                              .text = wb_buf_str(&c->text),
                                              .key = wb_cstr(c->key)},
                          err);
    if (r < 0 || c->thread.n)
        return r;
    wb_buf_add(&c->thread, wb_cstr(cli_id("thread_", f->thread, id)));
    return wb_buf_check(&c->thread, err);
}

static void count(struct cli_chat *c)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    yyjson_val *usage;
    if (!c->f.shown.usage.n || wj_read(&a, wb_buf_str(&c->f.shown.usage), NULL, &usage, NULL) < 0)
        return;
    c->runs++;
    c->in += (uint64_t)cli_number_at(usage, "inputTokens");
    c->out += (uint64_t)cli_number_at(usage, "outputTokens");
}

static int explain(struct cli_chat *c, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4u << 20);
    yyjson_val *v;
    struct cli_run_view *s = &c->f.shown;
    if (cli_run_view_is(s, "completed") || cli_run_view_is(s, "waiting"))
        return 0;
    if (cli_run_view_is(s, "cancelled"))
        return cli_chat_note(&c->view, CLI_STYLE_FAINT, err, "(stopped)");
    c->failed |= !cli_line_editor_is_terminal(c->lines);
    if (s->cut.n && wj_read(&a, wb_buf_str(&s->cut), NULL, &v, NULL) >= 0)
        return cli_chat_note(&c->view, CLI_STYLE_BOLD, err, "cut short: it has reached %.*s",
                             UPP_FMT(wj_text_at(v, "reason")));
    if (s->error.n && wj_read(&a, wb_buf_str(&s->error), NULL, &v, NULL) >= 0)
        return cli_chat_note(&c->view, CLI_STYLE_BOLD, err, "%.*s: %.*s", UPP_FMT(wb_buf_str(&s->status)),
                             UPP_FMT(wj_text_at(v, "message")));
    return cli_chat_note(&c->view, CLI_STYLE_BOLD, err, "%.*s", UPP_FMT(wb_buf_str(&s->status)));
}

/* A handoff hands over the thread: what is said next is said to the agent that took over. */
static int follow_handoff(struct cli_chat *c, struct upp_err *err)
{
    if (!c->view.agent.n)
        return 0;
    if (!c->asked.n) /* it may have handed over before, and waited */
        wb_buf_add(&c->asked, wb_buf_str(&c->agent));
    wb_buf_clear(&c->agent);
    wb_buf_add(&c->agent, wb_buf_str(&c->view.agent));
    wb_buf_clear(&c->view.agent);
    int r = wb_buf_check(&c->asked, err);
    return r < 0 ? r : wb_buf_check(&c->agent, err);
}

WEFT_SUSPENDS int cli_chat_finish(struct cli_chat *c, struct upp_err *err)
{
    int r = 1;
    while (r > 0 && cli_run_view_is(&c->f.shown, "waiting"))
        r = cli_chat_answer(c, err);
    if (r >= 0)
        r = explain(c, err);
    if (r >= 0)
        r = follow_handoff(c, err);
    count(c);
    c->f.shown.run = WB_UUID_NIL;
    return r;
}

WEFT_SUSPENDS int cli_chat_say(struct cli_chat *c, struct upp_err *err)
{
    struct wb_uuid key;
    int r = wb_uuid_new(&key, err);
    if (r < 0)
        return r;
    (void)wb_uuid_text(key, c->key);
    c->f.start = start;
    wb_buf_clear(&c->asked);
    wb_buf_clear(&c->view.agent);
    cli_chat_view_begin(&c->view, true);
    r = cli_follow_run(&c->f, err);
    if (r >= 0)
        r = cli_chat_view_end(&c->view, err);
    return r < 0 ? r : cli_chat_finish(c, err);
}

/* ---- The session ------------------------------------------------------------------------------------------------ */

static bool on_signal(struct cli_follow *f, int number)
{
    struct cli_chat *c = f->arg;
    if (number == SIGINT)
        return cli_line_editor_interrupt(c->lines);
    if (number == SIGWINCH) {
        cli_chat_view_resize(&c->view);
        (void)cli_line_editor_resize(c->lines);
        return true;
    }
    c->leaves = true;
    return false;
}

/* What a person may do about it ends a command, not the chat. */
static bool is_serious(const struct cli_chat *c, int r)
{
    return r == -UPP_ECANCELED || r == -UPP_ENOMEM || (r == -UPP_ENET && !cli_line_editor_is_terminal(c->lines));
}

static int complain(struct cli_chat *c, int r, struct upp_err *err)
{
    struct upp_err why = *err;
    if (is_serious(c, r))
        return r;
    c->f.shown.run = WB_UUID_NIL;
    if (!cli_line_editor_is_terminal(c->lines))
        c->failed = true;
    r = cli_chat_view_end(&c->view, err);
    return r < 0 ? r : cli_chat_note(&c->view, CLI_STYLE_BOLD, err, "weft chat: %s", why.msg);
}

/* The first Ctrl-C at an empty prompt says how to leave. */
static int interrupted(struct cli_chat *c, struct upp_err *err)
{
    c->leaves = c->asked_to_leave;
    c->asked_to_leave = true;
    return c->leaves ? 0 : cli_chat_note(&c->view, CLI_STYLE_FAINT, err, "(Ctrl-C again, Ctrl-D or /quit leaves)");
}

WEFT_SUSPENDS static int one_line(struct cli_chat *c, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf line = WB_BUF(CLI_LINE_MAX), begun = WB_BUF(CLI_LINE_MAX);
    wb_buf_add(&begun, wb_buf_str(&c->again));
    wb_buf_addc(&begun, '\0');
    (void)snprintf(c->prompt, sizeof c->prompt, "%.*s> ", UPP_FMT(wb_str_sub(wb_buf_str(&c->agent), 0, 60)));
    int r = cli_line_editor_read(c->lines, c->prompt, c->again.n ? begun.p : NULL, true, &line, err);
    bool edited = c->again.n > 0;
    wb_buf_clear(&c->again);
    if (r < 0)
        return complain(c, r, err);
    if (r == CLI_LINE_INTERRUPTED)
        return interrupted(c, err);
    c->asked_to_leave = false;
    struct upp_str text = wb_str_trim(wb_buf_str(&line));
    c->leaves |= r == CLI_LINE_END;
    if (r == CLI_LINE_END || !text.n)
        return 0;
    wb_arena_reset(&c->arena);
    if (edited)
        r = cli_chat_edit(c, text, err);
    else if (text.p[0] == '/')
        r = cli_chat_command(c, text, err);
    else {
        wb_buf_clear(&c->text);
        wb_buf_add(&c->text, text);
        r = cli_chat_say(c, err);
    }
    return r < 0 ? complain(c, r, err) : 0;
}

WEFT_SUSPENDS static int session(struct cli_follow *f, struct upp_err *err)
{
    struct cli_chat *c = f->arg;
    struct weft_scope keys = {.flags = WEFT_SCOPE_ISOLATED};
    int r = cli_chat_find_agent(c, err);
    if (r >= 0)
        r = cli_line_editor_start(c->lines, &keys, err);
    cli_chat_view_begin(&c->view, true);
    if (r >= 0 && cli_line_editor_is_terminal(c->lines))
        r = cli_chat_note(&c->view, CLI_STYLE_FAINT, err, "weft %s, %s; /help lists the commands", upp_version(),
                          f->door.url      ? f->door.url
                          : f->door.server ? "alone"
                                           : "with the server of this store");
    while (r >= 0 && !c->leaves)
        r = one_line(c, err);
    weft_scope_close(&keys);
    cli_line_editor_stop(c->lines);
    return r;
}

/* ---- The command ------------------------------------------------------------------------------------------------ */

static void chat_done(struct cli_chat *c)
{
    cli_line_editor_close(c->lines);
    cli_follow_done(&c->f);
    cli_chat_view_done(&c->view);
    wb_arena_done(&c->arena);
    wb_buf_done(&c->thread);
    wb_buf_done(&c->agent);
    wb_buf_done(&c->asked);
    wb_buf_done(&c->model);
    wb_buf_done(&c->line);
    wb_buf_done(&c->text);
    wb_buf_done(&c->answers);
    wb_buf_done(&c->again);
}

static void chat_init(struct cli_chat *c, const struct cli_command *self)
{
    *c = (struct cli_chat){.self = self,
                           .arena = WB_ARENA(512u << 20),
                           .thread = WB_BUF(4096),
                           .agent = WB_BUF(4096),
                           .asked = WB_BUF(4096),
                           .model = WB_BUF(4096),
                           .line = WB_BUF(CLI_LINE_MAX),
                           .text = WB_BUF(CLI_LINE_MAX),
                           .answers = WB_BUF(CLI_MAX_BODY),
                           .again = WB_BUF(CLI_LINE_MAX)};
    cli_follow_init(&c->f, CLI_SHOW_NOT, self->name);
    cli_chat_view_init(&c->view);
    c->view.asked = &c->agent;
    c->f.shown.on_event = cli_chat_view_event;
    c->f.shown.arg = &c->view;
    c->f.session = session;
    c->f.on_signal = on_signal;
    c->f.cancels = true;
    c->f.arg = c;
}

/* http://HOST:PORT without a slash at its end; the key from the environment, if it is not given. */
static int take_url(struct cli_chat *c, const char *url, const char *key, struct wb_buf *base)
{
    const char *env = getenv("WEFT_API_KEY");
    if (!url)
        return key ? cli_misuse(c->self, "--key is of --url: a store's owner is asked over its own socket") : 0;
    struct upp_str text = wb_cstr(url);
    if (!wb_str_starts(text, UPP_STR("http://")) && !wb_str_starts(text, UPP_STR("https://")))
        return cli_misuse(c->self, "--url wants http://HOST:PORT or https://HOST");
    while (text.n && text.p[text.n - 1] == '/')
        text.n--;
    wb_buf_add(base, text);
    wb_buf_addc(base, '\0');
    c->f.door.url = base->p ? base->p : url;
    c->f.door.key = key ? key : env && env[0] ? env : NULL;
    return 0;
}

struct chat_options {
    struct cli_source from;
    const char *thread, *url, *key;
};

static int run_chat(const struct cli_command *self, int argc, char **argv)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf base = WB_BUF(4096);
    WB_CLEANUP(chat_done) struct cli_chat c;
    struct chat_options o = {0};
    const char *word = NULL;
    struct upp_err err = {0};
    size_t n;
    chat_init(&c, self);
    int bad = cli_parse_some(self, argc, argv, &o, &word, 1, &n);
    if (!bad)
        bad = take_url(&c, o.url, o.key, &base);
    if (bad)
        return bad;
    if (o.url && (o.from.config || o.from.store || o.from.as.tenant || o.from.as.user))
        return cli_misuse(self, "--url has its own store, and its keys say who asks");
    if (n)
        wb_buf_add(&c.agent, wb_cstr(word));
    if (o.thread)
        cli_path_add(&c.thread, wb_cstr(o.thread));
    if (cli_line_editor_open(&c.lines, &err) < 0)
        return cli_fail(self, &err);
    int code = cli_follow(self, &c.f, &o.from, false);
    return code == CLI_GOOD && c.failed ? CLI_FAILED : code;
}

static const struct cli_option chat_options[] = {
    CLI_VALUE("--thread", "T", "an id", struct chat_options, thread, "goes on in this thread"),
    CLI_VALUE("--url", "U", "the address of a server", struct chat_options, url,
              "the address of a server, instead of the store's owner"),
    CLI_VALUE("--key", "K", "an API key", struct chat_options, key, "an API key for --url (default: WEFT_API_KEY)"),
    CLI_SOURCE_OPTIONS(struct chat_options, from),
};

const struct cli_command cli_chat = {
    .name = "chat",
    .usage = "[AGENT] [--thread T] [--url U [--key K]] [--tenant T] [--user U] [--config FILE] [--store URL]",
    .summary = "a conversation in the terminal",
    .help =
        "Talks to AGENT (default: the one that spoke last in the thread, else `default_agent`), in a new thread or in "
        "the\n"
        "thread T. If a server owns the store, it runs the agents; with --url, the server there; otherwise this\n"
        "command does. --key: an API key (default: WEFT_API_KEY).\n"
        "Ctrl-C stops the answer and keeps what was said; a second one leaves. /help lists the commands of the chat.\n"
        "A line that ends with \\ goes on in the next one. If standard input is not a terminal, each of its lines is\n"
        "a message; answers go to standard output without colours, everything else to standard error, and the command\n"
        "exits 1 if one failed.",
    .run = run_chat,
    CLI_OPTIONS(chat_options),
    .examples = "weft chat\n"
                "weft chat weather --thread THREAD\n"
                "weft chat weather --url https://example.org --key $KEY\n"
                "echo 'What is new?' | weft chat weather\n",
    .takes = CLI_AGENT,
};
