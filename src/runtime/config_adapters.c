/* runtime/config_adapters.c — `adapters`: how envelopes become prompts of a model family. Those that are built in are
 * files of the same form (share/adapters). */
#include "runtime/config_adapters.h"

#include "base/err.h"
#include "json/value.h"
#include "runtime/config_read.h"

static bool find_intent(struct wc_reader *r, const struct wc_node *n, unsigned *ret)
{
    const char *words[WE_INTENTS + 1] = {NULL};
    for (int i = 0; i < WE_INTENTS; i++)
        words[i] = we_intent_name(i).p;
    return wc_word(r, n, "an intent", words, ret);
}

bool wc_intents(struct wc_reader *r, const struct wc_node *n, uint32_t *ret)
{
    unsigned which;
    uint32_t bits = 0;
    if (n->kind == WC_SCALAR) {
        if (!find_intent(r, n, &which))
            return false;
        *ret = 1u << which;
        return true;
    }
    if (!wc_is(r, n, WC_LIST, "intent"))
        return false;
    for (const struct wc_item *i = n->first; i; i = i->next) {
        if (!find_intent(r, i->value, &which))
            return false;
        if (bits & 1u << which)
            wc_mistake(r, i->value, "the intent is there a second time");
        bits |= 1u << which;
    }
    if (!bits)
        wc_mistake(r, n, "there is no intent in the list");
    *ret = bits;
    return bits != 0;
}

static void read_match(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct we_adapter *a = into;
    if (!wc_texts(r, n, "match", WE_MAX_MATCH, &a->match, &a->n_match))
        a->n_match = 0;
}

static void read_agent(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {
        WC_CHOICE(WC_STR, "id", struct we_adapter, agent_id, 0, "an agent's id", NULL),
        WC_CHOICE(WC_STR, "name", struct we_adapter, agent_name, 0, "an agent's name", NULL),
        WC_CHOICE(WC_STR, "model", struct we_adapter, model, 0, "a model", NULL),
    };
    wc_map(r, n, "agent", keys, WB_LEN(keys), into);
}

static void read_intent(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct we_adapter *a = into;
    unsigned which;
    if (find_intent(r, n, &which))
        a->intent = (int)which;
}

static void read_routes(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct we_adapter *a = into;
    (void)wc_intents(r, n, &a->intents);
}

static void read_template(struct wc_reader *r, const struct wc_node *n, void *into)
{
    const struct wc_key *key = r->key;
    struct upp_err err = {0};
    struct upp_str text;
    if (!wc_text(r, n, key->what, &text))
        return;
    if (we_template_check(text, &err) < 0)
        wc_mistake(r, n, "%s: %s", key->name, err.msg);
    else
        *(struct upp_str *)(void *)((char *)into + key->at) = text;
}

static void read_reply(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {
        WC_CHOICE(WC_STR, "confidence", struct we_adapter, confidence, 0, "a member's name", NULL),
        WC_CHOICE(WC_STR, "text", struct we_adapter, text, 0, "a member's name", NULL),
    };
    wc_map(r, n, "reply", keys, WB_LEN(keys), into);
}

static void read_adapter(struct wc_reader *r, const struct wc_node *n, struct we_adapter *a)
{
    static const char *const inputs[] = {"text", "system", "data", NULL};
    static const struct wc_key keys[] = {
        {.name = "match", .read = read_match},
        {.name = "agent", .read = read_agent},
        {.name = "intent", .read = read_intent},
        WC_CHOICE(WC_ENUM, "input", struct we_adapter, input, WE_INPUT_USER, "input", inputs),
        {.name = "routes", .read = read_routes},
        {.name = "system", .read = read_template, .at = offsetof(struct we_adapter, system), .what = "a prompt"},
        {.name = "user",
         .read = read_template,
         .at = offsetof(struct we_adapter, user),
         .what = "a prompt",
         .flags = WC_REQUIRED},
        WC_MEMBER(WC_TRUTH, "json", struct we_adapter, json, 0, 0),
        {.name = "reply", .read = read_reply},
    };
    a->intent = WE_ANALYZE;
    wc_map(r, n, "an adapter", keys, WB_LEN(keys), a);
    if (!a->agent_id.n)
        a->agent_id = a->name;
    if (!a->agent_name.n)
        a->agent_name = a->name;
}

/* The list has room. */
struct adding {
    struct we_adapter *list;
    size_t n;
};

static void add_named(struct wc_reader *r, const struct wc_node *key, const struct wc_node *value, void *into)
{
    struct adding *to = into;
    if (to->n >= WE_MAX_ADAPTERS) {
        wc_mistake(r, key, "there are more than %d adapters", WE_MAX_ADAPTERS);
        return;
    }
    struct we_adapter *a = &to->list[to->n++];
    a->name = wb_arena_dup(&r->config->arena, key->text);
    read_adapter(r, value, a);
    if (!a->n_match && !wb_str_eq(a->name, UPP_STR("generic")))
        wc_mistake(r, key, "an adapter without 'match' would fit every model");
}

static void add_built_in(struct wc_reader *r, struct upp_str name, struct upp_str text, struct adding *to)
{
    const struct wc_node *root = NULL;
    struct wc_mark at;
    for (size_t i = 0; i < to->n; i++)
        if (wb_str_eq(to->list[i].name, name))
            return; /* the file replaces it */
    int code = wc_node_read(&r->config->arena, text, &root, &at, r->err);
    if (code < 0 || !root) {
        wc_fail(r, code < 0 ? code : upp_fail(r->err, UPP_EBUG, "a built-in adapter is empty"));
        return;
    }
    struct we_adapter *a = &to->list[to->n++];
    a->name = name;
    read_adapter(r, root, a);
}

/* An adapter for every model is the last. */
static void move_generic(struct adding *to)
{
    for (size_t i = 0; i + 1 < to->n; i++)
        if (!to->list[i].n_match) {
            struct we_adapter a = to->list[i];
            to->list[i] = to->list[i + 1];
            to->list[i + 1] = a;
        }
}

void wc_read_adapters(struct wc_reader *r, const struct wc_node *n)
{
    static const struct {
        struct upp_str name;
        const struct upp_str *text;
    } files[] = {
        {UPP_STR_INIT("claude"), &wc_adapter_claude_yaml},   {UPP_STR_INIT("gpt5"), &wc_adapter_gpt5_yaml},
        {UPP_STR_INIT("gemini"), &wc_adapter_gemini_yaml},   {UPP_STR_INIT("deepseek"), &wc_adapter_deepseek_yaml},
        {UPP_STR_INIT("generic"), &wc_adapter_generic_yaml},
    };
    struct adding to = {.list = wb_new_n(&r->config->arena, struct we_adapter, WE_MAX_ADAPTERS + WB_LEN(files))};
    if (!to.list)
        return;
    if (n)
        wc_named(r, n, "adapters", add_named, &to);
    if (r->describe)
        return;
    for (size_t i = 0; i < WB_LEN(files); i++)
        add_built_in(r, files[i].name, *files[i].text, &to);
    move_generic(&to);
    r->config->envelopes.adapters = (struct we_adapters){.list = to.list, .n = to.n};
}

struct upp_str wc_agent_model(const struct wc_agent *a)
{
    const struct wc_model *m = a->model;
    if (!m)
        return (struct upp_str){0};
    if (m == &a->remote || !m->model || wb_str_eq(m->provider, UPP_STR("scripted")) || !m->model->name.n)
        return m->name;
    return m->model->name;
}
