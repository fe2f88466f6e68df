/* cli/chat/agents.c — the agents and models of the server: /agent, /model, and whom the chat begins with. */
#include "base/defs.h"
#include "cli/chat/commands.h"
#include "json/value.h"
#include "runtime/config_read.h"

enum { LISTED = 400 /* bytes of a list of names */ };

#define AGENTS UPP_STR("/v1/assistants?limit=100&order=asc")
#define MODELS UPP_STR("/v1/models")

static int take(struct wb_buf *to, struct upp_str name, struct upp_err *err)
{
    wb_buf_clear(to);
    wb_buf_add(to, name);
    return wb_buf_check(to, err);
}

/* Lists what the server has. */
WEFT_SUSPENDS static int list(struct cli_chat *c, struct upp_str path, const struct wb_buf *now, struct upp_err *err)
{
    yyjson_val *v, *m;
    size_t      i, max;
    int         r = cli_chat_call(c, "GET", path, NULL, &v, err);
    if (r < 0)
        return r;
    yyjson_arr_foreach(yyjson_obj_get(v, "data"), i, max, m)
    {
        struct upp_str id = wj_text_at(m, "id"), about = wj_text_at(m, "description");
        bool           here = wb_str_eq(id, wb_buf_str(now));
        r = cli_chat_note_as(&c->view, &(struct cli_note){.style = here ? CLI_STYLE_BOLD : 0, .indent = 4}, err,
                             "%s %-12.*s%s%.*s", here ? "*" : " ", UPP_FMT(id), about.n ? "  " : "", UPP_FMT(about));
        if (r < 0)
            return r;
    }
    return 0;
}

/* -UPP_ENOTFOUND, with the nearest name that there is. */
WEFT_SUSPENDS static int none_of(struct cli_chat *c, const char *what, struct upp_str path, struct upp_str name,
                                 struct upp_err *err)
{
    struct wc_guess guess = {0};
    yyjson_val     *v, *m;
    size_t          i, max;
    int             r = cli_chat_call(c, "GET", path, NULL, &v, err);
    if (r < 0)
        return r;
    yyjson_arr_foreach(yyjson_obj_get(v, "data"), i, max, m) wc_guess(&guess, name, wj_text_at(m, "id"));
    return upp_fail(err, UPP_ENOTFOUND, "no %s '%.*s'%s", what, UPP_FMT(name), wc_guessed(&guess));
}

/* Takes a name that the server has. */
WEFT_SUSPENDS static int choose(struct cli_chat *c, const char *what, struct upp_str from, struct upp_str path,
                                struct upp_str name, struct wb_buf *to, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf one = WB_BUF(4096);
    yyjson_val                           *v;
    wb_buf_add(&one, from);
    cli_path_add(&one, name);
    int r = wb_buf_check(&one, err);
    if (r >= 0)
        r = cli_chat_call(c, "GET", wb_buf_str(&one), NULL, &v, err);
    if (r == -UPP_ENOTFOUND)
        return none_of(c, what, path, name, err);
    return r < 0 || wb_str_eq(name, wb_buf_str(to)) ? r : take(to, name, err);
}

WEFT_SUSPENDS int cli_chat_set_agent(struct cli_chat *c, struct upp_str name, struct upp_err *err)
{
    return name.n ? choose(c, "agent", UPP_STR("/v1/assistants/"), AGENTS, name, &c->agent, err)
                  : list(c, AGENTS, &c->agent, err);
}

WEFT_SUSPENDS int cli_chat_set_model(struct cli_chat *c, struct upp_str name, struct upp_err *err)
{
    if (wb_str_eq(name, UPP_STR("-"))) {
        wb_buf_clear(&c->model);
        return 0;
    }
    return name.n ? choose(c, "model", UPP_STR("/v1/models/"), MODELS, name, &c->model, err)
                  : list(c, MODELS, &c->model, err);
}

/* ---- Whom the chat begins with ------------------------------------------------------------------------------------
 */

/* The only one that there is, or a question that names them. */
WEFT_SUSPENDS static int only_agent(struct cli_chat *c, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf names = WB_BUF(CLI_LINE_MAX);
    yyjson_val                           *v, *m;
    size_t                                i, max;
    int                                   r = cli_chat_call(c, "GET", AGENTS, NULL, &v, err);
    if (r < 0)
        return r;
    yyjson_val *data = yyjson_obj_get(v, "data");
    if (yyjson_arr_size(data) == 1)
        return take(&c->agent, wj_text_at(yyjson_arr_get_first(data), "id"), err);
    yyjson_arr_foreach(data, i, max, m)
    {
        struct upp_str id = wj_text_at(m, "id");
        if (names.n + id.n < LISTED)
            wb_buf_addf(&names, "%s%.*s", i ? ", " : ": ", UPP_FMT(id));
    }
    return upp_fail(err, UPP_EINVALID, "which agent? name one, as in weft chat AGENT%.*s", UPP_FMT(wb_buf_str(&names)));
}

WEFT_SUSPENDS int cli_chat_thread_agent(struct cli_chat *c, struct wb_buf *ret, struct upp_err *err)
{
    struct upp_str path;
    yyjson_val    *v;
    int            r = cli_chat_path(c, "/runs?limit=1", &path, err);
    if (r >= 0)
        r = cli_chat_call(c, "GET", path, NULL, &v, err);
    if (r < 0)
        return r;
    struct upp_str name = wj_text_at(yyjson_arr_get_first(yyjson_obj_get(v, "data")), "assistant_id");
    return name.n ? take(ret, name, err) : 0;
}

WEFT_SUSPENDS int cli_chat_find_agent(struct cli_chat *c, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf last   = WB_BUF(4096);
    const struct wc_config               *config = c->f.door.config;
    int                                   r      = 0;
    if (c->thread.n) /* there is one, also if the agent is given */
        r = cli_chat_thread_agent(c, &last, err);
    if (r >= 0 && !c->agent.n)
        wb_buf_add(&c->agent, wb_buf_str(&last));
    if (r >= 0 && !c->agent.n && !c->f.door.url && config->default_agent)
        wb_buf_add(&c->agent, config->default_agent->def.name);
    if (r >= 0 && !c->agent.n)
        r = only_agent(c, err);
    return r < 0 ? r : cli_chat_set_agent(c, wb_buf_str(&c->agent), err);
}
