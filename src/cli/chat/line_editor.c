/* cli/chat/line_editor.c — reads lines by libedit on a terminal and byte by byte from a pipe, and keeps the history
 * file. */
#include "cli/chat/line_editor.h"

#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "base/file.h"
#include "base/hooks.h"
#include "cli/chat/paste.h"

enum { KEYS = 4096 /* typed ahead */, HISTORY_BYTES = 4 << 20, KEY_END = -1, KEY_INTERRUPT = -2, KEY_RESIZE = -3 };

struct cli_line_editor {
    EditLine *el; /* NULL: no terminal */
    History *history;
    FILE *tty;
    int fd;
    bool own_fd;
    struct termios before;     /* of the terminal */
    struct weft_channel *keys; /* of int16_t: a byte, or KEY_* */
    char path[512];            /* of the history; empty: none */
    char prompt[256];
    mbstate_t state;
    struct cli_paste paste;
    bool marks; /* the terminal can mark what is pasted */
    bool reading, interrupted;
    struct upp_err why;
    int failed;
};

/* ---- History ---------------------------------------------------------------------------------------------------- */

/* $XDG_STATE_HOME/weft/chat_history, else ~/.local/state/weft/chat_history. */
static void find_history(struct cli_line_editor *e)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n = 0;
    if (state && state[0] == '/')
        n = snprintf(e->path, sizeof e->path, "%s/weft/chat_history", state);
    else if (home && home[0] == '/')
        n = snprintf(e->path, sizeof e->path, "%s/.local/state/weft/chat_history", home);
    if (n <= 0 || (size_t)n >= sizeof e->path)
        e->path[0] = 0;
    for (char *slash = e->path; e->path[0] && (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        (void)mkdir(e->path, 0700); /* that it cannot be made shows when the file is written */
        *slash = '/';
    }
}

static void load_history(struct cli_line_editor *e)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf file = WB_BUF(HISTORY_BYTES), line = WB_BUF(CLI_LINE_MAX);
    HistEvent ev;
    struct upp_str rest, one;
    (void)history(e->history, &ev, H_SETSIZE, CLI_HISTORY_MAX);
    (void)history(e->history, &ev, H_SETUNIQUE, 1);
    if (!e->path[0] || wb_file_read(e->path, &file, NULL) < 0)
        return; /* there is none yet */
    rest = wb_buf_str(&file);
    while (wb_str_split(&rest, '\n', &one)) {
        wb_buf_clear(&line);
        wb_buf_add(&line, one);
        wb_buf_addc(&line, '\0');
        if (one.n && !line.failed)
            (void)history(e->history, &ev, H_ENTER, line.p);
    }
}

static void save_history(struct cli_line_editor *e)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf file = WB_BUF(HISTORY_BYTES);
    HistEvent ev;
    if (!e->path[0])
        return;
    for (int r = history(e->history, &ev, H_LAST); r == 0; r = history(e->history, &ev, H_PREV))
        wb_buf_addf(&file, "%s\n", ev.str);
    if (!file.failed && wb_file_write_unsynced(e->path, wb_buf_str(&file), 0600, NULL) < 0)
        e->path[0] = 0; /* not tried again: the history of this chat is in memory */
}

static void remember(struct cli_line_editor *e, const struct wb_buf *line)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(CLI_LINE_MAX + 1);
    HistEvent ev;
    wb_buf_add(&text, wb_buf_str(line));
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == '\n' || text.p[i] == 0)
            text.p[i] = ' ';
    wb_buf_addc(&text, '\0');
    if (!e->history || text.failed || text.n < 2)
        return;
    (void)history(e->history, &ev, H_ENTER, text.p);
    save_history(e);
}

/* ---- Keys ------------------------------------------------------------------------------------------------------- */

/* Sends the keys of what was read. `more`: there are other bytes already. */
WEFT_SUSPENDS static int send_keys(struct cli_line_editor *e, const unsigned char *bytes, size_t n, bool more,
                                   struct upp_err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < n; i++) {
        unsigned char keys[CLI_PASTE_KEYS] = {bytes[i]};
        size_t got = e->el ? cli_paste_keys(&e->paste, bytes[i], !more && i + 1 == n, keys) : 1;
        for (size_t k = 0; r >= 0 && k < got; k++) {
            int16_t key = keys[k];
            r = weft_channel_send(e->keys, &key, err);
        }
    }
    return r;
}

/* Reads keys until the end. The descriptor is our own description of the file: that it does not block is no concern of
 * the shell's. */
