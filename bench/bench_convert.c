/* bench/bench_convert.c — a thread of 10 MB from every dialect to every other, beside bare yyjson, which parses and
 * writes the same bytes; and validating it, beside parsing alone.
 *
 * The clock only reports: a document of that size is as fast as memory is, and as the machine's other guests let it be.
 * The goal is one of instructions (bench/instructions counts them).
 *
 *     bench_convert FROM TO TIMES         one pair alone, of 1 MB, for callgrind
 *     bench_convert FROM bare TIMES       yyjson with the same bytes; also validate and parse
 *     bench_convert FROM bytes 0          how many there are in that document
 */
#include <malloc.h>
#include <string.h>
#include <yyjson.h>

#include "bench.h"
#include "dialects/core/convert.h"

enum { BYTES = 10 << 20, ALONE = 1 << 20, TEXT = 240, ROOM = 256 << 20, ROUNDS = 3 };

static struct wb_buf document = WB_BUF(ROOM); /* in the dialect `from` */
static const struct wd_document_ops *from, *to;

static void fail(const char *what, const struct upp_err *err)
{
    (void)fprintf(stderr, "bench_convert: %s: %s %s\n", what, err->where, err->msg);
    exit(1);
}

static void add_text(struct wb_buf *b, int i)
{
    static const char *const words[] = {"the",   "agent",        "read",        "src/main.c",    "and",
                                        "found", "two",          "calls",       "that",          "never",
                                        "free",  "na\xc3\xafve", "caf\xc3\xa9", "\\\"patch\\\"", "ok?"};
    size_t from_ = b->n;
    for (int k = i * 7; b->n - from_ < TEXT; k++)
        wb_buf_addf(b, "%s ", words[(size_t)k % WB_LEN(words)]);
}

/* A question, a call, its result, an answer; with the members that ThreadProtocol's own example has. */
static void add_turns(struct wb_buf *b, int i)
{
    wb_buf_addf(b,
                "%s{\"turn_type\":\"user\",\"submitted_at\":\"2026-01-01T00:00:00Z\",\"parts\":[{\"part_kind\":\"user-"
                "prompt\",\"content\":\"",
                i ? "," : "");
    add_text(b, i);
    wb_buf_add(b, UPP_STR("\"}]},{\"turn_type\":\"agent\",\"agent_id\":\"a\",\"started_at\":\"2026-01-01T00:00:00Z\","
                          "\"completed_at\":\"2026-01-01T00:00:00Z\",\"messages\":[{\"message_type\":\"response\","
                          "\"timestamp\":\"2026-01-01T00:00:00Z\",\"agent_id\":\"a\",\"model_name\":\"m-1\",\"usage\":{"
                          "\"input_tokens\":120,\"output_tokens\":45,\"total_tokens\":165},\"parts\":[{\"part_kind\":"
                          "\"text\",\"content\":\""));
    add_text(b, i + 1);
    wb_buf_addf(
        b,
        "\"},{\"part_kind\":\"tool-call\",\"tool_name\":\"read\",\"tool_call_id\":\"call_%d\",\"args\":{\"path\":"
        "\"src/main.c\",\"line\":%d}}]},{\"message_type\":\"request\",\"timestamp\":\"2026-01-01T00:00:00Z\","
        "\"agent_id\":\"a\",\"parts\":[{\"part_kind\":\"tool-return\",\"tool_name\":\"read\",\"tool_call_id\":"
        "\"call_%d\",\"status\":\"success\",\"content\":{\"text\":\"",
        i, i, i);
    add_text(b, i + 2);
    wb_buf_add(
        b, UPP_STR("\"}}]},{\"message_type\":\"response\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"agent_id\":\"a\","
                   "\"parts\":[{\"part_kind\":\"text\",\"content\":\""));
    add_text(b, i + 3);
    wb_buf_add(b, UPP_STR("\"}]}],\"total_usage\":{\"input_tokens\":120,\"output_tokens\":45,\"total_tokens\":165}}"));
}

static void make(struct wb_buf *b, size_t bytes)
{
    wb_buf_add(
        b, UPP_STR("{\"version\":\"2.0.0\",\"thread_id\":\"t\",\"created_at\":\"2026-01-01T00:00:00Z\",\"updated_at\":"
                   "\"2026-01-01T00:00:00Z\",\"agents\":{\"a\":{\"agent_id\":\"a\",\"agent_name\":\"A\",\"created_at\":"
                   "\"2026-01-01T00:00:00Z\"}},\"turns\":["));
    for (int i = 0; b->n < bytes; i++)
        add_turns(b, i);
    wb_buf_add(b, UPP_STR("]}"));
}

static size_t convert(const struct wd_document_ops *a, struct upp_str text, const struct wd_document_ops *b,
                      struct wb_buf *out)
{
    struct upp_err err = {0};
    struct wd_document d = {0};
    struct wb_arena said = WB_ARENA(ROOM);
    struct wd_losses losses = {.a = &said};
    if (wd_document_read(&d, a, text, NULL, &err) < 0 || wd_document_write(&d, b, NULL, out, &losses, &err) < 0)
        fail(b->name, &err);
    wd_losses_done(&losses);
    wb_arena_done(&said);
    wd_document_done(&d);
    return out->n;
}

