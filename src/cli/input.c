/* cli/input.c — reads a file or standard input, whole or line by line, and the answers of the person at the terminal.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "cli/input.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hooks.h"
#include "cli/terminal.h"
#include "json/value.h"

enum { PIECE = 64 << 10 };

int cli_input_open(struct cli_input *in, const char *file, size_t max, struct upp_err *err)
{
    *in = (struct cli_input){.name = "-", .max = max, .text = WB_BUF(max + PIECE)};
    if (!file || strcmp(file, "-") == 0)
        return 0;
    in->name = file;
    do
        in->fd = WB_CALL(open)(file, O_RDONLY, 0);
    while (in->fd == -EINTR);
    if (in->fd < 0)
        return wb_fail_sys(err, in->fd, UPP_ENOTFOUND, "cannot open it");
    struct stat st;
    if (fstat(in->fd, &st) == 0 && S_ISREG(st.st_mode))
        in->size = (uint64_t)st.st_size;
    return 0;
}

void cli_input_close(struct cli_input *in)
{
    if (in->fd != 0)
        wb_fd_close(&in->fd);
    wb_buf_done(&in->text);
}

/* Reads what is available. */
static int more(struct cli_input *in, struct upp_err *err)
{
    int64_t n;
    if (!wb_buf_reserve(&in->text, PIECE))
        return wb_buf_check(&in->text, err);
    if (in->before)
        in->before();
    do
        n = WB_CALL(read)(in->fd, in->text.p + in->text.n, PIECE);
    while (n == -EINTR);
    if (n < 0)
        return wb_fail_sys(err, (int)n, UPP_ESTORE, "cannot read it");
    in->text.n += (size_t)n;
    in->bytes += (uint64_t)n;
    in->ended = n == 0;
    return 0;
}

int cli_input_all(struct cli_input *in, struct upp_str *ret, struct upp_err *err)
{
    while (!in->ended) {
        int r = more(in, err);
        if (r < 0)
            return r;
        if (in->text.n > in->max)
            return upp_fail(err, UPP_ELIMIT, "larger than %zu bytes", in->max);
    }
    *ret = wb_buf_str(&in->text);
    return 0;
}

/* Where the line that begins at `from` ends; SIZE_MAX: its end was not read yet. */
static size_t line_end(struct cli_input *in)
{
    const char *end = NULL;
    if (in->text.n > in->seen) /* nothing was read: the buffer is not allocated */
        end = memchr(in->text.p + in->seen, '\n', in->text.n - in->seen);
    in->seen = end ? (size_t)(end - in->text.p) : in->text.n;
    return end ? in->seen : SIZE_MAX;
}

static int make_room(struct cli_input *in, struct upp_err *err)
{
    if (in->skipping || in->from) {
        wb_buf_drop(&in->text, in->skipping ? in->text.n : in->from);
        in->from = 0;
        in->seen = in->text.n;
    }
    return more(in, err);
}

int cli_input_line(struct cli_input *in, struct upp_str *ret, struct upp_err *err)
{
    size_t end = line_end(in);
    while (end == SIZE_MAX && !in->ended) {
        int r = make_room(in, err);
        if (r < 0)
            return r;
        end = line_end(in);
        in->skipping |= (end == SIZE_MAX ? in->text.n : end) - in->from > in->max;
    }
    if (end == SIZE_MAX && in->from == in->text.n && !in->skipping)
        return 0;
    size_t n = (end == SIZE_MAX ? in->text.n : end) - in->from;
    *ret = wb_str_sub(wb_buf_str(&in->text), in->from, n);
    in->from += n + (end != SIZE_MAX);
    in->seen = in->from;
    in->lines++;
    if (!in->skipping)
        return 1;
    in->skipping = false;
    return upp_fail(err, UPP_ELIMIT, "longer than %zu bytes", in->max);
}

void cli_waiting_call(struct wb_buf *out, yyjson_val *item)
{
    yyjson_val *function = yyjson_obj_get(item, "function");
    cli_reveal(out, wj_text_at(function, "name"), 0);
    wb_buf_addc(out, ' ');
    cli_reveal(out, wj_text_at(function, "arguments"), 0);
}

bool cli_can_ask(void)
{
    return isatty(0) == 1 && isatty(2) == 1;
}

WEFT_SUSPENDS static int read_line(int fd, struct wb_buf *ret, struct upp_err *err)
{
    for (;;) {
        char bytes[256];
        int64_t n = weft_read(fd, bytes, sizeof bytes, err);
        if (n == -UPP_ECANCELED)
            return (int)n;
        if (n <= 0)
            return 0; /* the terminal is gone */
        const char *end = memchr(bytes, '\n', (size_t)n);
        wb_buf_add(ret, (struct upp_str){bytes, end ? (size_t)(end - bytes) : (size_t)n});
        if (ret->failed == -UPP_ELIMIT)
            return upp_fail(err, UPP_ELIMIT, "an answer has at most %zu bytes", ret->max);
        if (end || ret->failed)
            return wb_buf_check(ret, err);
    }
}

WEFT_SUSPENDS int cli_ask_person(const char *question, struct wb_buf *ret, struct upp_err *err)
{
    wb_buf_clear(ret);
    (void)fflush(stdout);
    /* A description of our own: that it does not block is no concern of the shell's. */
    int fd = open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return upp_fail(err, UPP_ENOTFOUND, "the terminal cannot be opened");
    (void)tcflush(fd, TCIFLUSH);
    (void)fputs(question, stderr);
    int r = read_line(fd, ret, err);
    wb_fd_close(&fd);
    return r;
}
