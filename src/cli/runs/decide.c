/* cli/runs/decide.c — shows a waiting call, and asks the person at the terminal about it. */
#include "cli/runs/decide.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/reveal.h"
#include "json/value.h"

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
