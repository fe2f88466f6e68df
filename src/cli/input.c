/* cli/input.c — reads a file or standard input, whole or line by line, up to a limit. */
#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hooks.h"

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
