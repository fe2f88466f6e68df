/* support/test.c — runs the registered tests under cmocka, plainly or under torture.
 *
 *     unit [NAME...]              run all, or those whose name holds one of the words (* and ? work too)
 *     unit --torture[=N] [NAME...]  each test again and again with the 1st, 2nd ... call failing, at most N points
 *                                 for each class and error (spread evenly; default 0: every one)
 *     unit --torture=N --kinds=K  of classes and errors only K for each test, others for each
 *     unit --torture=N --with-plain  and each once as it is, also those that are not tortured: all that `unit` shows,
 *                                 without a second run of what torture runs untouched
 *     unit --part=K/N ...         every Nth of those, from the Kth on: so that several processes share the work
 *     unit --list
 *
 * A word with a slash is looked for in the file of the test: unit/run/ for a folder of them.
 */
#include "support/test.h"

#include <errno.h>
#include <fnmatch.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/str.h"
#include "fiber/switch.h"
#include "runtime/runtime.h"
#include "support/fault.h"
#include "support/fibers.h"
#include "support/paths.h"

/* A test hangs that has used up its time on a processor, or PATIENCE times as much on the clock: on a machine whose
 * processors are somebody else's for minutes, waiting is no fault. */
enum {
    SECONDS = 60,
    PATIENCE = 5,
    ON_VALGRIND = 20, /* times as long: what meson is told, too (scripts/check) */
};

static struct test *tests;

/* The running test. Written by one thread at a time; EXPECT in another thread only sets flags. */
static struct {
    const struct test *test;
    volatile bool failed, broken; /* a CHECK, an ALWAYS */
    bool torture, was_brief;      /* was_brief: the test has less to do under torture */
    unsigned seconds, rings;      /* until it hangs; how often it rang */
    double begin;                 /* in seconds of the processor */
    char note[256], why[2048], sweep[160], folder[256];
} now;

void test_register(struct test *t)
{
    struct test **at = &tests;
    while (*at && (strcmp((*at)->file, t->file) < 0 || (strcmp((*at)->file, t->file) == 0)))
        at = &(*at)->next; /* by file, then in the order of the file */
    t->next = *at;
    *at = t;
}

const struct test *test_running(void)
{
    return now.test;
}

static void record(bool always, const char *file, int line, const char *what)
{
    bool first = !now.failed && !now.broken;
    now.failed = true;
    if (always)
        now.broken = true;
    if (first || always)
        (void)snprintf(now.why, sizeof now.why, "%s:%d: %s%s%s", file, line, what, now.note[0] ? "  -- " : "",
                       now.note);
}

bool test_expect(bool ok, bool always, const char *file, int line, const char *what)
{
    if (!ok)
        record(always, file, line, what);
    return ok;
}

bool test_expect_str(struct upp_str got, struct upp_str want, const char *file, int line, const char *what)
{
    if (got.n == want.n && (got.n == 0 || memcmp(got.p, want.p, got.n) == 0) && !got.p == !want.p)
        return true;
    char text[900];
    (void)snprintf(text, sizeof text, "%s is %s\"%.*s\", not %s\"%.*s\"", what, got.p ? "" : "(no text)", UPP_FMT(got),
                   want.p ? "" : "(no text)", UPP_FMT(want));
    record(false, file, line, text);
    return false;
}

bool test_expect_int(long long got, long long want, const char *file, int line, const char *what)
{
    if (got == want)
        return true;
    char text[256];
    (void)snprintf(text, sizeof text, "%s is %lld, not %lld", what, got, want);
    record(false, file, line, text);
    return false;
}

void test_note(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(now.note, sizeof now.note, fmt, args);
    va_end(args);
}

bool test_failed(void)
{
    return now.failed;
}

uint64_t test_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && text[0] ? strtoull(text, NULL, 10) : otherwise;
}

uint64_t test_share(void)
{
    return WEFT__ANNOTATED || test_on_valgrind() ? test_number("WEFT_SHARE", 32) : 1;
}

uint64_t test_times(const char *name, uint64_t plain)
{
    uint64_t share = test_share();
    return test_number(name, (plain + share - 1) / share);
}

const char *test_source(const char *path)
{
    static char full[4096];
    const char *root = getenv("WEFT_TESTS");
    (void)snprintf(full, sizeof full, "%s/%s", root ? root : test_tree, path);
    return full;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *walk)
{
    (void)st, (void)flag, (void)walk;
    return remove(path);
}

