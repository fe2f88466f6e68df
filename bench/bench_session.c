/* bench/bench_session.c — a tree of 1,000 messages to JSON and back, beside bare yyjson on the same bytes; what a
 * session of 50 messages takes in memory.
 *
 * The floor of writing is yyjson's writer over the same document, parsed before; the floor of reading is its parser.
 * Both sides start without memory and end without.
 *
 * A hot session has its history in the memory of the process (the store of a runtime that was opened without one), a
 * cold one is open over a database. Bytes are those that the libraries asked for and have not given back, as the
 * allocator counts them; SQLite's cache is not among them.
 *
 *     bench_session write|read|bare-write|bare-read TIMES     one of them alone, for callgrind; nanoseconds for one
 */
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <upp/llm.h>
#include <weft/weft.h>
#include <yyjson.h>

#include "bench.h"

enum { MESSAGES = 1000, TEXT = 240, SESSIONS = 200, OF_SESSION = 50 };

static struct weft_tree *tree;
static struct upp_str document; /* the tree's */
static yyjson_doc *bare;        /* the same */

/* What a chat is made of: words, some escapes, some letters beyond ASCII. */
static size_t add_text(char *p, int i)
{
    static const char *const words[] = {
        "the",  "agent",   "read",         "file",        "src/main.c",   "and", "found",
        "two",  "calls",   "that",         "never",       "free",         "the", "buffer;",
        "next", "step:",   "\"patch\"",    "the",         "caller,",      "run", "tests,",
        "then", "report.", "na\xc3\xafve", "caf\xc3\xa9", "\xe2\x80\x94", "ok?", "path\\to\\x\n"};
    enum { N = sizeof words / sizeof words[0] };
    int n = snprintf(p, TEXT, "msg %d: ", i);
    for (int k = i * 7; n < TEXT; k++)
        n += sprintf(p + n, "%s ", words[k % N]);
    return (size_t)n;
}

static void make(void)
{
    char text[TEXT + 64];
    struct upp_err err;
    if (weft_tree_new(&tree, &err) < 0)
        abort();
    struct upp_thread *t = weft_node_thread(weft_tree_root(tree));
    for (int i = 0; i < MESSAGES; i++) {
        struct upp_str s = {text, add_text(text, i)};
        if ((i % 2 ? upp_thread_assistant : upp_thread_user)(t, s, &err) < 0)
            abort();
    }
    if (weft_tree_to_json(tree, &document, &err) < 0)
        abort();
    bare = yyjson_read(document.p, document.n, 0);
    if (!bare)
        abort();
}

static void write_tree(unsigned times)
{
    struct upp_str json;
    while (times--) {
        if (weft_tree_to_json(tree, &json, NULL) < 0 || json.n != document.n)
            abort();
        upp_text_free(json);
    }
}

static void bare_write(unsigned times)
{
    size_t n;
    while (times--) {
        char *p = yyjson_write(bare, 0, &n);
        if (!p || n != document.n)
            abort();
        free(p);
    }
}

static void read_tree(unsigned times)
{
    while (times--) {
        UPP_CLEANUP(weft_tree_freep) struct weft_tree *t = NULL;
        if (weft_tree_from_json(document, &t, NULL) < 0)
            abort();
    }
}

static void bare_read(unsigned times)
{
    while (times--)
        yyjson_doc_free(yyjson_read(document.p, document.n, 0));
}

static void history(unsigned times)
{
    const struct upp_message *list;
    size_t n;
    while (times--)
        if (weft_tree_history(tree, &list, &n, NULL) < 0 || n != MESSAGES)
            abort();
}

static void branch(unsigned times)
{
    while (times) {
        UPP_CLEANUP(weft_tree_freep) struct weft_tree *t = NULL;
        struct upp_str id;
        if (weft_tree_new(&t, NULL) < 0)
            abort();
        for (unsigned i = 0; i < 1000 && times; i++, times--)
            if (weft_tree_branch(t, weft_node_id(weft_tree_root(t)), "b", &id, NULL) < 0)
                abort();
    }
}

static _Atomic long long live; /* bytes */

static void *count_alloc(size_t n)
{
    void *p = malloc(n);
    live += p ? (long long)malloc_usable_size(p) : 0;
    return p;
}

static void *count_resize(void *p, size_t n)
{
    long long had = p ? (long long)malloc_usable_size(p) : 0;
    void *q = realloc(p, n);
    live += q ? (long long)malloc_usable_size(q) - had : 0;
    return q;
}

static void count_release(void *p)
{
    live -= p ? (long long)malloc_usable_size(p) : 0;
    free(p);
}

static struct weft_session *sessions[SESSIONS];
static char ids[SESSIONS][64];

static void must(int r, const struct upp_err *err)
{
    if (r >= 0)
        return;
    (void)fprintf(stderr, "bench_session: %s\n", err->msg);
    exit(1);
}

/* Messages as somebody brings them. */
static void tell(struct weft_session *s, struct upp_err *err)
{
    char text[TEXT + 64];
    struct weft_tree *t;
    must(weft_session_tree(s, &t, err), err);
    for (int i = 0; i < OF_SESSION; i++) {
        struct upp_str says = {text, add_text(text, i)};
        must((i % 2 ? upp_thread_assistant : upp_thread_user)(weft_node_thread(weft_tree_root(t)), says, err), err);
    }
    must(weft_session_save(s, err), err);
}

