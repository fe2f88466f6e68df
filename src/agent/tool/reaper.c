/* agent/tool/reaper.c — weft-reaper: runs one program and leaves no process of it behind. reaper.h has its interface.
 *
 * It is a child subreaper: whatever a descendant does (double fork, setsid, nohup), it becomes our child when its
 * parent is gone. So "no child left" means "no descendant left", and that is the only way to exit.
 *
 * A separate program, not part of libweft: it must survive when the process with libweft is killed. Linux only
 * (subreaper, /proc). It allocates no memory and starts no thread; the table of processes is static.
 */
#include "agent/tool/reaper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    DEATH = SIGUSR1,       /* sent by the kernel when the thread that started us is gone */
    MAX_PROCESSES = 32768, /* per pass; the next pass sees others */
    PASS_MS = 5,           /* at most, between two passes while a process lives */
    POLL_MS = 50,          /* at least, between two measurements of the tool ... */
    POLL_SHARE = 20,       /* ... and so many times the duration of a measurement */
};

enum verdict { UNKNOWN, OURS, FOREIGN };

struct process {
    int pid, parent;
    unsigned long long start; /* identifies the process, together with the pid */
    enum verdict verdict;
};

static struct process table[MAX_PROCESSES];

__attribute__((format(printf, 1, 2))) static void report(const char *fmt, ...)
{
    char line[600];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (n > 0)
        (void)!write(2, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

/* ---- Who is a descendant ------------------------------------------------------------------------------ */

/* Reads `stat` of the folder /proc/PID: "PID (NAME) STATE PPID ... (22nd) STARTTIME". NAME may contain anything. */
static bool read_stat(int folder, struct process *ret)
{
    char text[1024];
    int fd = openat(folder, "stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    (void)close(fd);
    if (n <= 0)
        return false;
    text[n] = 0;
    const char *p = strrchr(text, ')');
    return p && sscanf(p + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                       &ret->parent, &ret->start) == 2;
}

static int open_process(int proc, int pid)
{
    char name[16];
    (void)snprintf(name, sizeof name, "%d", pid);
    return openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool sees_itself(DIR *proc)
{
    struct process me;
    int folder = open_process(dirfd(proc), getpid());
    bool ok = folder >= 0 && read_stat(folder, &me) && me.parent == getppid();
    if (folder >= 0)
        (void)close(folder);
    return ok;
}

static int by_pid(const void *a, const void *b)
{
    const struct process *x = a, *y = b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct process *find_process(size_t n, int pid)
{
    struct process key = {.pid = pid};
    return bsearch(&key, table, n, sizeof *table, by_pid);
}

/* Lists all processes, as far as they fit. */
static size_t list_all(DIR *proc)
{
    size_t n = 0;
    rewinddir(proc);
    for (struct dirent *e; n < MAX_PROCESSES && (e = readdir(proc));) {
        char *end;
        long pid = strtol(e->d_name, &end, 10);
        if (pid <= 0 || *end)
            continue;
        int folder = open_process(dirfd(proc), (int)pid);
        if (folder < 0)
            continue;
        struct process *p = &table[n];
        *p = (struct process){.pid = (int)pid};
        n += read_stat(folder, p);
        (void)close(folder);
    }
    qsort(table, n, sizeof *table, by_pid);
    return n;
}

/* Walks up to a process with a known verdict, or to the top, and gives all on the way the same verdict. Visits each
 * process once. */
static void judge(size_t n, struct process *p, int self)
{
    enum verdict v = FOREIGN;
    struct process *at = p;
    for (size_t steps = 0; at && steps < n; steps++) { /* pids read at different times may form a cycle */
        if (at->parent == self || at->verdict != UNKNOWN) {
            v = at->verdict == UNKNOWN ? OURS : at->verdict;
            break;
        }
        at = find_process(n, at->parent);
    }
    for (at = p; at && at->verdict == UNKNOWN; at = find_process(n, at->parent))
        at->verdict = v;
}

/* Kills exactly this process, not one that reused its pid: the folder of /proc is a handle of it. */
static void kill_process(int proc, const struct process *p)
{
    struct process now = {0};
    int folder = open_process(proc, p->pid);
    if (folder < 0)
        return;
    if (read_stat(folder, &now) && now.start == p->start) {
        long r = -1;
        errno = ENOSYS;
#ifdef SYS_pidfd_send_signal
        r = syscall(SYS_pidfd_send_signal, folder, SIGKILL, NULL, 0);
#endif
        if (r != 0 && errno != ESRCH)
            (void)kill(p->pid, SIGKILL); /* older kernels: it still had this pid a moment ago */
    }
    (void)close(folder);
}

/* Lists all processes with their verdicts; returns their number. */
static size_t judge_all(DIR *proc)
{
    int self = getpid();
    size_t n = list_all(proc);
    struct process *me = find_process(n, self);
    if (me)
        me->verdict = FOREIGN; /* and so are our ancestors: no walk goes past us */
    for (size_t i = 0; i < n; i++)
        if (table[i].verdict == UNKNOWN)
            judge(n, &table[i], self);
    return n;
}

static void kill_all_once(DIR *proc)
{
    size_t n = judge_all(proc);
    for (size_t i = 0; i < n; i++)
        if (table[i].verdict == OURS)
            kill_process(dirfd(proc), &table[i]);
}

/* ---- Measuring ---------------------------------------------------------------------------------------- */

static ssize_t read_of(int proc, int pid, const char *name, char *text, size_t size)
{
    char path[48];
    (void)snprintf(path, sizeof path, "%d/%s", pid, name);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, text, size - 1);
    (void)close(fd);
    text[n > 0 ? n : 0] = 0;
    return n;
}

/* Its resident memory in bytes. Shared pages count in each process. */
static unsigned long long resident(int proc, int pid)
{
    char text[256];
    unsigned long long pages;
    return read_of(proc, pid, "statm", text, sizeof text) > 0 && sscanf(text, "%*u %llu", &pages) == 1
               ? pages * (unsigned long long)sysconf(_SC_PAGESIZE)
               : 0;
}

/* Its proportional share: a page that n processes share counts as 1/n. Slow: the kernel walks all pages. */
static unsigned long long proportional(int proc, int pid)
{
    char text[2048];
    unsigned long long kb;
    const char *line = read_of(proc, pid, "smaps_rollup", text, sizeof text) > 0 ? strstr(text, "\nPss:") : NULL;
    return line && sscanf(line, " Pss: %llu", &kb) == 1 ? kb << 10 : resident(proc, pid);
}

/* True if the tool exceeds a limit; reports that. */
static bool exceeds_limits(DIR *proc, const struct reaper_limits *l)
{
    size_t n = judge_all(proc), processes = 0;
    unsigned long long all = 0;
    for (size_t i = 0; i < n; i++)
        if (table[i].verdict == OURS) {
            processes++;
            all += l->memory ? resident(dirfd(proc), table[i].pid) : 0;
        }
    if (l->processes && processes > l->processes) {
        report(WA_REAPER_PREFIX "more than %llu processes: all of them were ended\n", l->processes);
        return true;
    }
    if (all <= l->memory || !l->memory)
        return false;
    all = 0;
    for (size_t i = 0; i < n; i++)
        all += table[i].verdict == OURS ? proportional(dirfd(proc), table[i].pid) : 0;
    if (all > l->memory)
        report(WA_REAPER_PREFIX "its processes took more than %llu MiB together: all of them were ended\n",
               l->memory >> 20);
    return all > l->memory;
}

static long long now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* ---- Running -------------------------------------------------------------------------------------------- */

struct reaper {
    DIR *proc;
    int signals;     /* signalfd */
    pid_t parent;    /* the process that started us */
    pid_t program;   /* 0 once it has ended */
    int status;      /* its wait status */
    bool end, empty; /* kill everything; no child is left */
};

static void reap(struct reaper *r)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid == 0)
            return;
        if (pid > 0 && pid == r->program) {
            r->status = status;
            r->program = 0;
            r->end = true;
        }
        if (pid < 0 && errno != EINTR) {
            r->empty = errno == ECHILD;
            return;
        }
    }
}

/* Waits for an event, at most ms (-1: without limit). */
static void poll_events(struct reaper *r, int ms)
{
    struct pollfd fds[2] = {{.fd = r->signals, .events = POLLIN}, {.fd = r->end ? -1 : 1}};
    if (poll(fds, 2, ms) > 0) {
        struct signalfd_siginfo info;
        while (read(r->signals, &info, sizeof info) == (ssize_t)sizeof info)
            if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT || info.ssi_signo == SIGHUP)
                r->end = true;
        if (fds[1].revents & (POLLERR | POLLNVAL))
            r->end = true; /* nobody reads the output: cancelled, or dead */
    }
    if (getppid() != r->parent)
        r->end = true;
    reap(r);
}

