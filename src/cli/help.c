/* cli/help.c — the help of the commands, as text and as JSON, from their tables (cli.h). */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/defs.h"
#include "cli/cli.h"
#include "json/write.h"

enum { LINE = 110, AT_MOST = 26 /* columns of an option and its value */ };

const struct cli_option cli_common_options[] = {
    /* main.c takes them */
    {"--help", NULL, NULL, "says what the command does", 0, CLI_TEXT, NULL},
    {"--no-color", NULL, NULL, "no colours, also on a terminal (as do NO_COLOR and TERM=dumb)", 0, CLI_TEXT, NULL},
    {"--quiet", NULL, NULL, "no progress bars and no notes on standard error, only errors", 0, CLI_TEXT, NULL},
};
const size_t cli_n_common_options = WB_LEN(cli_common_options);

/* A text in lines of LINE columns, the second and further ones indented. */
static void print_wrapped(const char *text, int indent)
{
    struct upp_str rest = wb_cstr(text), word;
    size_t at = (size_t)indent;
    for (bool first = true; wb_str_split(&rest, ' ', &word); first = false) {
        if (!first && at + 1 + word.n > LINE) {
            (void)printf("\n%*s", indent, "");
            at = (size_t)indent;
            first = true;
        }
        at += (size_t)printf("%s%.*s", first ? "" : " ", UPP_FMT(word));
    }
    (void)printf("\n");
}

static size_t width(const struct cli_option *o)
{
    return strlen(o->name) + (o->value ? 1 + strlen(o->value) : 0);
}

static void print_options(const char *title, const struct cli_option *list, size_t n, size_t column)
{
    if (n)
        (void)printf("\n%s\n", title);
    for (size_t i = 0; i < n; i++) {
        (void)printf("  %s%s%s", list[i].name, list[i].value ? " " : "", list[i].value ? list[i].value : "");
        if (width(&list[i]) > column)
            (void)printf("\n%*s", (int)column + 4, "");
        else
            (void)printf("%*s", (int)(column + 2 - width(&list[i])), "");
        print_wrapped(list[i].help, (int)column + 4);
    }
}

void cli_help(const struct cli_command *c)
{
    size_t column = 0;
    for (size_t i = 0; i < c->n_options; i++)
        if (width(&c->options[i]) <= AT_MOST)
            column = WB_MAX(column, width(&c->options[i]));
    for (size_t i = 0; i < cli_n_common_options; i++)
        column = WB_MAX(column, width(&cli_common_options[i]));
    (void)printf("usage: weft %s%s%s\n\n%s\n", c->name, c->usage[0] ? " " : "", c->usage, c->help);
    print_options("Options:", c->options, c->n_options, column);
    print_options("Options of every command:", cli_common_options, cli_n_common_options, column);
    struct upp_str rest = wb_cstr(c->examples), line;
    if (c->examples)
        (void)printf("\nExamples:\n");
    while (c->examples && wb_str_split(&rest, '\n', &line) && line.n)
        (void)printf("  %.*s\n", UPP_FMT(line));
}

void cli_help_all(void)
{
    (void)printf("usage: weft COMMAND [ARGUMENT...]\n\n");
    for (size_t i = 0; i < cli_n_commands; i++)
        (void)printf("  %-10s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    (void)printf("\n`weft help COMMAND` tells more.\n");
}

static void put_words(struct wj_writer *w, const char *name, const char *const *words)
{
    if (!words)
        return;
    wj_put_open(w, name, '[');
    for (; *words; words++)
        wj_write_str(w, wb_cstr(*words));
    wj_write_close(w, ']');
}

static void put_kind(struct wj_writer *w, const char *name, uint8_t is)
{
    static const char *const kinds[] = {[CLI_TEXT] = "text",   [CLI_FILE] = "file",       [CLI_FOLDER] = "folder",
                                        [CLI_AGENT] = "agent", [CLI_DIALECT] = "dialect", [CLI_CHOICE] = "choice"};
    wj_put_str(w, name, wb_cstr(kinds[is]));
}

static void put_options(struct wj_writer *w, const struct cli_option *list, size_t n)
{
    wj_put_open(w, "options", '[');
    for (size_t i = 0; i < n; i++) {
        wj_write_open(w, '{');
        wj_put_str(w, "name", wb_cstr(list[i].name));
        if (list[i].value) {
            wj_put_str(w, "value", wb_cstr(list[i].value));
            put_kind(w, "is", list[i].is);
        }
        put_words(w, "words", list[i].words);
        wj_put_str(w, "help", wb_cstr(list[i].help));
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
}

static void put_command(struct wj_writer *w, const struct cli_command *c)
{
    struct upp_str rest = wb_cstr(c->examples), line;
    wj_write_open(w, '{');
    wj_put_str(w, "name", wb_cstr(c->name));
    wj_put_str(w, "usage", wb_cstr(c->usage));
    wj_put_str(w, "summary", wb_cstr(c->summary));
    wj_put_str(w, "help", wb_cstr(c->help));
    put_options(w, c->options, c->n_options);
    put_words(w, "words", c->words);
    put_kind(w, "takes", c->takes);
    wj_put_open(w, "examples", '[');
    while (c->examples && wb_str_split(&rest, '\n', &line) && line.n)
        wj_write_str(w, line);
    wj_write_close(w, ']');
    wj_write_close(w, '}');
}

int cli_help_json(struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "version", wb_cstr(upp_version()));
    put_options(&w, cli_common_options, cli_n_common_options);
    wj_put_open(&w, "commands", '[');
    for (size_t i = 0; i < cli_n_commands; i++)
        put_command(&w, cli_commands[i]);
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r >= 0)
        (void)printf("%.*s\n", UPP_FMT(wb_buf_str(&out)));
    return r;
}
