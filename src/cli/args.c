/* cli/args.c — parses the options and words of a command by its table. */
#include "cli/cli.h"

#include <string.h>

#include "base/buf.h"
#include "base/words.h"

const struct cli_option *cli_option_find(const struct cli_command *self, const char *arg)
{
    size_t n = strcspn(arg, "=");
    for (size_t i = 0; i < self->n_options; i++)
        if (strlen(self->options[i].name) == n && memcmp(self->options[i].name, arg, n) == 0)
            return &self->options[i];
    return NULL;
}

static int refuse_option(const struct cli_command *self, const char *arg, bool known)
{
    struct wb_guess guess = {0};
    for (size_t i = 0; !known && i < self->n_options; i++)
        wb_guess(&guess, wb_cstr(arg), wb_cstr(self->options[i].name));
    return cli_misuse(self, "does not take '%s'%s", arg, wb_guessed(&guess));
}

int cli_parse(const struct cli_command *self, int argc, char **argv, void *to, const char **words, size_t n_words,
              const char *wants)
{
    size_t n;
    int bad = cli_parse_some(self, argc, argv, to, words, n_words, &n);
    return bad || n == n_words ? bad : cli_misuse(self, "wants %s", wants);
}

int cli_parse_some(const struct cli_command *self, int argc, char **argv, void *to, const char **words, size_t max,
                   size_t *n_words)
{
    bool all_words = false;
    *n_words = 0;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
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
        const struct cli_option *o = cli_option_find(self, arg);
        const char *equals = strchr(arg, '=');
        if (!o || (equals && !o->value))
            return refuse_option(self, arg, o != NULL);
        void *member = (char *)to + o->at;
        if (!o->value) {
            *(bool *)member = true;
            continue;
        }
        const char *value = equals ? equals + 1 : argv[++i]; /* NULL at the end */
        if (!value || !value[0])
            return cli_misuse(self, "%s wants %s", o->name, o->wants);
        *(const char **)member = value;
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
