/* cli/errors.c — what a command writes on standard error: sentences, or with --json one object per line. */
#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/defs.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "json/write.h"

enum {
    SENTENCE = 1 << 20, /* an argument of a command has at most 128 KiB */
    SHOWN = 16 << 10    /* of each text, with --json */
};

/* What people typed or a file is called may be no UTF-8, and of any length. False: there is no memory for it. */
static bool put_text(struct wj_writer *w, const char *name, struct upp_str text)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf clean = WB_BUF(4u * SHOWN);
    size_t n = wb_utf8_cut(text, WB_MIN(text.n, (size_t)SHOWN));
    wb_utf8_add_clean(&clean, wb_str_sub(text, 0, n));
    if (n < text.n)
        wb_buf_add(&clean, UPP_STR("..."));
    wj_put_str(w, name, wb_buf_str(&clean));
    return !clean.failed;
}

/* False: there is no memory for it. */
static bool print_json(const struct cli_command *self, const struct cli_error *e)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(SENTENCE); /* more than three texts need */
    struct wj_writer w;
    wj_writer_init(&w, &out, NULL);
    wj_write_open(&w, '{');
    wj_put_open(&w, "error", '{');
    wj_put_str(&w, "command", wb_cstr(self->name));
    wj_put_str(&w, "code", wb_cstr(e->code));
    bool fits = put_text(&w, "message", e->message);
    if (e->file)
        fits = put_text(&w, "file", wb_cstr(e->file)) && fits;
    if (e->line)
        wj_put_u64(&w, "line", e->line);
    if (e->where && e->where[0])
        fits = put_text(&w, "where", wb_cstr(e->where)) && fits;
    wj_write_close(&w, '}');
    wj_write_close(&w, '}');
    if (wj_writer_check(&w) < 0 || !fits)
        return false;
    (void)fprintf(stderr, "%.*s\n", UPP_FMT(wb_buf_str(&out)));
    return true;
}

void cli_error_print(const struct cli_command *self, const struct cli_error *e)
{
    if (self->json && print_json(self, e))
        return;
    (void)fprintf(stderr, "weft %s: ", self->name);
    if (e->file)
        cli_print_text(stderr, wb_cstr(e->file), 0);
    if (e->line)
        (void)fprintf(stderr, ":%llu", (unsigned long long)e->line);
    if (e->where && e->where[0]) {
        (void)fputs(e->file ? ": " : "", stderr);
        cli_print_text(stderr, wb_cstr(e->where), 0);
    }
    (void)fputs(e->file || (e->where && e->where[0]) ? ": " : "", stderr);
    cli_print_text(stderr, e->message, 0);
    (void)putc('\n', stderr);
}

int cli_misuse(const struct cli_command *self, const char *fmt, ...)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(SENTENCE);
    va_list args;
    va_start(args, fmt);
    wb_buf_vaddf(&text, fmt, args);
    va_end(args);
    cli_error_print(self, &(struct cli_error){.code = "USAGE", .message = wb_buf_str(&text)});
    if (!self->json)
        (void)fprintf(stderr, "usage: weft %s%s%s\n", self->name, self->usage[0] ? " " : "", self->usage);
    return CLI_USAGE;
}

int cli_fail(const struct cli_command *self, const struct upp_err *err)
{
    cli_error_print(
        self, &(struct cli_error){.code = upp_code_name(err->code), .where = err->where, .message = wb_cstr(err->msg)});
    return CLI_FAILED;
}

void cli_note(const struct cli_command *self, const char *fmt, ...)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(SENTENCE);
    va_list args;
    if (self->quiet)
        return;
    va_start(args, fmt);
    wb_buf_vaddf(&text, fmt, args);
    va_end(args);
    (void)fprintf(stderr, "weft %s: ", self->name);
    cli_print_text(stderr, wb_buf_str(&text), 0);
    (void)putc('\n', stderr);
}
