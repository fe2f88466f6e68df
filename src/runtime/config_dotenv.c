/* runtime/config_dotenv.c — parses the file .env. */
#include "runtime/config_dotenv.h"

#include "base/err.h"
#include "base/hooks.h"

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
