/* cli/chat/agents.c — the agents and models of the server: /agent, /model, and whom the chat begins with. */
#include "base/defs.h"
#include "cli/chat/chat.h"
#include "json/value.h"
#include "runtime/config_read.h"

enum { LISTED = 150 /* bytes of a list of names */, LAST_ENTRIES = 20 /* of a run, in which an agent is looked for */ };

static int take(struct wb_buf *to, struct upp_str name, struct upp_err *err)
{
    wb_buf_clear(to);
    wb_buf_add(to, name);
    return wb_buf_check(to, err);
}

/* /v1/models lists agents too, which can be asked like a model, but are none. A name that is both is a model if an
 * agent uses it. */
static bool is_model(yyjson_val *agents, struct upp_str id)
{
    yyjson_val *a;
    size_t i, max;
    bool agent = false;
    yyjson_arr_foreach(agents, i, max, a)
    {
        agent |= wb_str_eq(wj_text_at(a, "id"), id);
        if (wb_str_eq(wj_text_at(a, "model"), id))
            return true;
    }
    return !agent;
}

struct names {
    const char *what;   /* "agent" */
    yyjson_val *list;   /* of objects */
    yyjson_val *agents; /* of models: see is_model. NULL: they are agents */
};

WEFT_SUSPENDS static int get_names(struct cli_chat *c, bool models, struct names *ret, struct upp_err *err)
{
    yyjson_val *v;
    *ret = (struct names){.what = models ? "model" : "agent"};
    int r = cli_chat_call(c, "GET", UPP_STR("/v1/assistants?limit=100&order=asc"), NULL, &v, err);
    if (r < 0)
        return r;
    ret->list = yyjson_obj_get(v, "data");
    if (!models)
        return 0;
    ret->agents = ret->list;
    r = cli_chat_call(c, "GET", UPP_STR("/v1/models"), NULL, &v, err);
    ret->list = r < 0 ? NULL : yyjson_obj_get(v, "data");
    return r;
}

/* The next name; NULL: there is none. */
static yyjson_val *next_name(const struct names *n, size_t *i)
{
    yyjson_val *v;
    while ((v = yyjson_arr_get(n->list, (*i)++)))
        if (!n->agents || is_model(n->agents, wj_text_at(v, "id")))
            break;
    return v;
}

static int list(struct cli_chat *c, const struct names *n, const struct wb_buf *now, struct upp_err *err)
{
    int r = 0;
    yyjson_val *v;
    for (size_t i = 0; r >= 0 && (v = next_name(n, &i));) {
        struct upp_str id = wj_text_at(v, "id"), about = wj_text_at(v, "description");
        bool here = wb_str_eq(id, wb_buf_str(now));
        r = cli_chat_note_as(&c->view, &(struct cli_note){.style = here ? CLI_STYLE_BOLD : 0, .indent = 4}, err,
                             "%s %-12.*s%s%.*s", here ? "*" : " ", UPP_FMT(id), about.n ? "  " : "", UPP_FMT(about));
    }
    return r;
}

/* ": a, b, c", as far as they fit. */
static void add_names(struct wb_buf *out, const struct names *n)
{
    yyjson_val *v;
    for (size_t i = 0; (v = next_name(n, &i));)
        if (out->n + wj_text_at(v, "id").n < LISTED)
            wb_buf_addf(out, "%s%.*s", out->n ? ", " : ": ", UPP_FMT(wj_text_at(v, "id")));
}

/* Takes a name of the list, or says which is the nearest one. */
static int choose(const struct names *n, struct upp_str name, struct wb_buf *to, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf all = WB_BUF(4096);
    struct wc_guess guess = {0};
    yyjson_val *v;
    for (size_t i = 0; (v = next_name(n, &i));) {
        if (wb_str_eq(wj_text_at(v, "id"), name))
            return wb_str_eq(name, wb_buf_str(to)) ? 0 : take(to, name, err);
        wc_guess(&guess, name, wj_text_at(v, "id"));
    }
    if (wc_guessed(&guess)[0])
        return upp_fail(err, UPP_ENOTFOUND, "no %s '%.*s'%s", n->what, UPP_FMT(name), wc_guessed(&guess));
    add_names(&all, n);
    bool several = wb_str_find(wb_buf_str(&all), UPP_STR(", "), 0) != SIZE_MAX;
    return upp_fail(err, UPP_ENOTFOUND, "no %s '%.*s'%s%.*s", n->what, UPP_FMT(name),
                    several ? "; there are"
                    : all.n ? "; there is"
                            : "",
                    UPP_FMT(wb_buf_str(&all)));
}

