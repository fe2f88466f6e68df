/* bench/bench_json.c — what shapes cost beside bare yyjson.
 *
 * A document of 1,000 messages: questions, answers with tool calls, results, each with about 300 bytes of text; and the
 * same with 40, which is nearly all structure. Both sides start without memory and end without.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "json/read.h"
#include "json/write.h"
#include "bench.h"
#include "support/chat.h"

enum { MESSAGES = 1000 };

static unsigned random_state = 12345;

static unsigned random_below(unsigned n)
{
    random_state = random_state * 1103515245u + 12345u;
    return (random_state >> 16) % n;
}

/* About n bytes of prose as JSON: words, now and then a line break, a quotation, a letter beyond ASCII. */
static void add_prose(struct wb_buf *b, size_t n)
{
    static const char *const words[] = {
        "the",   "agent", "answered",       "with",        "a",           "list",   "of", "files",
        "and",   "asked", "whether",        "to",          "continue",    "before", "it", "looked",
        "again", "\\n",   "\\\"quoted\\\"", "caf\xc3\xa9", "\xe2\x80\x94"};
    for (size_t end = b->n + n; b->n < end;) {
        unsigned i = random_below(100);
        wb_buf_addf(b, "%s ", words[i < 96 ? i % 17 : 17 + i % 4]);
    }
}

static void add_id(struct wb_buf *b, const char *prefix)
{
    wb_buf_addf(b, "\"%s_%04x%04x%04x%04x\"", prefix, random_below(65536), random_below(65536), random_below(65536),
                random_below(65536));
}

/* One message: a question, an answer with a tool call, or its result; with `prose` bytes of text. */
static void add_message(struct wb_buf *b, int i, size_t prose)
{
    wb_buf_addf(b, "{\"id\":");
    add_id(b, "msg");
    if (i % 4 == 0) {
        wb_buf_addf(b, ",\"role\":\"user\",\"content\":\"");
        add_prose(b, prose);
        wb_buf_addf(b, "\"");
    } else if (i % 2) {
        wb_buf_addf(b, ",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"");
        add_prose(b, prose);
        wb_buf_addf(b, "\"},{\"type\":\"tool_call\",\"id\":");
        add_id(b, "call");
        wb_buf_addf(b,
                    ",\"name\":\"search_files\",\"args\":{\"path\":\"/srv/data/%u\",\"limit\":%u,\"deep\":true,"
                    "\"filter\":{\"kind\":\"text\",\"score\":0.%u}}}],\"usage\":{\"input_tokens\":%u,"
                    "\"output_tokens\":%u,\"cost\":0.00%u,\"cached\":0}",
                    random_below(1000), random_below(100), 1 + random_below(9), random_below(5000), random_below(900),
                    1 + random_below(99));
    } else {
        wb_buf_addf(b, ",\"role\":\"tool\",\"content\":[{\"type\":\"tool_result\",\"id\":");
        add_id(b, "call");
        wb_buf_addf(b, ",\"content\":\"");
        add_prose(b, prose);
        wb_buf_addf(b, "\",\"failed\":false}]");
    }
    wb_buf_addf(b, ",\"metadata\":{\"created\":%d,\"model\":\"m-1\",\"stop\":null}}", 1700000000 + i);
}

static void make(struct wb_buf *b, size_t prose)
{
    wb_buf_addf(b, "{\"id\":\"chat_1\",\"title\":\"A talk\",\"version\":2,\"messages\":[");
    for (int i = 0; i < MESSAGES; i++) {
        if (i)
            wb_buf_addc(b, ',');
        add_message(b, i, prose);
    }
    wb_buf_addf(b, "],\"tags\":[\"bench\"]}");
    if (wb_buf_check(b, NULL) < 0)
        abort();
}

static void bare_once(struct upp_str text)
{
    size_t n = 0;
    yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
    char *out = yyjson_write(doc, 0, &n);
    if (!out || n < text.n / 2)
        abort();
    free(out);
    yyjson_doc_free(doc);
}

static void shapes_once(struct upp_str text)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64u << 20);
    struct chat c;
    yyjson_val *v;
    if (wj_read(&a, text, NULL, &v, NULL) < 0 || WJ_DECODE(&a, chat, v, NULL, &c, NULL) < 0 ||
        wj_write(v, &b, NULL) < 0 || b.n != text.n)
        abort();
}

static void bare_read_once(struct upp_str text)
{
    yyjson_doc_free(yyjson_read(text.p, text.n, 0));
}

static void shapes_read_once(struct upp_str text)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct chat c;
    yyjson_val *v;
    if (wj_read(&a, text, NULL, &v, NULL) < 0 || WJ_DECODE(&a, chat, v, NULL, &c, NULL) < 0)
        abort();
}

static struct upp_str document; /* that is measured now */

#define OFTEN(name)                                                                                                    \
    static void name(unsigned times)                                                                                   \
    {                                                                                                                  \
        while (times--)                                                                                                \
            name##_once(document);                                                                                     \
    }
OFTEN(bare)
OFTEN(shapes)
OFTEN(bare_read)
OFTEN(shapes_read)

int main(void)
{
    /* The heap keeps what is freed, for both sides: page faults are the kernel's time, and vary more than ours. */
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 30);
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 30);

    WB_CLEANUP(wb_buf_done) struct wb_buf talk = WB_BUF(64u << 20), terse = WB_BUF(64u << 20);
    make(&talk, 300);
    make(&terse, 40);
    document = wb_buf_str(&talk);
    BENCH(.name = "json shapes, chat", .product = shapes, .floor = bare, .times = 30, .bytes = (double)document.n,
          .goal_ratio = 0.6);
    BENCH(.name = "json decode only, chat", .product = shapes_read, .floor = bare_read, .times = 30,
          .bytes = (double)document.n);
    document = wb_buf_str(&terse);
    BENCH(.name = "json shapes, terse", .product = shapes, .floor = bare, .times = 30, .bytes = (double)document.n);
    BENCH(.name = "json decode only, terse", .product = shapes_read, .floor = bare_read, .times = 30,
          .bytes = (double)document.n);
    return 0;
}