WEFT_SUSPENDS static int read_keys(void *arg, struct upp_err *err)
{
    struct cli_line_editor *e = arg;
    for (;;) {
        unsigned char bytes[256];
        int64_t n = weft_read(e->fd, bytes, sizeof bytes, err);
        if (n < 0 && n != -UPP_ECANCELED)
            n = 0; /* the terminal is gone */
        if (n < 0)
            return (int)n;
        int16_t key = KEY_END;
        int r = n ? send_keys(e, bytes, (size_t)n, n == sizeof bytes, err) : weft_channel_send(e->keys, &key, err);
        if (r < 0 || !n)
            return r;
    }
}

WEFT_SUSPENDS static int next_key(struct cli_line_editor *e, int16_t *ret)
{
    int r = weft_channel_recv(e->keys, ret, &e->why);
    if (r < 0)
        e->failed = r;
    if (r == 0)
        *ret = KEY_END;
    if (r >= 0 && *ret == KEY_END) /* and again, whoever asks */
        weft_channel_close(e->keys);
    return r < 0 ? r : 0;
}

bool cli_line_editor_interrupt(struct cli_line_editor *e)
{
    int16_t key = KEY_INTERRUPT;
    return e && e->reading && weft_channel_try_send(e->keys, &key, NULL) >= 0;
}

bool cli_line_editor_resize(struct cli_line_editor *e)
{
    int16_t key = KEY_RESIZE;
    return e && e->el && e->reading && weft_channel_try_send(e->keys, &key, NULL) >= 0;
}

/* libedit asks for a character. */
WEFT_SUSPENDS static int next_character(EditLine *el, wchar_t *ret)
{
    struct cli_line_editor *e = NULL;
    (void)el_get(el, EL_CLIENTDATA, &e);
    for (;;) {
        int16_t key;
        if (next_key(e, &key) < 0)
            return -1;
        if (key == KEY_RESIZE) {
            el_resize(e->el);
            (void)el_set(e->el, EL_REFRESH);
            continue;
        }
        if (key == KEY_INTERRUPT)
            e->interrupted = true;
        if (key < 0)
            return 0;
        char c = (char)key;
        size_t n = mbrtowc(ret, &c, 1, &e->state);
        if (n == (size_t)-2)
            continue; /* more bytes belong to it */
        if (n == (size_t)-1) {
            memset(&e->state, 0, sizeof e->state);
            *ret = '?';
        } else if (n == 0)
            *ret = 0;
        return 1;
    }
}

/* ---- Opening ---------------------------------------------------------------------------------------------------- */

static const char *get_prompt(EditLine *el)
{
    struct cli_line_editor *e = NULL;
    (void)el_get(el, EL_CLIENTDATA, &e);
    return e->prompt;
}

