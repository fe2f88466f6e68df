/* cli/cmd_threads.c — weft threads: lists threads, the last changed one first. */
#include "base/defs.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/list.h"
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

struct thread_list {
    struct cli_list list;
    struct cli_source from;
};

/* What a line has in addition to the thread itself. */
struct thread_row {
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
WEFT_SUSPENDS static int read_words(struct wl_store *s, struct thread_row *m, struct upp_err *err)
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
    struct thread_row *m = arg;
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

static void write_thread(void *row, struct wb_arena *a, struct wj_writer *w)
{
    const struct thread_row *m = row;
    const struct wl_thread *t = m->thread;
    struct upp_str metadata = t->metadata.n ? t->metadata : UPP_STR("{}");
    char id[64];
    (void)a;
    wj_put_str(w, "id", wb_cstr(cli_id("thread_", t->id, id)));
    wj_write_name(w, UPP_STR("created"));
    wm_time_write(w, t->created_ms);
    wj_write_name(w, UPP_STR("updated"));
    wm_time_write(w, t->updated_ms);
    if (m->agent.n)
        wj_put_str(w, "agent", m->agent);
    else
        wj_put_null(w, "agent");
    wj_put_u64(w, "entries", m->path.length);
    wj_put_str(w, "title", t->title);
    if (m->words.n)
        wj_put_str(w, "first_words", wb_str_sub(m->words, 0, wb_utf8_cut(m->words, WORDS)));
    wj_put_raw(w, "metadata", metadata.p, metadata.n);
}

static const struct cli_column columns[] = {
    {.title = "THREAD"},
    {.title = "CHANGED", .may_go = true},
    {.title = "AGENT", .width = 12},
    {.title = "ENTRIES", .width = 6, .right = true},
    {.title = "TITLE"},
};

static void thread_cells(void *row, struct wb_arena *a, struct cli_cell *ret)
{
    const struct thread_row *m = row;
    const struct wl_thread *t = m->thread;
    char id[64];
    ret[0] = (struct cli_cell){wb_arena_printf(a, "%s", cli_id("thread_", t->id, id)), CLI_CYAN, 0};
    ret[1] = (struct cli_cell){cli_time_text(t->updated_ms, a), CLI_DIM, 0};
    ret[2] = (struct cli_cell){m->agent.n ? m->agent : UPP_STR("-"), CLI_PLAIN, 0};
    ret[3] = (struct cli_cell){wb_arena_printf(a, "%u", m->path.length), CLI_PLAIN, 0};
    ret[4] = t->title.n ? (struct cli_cell){t->title, CLI_BOLD, 0} : (struct cli_cell){m->words, CLI_PLAIN, WORDS};
}

static const struct cli_list_kind threads = {
    .noun = "thread", .columns = columns, .n_columns = WB_LEN(columns), .cells = thread_cells, .members = write_thread};

static void thread_row_done(struct thread_row *m)
{
    wb_arena_done(&m->arena);
}

WEFT_SUSPENDS static int list_thread(struct cli_reader *rd, const struct wl_thread *t, struct upp_err *err)
{
    struct thread_list *l = rd->arg;
    WB_CLEANUP(thread_row_done) struct thread_row m = {.rd = rd, .thread = t, .arena = WB_ARENA(WORDS_BYTES)};
    int r = wl_store_at_once(rd->store, read_more, &m, err);
    return r < 0 ? r : cli_list_row(&l->list, &m, &m.arena, err);
}

WEFT_SUSPENDS static int list_threads(struct cli_reader *rd, struct upp_err *err)
{
    struct thread_list *l = rd->arg;
    struct wb_uuid after = {{0}};
    for (size_t n = rd->store ? PAGE : 0; n == PAGE;) {
        struct wl_thread *t;
        wb_arena_reset(&rd->arena);
        int r = wl_list_threads(rd->store, &rd->owner, after, PAGE, &rd->arena, &t, &n, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < n; i++) {
            after = t[i].id;
            if (t[i].kind != WL_MAIN)
                continue;
            if (cli_list_full(&l->list))
                return 0;
            r = list_thread(rd, &t[i], err);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static int run_threads(const struct cli_command *self, int argc, char **argv)
{
    struct thread_list l = {0};
    int bad = cli_parse(self, argc, argv, &l, NULL, 0, NULL);
    if (!bad)
        bad = cli_list_begin(&l.list, self, &threads);
    return bad ? bad : cli_list_end(&l.list, cli_read_store(self, &l.from, true, list_threads, &l));
}

static const struct cli_option threads_options[] = {
    CLI_LIMIT_OPTION(struct thread_list, list),
    CLI_FLAG("--json", struct thread_list, list.json,
             "one object per line: id, created, updated, agent, entries, title, first_words, metadata"),
    CLI_SOURCE_OPTIONS(struct thread_list, from),
};

const struct cli_command cli_threads = {
    .name = "threads",
    .usage = "[--limit N] [--tenant T] [--user U] [--json] [--config FILE] [--store URL]",
    .summary = "lists the threads of the store",
    .help = "Prints one line per thread, most recently changed first: id, time of the change, agent of its last run, "
            "number\n"
            "of entries, and its title or the first words of its first user message.\n"
            "The database can be read while a server uses it.",
    .run = run_threads,
    CLI_OPTIONS(threads_options),
    .examples = "weft threads\n"
                "weft threads --limit 0 --json\n",
};
