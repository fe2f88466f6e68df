/* cli/cmd_encryption.c — weft encryption new-key, rotate, forget. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/defs.h"
#include "base/random.h"
#include "base/secret.h"
#include "cli/list.h"
#include "cli/progress.h"
#include "cli/store_client.h"
#include "cli/setup.h"
#include "log/admin.h"
#include "runtime/runtime.h"
#include "stores/sealed/sealed.h"

enum { PAGE = 256 }; /* tenants per page */

struct encryption_options {
    struct cli_source from;
    const char *to;
    bool json;
};

/* What was done, as a JSON object of one member or as a sentence about its value. */
static int tell(const struct cli_command *self, bool json, const char *member, const char *value, const char *before,
                const char *behind)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 16);
    struct upp_err err = {0};
    struct wj_writer w;
    if (!json) {
        (void)printf("%s%s%s\n", before, value, behind);
        return CLI_GOOD;
    }
    wj_writer_init(&w, &out, &err);
    wj_write_open(&w, '{');
    wj_put_str(&w, member, wb_cstr(value));
    wj_write_close(&w, '}');
    return cli_line_out(stdout, &w) < 0 ? cli_fail(self, &err) : CLI_GOOD;
}

static int new_key(const struct cli_command *self, bool json)
{
    struct ws_master key;
    struct upp_err err = {0};
    int r = wb_random(key.key, sizeof key.key, &err);
    if (r >= 0 && json)
        (void)printf("{\"key\":\"");
    for (size_t i = 0; r >= 0 && i < sizeof key.key; i++)
        (void)printf("%02x", key.key[i]);
    if (r >= 0)
        (void)printf(json ? "\"}\n" : "\n");
    ws_master_wipe(&key);
    return r < 0 ? cli_fail(self, &err) : CLI_GOOD;
}

struct changing {
    const struct wc_config *config;
    struct wrt_location place;
    struct ws_master to;   /* rotate */
    struct upp_str tenant; /* forget */
    struct cli_progress progress;

    const struct cli_command *self;
    const char *action; /* in the audit */
    WEFT_SUSPENDS int (*fn)(struct changing *x, struct wl_store *s, struct upp_err *err);
};

/* fn as a row of the audit. */
WEFT_SUSPENDS static int change_audited(struct changing *x, struct wl_store *s, struct upp_err *err)
{
    struct wl_admin row = cli_admin_row(x->action, x->tenant.n ? x->tenant : wb_cstr(x->place.path));
    struct upp_err why = {0};
    row.tenant = x->tenant;
    int r = wl_admin_begin(s, &row, err);
    if (r < 0)
        return r;
    r = x->fn(x, ws_sealed_find(s), &why);
    wl_admin_end(s, &row, r, &why);
    if (r < 0 && err)
        *err = why;
    return r;
}

/* After an interrupted rotation either key opens the store: the new one too, if the old one is gone. */
WEFT_SUSPENDS static int open_and_change(void *arg, struct upp_err *err)
{
    struct changing *x = arg;
    struct wl_store *s;
    int r = wrt_store_open(x->config, &x->place, &s, err);
    if (r < 0)
        return r;
    r = ws_sealed_find(s) ? change_audited(x, s, err) : upp_fail(err, UPP_EREFUSED, "the store is not encrypted");
    s->ops->close(s);
    return r;
}

static int change_store(struct changing *x, const struct cli_source *from, struct upp_err *err)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    int r = cli_store_find(from, &config, &x->place, err);
    x->config = config;
    return r < 0 ? r : cli_on_loop(open_and_change, x, err);
}

/* Calls fn for each tenant until it returns something else than 0, which is returned. */
WEFT_SUSPENDS static int each_tenant(struct wl_store *s, int (*fn)(void *arg, struct upp_str tenant), void *arg,
                                     struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct upp_str after = {0}, *list;
    for (size_t n = PAGE; n == PAGE; after = n ? list[n - 1] : after) {
        int r = wl_list_tenants(s, after, PAGE, &a, &list, &n, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < n; i++)
            if ((r = fn(arg, list[i])) != 0)
                return r;
    }
    return 0;
}

static int count_one(void *arg, struct upp_str tenant)
{
    size_t *n = arg;
    (void)tenant;
    ++*n;
    return 0;
}

WEFT_SUSPENDS static int count_tenants(struct wl_store *s, size_t *ret, struct upp_err *err)
{
    *ret = 0;
    return each_tenant(s, count_one, ret, err);
}

static int is_it(void *arg, struct upp_str tenant)
{
    const struct upp_str *wanted = arg;
    return wb_str_eq(*wanted, tenant);
}

static void rewrapped(void *arg, size_t n)
{
    cli_progress_add(arg, n);
}

