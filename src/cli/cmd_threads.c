/* cli/cmd_threads.c — weft threads: lists threads, the last changed one first. */
#include <stdio.h>

#include "base/defs.h"
#include "base/iso8601.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "cli/store_reader.h"
#include "cli/run_view.h"
#include "json/write.h"
#include "log/log.h"
#include "model/upp_json.h"
#include "thread/summary.h"

enum {
    PAGE = 16,              /* threads, with their metadata */
    FIRST = 8,              /* entries among which the first words are looked for */
    WORDS = 60,             /* columns of them, if the output is no terminal */
    WORDS_BYTES = 64 << 20, /* of those entries */
};

struct listing {
    bool json;
    uint64_t limit; /* 0: all */
    uint64_t n;
    bool more;

    struct cli_as as;
    struct cli_table table;
};

/* What a line has in addition to the thread itself. */
struct more {
    struct cli_reader *rd;
    const struct wl_thread *thread;
    struct wl_path path;
    struct upp_str agent; /* of its last run; empty: none */
    struct upp_str words; /* of its first user message, if it has no title */
    struct wb_arena arena;
};

static struct upp_str text_of(const struct wl_line *line)
{
    const struct wm_entry *e = &line->entry;
    if (e->kind != WM_ENTRY_MESSAGE || e->message.role != UPP_ROLE_USER || e->audience != WM_AUDIENCE_ALL ||
        wm_is_erased(e))
        return (struct upp_str){NULL, 0};
    const struct upp_part *p = upp_part_next(&e->message, NULL, 1u << UPP_PART_TEXT);
    return p ? p->text : (struct upp_str){NULL, 0};
}

/* Reads only the beginning of the path: a long history costs no more. */
WEFT_SUSPENDS static int read_words(struct wl_store *s, struct more *m, struct upp_err *err)
{
    struct wl_line *lines;
    size_t n;
    uint32_t first = WB_MIN(m->path.length, (uint32_t)FIRST);
    int r = wl_path_tail(s, &m->rd->owner, &m->path, first, first, &m->arena, &lines, &n, err);
    for (size_t i = 0; r >= 0 && i < n && !m->words.n; i++)
        m->words = wa_opening(&m->arena, text_of(&lines[i]));
    return r == -UPP_ELIMIT ? 0 : r; /* entries of megabytes: no words */
}

/* Everything about one thread in one call of the store. */
WEFT_SUSPENDS static int read_more(struct wl_store *s, void *arg, struct upp_err *err)
{
    struct more *m = arg;
    const struct wl_owner *o = &m->rd->owner;
    struct wm_run *runs;
    size_t n;
    int r = wl_thread_path(s, o, m->thread, &m->arena, &m->path, err);
    if (r >= 0)
        r = wl_list_runs(s, o, m->thread->id, false, 1, &m->arena, &runs, &n, err);
    if (r >= 0 && n)
        m->agent = runs[0].agent;
    return r < 0 || m->thread->title.n ? r : read_words(s, m, err);
}

static int write_thread(const struct more *m, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(64u << 20);
    const struct wl_thread *t = m->thread;
    struct wj_writer w;
    char id[64];
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "id", wb_cstr(cli_id("thread_", t->id, id)));
    wj_write_name(&w, UPP_STR("created"));
    wm_time_write(&w, t->created_ms);
    wj_write_name(&w, UPP_STR("updated"));
    wm_time_write(&w, t->updated_ms);
    if (m->agent.n)
        wj_put_str(&w, "agent", m->agent);
    else
        wj_put_null(&w, "agent");
    wj_put_u64(&w, "entries", m->path.length);
    wj_put_str(&w, "title", t->title);
    if (m->words.n)
        wj_put_str(&w, "first_words", wb_str_sub(m->words, 0, wb_utf8_cut(m->words, WORDS)));
    wj_write_name(&w, UPP_STR("metadata"));
    struct upp_str metadata = t->metadata.n ? t->metadata : UPP_STR("{}");
    wj_write_raw(&w, metadata.p, metadata.n);
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r >= 0)
        (void)printf("%.*s\n", UPP_FMT(wb_buf_str(&out)));
    return r;
}

static const struct cli_column columns[] = {
    {.title = "THREAD"},
    {.title = "CHANGED", .may_go = true},
    {.title = "AGENT", .width = 12},
    {.title = "ENTRIES", .width = 6, .right = true},
    {.title = "TITLE"},
};