/* One that is stored may be beyond the list. */
WEFT_SUSPENDS static int find_stored(struct cli_chat *c, struct upp_str name, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf path = WB_BUF(4096);
    yyjson_val *v;
    wb_buf_add(&path, UPP_STR("/v1/assistants/"));
    cli_path_add(&path, name);
    int r = wb_buf_check(&path, err);
    return r < 0 ? r : cli_chat_call(c, "GET", wb_buf_str(&path), NULL, &v, err);
}

WEFT_SUSPENDS int cli_chat_set_agent(struct cli_chat *c, struct upp_str name, struct upp_err *err)
{
    struct names n;
    int r = name.n ? find_stored(c, name, err) : 0;
    if (name.n && r != -UPP_ENOTFOUND)
        return r < 0 || wb_str_eq(name, wb_buf_str(&c->agent)) ? r : take(&c->agent, name, err);
    r = get_names(c, false, &n, err);
    if (r < 0)
        return r;
    return name.n ? choose(&n, name, &c->agent, err) : list(c, &n, &c->agent, err);
}

WEFT_SUSPENDS int cli_chat_set_model(struct cli_chat *c, struct upp_str name, struct upp_err *err)
{
    struct names n;
    if (wb_str_eq(name, UPP_STR("-"))) {
        wb_buf_clear(&c->model);
        return 0;
    }
    int r = get_names(c, true, &n, err);
    if (r < 0)
        return r;
    return name.n ? choose(&n, name, &c->model, err) : list(c, &n, &c->model, err);
}

/* The only one that there is, or a question that names them. */
WEFT_SUSPENDS static int only_agent(struct cli_chat *c, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf all = WB_BUF(4096);
    struct names n;
    int r = get_names(c, false, &n, err);
    if (r < 0)
        return r;
    if (yyjson_arr_size(n.list) == 1)
        return take(&c->agent, wj_text_at(yyjson_arr_get_first(n.list), "id"), err);
    add_names(&all, &n);
    return upp_fail(err, UPP_EINVALID, "which agent? name one, as in weft chat AGENT%.*s", UPP_FMT(wb_buf_str(&all)));
}

WEFT_SUSPENDS static int get_list(struct cli_chat *c, struct upp_str rest, yyjson_val **ret, struct upp_err *err)
{
    struct upp_str path;
    yyjson_val *v;
    int r = wb_arena_check(&c->arena, err);
    if (r >= 0)
        r = cli_chat_path(c, rest.p, &path, err);
    if (r >= 0)
        r = cli_chat_call(c, "GET", path, NULL, &v, err);
    if (r >= 0)
        *ret = yyjson_obj_get(v, "data");
    return r;
}

/* The agent that spoke last in the last run: the one that was asked, or one that it has handed over to. */
WEFT_SUSPENDS int cli_chat_thread_agent(struct cli_chat *c, struct wb_buf *ret, struct upp_err *err)
{
    yyjson_val *list, *run, *e;
    size_t i, max;
    int r = get_list(c, UPP_STR("/runs?limit=1"), &list, err);
    if (r < 0 || !(run = yyjson_arr_get_first(list)))
        return r;
    struct upp_str asked = wj_text_at(run, "assistant_id"), name = asked;
    struct upp_str rest =
        wb_arena_printf(&c->arena, "/entries?limit=%d&run_id=%.*s", LAST_ENTRIES, UPP_FMT(wj_text_at(run, "id")));
    r = get_list(c, rest, &list, err);
    if (r < 0)
        return r;
    yyjson_arr_foreach(list, i, max, e)
    {
        if (wb_str_eq(wj_text_at(e, "role"), UPP_STR("assistant")) && wj_text_at(e, "agent").n) {
            name = wj_text_at(e, "agent");
            break;
        }
    }
    if (!name.n)
        return 0;
    r = take(&c->asked, wb_str_eq(name, asked) ? UPP_STR("") : asked, err);
    return r < 0 ? r : take(ret, name, err);
}

WEFT_SUSPENDS int cli_chat_find_agent(struct cli_chat *c, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf last = WB_BUF(4096);
    const struct wc_config *config = c->f.door.config;
    int r = 0;
    if (c->thread.n) /* there is one, also if the agent is given */
        r = cli_chat_thread_agent(c, &last, err);
    if (r >= 0 && c->agent.n) /* it was chosen */
        wb_buf_clear(&c->asked);
    if (r >= 0 && !c->agent.n)
        wb_buf_add(&c->agent, wb_buf_str(&last));
    if (r >= 0 && !c->agent.n && !c->f.door.url && config->default_agent)
        wb_buf_add(&c->agent, config->default_agent->def.name);
    if (r >= 0 && !c->agent.n)
        r = only_agent(c, err);
    return r < 0 ? r : cli_chat_set_agent(c, wb_buf_str(&c->agent), err);
}
