/* bench/bench_session.c — a tree of 1,000 messages to JSON and back, beside bare yyjson on the same bytes.
 *
 * The floor of writing is yyjson's writer over the same document, parsed before; the floor of reading is its parser.
 * Both sides start without memory and end without.
 *
 *     bench_session write|read|bare-write|bare-read TIMES     one of them alone, for callgrind
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/tree.h>
#include <yyjson.h>

#include "bench.h"

enum { MESSAGES = 1000, TEXT = 240 };

static struct weft_tree *tree;
static struct upp_str    document; /* the tree's */
static yyjson_doc       *bare;     /* the same */

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
    char           text[TEXT + 64];
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
    size_t                    n;
    while (times--)
        if (weft_tree_history(tree, &list, &n, NULL) < 0 || n != MESSAGES)
            abort();
}

static void branch(unsigned times)
{
    while (times) {
        UPP_CLEANUP(weft_tree_freep) struct weft_tree *t = NULL;
        struct upp_str                                 id;
        if (weft_tree_new(&t, NULL) < 0)
            abort();
        for (unsigned i = 0; i < 1000 && times; i++, times--)
            if (weft_tree_branch(t, weft_node_id(weft_tree_root(t)), "b", &id, NULL) < 0)
                abort();
    }
}

static int alone(const char *what, unsigned times)
{
    static const struct {
        const char *name;
        void (*run)(unsigned);
    } all[] = {{"write", write_tree}, {"read", read_tree}, {"bare-write", bare_write}, {"bare-read", bare_read}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(what, all[i].name) == 0)
            return all[i].run(times), 0;
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
        BENCH(.name = "branch", .product = branch, .times = 10000);
    }
    yyjson_doc_free(bare);
    upp_text_free(document);
    weft_tree_free(tree);
    return r;
}
