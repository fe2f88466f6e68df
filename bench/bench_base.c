/* bench/bench_base.c — what the base layer costs, each beside the floor it cannot go below. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/defs.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "bench.h"

/* ---- UUIDv4: the floor is 16 random bytes each from one getrandom of 4 KiB, and their copy ----- */

static void bare_random(unsigned n)
{
    static unsigned char bytes[4096];
    unsigned char id[16];
    for (size_t i = 0; i < n; i++) {
        if (i % 256 == 0 && getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
            abort();
        memcpy(id, bytes + i % 256 * 16, sizeof id);
        bench_keep(id);
    }
}

static void uuid_new_and_text(unsigned n)
{
    char out[WB_UUID_TEXT + 1];
    struct wb_uuid u;
    for (size_t i = 0; i < n; i++) {
        if (wb_uuid_new(&u, NULL) < 0)
            abort();
        bench_keep(wb_uuid_text(u, out).p);
    }
}

/* Text and bytes, by the KiB: the floor is a copy. */

static char ascii[1024], mixed[1024], copy[2048];

static void copy_kib(unsigned n)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(copy, ascii, sizeof ascii);
        bench_keep(copy);
    }
}

static void validate_ascii(unsigned n)
{
    for (size_t i = 0; i < n; i++) {
        if (!wb_utf8_valid(wb_str(ascii, sizeof ascii), NULL))
            abort();
        bench_keep(ascii);
    }
}

static void validate_mixed(unsigned n)
{
    for (size_t i = 0; i < n; i++) {
        if (!wb_utf8_valid(wb_str(mixed, sizeof mixed), NULL))
            abort();
        bench_keep(mixed);
    }
}

static struct wb_buf text = WB_BUF(4096), bytes = WB_BUF(4096);

static void encode_base64(unsigned n)
{
    for (size_t i = 0; i < n; i++) {
        wb_buf_clear(&text);
        wb_base64_add(&text, wb_str(mixed, sizeof mixed), WB_BASE64);
        bench_keep(text.p);
    }
}

static void decode_base64(unsigned n)
{
    for (size_t i = 0; i < n; i++) {
        wb_buf_clear(&bytes);
        if (wb_base64_decode(wb_buf_str(&text), &bytes, NULL) < 0)
            abort();
        bench_keep(bytes.p);
    }
}

/* Log lines: the floor of a line is writing as many bytes, of no line an empty loop. */

static int null_fd;

static void nothing(unsigned n)
{
    for (size_t i = 0; i < n; i++)
        bench_keep(&i);
}

static void log_off(unsigned n)
{
    for (size_t i = 0; i < n; i++) {
        wb_log(WB_DEBUG, "asked", WB_LS("run", UPP_STR("2c1e")), WB_LU("step", i));
        bench_keep(&i);
    }
}

static void write_line(unsigned n)
{
    static const char line[] = "time=2026-02-03T04:05:06.789Z level=info msg=\"run started\" "
                               "run=01234567-89ab-4cde-8f01-23456789abcd model=gpt step=100000 ms=12.5\n";
    for (size_t i = 0; i < n; i++)
        if (write(null_fd, line, sizeof line - 1) < 0)
            abort();
}

static void log_line(unsigned n)
{
    WB_LOG_CTX(WB_LZ("run", "01234567-89ab-4cde-8f01-23456789abcd"));
    for (size_t i = 0; i < n; i++)
        wb_log(WB_INFO, "run started", WB_LZ("model", "gpt"), WB_LU("step", i), WB_LD("ms", 12.5));
}

static void log_json(unsigned n)
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
    BENCH(.name = "uuid4 and its text", .product = uuid_new_and_text, .floor = bare_random, .times = 200000,
          .goal_ns = 100);
    BENCH(.name = "utf8 valid, 1 KiB ascii", .product = validate_ascii, .floor = copy_kib, .times = 200000);
    BENCH(.name = "utf8 valid, 1 KiB of euros", .product = validate_mixed, .floor = copy_kib, .times = 20000);
    BENCH(.name = "base64 encode, 1 KiB", .product = encode_base64, .floor = copy_kib, .times = 20000);
    BENCH(.name = "base64 decode, to 1 KiB", .product = decode_base64, .floor = copy_kib, .times = 20000);
    BENCH(.name = "log line, filtered out", .product = log_off, .floor = nothing, .times = 2000000, .goal_ns = 5);
    BENCH(.name = "log line, text", .product = log_line, .floor = write_line, .times = 20000);
    BENCH(.name = "log line, json", .product = log_json, .floor = write_line, .times = 20000);
    wb_buf_done(&text);
    wb_buf_done(&bytes);
    return 0;
}
