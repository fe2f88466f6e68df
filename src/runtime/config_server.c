/* runtime/config_server.c — where the server listens, for whom (`server`), and its other names of agents (`aliases`).
 */
#include <unistd.h>

#include "base/defs.h"
#include "base/file.h"
#include "runtime/config_read.h"
#include "json/value.h"

enum { MOST_ORIGIN = 512 /* bytes: it is repeated in a header of the response */ };

/* "127.0.0.1:8787", "[::1]:8787", "localhost:0". */
static bool split_address(struct upp_str s, struct upp_str *host, uint64_t *port)
{
    size_t colon = s.n;
    while (colon > 0 && s.p[colon - 1] != ':')
        colon--;
    if (colon < 2 || !wb_str_u64(wb_str_sub(s, colon, s.n), port) || *port > UINT16_MAX)
        return false;
    *host = wb_str_sub(s, 0, colon - 1);
    bool brackets = host->p[0] == '[' && host->p[host->n - 1] == ']';
    if (brackets)
        *host = wb_str_sub(*host, 1, host->n - 2);
    return host->n && brackets == (memchr(host->p, ':', host->n) != NULL) && !memchr(host->p, '[', host->n) &&
           !memchr(host->p, 0, host->n);
}

static void read_listen(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_config *c = into;
    struct upp_str text, host;
    uint64_t port;
    if (!wc_text(r, n, "listen", &text))
        return;
    if (!split_address(text, &host, &port)) {
        wc_mistake(r, n, "listen is ADDRESS:PORT, as in 127.0.0.1:8787 or [::1]:8787");
        return;
    }
    c->host = wb_arena_dup(&c->arena, host);
    c->port = (uint16_t)port;
}

static bool is_name(struct upp_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
              c == '_'))
            return false;
    }
    return s.n > 0;
}

/* What is wrong with a value; NULL: nothing. */
static const char *wrong_host(struct upp_str s)
{
    struct wb_ip ip;
    return is_name(s) || wb_ip_parse(s, &ip) ? NULL
                                             : "a host is a name or an address without scheme, port and brackets, as "
                                               "in weft.example.org";
}

/* As browsers write it, because it is compared as it stands. */
static const char *wrong_origin(struct upp_str s)
{
    static const struct {
        struct upp_str scheme, port;
    } defaults[] = {{UPP_STR_INIT("http://"), UPP_STR_INIT(":80")}, {UPP_STR_INIT("https://"), UPP_STR_INIT(":443")}};
    if (wb_str_eq(s, UPP_STR("*")))
        return NULL;
    size_t at = s.n > MOST_ORIGIN ? SIZE_MAX : wb_str_find(s, UPP_STR("://"), 0);
    struct upp_str rest = at == SIZE_MAX ? (struct upp_str){NULL, 0} : wb_str_sub(s, at + 3, SIZE_MAX);
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f)
            rest.n = 0;
    if (!at || !rest.n || memchr(rest.p, '/', rest.n) || memchr(rest.p, '*', rest.n) || memchr(rest.p, '@', rest.n))
        return "an origin is SCHEME://HOST or SCHEME://HOST:PORT without a path, as in https://app.example.org; '*' "
               "alone allows all";
    for (size_t i = 0; i < WB_LEN(defaults); i++)
        if (wb_str_starts(s, defaults[i].scheme) && rest.n > defaults[i].port.n &&
            wb_str_eq(wb_str_sub(rest, rest.n - defaults[i].port.n, SIZE_MAX), defaults[i].port))
            return "browsers leave out the usual port of an origin (80 of http, 443 of https): so must this one";
    return NULL;
}

static void read_texts(struct wc_reader *r, const struct wc_node *n, const char *what,
                       const char *(*wrong)(struct upp_str s), const char ***ret)
{
    struct wb_arena *a = &r->config->arena;
    struct upp_str *texts;
    size_t count, i = 0;
    if (!wc_texts(r, n, what, WC_MAX_ALLOWED, &texts, &count))
        return;
    const char **list = wb_new_n(a, const char *, count + 1);
    for (const struct wc_item *item = n->first; list && item; item = item->next, i++) {
        const char *why = wrong(texts[i]);
        if (why)
            wc_mistake(r, item->value, "%s", why);
        list[i] = wb_arena_printf(a, "%.*s", UPP_FMT(texts[i])).p; /* out of memory is checked at the end */
    }
    *ret = list;
}

static void read_hosts(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_config *c = into;
    read_texts(r, n, "hosts", wrong_host, &c->server.hosts);
}

static void read_origins(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_config *c = into;
    read_texts(r, n, "origins", wrong_origin, &c->server.origins);
    for (const char **o = c->server.origins; o && *o; o++)
        if (strcmp(*o, "*") == 0 && n->n > 1)
            wc_mistake(r, n, "'*' allows all origins: it stands alone");
}

static void read_proxies(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_config *c = into;
    struct upp_str *texts;
    size_t count, i = 0;
    if (!wc_texts(r, n, "trusted_proxies", WC_MAX_ALLOWED, &texts, &count))
        return;
    c->server.proxies = wb_new_n(&c->arena, struct wb_network, count + 1);
    for (const struct wc_item *item = n->first; c->server.proxies && item; item = item->next, i++) {
        struct upp_err why;
        if (wb_network_parse(texts[i], &c->server.proxies[i], &why) < 0)
            wc_mistake(r, item->value, "%s",
                       wc_has_variables(item->value) ? "this is no IP address or network" : why.msg);
        c->server.n_proxies = i + 1;
    }
}

