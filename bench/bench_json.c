/* bench/bench_json.c — what shapes cost beside bare yyjson.
 *
 * A document of 1,000 messages: questions, answers with tool calls, results, each with about 300 bytes of text; and the
 * same with 40, which is nearly all structure. Floor and product run in turns, so that a slow moment of the machine
 * meets both, and the median of the ratios of neighbours counts (CPU time). Both start without memory and end without.
 * Exits with 1 when a goal is missed.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "json/read.h"
#include "support/chat.h"

enum { ROUNDS = 101, TIMES = 8, MESSAGES = 1000 };

static double cpu_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* ---- Documents ------------------------------------------------------------------------------------ */

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

/* ---- Floor and product ------------------------------------------------------------------------------ */

static void bare(struct upp_str text)
{
    size_t      n   = 0;
    yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
    char       *out = yyjson_write(doc, 0, &n);
    if (!out || n < text.n / 2)
        abort();
    free(out);
    yyjson_doc_free(doc);
}

static void shapes(struct upp_str text)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf     b = WB_BUF(64u << 20);
    struct chat                               c;
    yyjson_val                               *v;
    if (wj_read(&a, text, NULL, &v, NULL) < 0 || WJ_DECODE(&a, chat, v, NULL, &c, NULL) < 0 ||
        !wb_buf_reserve(&b, text.n + 64) || WJ_ENCODE(chat, &c, &b, NULL) < 0 || b.n != text.n)
        abort();
}

static void bare_read(struct upp_str text)
{
    yyjson_doc_free(yyjson_read(text.p, text.n, 0));
}

static void shapes_read(struct upp_str text)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct chat                               c;
    yyjson_val                               *v;
    if (wj_read(&a, text, NULL, &v, NULL) < 0 || WJ_DECODE(&a, chat, v, NULL, &c, NULL) < 0)
        abort();
}

static double gb_per_s(void (*run)(struct upp_str), struct upp_str text, unsigned times)
{
    double from = cpu_s();
    for (unsigned i = 0; i < times; i++)
        run(text);
    return (double)text.n * times / (cpu_s() - from) / 1e9;
}

/* `name value unit floor ratio goal ok|MISSED`; a goal of 0 is none. */
static bool compare(const char    *name, void (*floor)(struct upp_str), void (*product)(struct upp_str),
                    struct upp_str text, double goal)
{
    double low[ROUNDS], high[ROUNDS], ratios[ROUNDS];
    floor(text), product(text); /* warm */
    for (int i = 0; i < ROUNDS; i++) {
        low[i]    = gb_per_s(floor, text, TIMES);
        high[i]   = gb_per_s(product, text, TIMES);
        ratios[i] = high[i] / low[i];
    }
    qsort(low, ROUNDS, sizeof low[0], by_value);
    qsort(high, ROUNDS, sizeof high[0], by_value);
    qsort(ratios, ROUNDS, sizeof ratios[0], by_value);
    double f = low[ROUNDS / 2], p = high[ROUNDS / 2], ratio = ratios[ROUNDS / 2];
    bool   ok = goal <= 0 || ratio >= goal;
    (void)printf("%-28s %9.2f GB/s  floor %9.2f  ratio %6.2f  goal ", name, p, f, ratio);
    (void)(goal > 0 ? printf(">= %.2f  %s\n", goal, ok ? "ok" : "MISSED") : printf("none\n"));
    return ok;
}

int main(void)
{
    /* The heap keeps what is freed, for both sides: page faults are the kernel's time, and vary more than ours. */
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 30);
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 30);

    WB_CLEANUP(wb_buf_done) struct wb_buf talk = WB_BUF(64u << 20), terse = WB_BUF(64u << 20);
    make(&talk, 300);
    make(&terse, 40);
    bool ok = compare("json shapes, chat", bare, shapes, wb_buf_str(&talk), 0.6);
    (void)compare("json shapes, terse", bare, shapes, wb_buf_str(&terse), 0);
    (void)compare("json decode only, chat", bare_read, shapes_read, wb_buf_str(&talk), 0);
    (void)compare("json decode only, terse", bare_read, shapes_read, wb_buf_str(&terse), 0);
    return ok ? 0 : 1;
}