/* The same number, asked and answered. */
static void talk(struct weft_session *s, struct upp_err *err)
{
    char text[TEXT + 64];
    for (int i = 0; i < OF_SESSION / 2; i++) {
        UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
        must(weft_session_run(s, (struct upp_str){text, add_text(text, i)}, &turn, err), err);
    }
}

/* All of them, closed again; what the store keeps of them is in the figure. */
static void make_sessions(struct weft_agent *a, void (*fill_in)(struct weft_session *, struct upp_err *),
                          struct upp_err *err)
{
    for (int i = 0; i < SESSIONS; i++) {
        struct weft_session *s;
        must(weft_session_new(a, NULL, &s, err), err);
        (void)snprintf(ids[i], sizeof ids[i], "%.*s", UPP_FMT(weft_session_id(s)));
        fill_in(s, err);
        weft_session_close(s);
    }
}

static void open_sessions(struct weft_agent *a, struct upp_err *err)
{
    for (int i = 0; i < SESSIONS; i++)
        must(weft_session_open(a, (struct upp_str){ids[i], strlen(ids[i])}, NULL, &sessions[i], err), err);
}

static void memory_row(const char *name, long long bytes, double goal)
{
    double each = (double)bytes / SESSIONS;
    (void)printf("%-28s %9.0f bytes                            ", name, each);
    if (goal > 0)
        (void)printf("goal <= %.0f bytes  %s\n", goal, each <= goal ? "ok" : "MISSED");
    else
        (void)printf("goal none\n");
}

struct memory {
    const char *hot, *cold; /* names; NULL: not measured */
    double goal_hot, goal_cold;
    const char *store;
    void (*fill_in)(struct weft_session *, struct upp_err *);
};

static void measure_memory(const struct memory *m)
{
    struct weft_runtime *rt;
    struct upp_model *echo;
    struct weft_agent *a;
    struct upp_err err = {0};
    must(upp_scripted_new((struct upp_str){"{\"echo\":true}", 13}, &echo, &err), &err);
    must(weft_runtime_open(UPP_OPTS(weft_runtime_opts, .store = m->store), &rt, &err), &err);
    must(weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .use = echo), &a, &err), &err);
    make_sessions(a, m->fill_in, &err); /* those of earlier rounds stay: tables of the store have grown */
    long long before = live;
    make_sessions(a, m->fill_in, &err);
    long long stored = live;
    open_sessions(a, &err);
    if (m->hot)
        memory_row(m->hot, live - before, m->goal_hot);
    if (m->cold)
        memory_row(m->cold, live - stored, m->goal_cold);
    for (int i = 0; i < SESSIONS; i++)
        weft_session_close(sessions[i]);
    weft_runtime_close(rt);
    upp_model_free(echo);
}

static int measure_sessions(void)
{
    static const struct upp_hooks hooks = {
        .size = sizeof hooks, .alloc = count_alloc, .resize = count_resize, .release = count_release};
    char folder[] = "/tmp/bench_session_XXXXXX", url[96], remove[96];
    struct upp_err err = {0};
    if (!mkdtemp(folder))
        return 1;
    must(upp_global_init(&hooks, &err), &err); /* nothing lives of what was made before */
    (void)snprintf(url, sizeof url, "sqlite:%s/weft.db", folder);
    (void)snprintf(remove, sizeof remove, "rm -r %s", folder);
    const struct memory all[] = {
        {.hot = "hot session of 50", .goal_hot = 18 << 10, .fill_in = tell},
        {.hot = "  of 25 runs, with all rows", .fill_in = talk},
        {.cold = "cold session of 50", .goal_cold = 1 << 10, .store = url, .fill_in = tell},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        measure_memory(&all[i]);
    return system(remove) != 0;
}

static int alone(const char *what, unsigned times)
{
    static const struct {
        const char *name;
        void (*run)(unsigned);
    } all[] = {{"write", write_tree}, {"read", read_tree}, {"bare-write", bare_write}, {"bare-read", bare_read}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(what, all[i].name) == 0) {
            (void)printf("%.1f\n", bench_once(all[i].run, times));
            return 0;
        }
    return 2;
}

int main(int argc, char **argv)
{
    /* The heap keeps what is freed, for both sides: page faults are the kernel's time, and vary more than ours. */
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 30);
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
    make();
    int r = 0;
    if (argc == 3)
        r = alone(argv[1], (unsigned)atoi(argv[2]));
    else {
        BENCH(.name = "tree of 1,000 to JSON", .product = write_tree, .floor = bare_write, .times = 20,
              .goal_ns = 200e3, .goal_ratio = 1.5);
        BENCH(.name = "tree of 1,000 from JSON", .product = read_tree, .floor = bare_read, .times = 20,
              .goal_ns = 220e3, .goal_ratio = 1.5);
        BENCH(.name = "history of one node", .product = history, .times = 20000);
        BENCH(.name = "branch", .product = branch, .times = 10000, .goal_ns = 25e3);
    }
    yyjson_doc_free(bare);
    upp_text_free(document);
    weft_tree_free(tree);
    return argc == 3 ? r : measure_sessions();
}
