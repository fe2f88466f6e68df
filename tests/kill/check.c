/* tests/kill/check.c — after a sweep of kills: is the database what the tools did and the clients were told?
 *
 * usage: check DATABASE LEDGER CLIENTS
 *
 * The ledger has a line "TOOL DELIVERY KEY" for each time a tool began. The clients' log has lines of words behind
 * tabs: start RUN THREAD KEY TEXT; cancel RUN; answer RUN CALL JSON; approve RUN CALL yes|no. What holds then is in
 * support/checker.h. Exits 0, or says what is wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/fiber.h>

#include "stores/blobs/blobs.h"
#include "stores/sqlite/sqlite.h"
#include "support/checker.h"

enum { LINE = 2048, WORDS = 5 };

struct work {
    const char *database, *ledger, *clients;
    struct checker check;
};

static int bad_line(const char *file, const char *line, struct upp_err *err)
{
    return upp_fail(err, UPP_EINVALID, "%s: '%s' is no line of it", file, line);
}

static int ran_line(struct checker *c, char *line, struct upp_err *err)
{
    char tool[64], delivery[32], key[512];
    uint8_t kind;
    if (sscanf(line, "%63s %31s %511[^\n]", tool, delivery, key) != 3)
        return bad_line("ledger", line, err);
    kind = strcmp(delivery, "pure") == 0         ? WEFT_PURE
           : strcmp(delivery, "idempotent") == 0 ? WEFT_IDEMPOTENT
                                                 : WEFT_AT_MOST_ONCE;
    return checker_ran_key(c, wb_cstr(tool), wb_cstr(key), kind);
}

static bool id_of(const char *word, const char *prefix, struct wb_uuid *ret)
{
    return word && wl_id_parse(wb_cstr(word), wb_cstr(prefix), ret);
}

static int told_line(struct checker *c, char *line, struct upp_err *err)
{
    char *w[WORDS] = {0}, *rest = line;
    line[strcspn(line, "\n")] = 0;
    for (int i = 0; i < WORDS && rest; i++)
        w[i] = strsep(&rest, "\t");
    struct wb_uuid run, thread;
    if (!id_of(w[1], "run_", &run))
        return bad_line("clients", w[0], err);
    if (strcmp(w[0], "cancel") == 0)
        return checker_acked_cancel(c, run);
    if (strcmp(w[0], "start") == 0 && w[4] && id_of(w[2], "thread_", &thread))
        return checker_acked_start(c, &(struct checker_start){run, thread, wb_cstr(w[4]),
                                                              w[3][0] ? wb_cstr(w[3]) : (struct upp_str){0}, true});
    if (strcmp(w[0], "answer") == 0 && w[3])
        return checker_acked_answer(c, &(struct checker_answer){run, wb_cstr(w[2]), wb_cstr(w[3]), false, false});
    if (strcmp(w[0], "approve") == 0 && w[3])
        return checker_acked_answer(c,
                                    &(struct checker_answer){run, wb_cstr(w[2]), {0}, true, strcmp(w[3], "yes") == 0});
    return bad_line("clients", w[0], err);
}

static int read_lines(struct checker *c, const char *path, int (*take)(struct checker *, char *, struct upp_err *),
                      struct upp_err *err)
{
    char line[LINE];
    FILE *f = fopen(path, "r");
    int r = 0;
    if (!f)
        return 0; /* nothing was ever said */
    while (r >= 0 && fgets(line, sizeof line, f))
        r = take(c, line, err);
    (void)fclose(f);
    return r;
}

WEFT_SUSPENDS static int check(void *arg, struct upp_err *err)
{
    struct work *w = arg;
    struct wl_store *s;
    int r = ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = w->database), &s, err);
    if (r >= 0)
        r = ws_blobs_open(s, &s, err);
    if (r < 0)
        return r;
    r = read_lines(&w->check, w->ledger, ran_line, err);
    if (r >= 0)
        r = read_lines(&w->check, w->clients, told_line, err);
    if (r >= 0)
        r = checker_check(&w->check, s, true, err);
    s->ops->close(s);
    return r;
}

int main(int argc, char **argv)
{
    struct upp_err err = {0};
    struct weft_loop *loop = NULL;
    if (argc != 4)
        return fprintf(stderr, "usage: check DATABASE LEDGER CLIENTS\n"), 2;
    struct work w = {.database = argv[1], .ledger = argv[2], .clients = argv[3]};
    checker_init(&w.check, (struct wl_owner){UPP_STR("local"), UPP_STR("")});
    w.check.power_stays = true;
    int r = weft_loop_open(NULL, &loop, &err);
    if (r >= 0)
        r = weft_loop_run(loop, "check", check, &w, &err);
    weft_loop_close(loop);
    if (r < 0)
        (void)fprintf(stderr, "%s\n", err.msg);
    else
        (void)printf("%llu runs, %llu events, %llu voids, %zu tools ran, %zu starts, %zu answers, %zu cancels\n",
                     (unsigned long long)w.check.count.runs, (unsigned long long)w.check.count.stored,
                     (unsigned long long)w.check.count.voids, w.check.ran.n, w.check.starts.n, w.check.answers.n,
                     w.check.cancels.n);
    checker_done(&w.check);
    return r < 0;
}