static int open_editor(struct cli_line_editor *e, struct upp_err *err)
{
    const char *term = getenv("TERM");
    e->marks = term && term[0] && strcmp(term, "dumb") != 0;
    e->tty = fdopen(dup(e->fd), "r");
    if (!e->tty || tcgetattr(e->fd, &e->before) != 0)
        return upp_fail(err, UPP_ENET, "the terminal cannot be read");
    e->el = el_init("weft", e->tty, stdout, stderr);
    e->history = history_init();
    if (!e->el || !e->history)
        return upp_fail(err, UPP_ENOMEM, "no memory for the line editor");
    (void)el_set(e->el, EL_CLIENTDATA, e);
    (void)el_set(e->el, EL_PROMPT, get_prompt);
    (void)el_set(e->el, EL_EDITOR, "emacs");
    (void)el_set(e->el, EL_SIGNAL, 0);
    (void)el_set(e->el, EL_HIST, history, e->history);
    (void)el_set(e->el, EL_GETCFN, next_character);
    (void)el_set(e->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    (void)el_source(e->el, NULL); /* ~/.editrc, if there is one */
    find_history(e);
    load_history(e);
    return 0;
}

int cli_line_editor_open(struct cli_line_editor **ret, struct upp_err *err)
{
    struct cli_line_editor *e = wb_alloc(sizeof *e);
    struct stat st;
    if (!e)
        return upp_fail(err, UPP_ENOMEM, "no memory for the line editor");
    *e = (struct cli_line_editor){.fd = -1};
    if (!setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1)
        (void)setlocale(LC_CTYPE, "C.UTF-8"); /* what models write is UTF-8 */
    bool file = fstat(0, &st) == 0 && S_ISREG(st.st_mode);
    if (!file) /* a description of our own */
        e->fd = open(isatty(0) ? "/dev/tty" : "/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    e->own_fd = e->fd >= 0;
    if (!e->own_fd)
        e->fd = 0;
    int r = isatty(0) && isatty(1) ? open_editor(e, err) : 0;
    if (r < 0)
        cli_line_editor_close(e);
    else
        *ret = e;
    return r;
}

void cli_line_editor_close(struct cli_line_editor *e)
{
    if (!e)
        return;
    if (e->el) {
        el_end(e->el);
        (void)tcsetattr(e->fd, TCSADRAIN, &e->before);
    }
    if (e->history)
        history_end(e->history);
    if (e->tty)
        (void)fclose(e->tty);
    if (e->own_fd)
        wb_fd_close(&e->fd);
    wb_free(e);
}

int cli_line_editor_start(struct cli_line_editor *e, struct weft_scope *fibers, struct upp_err *err)
{
    int r = weft_channel_new(KEYS, sizeof(int16_t), &e->keys, err);
    return r < 0 ? r : weft_scope_spawn(fibers, "keys", read_keys, e, NULL, err);
}

void cli_line_editor_stop(struct cli_line_editor *e)
{
    weft_channel_freep(&e->keys);
}

bool cli_line_editor_is_terminal(const struct cli_line_editor *e)
{
    return e->el != NULL;
}

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

/* What is typed during an answer is not shown in the middle of it. */
static void echo(struct cli_line_editor *e, bool on)
{
    struct termios now = e->before;
    if (!e->el)
        return;
    if (!on)
        now.c_lflag &= ~(tcflag_t)ECHO;
    (void)tcsetattr(e->fd, TCSADRAIN, &now);
}

static void mark_pastes(const struct cli_line_editor *e, bool on)
{
    if (e->marks)
        (void)fputs(on ? CLI_PASTE_ON : CLI_PASTE_OFF, stdout);
    (void)fflush(stdout);
}

WEFT_SUSPENDS static int read_plain(struct cli_line_editor *e, struct wb_buf *ret)
{
    for (size_t n = 0;; n++) {
        int16_t key;
        if (next_key(e, &key) < 0)
            return e->failed;
        if (key == KEY_INTERRUPT)
            return CLI_LINE_INTERRUPTED;
        if (key == KEY_RESIZE)
            continue;
        if (key == KEY_END)
            return n ? CLI_LINE_READ : CLI_LINE_END;
        if (key == '\n')
            return CLI_LINE_READ;
        wb_buf_addc(ret, (char)key);
    }
}

WEFT_SUSPENDS static int read_edited(struct cli_line_editor *e, const char *prompt, const char *text,
                                     struct wb_buf *ret)
{
    int n = 0;
    (void)snprintf(e->prompt, sizeof e->prompt, "%s", prompt);
    echo(e, true);
    el_resize(e->el);
    if (text)
        el_push(e->el, text);
    mark_pastes(e, true);
    const char *line = el_gets(e->el, &n);
    mark_pastes(e, false);
    echo(e, false);
    if (e->failed)
        return e->failed;
    if (e->interrupted || !line || n <= 0) {
        (void)fputs(e->interrupted ? "^C\n" : "\n", stdout);
        (void)fflush(stdout);
        return e->interrupted ? CLI_LINE_INTERRUPTED : CLI_LINE_END;
    }
    while (n && (line[n - 1] == '\n' || line[n - 1] == '\r'))
        n--;
    wb_buf_add(ret, wb_str(line, (size_t)n));
    return CLI_LINE_READ;
}

WEFT_SUSPENDS int cli_line_editor_read(struct cli_line_editor *e, const char *prompt, const char *text, bool kept,
                                       struct wb_buf *ret, struct upp_err *err)
{
    int r;
    wb_buf_clear(ret);
    e->reading = true;
    e->interrupted = false;
    for (;;) {
        r = e->el ? read_edited(e, prompt, text, ret) : read_plain(e, ret);
        text = NULL;
        if (r != CLI_LINE_READ || !ret->n || ret->p[ret->n - 1] != '\\')
            break;
        ret->p[ret->n - 1] = '\n';
        prompt = "... ";
    }
    e->reading = false;
    if (r < 0 && err)
        *err = e->why;
    if (r == CLI_LINE_READ && kept)
        remember(e, ret);
    return r < 0 ? r : ret->failed ? wb_buf_check(ret, err) : r;
}
