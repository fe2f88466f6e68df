/* agent/tool/command.c — makes a tool of a program and calls it under weft-reaper. A call has three fibers: one
 * writes the arguments, two read. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/tool/command.h"
#include "agent/tool/reaper.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hooks.h"
#include "config.h"
#include "fiber/loop.h"
#include "base/mask.h"
#include "base/utf8.h"
#include "json/read.h"

enum { READ_BYTES = 16 * 1024, MAX_LINE = 128 * 1024 /* the kernel's limit for one argument */ };

struct wa_command {
    char **words; /* NULL-terminated */
    size_t n_words;
    struct wa_variable *env;
    size_t n_env;
    char *folder, *reaper;
    uint32_t seconds;
    uint64_t memory;    /* bytes; 0: no limit */
    uint32_t processes; /* 0: no limit */
    size_t output;
};

/* ---- Creating --------------------------------------------------------------------------------------- */

static char *copy(struct upp_str s)
{
    char *p = wb_alloc(s.n + 1);
    if (p) {
        if (s.n)
            memcpy(p, s.p, s.n);
        p[s.n] = 0;
    }
    return p;
}

static bool is_valid_word(struct upp_str s)
{
    return s.n < MAX_LINE && (!s.n || !memchr(s.p, 0, s.n));
}

static bool exists(const char *path)
{
    int fd = WB_CALL(open)(path, O_PATH, 0);
    if (fd >= 0)
        (void)WB_CALL(close)(fd);
    return fd >= 0;
}

/* Appends the folder of the running program and a slash. */
static void add_own_folder(struct wb_buf *b)
{
    if (!wb_buf_reserve(b, PATH_MAX))
        return;
    ssize_t n = readlink("/proc/self/exe", b->p + b->n, PATH_MAX);
    while (n > 0 && b->p[b->n + (size_t)n - 1] != '/')
        n--;
    b->n += n > 0 ? (size_t)n : 0;
}

int wa_reaper_find(struct wb_buf *ret, struct upp_err *err)
{
    const char *given = secure_getenv("WEFT_REAPER");
    for (int way = 0; way < 3; way++) {
        wb_buf_clear(ret);
        if (way == 0 && given)
            wb_buf_add(ret, wb_cstr(given));
        if (way == 1) {
            add_own_folder(ret);
            wb_buf_add(ret, UPP_STR("weft-reaper"));
        }
        if (way == 2)
            wb_buf_add(ret, wb_cstr(WEFT_LIBEXEC "/weft-reaper"));
        wb_buf_addc(ret, 0);
        int r = wb_buf_check(ret, err);
        if (r < 0)
            return r;
        if (ret->p[0] == '/' && exists(ret->p)) {
            ret->n--;
            return 0;
        }
    }
    return upp_fail(err, UPP_ENOTFOUND,
                    "weft-reaper, which runs command tools, is not at " WEFT_LIBEXEC
                    "; WEFT_REAPER may say where it is");
}

static int take_words(struct wa_command *c, const struct wa_command_opts *o, struct upp_err *err)
{
    if (o->n_words == 0 || o->n_words > WA_COMMAND_WORDS || o->words[0].n == 0)
        return upp_fail(err, UPP_EINVALID, "a command has 1 to %d words, and the first names a program",
                        WA_COMMAND_WORDS);
    if (!(c->words = wb_calloc(o->n_words + 1, sizeof *c->words)))
        return upp_fail(err, UPP_ENOMEM, "no memory for a command");
    for (; c->n_words < o->n_words; c->n_words++) {
        if (!is_valid_word(o->words[c->n_words]))
            return upp_fail(err, UPP_EINVALID, "word %zu of the command holds NUL or is too long", c->n_words + 1);
        if (!(c->words[c->n_words] = copy(o->words[c->n_words])))
            return upp_fail(err, UPP_ENOMEM, "no memory for a command");
    }
    return 0;
}