static void read_pem(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_server *s = into;
    bool key = strcmp(r->key->name, "key") == 0;
    struct upp_str text, path;
    if (!wc_text(r, n, r->key->name, &text))
        return;
    if (!text.n || memchr(text.p, 0, text.n)) {
        wc_mistake(r, n, "%s is the path of a PEM file", r->key->name);
        return;
    }
    path = wc_path(r, text);
    *(key ? &s->key : &s->certificate) = path.p;
    if (path.p && !r->opts->no_files && access(path.p, F_OK) != 0)
        wc_mistake(r, n, "there is no file '%.*s'", UPP_FMT(wc_has_variables(n) ? n->text : path));
    if (key && path.p && !r->opts->no_files && wb_file_exposed(path.p))
        wc_warning(r, n, "others can read the file with the private key of the certificate: chmod 600");
}

/* The files are read when the server starts, and again on SIGHUP. */
static void read_tls(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {{.name = "certificate", .read = read_pem, .flags = WC_REQUIRED},
                                         {.name = "key", .read = read_pem, .flags = WC_REQUIRED}};
    struct wc_config *c = into;
    wc_map(r, n, "tls", keys, WB_LEN(keys), &c->server);
}

static void read_metrics(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const char *const words[] = {"key", "open", NULL};
    struct wc_config *c = into;
    unsigned which;
    if (wc_word(r, n, "who may read metrics", words, &which))
        c->open_metrics = which;
}

static void read_heartbeat(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const char *const words[] = {"comment", "message", NULL};
    struct wc_config *c = into;
    unsigned which;
    if (wc_word(r, n, "a heartbeat", words, &which))
        c->heartbeats = which;
}

void wc_read_server(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {
        {.name = "listen", .read = read_listen},
        {.name = "metrics", .read = read_metrics},
        WC_MEMBER(WC_U32, "loops", struct wc_config, loops, 1, WC_MAX_LOOPS),
        {.name = "tls", .read = read_tls},
        {.name = "hosts", .read = read_hosts},
        {.name = "origins", .read = read_origins},
        {.name = "trusted_proxies", .read = read_proxies},
        {.name = "heartbeat", .read = read_heartbeat},
        WC_MEMBER(WC_DURATION, "ping", struct wc_config, ping_ms, 1000, 600000),
        WC_MEMBER(WC_U32, "ai_sdk", struct wc_config, ai_sdk, 5, 7),
        WC_MEMBER(WC_UNTRUTH, "instructions", struct wc_config, no_instructions, 0, 0),
    };
    wc_map(r, n, "server", keys, WB_LEN(keys), into);
}

enum { NAME_MAX_BYTES = 256, ALIASES = 1024 };

static bool is_taken(const struct wc_config *c, struct upp_str name)
{
    for (size_t i = 0; i < c->n_agents; i++)
        if (wb_str_eq(c->agents[i].def.name, name))
            return true;
    for (size_t i = 0; i < c->n_models; i++)
        if (wb_str_eq(c->models[i].name, name))
            return true;
    return false;
}

static void read_alias(struct wc_reader *r, const struct wc_node *key, const struct wc_node *value)
{
    struct wc_config *c = r->config;
    struct wc_guess guess = {0};
    struct upp_str to;
    char quoted[WJ_QUOTED];
    if (!key->text.n || key->text.n > NAME_MAX_BYTES || memchr(key->text.p, 0, key->text.n))
        wc_mistake(r, key, "an alias has 1 to %d bytes", NAME_MAX_BYTES);
    else if (is_taken(c, key->text))
        wc_mistake(r, key, "%s is the name of an agent or a model: an alias is another name",
                   wj_quote(key->text, quoted, sizeof quoted));
    else if (wb_str_starts(key->text, UPP_STR("asst_")))
        wc_mistake(r, key, "names that begin with 'asst_' are those of stored assistants");
    else if (wc_text(r, value, "an agent", &to)) {
        if (!wc_find_agent(r, to, &guess))
            (void)wc_no_such(r, value, "agent", &guess);
        else
            c->aliases[c->n_aliases++] = (struct wc_alias){wb_arena_dup(&c->arena, key->text), to};
    }
}

void wc_read_aliases(struct wc_reader *r, const struct wc_node *n)
{
    struct wc_config *c = r->config;
    if (wc_described(r,
                     "{\"type\":\"object\",\"propertyNames\":{\"minLength\":1,\"maxLength\":%d},"
                     "\"additionalProperties\":" WC_SCHEMA_TEXT "}",
                     NAME_MAX_BYTES))
        return;
    if (!n || !wc_is(r, n, WC_MAP, "aliases"))
        return;
    if (n->n > ALIASES) {
        wc_mistake(r, n, "%zu aliases are more than %d", n->n, ALIASES);
        return;
    }
    c->aliases = wb_new_n(&c->arena, struct wc_alias, n->n + 1);
    for (const struct wc_item *i = n->first; c->aliases && i; i = i->next) {
        if (wc_repeated(n, i))
            wc_mistake(r, i->key, "there are two aliases '%.*s'", UPP_FMT(i->key->text));
        else
            read_alias(r, i->key, i->value);
    }
}
