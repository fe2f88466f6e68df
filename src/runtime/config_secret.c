/* runtime/config_secret.c — secrets of a configuration: values of variables, keys in plain text, and the file .env. */
#include <stdlib.h>
#include <strings.h>

#include "base/hooks.h"
#include "base/mask.h"
#include "base/secret.h"
#include "runtime/config_read.h"
#include "base/err.h"

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

static bool is_name(struct upp_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9' && i) || c == '_'))
            return false;
    }
    return s.n > 0;
}

/* What follows a value: nothing, or a comment. */
static bool is_end(struct upp_str s)
{
    s = wb_str_trim(s);
    return !s.n || s.p[0] == '#';
}

static bool add_quoted(struct wb_buf *to, struct upp_str s)
{
    static const char from[] = "nt\"\\$", into[] = "\n\t\"\\$";
    char quote = s.p[0];
    for (size_t i = 1; i < s.n; i++) {
        const char *known;
        if (s.p[i] == quote)
            return is_end(wb_str_sub(s, i + 1, s.n));
        if (quote == '"' && s.p[i] == '\\' && i + 1 < s.n) {
            if (!s.p[i + 1] || !(known = strchr(from, s.p[i + 1])))
                return false;
            wb_buf_addc(to, into[known - from]);
            i++;
        } else
            wb_buf_addc(to, s.p[i]);
    }
    return false;
}

static bool add_plain(struct wb_buf *to, struct upp_str s)
{
    size_t n = 0;
    while (n < s.n && s.p[n] != ' ' && s.p[n] != '\t')
        n++;
    wb_buf_add(to, wb_str_sub(s, 0, n));
    return is_end(wb_str_sub(s, n, s.n));
}

static const char *add_line(struct wb_buf *to, struct upp_str line)
{
    const struct upp_str export = UPP_STR("export ");
    line = wb_str_trim(line);
    if (!line.n || line.p[0] == '#')
        return NULL;
    if (memchr(line.p, 0, line.n))
        return "a line holds no NUL";
    if (wb_str_starts(line, export))
        line = wb_str_trim(wb_str_sub(line, export.n, line.n));
    size_t equals = wb_str_find(line, UPP_STR("="), 0);
    struct upp_str name = wb_str_sub(line, 0, equals == SIZE_MAX ? 0 : equals);
    if (!is_name(name))
        return "a line is NAME=VALUE, and a name has letters, digits and '_'";
    struct upp_str value = wb_str_trim(wb_str_sub(line, equals + 1, line.n));
    wb_buf_add(to, name);
    wb_buf_addc(to, 0);
    bool good = value.n && (value.p[0] == '"' || value.p[0] == '\'') ? add_quoted(to, value) : add_plain(to, value);
    wb_buf_addc(to, 0);
    return good ? NULL
                : "a value with blanks stands in quotes, which end it; in double ones \\n \\t \\\" \\\\ and \\$ are "
                  "known";
}

int wc_dotenv_parse(struct wc_dotenv *d, struct upp_str text, unsigned *line, struct upp_err *err)
{
    const char *why = NULL;
    struct upp_str one;
    if (wb_str_starts(text, UPP_STR("\xef\xbb\xbf")))
        text = wb_str_sub(text, 3, text.n);
    d->text.max = WC_DOTENV_MAX + 2;
    *line = 0;
    if (!wb_buf_reserve(&d->text, WB_MIN(text.n + 2, d->text.max))) /* no copy is left behind by growing */
        return wb_buf_check(&d->text, err);
    while (!why && text.p && wb_str_split(&text, '\n', &one)) {
        ++*line;
        why = add_line(&d->text, one);
    }
    if (why)
        return upp_fail(err, UPP_EINVALID, "%s", why);
    return wb_buf_check(&d->text, err);
}

const char *wc_dotenv_get(const struct wc_dotenv *d, const char *name)
{
    const char *found = NULL;
    for (const char *p = d->text.p, *end = p ? p + d->text.n : NULL; p && p < end;) {
        const char *value = p + strlen(p) + 1;
        if (strcmp(p, name) == 0)
            found = value;
        p = value + strlen(value) + 1;
    }
    return found;
}

void wc_dotenv_done(struct wc_dotenv *d)
{
    if (d->text.p)
        explicit_bzero(d->text.p, d->text.cap);
    wb_buf_done(&d->text);
}
