/* runtime/config_aliases.c — the section `aliases`: other names by which clients may ask for agents. */
#include "base/defs.h"
#include "json/value.h"
#include "runtime/config_read.h"

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