static void limit(int what, unsigned long long n)
{
    struct rlimit l = {n, n}, now;
    if (getrlimit((__rlimit_resource_t)what, &now) == 0 && now.rlim_max != RLIM_INFINITY && now.rlim_max < n)
        l = (struct rlimit){now.rlim_max, now.rlim_max};
    (void)setrlimit((__rlimit_resource_t)what, &l);
}

/* A tool that runs as root could otherwise read the memory of the process with libweft, which is protected from others
 * (PR_SET_DUMPABLE). */
static void drop_ptrace(void)
{
    (void)prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0); /* without root there is nothing to drop */
}

_Noreturn static void exec_program(char **argv, pid_t reaper, const struct reaper_limits *l)
{
    sigset_t none;
    unsigned long long memory = strtoull(argv[WA_REAPER_MEMORY], NULL, 10);
    unsigned long long cpu = strtoull(argv[WA_REAPER_CPU], NULL, 10);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* only a help: not inherited by further forks */
    if (getppid() != reaper)
        _exit(WA_REAPER_FAILED);
    if (memory)
        limit(RLIMIT_AS, memory);
    if (cpu)
        limit(RLIMIT_CPU, cpu);
    limit(RLIMIT_CORE, 0);
    drop_ptrace();
    if (!reaper_limits_enter(l)) {
        report(WA_REAPER_PREFIX "the program cannot be held to its limits: %s\n", strerror(errno));
        _exit(WA_REAPER_FAILED);
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)execvp(argv[WA_REAPER_PROGRAM], argv + WA_REAPER_PROGRAM);
    report(WA_REAPER_PREFIX "cannot start '%s': %s\n", argv[WA_REAPER_PROGRAM], strerror(errno));
    _exit(WA_REAPER_NOSTART);
}

