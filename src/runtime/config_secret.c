/* runtime/config_secret.c — secrets of a configuration: values of variables, and keys in plain text. */
#include <stdlib.h>
#include <strings.h>

#include "base/hooks.h"
#include "base/mask.h"
#include "base/secret.h"
#include "runtime/config_read.h"

enum { MAX_VALUES = 4096 };

/* Warns once if others can read the file. */
static bool is_from_file(struct wc_reader *r, struct upp_str name, struct upp_str value)
{
    struct wc_dotenv *d = r->dotenv;
    if (!d || !name.n || wc_dotenv_get(d, name.p) != value.p)
        return false;
    if (d->exposed && wc_is_secret_name(name))
        wc_report_at(r, (struct wc_mark){1, 1}, true, "others can read the file .env with %.*s: chmod 600",
                     UPP_FMT(name));
    d->exposed &= !wc_is_secret_name(name);
    return true;
}

/* Variables that the C library, libcurl and OpenSSL read during the life of the process. */
static bool stays(const char *name)
{
    static const char *const names[] = {
        "PATH", "HOME",       "LANG",        "USER",      "LOGNAME",  "SHELL",         "PWD",         "TMPDIR",
        "TZ",   "http_proxy", "https_proxy", "all_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"};
    for (size_t i = 0; i < WB_LEN(names); i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return strncmp(name, "LC_", 3) == 0;
}

/* Paths, addresses and names of models come from the environment, too, and models and tools need them as they are. Of
 * those an address with a password is a secret. */
static bool is_secret(struct upp_str name, struct upp_str value)
{
    return !name.n || wc_is_secret_name(name) ||
           (wb_str_find(value, UPP_STR("://"), 0) != SIZE_MAX && wb_str_find(value, UPP_STR("@"), 0) != SIZE_MAX);
}

bool wc_hide(struct wc_reader *r, struct upp_str name, struct upp_str value)
{
    struct wc_config *c = r->config;
    for (size_t i = 0; i < c->n_values && name.n; i++)
        if (wb_str_eq(c->values[i].name, name)) /* a variable has one value */
            return true;
    struct wc_value *more =
        c->n_values < MAX_VALUES ? wb_realloc(c->values, (c->n_values + 1) * sizeof *c->values) : NULL;
    if (!more) {
        wc_fail(r, c->n_values < MAX_VALUES
                       ? upp_fail(r->err, UPP_ENOMEM, "no memory for a secret")
                       : upp_fail(r->err, UPP_ELIMIT, "a configuration has at most %d secrets", MAX_VALUES));
        return false;
    }
    c->values = more;
    struct wc_value *v = &c->values[c->n_values];
    *v = (struct wc_value){.name = wb_arena_dup(&c->arena, name)};
    v->from_file = is_from_file(r, name, value);
    int code =
        is_secret(name, value) ? wb_hide(value, &v->hidden, r->err) : wb_hide_in_errors(value, &v->hidden, r->err);
    if (code == 0 && name.n && (code = wb_secret_new(value, &v->value, r->err)) < 0)
        wb_unhide(v->hidden);
    wc_fail(r, code);
    c->n_values += code == 0;
    return code == 0;
}

void wc_inline_secret(struct wc_reader *r, const struct wc_node *n)
{
    if (r->readable)
        wc_warning(r, n, "a secret in plain text, and others can read this file: chmod 600, or write ${NAME}");
}

bool wc_is_secret_name(struct upp_str name)
{
    static const struct upp_str words[] = {UPP_STR_INIT("auth"),      UPP_STR_INIT("key"),   UPP_STR_INIT("token"),
                                           UPP_STR_INIT("secret"),    UPP_STR_INIT("passw"), UPP_STR_INIT("cookie"),
                                           UPP_STR_INIT("credential")};
    for (size_t i = 0; i < WB_LEN(words); i++)
        if (wb_str_has_nocase(name, words[i]))
            return true;
    return false;
}

void wc_config_wipe_environment(const struct wc_config *c)
{
    for (size_t i = 0; i < c->n_values; i++)
        if (c->values[i].name.n && !stays(c->values[i].name.p))
            wb_env_wipe(c->values[i].name.p);
}
