/* support/command.c — makes command tools, and looks for processes that they left behind. */
#include "support/command.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/paths.h"

WEFT_SUSPENDS int test_command(struct command_case *c, struct upp_err *err)
{
    struct upp_str words[] = {UPP_STR("/bin/sh"), UPP_STR("-c"), wb_cstr(c->script)};
    struct wa_variable path = {.name = UPP_STR("PATH"), .value = UPP_STR("/usr/bin:/bin")};
    WB_CLEANUP(wa_command_freep) struct wa_command *command = NULL;
    struct wa_command_opts opts = c->opts;
    opts.size = sizeof opts;
    opts.reaper = test_reaper;
    if (!opts.words) {
        opts.words = words;
        opts.n_words = WB_LEN(words);
    }
    if (!opts.env) {
        opts.env = &path;
        opts.n_env = 1;
    }
    TRY(wa_command_new(&opts, &command, err));
    c->result = wa_command_run(command, c->arguments, wb_cstr(c->key ? c->key : "key"), &c->end, err);
    return c->result;
}

static bool has_key(const char *pid, const char *key)
{
    static char text[8192];
    char path[300], want[200];
    bool found = false;
    size_t n;
    (void)snprintf(path, sizeof path, "/proc/%.200s/environ", pid);
    (void)snprintf(want, sizeof want, "WEFT_CALL_KEY=%s", key);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, text, sizeof text - 1);
    (void)close(fd);
    n = got > 0 ? (size_t)got : 0;
    text[n] = 0;
    for (const char *p = text; p < text + n && !found; p += strlen(p) + 1)
        found = strcmp(p, want) == 0;
    return found;
}

unsigned test_processes(const char *key)
{
    unsigned n = 0;
    DIR *proc = opendir("/proc");
    if (!proc)
        return 1; /* nobody can say that there is none */
    for (struct dirent *e; (e = readdir(proc));)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
            n += has_key(e->d_name, key);
    (void)closedir(proc);
    return n;
}

const char *test_key(char *to, size_t size)
{
    static unsigned calls;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)snprintf(to, size, "%ld-%ld%09ld-%u", (long)getpid(), (long)now.tv_sec, now.tv_nsec, calls++);
    return to;
}

void test_until_gone(const char *key)
{
    const struct timespec moment = {0, 2000000};
    while (test_processes(key))
        (void)nanosleep(&moment, NULL);
}