static int take_env(struct wa_command *c, const struct wa_command_opts *o, struct upp_err *err)
{
    if (o->n_env > WA_COMMAND_WORDS)
        return upp_fail(err, UPP_ELIMIT, "a command has at most %d variables", WA_COMMAND_WORDS);
    if (!(c->env = wb_calloc(o->n_env + 1, sizeof *c->env)))
        return upp_fail(err, UPP_ENOMEM, "no memory for a command");
    for (; c->n_env < o->n_env; c->n_env++) {
        const struct wa_variable *v = &o->env[c->n_env];
        struct wa_variable *to = &c->env[c->n_env];
        struct upp_str value = v->secret ? wb_secret_reveal(v->secret) : v->value;
        if (!v->name.n || !is_valid_word(v->name) || memchr(v->name.p, '=', v->name.n) || !is_valid_word(value))
            return upp_fail(err, UPP_EINVALID, "variable %zu of the command's environment cannot be set", c->n_env + 1);
        *to = (struct wa_variable){.name = {copy(v->name), v->name.n}, .secret = v->secret};
        to->value.n = v->secret ? 0 : value.n;
        if (!v->secret)
            to->value.p = copy(value);
        if (!to->name.p || (!v->secret && !to->value.p)) {
            c->n_env++;
            return upp_fail(err, UPP_ENOMEM, "no memory for a command");
        }
    }
    return 0;
}

static int take_paths(struct wa_command *c, const struct wa_command_opts *o, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf reaper = WB_BUF(8192);
    if (!o->reaper) {
        int r = wa_reaper_find(&reaper, err);
        if (r < 0)
            return r;
    }
    c->reaper = copy(o->reaper ? wb_cstr(o->reaper) : wb_buf_str(&reaper));
    if (o->folder.p)
        c->folder = copy(o->folder);
    if (!c->reaper || (o->folder.p && !c->folder))
        return upp_fail(err, UPP_ENOMEM, "no memory for a command");
    return 0;
}

int wa_command_new(const struct wa_command_opts *o, struct wa_command **ret, struct upp_err *err)
{
    WB_CLEANUP(wa_command_freep) struct wa_command *c = wb_calloc(1, sizeof *c);
    if (!c)
        return upp_fail(err, UPP_ENOMEM, "no memory for a command");
    uint32_t memory = o->memory_mb ? o->memory_mb : WA_COMMAND_MEMORY_MB;
    c->seconds = o->seconds ? o->seconds : WA_COMMAND_SECONDS;
    c->memory = memory == UINT32_MAX ? 0 : (uint64_t)memory << 20;
    c->processes = o->processes == UINT32_MAX ? 0 : o->processes ? o->processes : WA_COMMAND_PROCESSES;
    c->output = (size_t)(o->output_kb ? o->output_kb : WA_COMMAND_OUTPUT_KB) << 10;
    int r = take_words(c, o, err);
    if (r == 0)
        r = take_env(c, o, err);
    if (r == 0)
        r = take_paths(c, o, err);
    if (r < 0)
        return r;
    *ret = WB_TAKE(c);
    return 0;
}

void wa_command_free(struct wa_command *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n_words; i++)
        wb_free(c->words[i]);
    for (size_t i = 0; i < c->n_env; i++) {
        wb_free((void *)(uintptr_t)c->env[i].name.p);
        wb_free((void *)(uintptr_t)c->env[i].value.p);
    }
    wb_free(c->words);
    wb_free(c->env);
    wb_free(c->folder);
    wb_free(c->reaper);
    wb_free(c);
}

void wa_command_end_done(struct wa_command_end *e)
{
    wb_buf_done(&e->out);
    wb_buf_done(&e->error);
}

/* ---- A call ------------------------------------------------------------------------------------------- */

enum { IN, OUT, ERROR, PIPES };

/* On the caller's stack; its scope joins the fibers that use it. */
struct call {
    const struct wa_command *command;
    struct upp_str arguments;
    int ours[PIPES], theirs[PIPES]; /* ends of the pipes */
    struct weft_process *process;
    struct wa_command_end *end;
};

