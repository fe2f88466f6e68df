/* server/doors/aitp/routes.c — the table of what AITP adds to /v1, and GET /agents/{agent}: who an agent is, where its
 * doors are, and how it is made. */
#include "server/doors/aitp/routes.h"

#include "base/defs.h"
#include "json/value.h"
#include "json/write.h"
#include "server/doors/agent.h"
#include "server/doors/assistants.h"
#include "server/doors/objects/find.h"
#include "server/http/server.h"

/* URLs are relative to the server: behind a proxy nobody else knows its name. */
static void put_url(struct wj_writer *w, const char *name, struct upp_str agent, const char *path)
{
    static const char digits[] = "0123456789ABCDEF";
    wj_write_name(w, wb_cstr(name));
    WB_CLEANUP(wb_buf_done) struct wb_buf url = WB_BUF(4096);
    wb_buf_add(&url, UPP_STR("/agents/"));
    for (size_t i = 0; i < agent.n; i++) {
        char c = agent.p[i];
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
            c == '.')
            wb_buf_addc(&url, c);
        else {
            wb_buf_addc(&url, '%');
            wb_buf_addc(&url, digits[(unsigned char)c >> 4]);
            wb_buf_addc(&url, digits[(unsigned char)c & 15]);
        }
    }
    wb_buf_add(&url, wb_cstr(path));
    if (url.failed)
        wj_writer_fail(w, -UPP_ELIMIT);
    else
        wj_write_str(w, wb_buf_str(&url));
}

static void put_tool(struct wj_writer *w, const struct wr_tool *t)
{
    static const struct upp_str kinds[] = {[WR_TOOL_FUNCTION] = UPP_STR_INIT("server"),
                                           [WR_TOOL_CLIENT] = UPP_STR_INIT("client"),
                                           [WR_TOOL_AGENT] = UPP_STR_INIT("agent")};
    if (t->kind >= WB_LEN(kinds)) /* handoffs have a list of their own */
        return;
    wj_write_open(w, '{');
    wj_put_str(w, "name", t->spec.name);
    wj_put_str_or_empty(w, "description", t->spec.description);
    wj_put_str(w, "kind", kinds[t->kind]);
    wj_put_str(w, "agent", t->agent.n ? t->agent : (struct upp_str){NULL, 0});
    wj_put_bool(w, "approval", t->approval);
    if (t->spec.parameters.n)
        wj_put_raw(w, "parameters", t->spec.parameters.p, t->spec.parameters.n);
    else
        wj_put_null(w, "parameters");
    wj_write_close(w, '}');
}

/* A configured prompt, and tools that the server runs, are for those who may also replace them: null for others. */
static void put_definition(struct wj_writer *w, const struct sv_exchange *x, const struct wr_agent_def *def)
{
    if (def->base || !sv_agent_shows_all(x)) {
        wj_put_null(w, "definition");
        return;
    }
    wj_put_open(w, "definition", '{');
    wj_put_str_or_empty(w, "model", wr_model_of(x->core->engine, def));
    wj_put_str(w, "strategy", wb_cstr(def->strategy && def->strategy->name ? def->strategy->name : "loop"));
    wj_put_str(w, "instructions", def->system.n ? def->system : (struct upp_str){NULL, 0});
    wj_put_open(w, "tools", '[');
    for (size_t i = 0; i < def->n_tools; i++)
        put_tool(w, &def->tools[i]);
    wj_write_close(w, ']');
    wj_put_open(w, "handoffs", '[');
    for (size_t i = 0; i < def->n_handoffs; i++) {
        const struct wr_handoff *to = &def->handoffs[i];
        wj_write_open(w, '{');
        wj_put_str(w, "agent", to->agent);
        wj_put_bool(w, "on_mention", to->on_mention);
        wj_put_str(w, "prompt", to->prompt.n ? to->prompt : (struct upp_str){NULL, 0});
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
    wj_write_close(w, '}');
}

WEFT_SUSPENDS static int get_card(struct sv_exchange *x, struct upp_err *err)
{
    static const struct wr_card none;
    struct upp_str name = sv_agent_named(x, x->params[0]);
    const struct wr_agent_def *def = wr_agent(x->core->engine, name);
    struct wj_writer w;
    if (!def)
        return wr_no_agent(x->core->engine, name, err);
    const struct wr_card *card = def->card ? def->card : &none;
    struct upp_str title = def->title, about = card->description;
    if (def->base) { /* a stored assistant */
        struct sv_assistant s;
        int r = sv_assistant_find(x, name, &x->arena, &s, err);
        if (r < 0)
            return r;
        name = s.id;
        title = wj_text_at(s.record, "name");
        about = wj_text_at(s.record, "description");
    } else
        name = def->name;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "object", UPP_STR("agent"));
    wj_put_str(&w, "id", name);
    wj_put_str(&w, "name", name);
    wj_put_str(&w, "title", title.n ? title : (struct upp_str){NULL, 0});
    wj_put_str(&w, "description", about.n ? about : (struct upp_str){NULL, 0});
    wj_put_open(&w, "capabilities", '[');
    for (size_t i = 0; i < card->n_capabilities; i++) {
        wj_write_open(&w, '{');
        wj_put_str(&w, "schema", card->capabilities[i]);
        wj_write_close(&w, '}');
    }
    wj_write_close(&w, ']');
    put_url(&w, "url", name, "");
    wj_put_open(&w, "doors", '{');
    put_url(&w, "threads", name, "/v1");
    wj_write_close(&w, '}');
    put_definition(&w, x, def);
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

static const struct sv_route rows[] = {
    {SV_GET, "/v1/threads/{t}/actors", sv_aitp_list_actors, 0, 0},
    {SV_POST, "/v1/threads/{t}/actors", sv_aitp_add_actor, 0, 0},
    {SV_DELETE, "/v1/threads/{t}/actors/{actor}", sv_aitp_remove_actor, 0, 0},
    {SV_GET, "/v1/threads/{t}/capabilities", sv_aitp_list_capabilities, 0, 0},
    {SV_GET, "/v1/threads/{t}/requests", sv_aitp_list_requests, 0, SV_ROUTE_LARGE},
    {SV_POST, "/v1/threads/{t}/subthread", sv_aitp_make_subthread, 0, 0},
    {SV_GET, "/v1/threads/{t}/audit", sv_aitp_audit, 0, SV_ROUTE_LARGE},
};
const struct sv_door sv_door_aitp = {.name = "aitp",
                                     .prefix = "/v1/",
                                     .routes = rows,
                                     .n_routes = WB_LEN(rows),
                                     .home = sv_home_of_path,
                                     .stream = "assistants",
                                     .agents = true};

static const struct sv_route cards[] = {{SV_GET, "/agents/{agent}", get_card, 1, 0}};
const struct sv_door sv_door_agents = {
    .name = "agents", .prefix = "/agents/", .routes = cards, .n_routes = WB_LEN(cards)};