static void print_thread(struct cli_table *to, const struct more *m)
{
    const struct wl_thread *t = m->thread;
    char id[64], time[WB_TIME_TEXT], entries[16];
    struct wb_time updated = wb_time_from_ms(t->updated_ms);
    (void)wb_time_upp(&updated, time);
    (void)snprintf(entries, sizeof entries, "%u", m->path.length);
    cli_table_row(to, (struct cli_cell[]){{wb_cstr(cli_id("thread_", t->id, id)), CLI_CYAN, 0},
                                          {wb_cstr(time), CLI_DIM, 0},
                                          {m->agent.n ? m->agent : UPP_STR("-"), CLI_PLAIN, 0},
                                          {wb_cstr(entries), CLI_PLAIN, 0},
                                          {t->title.n ? t->title : m->words, t->title.n ? CLI_BOLD : CLI_PLAIN,
                                           t->title.n ? 0 : WORDS}});
}

static void more_done(struct more *m)
{
    wb_arena_done(&m->arena);
}

WEFT_SUSPENDS static int list_one(struct cli_reader *rd, const struct wl_thread *t, struct upp_err *err)
{
    struct listing *l = rd->arg;
    if (l->limit && l->n == l->limit) {
        l->more = true;
        return 0;
    }
    WB_CLEANUP(more_done) struct more m = {.rd = rd, .thread = t, .arena = WB_ARENA(WORDS_BYTES)};
    int r = wl_at_once(rd->store, read_more, &m, err);
    if (r < 0)
        return r;
    l->n++;
    if (l->json)
        return write_thread(&m, err);
    print_thread(&l->table, &m);
    return 0;
}

WEFT_SUSPENDS static int list_all(struct cli_reader *rd, struct upp_err *err)
{
    struct listing *l = rd->arg;
    struct wb_uuid after = {{0}};
    int r = 0;
    cli_read_as(rd, &l->as);
    for (size_t n = rd->store ? PAGE : 0; r >= 0 && n == PAGE && !l->more;) {
        struct wl_thread *t;
        wb_arena_reset(&rd->arena);
        r = wl_list_threads(rd->store, &rd->owner, after, PAGE, &rd->arena, &t, &n, err);
        for (size_t i = 0; r >= 0 && i < n && !l->more; i++) {
            after = t[i].id;
            if (t[i].kind == WL_MAIN)
                r = list_one(rd, &t[i], err);
        }
    }
    return r;
}

static int run(const struct cli_command *self, int argc, char **argv)
{
    struct listing l = {0};
    const char *file = NULL, *store = NULL, *limit = NULL;
    const struct cli_option options[] = {{"--config", "a file", &file, NULL},
                                         {"--store", "sqlite:PATH", &store, NULL},
                                         CLI_AS(&l.as),
                                         {"--limit", "a number", &limit, NULL},
                                         {"--json", NULL, NULL, &l.json}};
    int bad = cli_parse(self, argc, argv, options, WB_LEN(options), NULL, 0, NULL);
    if (!bad)
        bad = cli_list_limit(self, limit, &l.limit);
    if (bad)
        return bad;
    struct upp_err err = {0};
    cli_table_begin(&l.table, columns, WB_LEN(columns));
    int r = cli_read_store(self, file, store, true, list_all, &l);
    if (cli_table_end(&l.table, &err) < 0 && r == CLI_GOOD)
        r = cli_fail(self, &err);
    if (r == CLI_GOOD)
        cli_list_end(self, "thread", l.n, l.more);
    return r;
}

static const struct cli_about about_threads[] = {
    CLI_ABOUT_LIMIT,
    {"--json", NULL, "one object per line: id, created, updated, agent, entries, title, first_words, metadata",
     CLI_TEXT, NULL},
    CLI_ABOUT_AS,
    CLI_ABOUT_CONFIG,
    CLI_ABOUT_STORE,
};

const struct cli_command cli_threads = {
    .name = "threads",
    .usage = "[--limit N] [--tenant T] [--user U] [--json] [--config FILE] [--store URL]",
    .summary = "lists the threads of the store",
    .help = "Prints one line per thread, most recently changed first: id, time of the change, agent of its last run, "
            "number\n"
            "of entries, and its title or the first words of its first user message.\n"
            "The database can be read while a server uses it.",
    .run = run,
    CLI_OPTIONS(about_threads),
    .examples = "weft threads\n"
                "weft threads --limit 0 --json\n",
};