static int open_pipes(struct call *c, struct upp_err *err)
{
    for (int i = 0; i < PIPES; i++) {
        int fds[2], mine = i == IN, r;
        do
            r = WB_CALL(pipe)(fds, mine);
        while (r == -EINTR);
        if (r < 0)
            return wb_fail_sys(err, r, UPP_EBUSY, "no pipe for a command");
        c->ours[i] = fds[mine];
        c->theirs[i] = fds[!mine];
    }
    return 0;
}

static void close_all(int fds[PIPES])
{
    for (int i = 0; i < PIPES; i++)
        wb_fd_close(&fds[i]);
}

/* Writes "NAME=VALUE" for each variable to `block`, and pointers to them to envp. The block may have secrets: it is
 * wiped. */
static int build_env(const struct wa_command *c, struct upp_str key, struct wb_buf *block, char **envp,
                     struct upp_err *err)
{
    size_t at[WA_COMMAND_WORDS + 1];
    size_t n = 0;
    for (; n < c->n_env; n++) {
        const struct wa_variable *v = &c->env[n];
        at[n] = block->n;
        wb_buf_add(block, v->name);
        wb_buf_addc(block, '=');
        wb_buf_add(block, v->secret ? wb_secret_reveal(v->secret) : v->value);
        wb_buf_addc(block, 0);
    }
    at[n++] = block->n;
    wb_buf_add(block, UPP_STR("WEFT_CALL_KEY="));
    wb_buf_add(block, key);
    wb_buf_addc(block, 0);
    int r = wb_buf_check(block, err);
    for (size_t i = 0; r == 0 && i < n; i++)
        envp[i] = block->p + at[i];
    return r;
}

static size_t env_size(const struct wa_command *c, struct upp_str key)
{
    size_t n = sizeof "WEFT_CALL_KEY=" + key.n;
    for (size_t i = 0; i < c->n_env; i++)
        n += c->env[i].name.n + 2 + (c->env[i].secret ? wb_secret_reveal(c->env[i].secret).n : c->env[i].value.n);
    return n;
}

static void wipe(struct wb_buf *b)
{
    if (b->p)
        explicit_bzero(b->p, b->cap);
    wb_buf_done(b);
}

static int start(struct call *c, struct upp_str key, struct upp_err *err)
{
    const struct wa_command *command = c->command;
    size_t size = env_size(command, key);
    WB_CLEANUP(wipe) struct wb_buf block = WB_BUF(size); /* reserved in full: growing would leave copies behind */
    char parent[24], memory[24], cpu[24], processes[24], name[] = "weft-reaper";
    char **lists = wb_calloc(command->n_words + WA_REAPER_PROGRAM + 1 + command->n_env + 2, sizeof *lists);
    if (!lists || !wb_buf_reserve(&block, size)) {
        wb_free(lists);
        return upp_fail(err, UPP_ENOMEM, "no memory to start a program");
    }
    char **argv = lists, **envp = lists + WA_REAPER_PROGRAM + command->n_words + 1;
    (void)snprintf(parent, sizeof parent, "%ld", (long)getpid());
    (void)snprintf(memory, sizeof memory, "%llu", (unsigned long long)command->memory);
    (void)snprintf(cpu, sizeof cpu, "%u", command->seconds);
    (void)snprintf(processes, sizeof processes, "%u", command->processes);
    argv[0] = name;
    argv[WA_REAPER_PARENT] = parent;
    argv[WA_REAPER_MEMORY] = memory;
    argv[WA_REAPER_CPU] = cpu;
    argv[WA_REAPER_PROCESSES] = processes;
    memcpy(argv + WA_REAPER_PROGRAM, command->words, command->n_words * sizeof *argv);

    int r = build_env(command, key, &block, envp, err);
    if (r == 0)
        r = weft_process_open(&(struct upp_spawn){.file = command->reaper,
                                                  .argv = argv,
                                                  .envp = envp,
                                                  .dir = command->folder,
                                                  .in = c->theirs[IN],
                                                  .out = c->theirs[OUT],
                                                  .error = c->theirs[ERROR],
                                                  .own_session = true},
                              &c->process, err);
    wb_free(lists);
    close_all(c->theirs);
    return r;
}