static void product(unsigned times)
{
    while (times--) {
        struct wb_buf out = WB_BUF(ROOM);
        (void)convert(from, wb_buf_str(&document), to, &out);
        wb_buf_done(&out);
    }
}

static void bare(unsigned times)
{
    while (times--) {
        size_t n;
        yyjson_doc *doc = yyjson_read(document.p, document.n, 0);
        char *text = doc ? yyjson_write(doc, 0, &n) : NULL;
        if (!text)
            exit(1);
        free(text);
        yyjson_doc_free(doc);
    }
}

static void validate(unsigned times)
{
    while (times--) {
        struct upp_err err;
        struct wb_arena a = WB_ARENA(0x7fffffff);
        struct wd_problems p;
        const struct wd_document_ops *ops;
        if (wd_document_validate(from, wb_buf_str(&document), &a, &p, &ops, &err) < 0 || p.errors)
            fail(from->name, &err);
        wd_problems_done(&p);
        wb_arena_done(&a);
    }
}

static void parse(unsigned times)
{
    while (times--)
        yyjson_doc_free(yyjson_read(document.p, document.n, 0));
}

/* What is held when all of it is written, over the document's own bytes. */
static double memory(void)
{
    struct mallinfo2 before = mallinfo2();
    struct upp_err err;
    struct wb_buf out = WB_BUF(ROOM);
    struct wd_document d = {0};
    if (wd_document_read(&d, from, wb_buf_str(&document), NULL, &err) < 0 ||
        wd_document_write(&d, to, NULL, &out, NULL, &err) < 0)
        fail("memory", &err);
    struct mallinfo2 now = mallinfo2();
    double used = (double)(now.uordblks + now.hblkhd - before.uordblks - before.hblkhd) / (double)document.n;
    wb_buf_done(&out);
    wd_document_done(&d);
    return used;
}

/* Messages of parts, as the model has them, or nearly: between these nothing is taken apart. The others divide a
 * message into several objects, or have a message in another's metadata, and so write and read more than was said. */
static const char *const of_messages[] = {"thread", "pydantic", "ui", "envelope", "upp", "uap"};

static bool keeps_messages(const struct wd_document_ops *ops)
{
    for (size_t i = 0; i < WB_LEN(of_messages); i++)
        if (strcmp(of_messages[i], ops->name) == 0)
            return true;
    return false;
}

/* Few rounds, as each is long: the best of each is the one that was disturbed least. */
static void row(const char *name, void (*fn)(unsigned), void (*floor)(unsigned), double goal, double held)
{
    double best = 0, least = 0;
    for (int i = 0; i < ROUNDS; i++) {
        double low = bench_once(floor, 1), ns = bench_once(fn, 1);
        best = i && best < ns ? best : ns;
        least = i && least < low ? least : low;
    }
    (void)printf("%-24s %5.0f MB/s  ratio %4.2f by the clock, goal >= %.2f in instructions", name,
                 (double)document.n * 1e3 / best, least / best, goal);
    if (held > 0)
        (void)printf("  memory %4.1f x  goal <= 8  %s", held, held <= 8 ? "ok" : "MISSED");
    (void)printf("\n");
    (void)fflush(stdout);
}

static void rows(void)
{
    char name[64];
    for (size_t k = 0; (to = wd_document_at(k)); k++) {
        (void)snprintf(name, sizeof name, "%s -> %s", from->name, to->name);
        row(name, product, bare, keeps_messages(from) && keeps_messages(to) ? 0.5 : 0.25, memory());
    }
    (void)snprintf(name, sizeof name, "validate %s", from->name);
    row(name, validate, parse, 0.6, 0);
}

/* For callgrind. */
static void alone(const char *what, unsigned times)
{
    to = wd_document_find(wb_cstr(what));
    if (to)
        product(times);
    else if (strcmp(what, "bare") == 0)
        bare(times);
    else if (strcmp(what, "parse") == 0)
        parse(times);
    else if (strcmp(what, "validate") == 0)
        validate(times);
    else
        (void)printf("%zu\n", document.n);
}

int main(int argc, char **argv)
{
    struct wb_buf thread = WB_BUF(ROOM);
    make(&thread, argc > 3 ? ALONE : BYTES);
    for (size_t i = 0; (from = wd_document_at(i)); i++) {
        if (argc > 1 && strcmp(argv[1], from->name) != 0)
            continue;
        wb_buf_clear(&document);
        (void)convert(wd_document_at(0), wb_buf_str(&thread), from, &document);
        if (argc > 3)
            alone(argv[2], (unsigned)atoi(argv[3]));
        else
            rows();
    }
    wb_buf_done(&thread);
    wb_buf_done(&document);
    return 0;
}