WEFT_SUSPENDS static int rotate(struct changing *x, struct wl_store *s, struct upp_err *err)
{
    size_t n;
    int r = count_tenants(s, &n, err);
    if (r < 0)
        return r;
    cli_progress_begin(&x->progress, x->self, "tenants", n);
    r = ws_sealed_rotate(s, &x->to, &(struct ws_rotating){.done = rewrapped, .arg = &x->progress}, err);
    cli_progress_end(&x->progress);
    return r;
}

static int read_key(const char *path, struct ws_master *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_secret_freep) struct wb_secret *text = NULL;
    int r = wb_secret_file(path, &text, err);
    return r < 0 ? r : ws_master_parse(wb_secret_reveal(text), ret, err);
}

static int rotate_key(const struct cli_command *self, const struct encryption_options *o)
{
    struct changing x = {.self = self, .action = "encryption.rotate", .fn = rotate};
    struct upp_err err = {0};
    int r = read_key(o->to, &x.to, &err);
    if (r >= 0)
        r = change_store(&x, &o->from, &err);
    ws_master_wipe(&x.to);
    if (r < 0)
        return cli_fail(self, &err);
    return tell(self, o->json, "key_file", o->to, "from now on the store opens with the key in ", " alone");
}

WEFT_SUSPENDS static int forget(struct changing *x, struct wl_store *s, struct upp_err *err)
{
    /* Forgetting a mistyped name would make that name unusable for ever. */
    int r = each_tenant(s, is_it, &x->tenant, err);
    if (r > 0)
        return ws_sealed_forget(s, x->tenant, err);
    return r < 0 ? r : upp_fail(err, UPP_ENOTFOUND, "the store has no tenant '%.*s'", UPP_FMT(x->tenant));
}

static int forget_tenant(const struct cli_command *self, const char *tenant, const struct encryption_options *o)
{
    struct changing x = {.action = "encryption.forget", .fn = forget, .tenant = wb_cstr(tenant)};
    struct upp_err err = {0};
    int r = change_store(&x, &o->from, &err);
    if (r < 0)
        return cli_fail(self, &err);
    return tell(self, o->json, "forgotten", tenant, "the key of tenant ",
                " is erased: nobody can read what it has stored");
}

static const char *const actions[] = {"new-key", "rotate", "forget", NULL};

static int run_encryption(const struct cli_command *self, int argc, char **argv)
{
    struct encryption_options o = {0};
    const char *words[2] = {NULL, NULL};
    size_t n;
    int bad = cli_parse_some(self, argc, argv, &o, words, 2, &n);
    if (bad)
        return bad;
    const char *what = n ? words[0] : NULL;
    size_t which;
    if (n == 1 && strcmp(what, "new") == 0) /* as in `weft keys new` */
        what = "new-key";
    bad = cli_word(self, "an action", what, actions, &which);
    if (bad)
        return bad;
    if (n == 2 && strcmp(what, "forget") == 0 && !o.to)
        return forget_tenant(self, words[1], &o);
    if (strcmp(what, "forget") == 0)
        return cli_misuse(self, "forget wants a tenant, and nothing else");
    if (n != 1)
        return cli_misuse(self, "%s wants no more words", what);
    if (strcmp(what, "new-key") == 0)
        return new_key(self, o.json);
    return o.to ? rotate_key(self, &o) : cli_misuse(self, "rotate wants --to FILE, with the new key");
}

static const struct cli_option encryption_options[] = {
    CLI_VALUE_OF("--to", "FILE", "a file", struct encryption_options, to, CLI_FILE, NULL,
                 "rotate: the file with the new key"),
    CLI_FLAG("--json", struct encryption_options, json, "one JSON object: key, key_file or forgotten"),
    CLI_STORE_OPTIONS(struct encryption_options, from),
};

const struct cli_command cli_encryption = {
    .name = "encryption",
    .usage = "new-key | rotate --to FILE | forget TENANT   each also takes [--json] [--config FILE] [--store URL]",
    .summary = "master key of an encrypted store: create, rotate; erase a tenant",
    .help =
        "new-key prints a master key: 64 hex digits, for the file that encryption.key_file names or for\n"
        "WEFT_ENCRYPTION_KEY. A file that others can read is refused.\n"
        "rotate changes from the configured key to the one in FILE. No other process may have the store open. If it\n"
        "is interrupted, run it again; until it completes either key opens the store. Then replace the old key with\n"
        "the new one.\n"
        "forget erases the key of a tenant (`local` if there is only one): nobody can read its data any more, and its\n"
        "name cannot be reused. This cannot be undone. No other process may have the store open.",
    .run = run_encryption,
    CLI_OPTIONS(encryption_options),
    .examples = "(umask 077; weft encryption new-key >new.key)\n"
                "weft encryption rotate --to new.key\n"
                "weft encryption forget local\n",
    .words = actions,
};
