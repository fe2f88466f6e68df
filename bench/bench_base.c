/* bench/bench_base.c — what the base layer costs, each beside the floor it cannot go below.
 *
 * Floor and product run in turns, so that a slow moment of the machine meets both; the medians are compared. Times
 * are CPU time of this thread. Exits with 1 when a goal is missed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/defs.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/uuid.h"

enum { ROUNDS = 11 };

static double cpu_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double time_of(void (*run)(size_t), size_t n)
{
    double from = cpu_ns();
    run(n);
    return (cpu_ns() - from) / (double)n;
}

static bool missed;

/* `name value unit floor ratio goal ok|MISSED`; a goal of 0 is none. Values are nanoseconds for one. */
static void compare(const char *name, void (*floor)(size_t), void (*product)(size_t), size_t n, double goal)
{
    double low[ROUNDS], high[ROUNDS];
    floor(n / 10 + 1), product(n / 10 + 1); /* warm */
    for (int i = 0; i < ROUNDS; i++) {
        low[i]  = time_of(floor, n);
        high[i] = time_of(product, n);
    }
    qsort(low, ROUNDS, sizeof low[0], by_value);
    qsort(high, ROUNDS, sizeof high[0], by_value);
    double f = low[ROUNDS / 2], p = high[ROUNDS / 2];
    bool   ok = goal <= 0 || p <= goal;
    missed |= !ok;
    (void)printf("%-28s %9.2f ns  floor %9.2f  ratio %6.2f  goal ", name, p, f, f > 0 ? p / f : 0);
    (void)(goal > 0 ? printf("<= %.0f ns  %s\n", goal, ok ? "ok" : "MISSED") : printf("none\n"));
}

/* Keeps the compiler from dropping what is measured. */
static void keep(const void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

/* ---- UUIDv4: the floor is 16 random bytes each from one getrandom of 4 KiB, and their copy ----- */

static void bare_random(size_t n)
{
    static unsigned char bytes[4096];
    unsigned char        id[16];
    for (size_t i = 0; i < n; i++) {
        if (i % 256 == 0 && getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
            abort();
        memcpy(id, bytes + i % 256 * 16, sizeof id);
        keep(id);
    }
}

static void uuid_new_and_text(size_t n)
{
    char           out[WB_UUID_TEXT + 1];
    struct wb_uuid u;
    for (size_t i = 0; i < n; i++) {
        if (wb_uuid_new(&u, NULL) < 0)
            abort();
        keep(wb_uuid_text(u, out).p);
    }
}

/* ---- Text and bytes, by the KiB: the floor is a copy ------------------------------------------- */

static char ascii[1024], mixed[1024], copy[2048];

static void copy_kib(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(copy, ascii, sizeof ascii);
        keep(copy);
    }
}

static void validate_ascii(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!wb_utf8_valid(wb_str(ascii, sizeof ascii), NULL))
            abort();
        keep(ascii);
    }
}

static void validate_mixed(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!wb_utf8_valid(wb_str(mixed, sizeof mixed), NULL))
            abort();
        keep(mixed);
    }
}

static struct wb_buf text = WB_BUF(4096), bytes = WB_BUF(4096);

static void encode_base64(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        wb_buf_clear(&text);
        wb_base64_add(&text, wb_str(mixed, sizeof mixed), WB_BASE64);
        keep(text.p);
    }
}

static void decode_base64(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        wb_buf_clear(&bytes);
        if (wb_base64_decode(wb_buf_str(&text), &bytes, NULL) < 0)
            abort();
        keep(bytes.p);
    }
}

/* ---- Log lines: the floor of a line is writing as many bytes, of no line an empty loop ---------- */

static int null_fd;

static void nothing(size_t n)
{
    for (size_t i = 0; i < n; i++)
        keep(&i);
}

static void log_off(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        wb_log(WB_DEBUG, "asked", WB_LS("run", UPP_STR("2c1e")), WB_LU("step", i));
        keep(&i);
    }
}

static void write_line(size_t n)
{
    static const char line[] = "time=2026-02-03T04:05:06.789Z level=info msg=\"run started\" "
                               "run=01234567-89ab-4cde-8f01-23456789abcd model=gpt step=100000 ms=12.5\n";
    for (size_t i = 0; i < n; i++)
        if (write(null_fd, line, sizeof line - 1) < 0)
            abort();
}

static void log_line(size_t n)
{
    WB_LOG_CTX(WB_LZ("run", "01234567-89ab-4cde-8f01-23456789abcd"));
    for (size_t i = 0; i < n; i++)
        wb_log(WB_INFO, "run started", WB_LZ("model", "gpt"), WB_LU("step", i), WB_LD("ms", 12.5));
}

static void log_json(size_t n)
{
    wb_log_setup(WB_INFO, WB_LOG_JSON, null_fd);
    log_line(n);
    wb_log_setup(WB_INFO, WB_LOG_TEXT, null_fd);
}

int main(void)
{
    null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    wb_log_setup(WB_INFO, WB_LOG_TEXT, null_fd);
    memset(ascii, 'x', sizeof ascii);
    for (size_t i = 0; i + 3 <= sizeof mixed; i += 3)
        memcpy(mixed + i, "\xe2\x82\xac", 3);
    mixed[sizeof mixed - 1] = 'x';
    compare("uuid4 and its text", bare_random, uuid_new_and_text, 200000, 100);
    compare("utf8 valid, 1 KiB ascii", copy_kib, validate_ascii, 200000, 0);
    compare("utf8 valid, 1 KiB of euros", copy_kib, validate_mixed, 20000, 0);
    compare("base64 encode, 1 KiB", copy_kib, encode_base64, 20000, 0);
    compare("base64 decode, to 1 KiB", copy_kib, decode_base64, 20000, 0);
    compare("log line, filtered out", nothing, log_off, 2000000, 5);
    compare("log line, text", write_line, log_line, 20000, 0);
    compare("log line, json", write_line, log_json, 20000, 0);
    wb_buf_done(&text);
    wb_buf_done(&bytes);
    return missed;
}
