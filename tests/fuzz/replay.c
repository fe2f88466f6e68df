/* fuzz/replay.c — every target over its corpus, as an ordinary test: prints TAP, one result a target.
 *
 *     fuzz_replay                      all
 *     fuzz_replay TARGET FILE...       one target over these files: what to do with a crash a fuzzer left
 *
 * Short inputs are also cut at every byte: texts that end too early are where readers go wrong.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "support/fault.h"
#include "support/paths.h"

enum { SHORT = 1024 };

struct fuzz_target *fuzz_targets;

static char now[512]; /* the input that is running */

static void last_words(void)
{
    static const char before[] = "# died on ";
    (void)!write(1, before, sizeof before - 1);
    (void)!write(1, now, strlen(now));
    (void)!write(1, "\n", 1);
}

static void on_abort(int sig)
{
    last_words();
    (void)signal(sig, SIG_DFL);
    (void)raise(sig);
}

_Noreturn void fuzz_broken(const char *file, int line, const char *what)
{
    (void)printf("# %s:%d: %s does not hold\n", file, line, what);
    (void)fflush(stdout);
    abort();
}

/* From memory of exactly its size, so that ASan sees a read beyond it. */
static void run_bytes(const struct fuzz_target *t, const char *p, size_t n)
{
    char *copy = malloc(n ? n : 1);
    if (!copy)
        abort();
    memcpy(copy, p, n);
    t->run((struct upp_str){copy, n});
    free(copy);
}

/* False when the file cannot be read, or the target left memory behind. */
static bool run_file(const struct fuzz_target *t, const char *path)
{
    char left[400] = "";
    struct fault_account before = fault_account();
    FILE *f = fopen(path, "rb");
    char *p = malloc(1u << 20);
    (void)snprintf(now, sizeof now, "%s", path);
    if (!f || !p) {
        (void)printf("# cannot read %s\n", path);
        free(p);
        if (f)
            (void)fclose(f);
        return false;
    }
    size_t n = fread(p, 1, 1u << 20, f);
    (void)fclose(f);
    for (size_t cut = n <= SHORT ? 0 : n; cut <= n; cut++)
        run_bytes(t, p, cut);
    free(p);
    bool ok = fault_balanced(before, left, sizeof left);
    if (!ok)
        (void)printf("# %s: %s\n", path, left);
    return ok;
}

static bool run_corpus(const struct fuzz_target *t, unsigned *count)
{
    char folder[512], path[1024];
    bool ok = true;
    const char *root = getenv("WEFT_TESTS");
    (void)snprintf(folder, sizeof folder, "%s/fuzz/corpus/%s", root ? root : test_tree, t->name);
    DIR *d = opendir(folder);
    if (!d)
        return false;
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.') {
            (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            ok &= run_file(t, path);
            ++*count;
        }
    (void)closedir(d);
    return ok && *count > 0;
}

int main(int argc, char **argv)
{
    int n = 0, failed = 0;
    (void)signal(SIGABRT, on_abort);
    fault_install();
    for (struct fuzz_target *t = fuzz_targets; t; t = t->next) {
        unsigned count = 0;
        bool ok = true;
        if (argc > 1 && strcmp(argv[1], t->name) != 0)
            continue;
        if (argc > 2)
            for (int i = 2; i < argc; i++, count++)
                ok &= run_file(t, argv[i]);
        else
            ok = run_corpus(t, &count);
        (void)printf("%s %d - fuzz %s\n# %u inputs\n", ok ? "ok" : "not ok", ++n, t->name, count);
        failed += !ok;
    }
    (void)printf("1..%d\n", n);
    return failed || n == 0 ? 1 : 0;
}