static void remove_folder(void)
{
    if (now.folder[0] && nftw(now.folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
        (void)fprintf(stderr, "# cannot remove %s: %s\n", now.folder, strerror(errno));
    now.folder[0] = 0;
}

const char *test_folder(void)
{
    if (!now.folder[0]) {
        const char *tmp = getenv("TMPDIR");
        if (!tmp) /* in memory where it can be: torture syncs thousands of files, and no test asks the disk itself */
            tmp = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
        (void)snprintf(now.folder, sizeof now.folder, "%s/weft-test-XXXXXX", tmp);
        if (!mkdtemp(now.folder)) {
            (void)fprintf(stderr, "cannot make %s: %s\n", now.folder, strerror(errno));
            exit(2);
        }
    }
    return now.folder;
}

char *test_read(const char *path, size_t *n)
{
    FILE *f = fopen(test_source(path), "rb");
    if (!f)
        return NULL;
    char *p = NULL;
    size_t cap = 0;
    *n = 0;
    for (;;) {
        if (*n == cap) {
            cap = cap ? cap * 2 : 65536;
            char *np = realloc(p, cap + 1);
            if (!np)
                abort();
            p = np;
        }
        size_t got = fread(p + *n, 1, cap - *n, f);
        if (got == 0)
            break;
        *n += got;
    }
    p[*n] = 0;
    (void)fclose(f);
    return p;
}

/* The folders above a file that is going to be written; what is there already stays. */
static void make_folders(const char *path)
{
    char *part = strdup(path);
    for (size_t i = 1; part && part[i]; i++)
        if (part[i] == '/') {
            part[i] = 0;
            (void)mkdir(part, 0777); /* fopen says it when it could not be made */
            part[i] = '/';
        }
    free(part);
}

bool test_golden(const char *path, struct upp_str got)
{
    char name[512];
    const char *mode = getenv("WEFT_GOLDEN");
    (void)snprintf(name, sizeof name, "golden/%s", path);
    if (mode && strcmp(mode, "write") == 0 && !now.torture) {
        make_folders(test_source(name));
        FILE *f = fopen(test_source(name), "wb");
        if (!f || fwrite(got.p, 1, got.n, f) != got.n || fclose(f) != 0)
            return test_expect(false, false, __FILE__, __LINE__, "the golden file can be written");
        return true;
    }
    size_t n;
    char *want = test_read(name, &n);
    bool ok = want && n == got.n && memcmp(want, got.p, n) == 0;
    if (!ok) {
        size_t at = 0;
        while (want && at < n && at < got.n && want[at] == got.p[at])
            at++;
        char text[640];
        (void)snprintf(text, sizeof text, "tests/%s %s (differs at byte %zu; WEFT_GOLDEN=write writes it)", name,
                       want ? "is what was made" : "exists", at);
        record(false, __FILE__, __LINE__, text);
    }
    free(want);
    return ok;
}

/* ---- Running --------------------------------------------------------------------------------- */

/* The sanitizers call this before they end the process; absent in plain builds. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*fn)(void));

/* ASan keeps the fatal signals to itself, so that cmocka cannot take them. */
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "handle_segv=2:handle_sigbus=2:handle_sigfpe=2:handle_sigill=2:allocator_may_return_null=1";
}

/* Says which test and which fault, when a sanitizer or a signal ends the process. */
static void last_words(void)
{
    if (now.test) {
        static const char before[] = "# died in test ";
        (void)!write(2, before, sizeof before - 1);
        (void)!write(2, now.test->name, strlen(now.test->name));
        (void)!write(2, now.sweep, strlen(now.sweep));
        (void)!write(2, "\n", 1);
    }
}

static double processor_seconds(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) < 0 ? 0 : (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void on_signal(int sig)
{
    if (sig == SIGALRM && ++now.rings < PATIENCE && processor_seconds() - now.begin < now.seconds) {
        (void)alarm(now.seconds);
        return;
    }
    last_words();
    if (sig == SIGALRM) {
        static const char hung[] = "# it hung\n";
        (void)!write(2, hung, sizeof hung - 1);
    }
    (void)signal(sig == SIGALRM ? SIGABRT : sig, SIG_DFL);
    (void)raise(sig == SIGALRM ? SIGABRT : sig);
}

/* cmocka turns a crash into a failed test and goes on with whatever is left; we want the report and the end. */
static void take_signals(void)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (size_t i = 0; !__sanitizer_set_death_callback && i < sizeof fatal / sizeof fatal[0]; i++)
        (void)signal(fatal[i], on_signal);
    (void)signal(SIGABRT, on_signal);
    (void)signal(SIGALRM, on_signal);
}

/* Runs the body once; true unless memory or descriptors were left behind. */
static bool run_body(void)
{
    char left[400] = "";
    struct fault_account before = fault_account();
    now.failed = now.broken = false;
    now.note[0] = now.why[0] = 0;
    take_signals();
    now.seconds = (now.test->seconds ? now.test->seconds : SECONDS) * (test_on_valgrind() ? ON_VALGRIND : 1);
    now.rings = 0;
    now.begin = processor_seconds();
    (void)alarm(now.seconds);
    now.test->body();
    (void)alarm(0);
    double took = processor_seconds() - now.begin;
    if (took >= 1 && !now.sweep[0])
        (void)fprintf(stderr, "# %s took %.1f s of a processor\n", now.test->name, took);
    fault_off();
    remove_folder();
    if (fault_balanced(before, left, sizeof left))
        return true;
    size_t n = strlen(now.why);
    (void)snprintf(now.why + n, sizeof now.why - n, "%s%s: %s", n ? "; " : "", now.test->file, left);
    return false;
}

static void report(void)
{
    print_error("%s%s\n", now.why, now.sweep);
    fail();
}

static void run_plain(void **state)
{
    now.test = *state;
    now.torture = false;
    now.sweep[0] = 0;
    if (!run_body() || now.failed)
        report();
}

static const struct {
    enum fault_class c;
    int error;
    bool sticky;
    const char *name;
} sweeps[] = {
    {FAULT_MEMORY, ENOMEM, false, "memory"},
    {FAULT_MEMORY, ENOMEM, true, "memory from then on"},
    {FAULT_RANDOM, EIO, false, "random EIO"},
    {FAULT_RANDOM, EINTR, false, "random EINTR"},
    {FAULT_RANDOM, FAULT_SHORT, false, "random short"},
    {FAULT_FILE, EIO, false, "file EIO"},
    {FAULT_FILE, ENOSPC, true, "file ENOSPC from then on"},
    {FAULT_FILE, EINTR, false, "file EINTR"},
    {FAULT_FILE, EMFILE, false, "file EMFILE"},
    {FAULT_FILE, FAULT_SHORT, false, "file short"},
    {FAULT_SOCKET, ECONNRESET, true, "socket ECONNRESET from then on"},
    {FAULT_SOCKET, EINTR, false, "socket EINTR"},
    {FAULT_SOCKET, EMFILE, false, "socket EMFILE"},
    {FAULT_SOCKET, FAULT_SHORT, false, "socket short"},
    {FAULT_SPAWN, EAGAIN, false, "spawn EAGAIN"},
    {FAULT_SPAWN, ENOENT, false, "spawn ENOENT"},
};

enum {
    SWEEPS = sizeof sweeps / sizeof sweeps[0],
};
static unsigned long max_points, total_points;
static unsigned max_kinds; /* of sweeps for each test; 0: all */
static bool with_plain;

bool test_brief(void)
{
    now.was_brief = true;
    return now.torture && max_points;
}

/* Where a sweep of few points begins: another call for each test and sweep, the same in every run. The first calls of
 * all tests would be the same ones, of their setup. */
static unsigned long first_point(const struct test *t, size_t sweep)
{
    return (unsigned long)(wb_str_hash(wb_cstr(t->name)) >> (2 * sweep));
}

/* The sweeps of a test: all of calls that it makes, or max_kinds of these, far from each other in the table. Which ones
 * follows from its name. */
static void choose_sweeps(const struct test *t, const unsigned long *calls, bool *chosen)
{
    size_t n = 0, possible[SWEEPS];
    memset(chosen, 0, SWEEPS * sizeof *chosen);
    for (size_t i = 0; i < SWEEPS; i++)
        if (!max_points || calls[sweeps[i].c])
            possible[n++] = i;
    size_t kinds = max_kinds && max_kinds < n ? max_kinds : n;
    size_t first = n ? (wb_str_hash(wb_cstr(t->name)) >> 40) % n : 0;
    for (size_t i = 0; i < kinds; i++)
        chosen[possible[(first + i * n / kinds) % n]] = true;
}

static void run_torture(void **state)
{
    now.test = *state;
    now.torture = true;
    now.was_brief = false;

    /* Untouched first: it must pass, and tells how many calls of each class there are. */
    unsigned long calls[FAULT_CLASSES];
    now.sweep[0] = 0;
    fault_at(FAULT_CLASSES, 0, 0, false);
    if (!run_body() || now.failed)
        report();
    for (int c = 0; c < FAULT_CLASSES; c++)
        calls[c] = fault_calls((enum fault_class)c);
    if (with_plain && now.was_brief) {
        now.torture = false;
        if (!run_body() || now.failed)
            report();
        now.torture = true;
    }

    bool chosen[SWEEPS];
    choose_sweeps(now.test, calls, chosen);
    for (size_t i = 0; i < SWEEPS; i++) {
        if (!chosen[i])
            continue;
        /* With a limit only calls that were counted fail: a class without any costs no run of the test. Without one,
         * the sweep ends when none fails any more, because a failure may lead to calls that were not counted. */
        unsigned long step = 1, last = max_points ? calls[sweeps[i].c] : ULONG_MAX;
        if (max_points && last > max_points)
            step = (last + max_points - 1) / max_points;
        for (unsigned long n = 1 + first_point(now.test, i) % step; n <= last; n += step) {
            (void)snprintf(now.sweep, sizeof now.sweep, "  [torture: call %lu of %s]", n, sweeps[i].name);
            fault_at(sweeps[i].c, n, sweeps[i].error, sweeps[i].sticky);
            bool clean = run_body();
            bool fired = fault_fired() > 0;
            if (!clean || now.broken || (now.failed && !fired))
                report();
            if (!fired)
                break; /* passed untouched */
            total_points++;
        }
    }
}

static bool wanted(const struct test *t, int argc, char **argv)
{
    if (argc == 0)
        return true;
    for (int i = 0; i < argc; i++)
        if (strchr(argv[i], '/') ? strstr(t->file, argv[i]) != NULL
                                 : strstr(t->name, argv[i]) || fnmatch(argv[i], t->name, 0) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    static struct CMUnitTest chosen[4096];
    size_t n = 0;
    unsigned part = 1, parts = 1;
    size_t at = 0;
    bool torture = false;

    argc--, argv++;
    for (; argc && strncmp(argv[0], "--", 2) == 0; argc--, argv++) {
        if (strcmp(argv[0], "--list") == 0) {
            for (struct test *t = tests; t; t = t->next)
                (void)printf("%s\n", t->name);
            return 0;
        }
        if (strcmp(argv[0], "--with-plain") == 0) {
            with_plain = true;
            continue;
        }
        if (sscanf(argv[0], "--kinds=%u", &max_kinds) == 1)
            continue;
        if (sscanf(argv[0], "--part=%u/%u", &part, &parts) == 2 && part >= 1 && part <= parts)
            continue;
        if (strncmp(argv[0], "--torture", 9) != 0 || (argv[0][9] && argv[0][9] != '=')) {
            (void)fprintf(
                stderr,
                "usage: unit [--list] [--torture[=POINTS] [--kinds=K] [--with-plain]] [--part=K/N] [NAME...]\n");
            return 2;
        }
        torture = true;
        max_points = argv[0][9] ? strtoul(argv[0] + 10, NULL, 10) : 0;
    }
    for (struct test *t = tests; t; t = t->next)
        if (wanted(t, argc, argv) && at++ % parts == part - 1) {
            bool plain = !torture || (with_plain && t->no_torture);
            if (!plain && t->no_torture) {
                (void)fprintf(stderr, "# %s is not tortured: %s\n", t->name, t->no_torture);
                continue;
            }
            if (n == sizeof chosen / sizeof chosen[0])
                abort();
            chosen[n++] =
                (struct CMUnitTest){.name = t->name, .test_func = plain ? run_plain : run_torture, .initial_state = t};
        }
    if (n == 0) {
        (void)fprintf(stderr, "no test is called that\n");
        return 2;
    }
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(last_words);
    fault_install();
    struct upp_err err;
    if (weft__libraries_use_hooks(&err) < 0) {
        (void)fprintf(stderr, "%s\n", err.msg);
        return 2;
    }
    cmocka_set_message_output(CM_OUTPUT_TAP);
    int failures = _cmocka_run_group_tests(torture ? "torture" : "unit", chosen, n, NULL, NULL);
    if (torture)
        (void)fprintf(stderr, "# %lu fault points\n", total_points);
    now.test = NULL;
    return failures ? 1 : 0;
}
