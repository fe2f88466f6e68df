/* cli/args.c — parses the options and words of a command by its table. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/words.h"

static const struct cli_option *find(const struct cli_option *options, size_t n, const char *arg, const char **value)
{
    size_t len = strcspn(arg, "=");
    *value = arg[len] ? arg + len + 1 : NULL;
    for (size_t i = 0; i < n; i++)
        if (strlen(options[i].name) == len && memcmp(options[i].name, arg, len) == 0)
            return &options[i];
    return NULL;
}

static int unknown(const struct cli_command *self, const char *arg, const struct cli_option *options, size_t n)
{
    struct wb_guess guess = {0};
    for (size_t i = 0; i < n; i++)
        wb_guess(&guess, wb_cstr(arg), wb_cstr(options[i].name));
    return cli_misuse(self, "does not take '%s'%s", arg, wb_guessed(&guess));
}

/* Do the help, the man page and the completions have it? */
static bool is_told(const struct cli_command *self, const char *name)
{
    for (size_t i = 0; i < self->n_options; i++)
        if (strcmp(self->options[i].name, name) == 0)
            return true;
    return false;
}

int cli_parse(const struct cli_command *self, int argc, char **argv, const struct cli_option *options, size_t n,
              const char **words, size_t n_words, const char *wants)
{
    size_t got;
    int bad = cli_parse_some(self, argc, argv, options, n, words, n_words, &got);
    return bad || got == n_words ? bad : cli_misuse(self, "wants %s", wants);
}

int cli_parse_some(const struct cli_command *self, int argc, char **argv, const struct cli_option *options, size_t n,
                   const char **words, size_t max, size_t *n_words)
{
    bool all_words = false;
    *n_words = 0;
    for (size_t i = 0; i < n; i++)
        if (self->n_options && !is_told(self, options[i].name))
            return cli_misuse(self, "has an option %s that its help does not name: this is a bug", options[i].name);
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i], *value;
        if (!all_words && strcmp(arg, "--") == 0) {
            all_words = true;
            continue;
        }
        if (all_words || arg[0] != '-' || !arg[1]) {
            if (*n_words == max)
                return cli_misuse(self, "does not take '%s'", arg);
            words[(*n_words)++] = arg;
            continue;
        }
        const struct cli_option *o = find(options, n, arg, &value);
        if (!o || (value && !o->wants))
            return unknown(self, arg, options, o ? 0 : n);
        if (!o->wants) {
            *o->flag = true;
            continue;
        }
        if (!value)
            value = argv[++i]; /* NULL at the end */
        if (!value || !value[0])
            return cli_misuse(self, "%s wants %s", o->name, o->wants);
        *o->value = value;
    }
    return 0;
}

int cli_word(const struct cli_command *self, const char *what, const char *given, const char *const *words, size_t *ret)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf list = WB_BUF(1024);
    struct wb_guess guess = {0};
    for (size_t i = 0; words[i]; i++) {
        if (given && strcmp(words[i], given) == 0) {
            *ret = i;
            return 0;
        }
        wb_buf_addf(&list, "%s%s", i ? ", " : "", words[i]);
        wb_guess(&guess, wb_cstr(given), wb_cstr(words[i]));
    }
    return given ? cli_misuse(self, "%s is one of %.*s, not '%s'%s", what, UPP_FMT(wb_buf_str(&list)), given,
                              wb_guessed(&guess))
                 : cli_misuse(self, "wants %s: %.*s", what, UPP_FMT(wb_buf_str(&list)));
}

enum { LIST_LINES = 20 };

int cli_list_limit(const struct cli_command *self, const char *given, uint64_t *ret)
{
    *ret = isatty(1) == 1 ? LIST_LINES : 0;
    return !given || wb_str_u64(wb_cstr(given), ret) ? 0 : cli_misuse(self, "--limit is a whole number; 0: all");
}

void cli_list_end(const struct cli_command *self, const char *noun, uint64_t n, bool more)
{
    (void)fflush(stdout);
    if (more)
        cli_note(self, "there are more; --limit 0 lists all");
    else if (!n)
        cli_note(self, "no %ss yet", noun);
}