/* Exits as the program did. */
_Noreturn static void exit_like(int status)
{
    if (WIFSIGNALED(status)) {
        sigset_t none;
        (void)sigemptyset(&none);
        (void)signal(WTERMSIG(status), SIG_DFL);
        (void)kill(getpid(), WTERMSIG(status));
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        _exit(128 + WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

/* Descriptors of the process with libweft are not for the tool. */
static void close_others(void)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 3u, ~0u, 0u) == 0)
        return;
#endif
    struct rlimit now;
    int end = getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur < 65536 ? (int)now.rlim_cur : 65536;
    for (int fd = 3; fd < end; fd++)
        (void)close(fd);
}

static bool report_errno(const char *what)
{
    report(WA_REAPER_PREFIX "%s: %s\n", what, strerror(errno));
    return false;
}

/* Makes the calling process a reaper below `parent`. */
static bool prepare(struct reaper *r, pid_t parent)
{
    sigset_t all;
    (void)sigfillset(&all);
    *r = (struct reaper){.parent = parent};
    if ((r->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
        return report_errno("signalfd");
    if (!(r->proc = opendir("/proc")) || !sees_itself(r->proc))
        return report_errno("/proc, by which descendants are found, cannot be read");
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return report_errno("prctl");
    (void)prctl(PR_SET_PDEATHSIG, DEATH);
    return getppid() == parent; /* otherwise it died before PDEATHSIG was set */
}

/* Polls the tool's usage until it ends, using at most a twentieth of the time. */
static void watch_limits(struct reaper *r, const struct reaper_limits *l)
{
    for (long long wait = POLL_MS; !r->end;) {
        long long until = now_ms() + wait;
        while (!r->end && now_ms() < until)
            poll_events(r, (int)(until - now_ms()));
        if (r->end)
            return;
        long long began = now_ms();
        r->end = exceeds_limits(r->proc, l);
        wait = (now_ms() - began) * POLL_SHARE;
        wait = wait < POLL_MS ? POLL_MS : wait;
    }
}

/* Runs until no descendant is left. Only the inner reaper has limits to poll. */
static void watch(struct reaper *r, const struct reaper_limits *l)
{
    (void)close(0); /* so that writing to a program that has closed its input fails */
    if (l)
        watch_limits(r, l);
    while (!r->end)
        poll_events(r, -1);
    /* Without a time limit: there is nothing else to do. */
    for (reap(r); !r->empty; poll_events(r, PASS_MS))
        kill_all_once(r->proc);
}

/* --limits: prints the method. */
static int show_limits(struct reaper_limits *l)
{
    *l = (struct reaper_limits){.processes = 1, .memory = 1 << 20};
    reaper_limits_make(l);
    (void)printf("%s\n", reaper_limits_name(l));
    reaper_limits_done(l);
    return 0;
}

int main(int argc, char **argv)
{
    static struct reaper_limits limits;
    struct reaper r;
    sigset_t all;
    if (argc == 2 && strcmp(argv[1], "--limits") == 0)
        return show_limits(&limits);
    if (argc <= WA_REAPER_PROGRAM) {
        report(WA_REAPER_PREFIX "started by weft, not by hand: PARENT MEMORY CPU PROCESSES PROGRAM [ARGUMENT...]\n");
        return WA_REAPER_FAILED;
    }
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL); /* signals are read from the signalfd */
    limit(RLIMIT_CORE, 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 &&
        !report_errno("prctl")) /* or a process could become unkillable */
        return WA_REAPER_FAILED;

    pid_t parent = (pid_t)strtol(argv[WA_REAPER_PARENT], NULL, 10);
    limits.memory = strtoull(argv[WA_REAPER_MEMORY], NULL, 10);
    limits.processes = strtoull(argv[WA_REAPER_PROCESSES], NULL, 10);
    close_others();
    reaper_limits_make(&limits);
    for (int inner = 0; inner < 2; inner++) {
        close_others();
        if (!prepare(&r, parent))
            return WA_REAPER_FAILED;
        parent = getpid();
        r.program = fork();
        if (r.program < 0 && !report_errno("fork"))
            return WA_REAPER_FAILED;
        if (r.program > 0) {
            watch(&r, inner ? &limits : NULL);
            reaper_limits_done(&limits); /* by the inner reaper; by the outer one if that was killed */
            exit_like(r.status);
        }
        (void)setsid(); /* so that a kill of the outer process group does not reach it */
    }
    exec_program(argv, parent, &limits);
}