/* Arguments that the program does not read block this fiber until the program ends; that is not an error. */
WEFT_SUSPENDS static int feed(void *arg, struct upp_err *err)
{
    struct call *c = arg;
    (void)err;
    (void)!weft_write(c->ours[IN], c->arguments.p, c->arguments.n, NULL);
    wb_fd_close(&c->ours[IN]);
    return 0;
}

/* Reads standard error to its end; retains only the last bytes. */
WEFT_SUSPENDS static int read_error(void *arg, struct upp_err *err)
{
    struct call *c = arg;
    struct wb_buf *b = &c->end->error;
    char piece[WA_COMMAND_TAIL / 4];
    int64_t n;
    while ((n = weft_read(c->ours[ERROR], piece, sizeof piece, err)) > 0) {
        if (b->n + (size_t)n > WA_COMMAND_TAIL)
            wb_buf_drop(b, b->n + (size_t)n - WA_COMMAND_TAIL);
        wb_buf_add(b, wb_str(piece, (size_t)n));
    }
    return n < 0 ? (int)n : wb_buf_check(b, err);
}

/* Reads standard output to its end, or to the limit. */
WEFT_SUSPENDS static int read_out(struct call *c, struct upp_err *err)
{
    struct wb_buf *b = &c->end->out;
    while (b->n < b->max) {
        size_t room = WB_MIN(b->max - b->n, (size_t)READ_BYTES);
        if (!wb_buf_reserve(b, room))
            return wb_buf_check(b, err);
        int64_t n = weft_read(c->ours[OUT], b->p + b->n, room, err);
        if (n <= 0)
            return (int)n;
        b->n += (size_t)n;
    }
    char more;
    int64_t n = weft_read(c->ours[OUT], &more, 1, err);
    c->end->cut = n > 0;
    return n < 0 ? (int)n : 0;
}

/* Closing standard output makes the reaper kill everything; its own exit confirms that. After 10 s it is abandoned:
 * processes that hang in the kernel, or fork as fast as they are killed, keep the inner reaper busy, which outlives
 * this call. */
WEFT_SUSPENDS static void command_finish(struct call *c)
{
    close_all(c->ours);
    close_all(c->theirs);
    if (!c->process)
        return;
    {
        WEFT_SHIELD(0);
        int r = weft_process_wait(c->process, NULL, NULL);
        while (r < 0 && r != -UPP_ETIMEOUT && r != -UPP_ENOTFOUND) { /* out of memory: retry */
            if (weft_sleep_ms(1, NULL) < 0)
                break;
            r = weft_process_wait(c->process, NULL, NULL);
        }
    }
    weft_process_close(c->process);
}

WEFT_SUSPENDS static int exchange(struct call *c, struct upp_err *err)
{
    WEFT_DEADLINE((uint64_t)c->command->seconds * 1000);
    UPP_CLEANUP(weft_scope_close) struct weft_scope both = {0};
    int r = weft_scope_spawn(&both, "tool input", feed, c, NULL, err);
    if (r == 0)
        r = weft_scope_spawn(&both, "tool errors", read_error, c, NULL, err);
    if (r == 0)
        r = read_out(c, err);
    if (r < 0 || c->end->cut)
        return r;
    r = weft_scope_join(&both, err);
    if (r == 0)
        r = weft_process_wait(c->process, &c->end->status, err);
    return r;
}

/* The time it has: its own limit, or less if an enclosing deadline ends first, such as the tool's timeout_ms. */
static double seconds_left(const struct wa_command *command)
{
    const struct weft_fiber *f = weft_fiber_self();
    uint64_t now = weft__loop_clock(f->loop), left = f->deadline > now ? f->deadline - now : 0;
    return f->deadline == WEFT__NEVER ? command->seconds : WB_MIN((double)left / 1e9, (double)command->seconds);
}

