/* cli/cmd_keys.c — weft keys new, weft keys rotate. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "base/random.h"
#include "base/secret.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/setup.h"
#include "runtime/runtime.h"
#include "stores/sealed.h"

/* ---- new ------------------------------------------------------------------------------------------- */

static int new_key(const struct cli_command *self)
{
    struct ws_master key;
    struct upp_err   err = {0};
    int              r   = wb_random(key.key, sizeof key.key, &err);
    for (size_t i = 0; r >= 0 && i < sizeof key.key; i++)
        (void)printf("%02x", key.key[i]);
    if (r >= 0)
        (void)printf("\n");
    ws_master_wipe(&key);
    return r < 0 ? cli_fail(self, &err) : CLI_GOOD;
}

/* ---- rotate ---------------------------------------------------------------------------------------- */

struct rotating {
    const struct wc_config *config;
    struct wrt_place        place;
    struct ws_master        to;
};

/* Once it was cut off, the store is opened with either key: with the new one where the old one is gone already. */
WEFT_SUSPENDS static int rotate(void *arg, struct upp_err *err)
{
    struct rotating *x = arg;
    struct wl_store *s;
    int              r = wrt_store_open(x->config, &x->place, &s, err);
    if (r < 0)
        return r;
    r = ws_sealed_find(s) ? ws_sealed_rotate(ws_sealed_find(s), &x->to, err)
                          : upp_fail(err, UPP_EREFUSED, "the store is not encrypted");
    s->ops->close(s);
    return r;
}

static int read_key(const char *path, struct ws_master *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_secret_freep) struct wb_secret *text = NULL;
    int                                           r    = wb_secret_file(path, &text, err);
    return r < 0 ? r : ws_master_parse(wb_secret_reveal(text), ret, err);
}

static int rotate_key(const struct cli_command *self, const char *to, const char *file, const char *store)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    struct rotating                               x      = {0};
    struct upp_err                                err    = {0};
    int                                           r      = read_key(to, &x.to, &err);
    if (r < 0)
        return cli_fail(self, &err);
    r = cli_config_load(file, true, &config, &err);
    if (r >= 0)
        r = wrt_place_of(config, store, &x.place, &err);
    if (r >= 0) {
        (void)cli_log_setup(config, NULL, WB_WARN);
        x.config = config;
        r        = cli_on_loop(rotate, &x, &err);
    }
    ws_master_wipe(&x.to);
    if (r < 0)
        return cli_fail(self, &err);
    (void)printf("from now on the store opens with the key in %s alone\n", to);
    return CLI_GOOD;
}

static int run(const struct cli_command *self, int argc, char **argv)
{
    const char             *what = NULL, *to = NULL, *file = NULL, *store = NULL;
    size_t                  n;
    const struct cli_option options[] = {
        {"--to", "a file", &to, NULL}, {"--config", "a file", &file, NULL}, {"--store", "sqlite:PATH", &store, NULL}};
    int bad = cli_parse(self, argc, argv, options, WB_LEN(options), &what, 1, &n);
    if (bad)
        return bad;
    if (n == 1 && strcmp(what, "new") == 0)
        return new_key(self);
    if (n != 1 || strcmp(what, "rotate") != 0)
        return cli_misuse(self, "wants `new` or `rotate`");
    return to ? rotate_key(self, to, file, store) : cli_misuse(self, "rotate wants --to FILE, with the new key");
}

const struct cli_command cli_keys = {
    .name    = "keys",
    .usage   = "new | rotate --to FILE [--config FILE] [--store URL]",
    .summary = "master keys of an encrypted store",
    .help    = "new prints a master key: 64 hex digits, for the file that encryption.key_file names or for\n"
               "WEFT_ENCRYPTION_KEY.\n"
               "rotate goes from the key that is configured to the one in FILE; nobody else may have the store open. Cut\n"
               "off, it is to be called again; until it is over either key opens the store. Then put the new key where\n"
               "the old one was.",
    .run     = run,
};