WEFT_SUSPENDS int wa_command_run(const struct wa_command *command, struct upp_str arguments, struct upp_str key,
                                 struct wa_command_end *ret, struct upp_err *err)
{
    struct wa_command_end end = {.out = WB_BUF(command->output), .error = WB_BUF(WA_COMMAND_TAIL)};
    struct call c = {
        .command = command, .arguments = arguments, .ours = {-1, -1, -1}, .theirs = {-1, -1, -1}, .end = &end};
    double seconds = seconds_left(command);
    if (!is_valid_word(key))
        return upp_fail(err, UPP_EINVALID, "the key of a call holds NUL or is too long");
    int r = open_pipes(&c, err);
    if (r == 0)
        r = start(&c, key, err);
    if (r == 0)
        r = exchange(&c, err);
    command_finish(&c);
    if (r == -UPP_ETIMEOUT)
        r = upp_fail(err, UPP_ETIMEOUT, "the program did not end within %.*f seconds and was ended",
                     seconds < 0.095                       ? 3
                     : (unsigned)(seconds * 10 + 0.5) % 10 ? 1
                                                           : 0,
                     seconds);
    if (r < 0)
        wa_command_end_done(&end);
    else
        *ret = end;
    return r;
}

/* Whether the text is one JSON value. The parsed value is discarded: such a text is passed on verbatim. */
static int is_json(struct upp_str text, bool *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16 * text.n + (64u << 10));
    yyjson_val *v;
    int r = text.n ? wj_read(&a, text, NULL, &v, err) : -UPP_EINVALID;
    if (r == -UPP_ENOMEM)
        return r;
    *ret = r == 0;
    return 0;
}

static struct upp_str without_line_end(struct upp_str s)
{
    while (s.n && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == '\r'))
        s.n--;
    return s;
}

/* "exit code 3", "killed by signal 9 (Killed)". */
static void describe(int status, struct wb_buf *to)
{
    if (WIFSIGNALED(status))
        wb_buf_addf(to, "the program was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        wb_buf_addf(to, "the program ended with exit code %d", WEXITSTATUS(status));
}

/* Failing programs tend to print their environment: masks secrets, which are not for the model. */
static int add_error(struct wb_buf *text, struct upp_str why, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf masked = WB_BUF(2 * why.n + 64);
    (void)wb_mask_add(&masked, why, false);
    wb_utf8_add_clean(text, wb_buf_str(&masked));
    return wb_buf_check(&masked, err);
}

int wa_command_result(const struct wa_command_end *e, struct wb_buf *text, bool *json, bool *failed,
                      struct upp_err *err)
{
    struct upp_str out = wb_buf_str(&e->out);
    int r = 0;
    *json = false;
    *failed = e->cut || e->status != 0;
    if (e->cut) {
        wb_utf8_add_clean(text, wb_str_sub(out, 0, wb_utf8_cut(out, out.n)));
        wb_buf_addf(text, "\n[cut: the program wrote more than %zu KiB and was ended]", e->out.max >> 10);
    } else if (e->status != 0) {
        describe(e->status, text);
        struct upp_str why = without_line_end(wb_buf_str(e->error.n ? &e->error : &e->out));
        if (why.n)
            wb_buf_add(text, UPP_STR(":\n"));
        r = add_error(text, why, err);
        if (r < 0)
            return r;
    } else {
        r = is_json(wb_str_trim(out), json, err);
        if (r < 0)
            return r;
        if (*json)
            wb_buf_add(text, wb_str_trim(out));
        else
            wb_utf8_add_clean(text, without_line_end(out));
    }
    return wb_buf_check(text, err);
}

WEFT_SUSPENDS int wa_command_call(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    WB_CLEANUP(wa_command_end_done) struct wa_command_end end = {0};
    int r = wa_command_run(call->arg, call->arguments, weft_call_key(call), &end, err);
    bool json, failed;
    if (r < 0)
        return r;
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(3 * end.out.max + 4 * WA_COMMAND_TAIL); /* U+FFFD is 3 bytes */
    r = wa_command_result(&end, &text, &json, &failed, err);
    if (r == 0)
        r = (json ? upp_value_json : upp_value_text)(ret, wb_buf_str(&text), err);
    if (r == 0 && failed)
        upp_value_error(ret);
    return r;
}
