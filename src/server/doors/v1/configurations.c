/* server/doors/v1/configurations.c — GET /v1/threads/{t}/configurations: the system prompts that an imported document
 * had for its agents, under the name that `config_ref` has in the thread's document (TP-9).
 */
#include "base/defs.h"
#include "dialects/core/configuration.h"
#include "json/write.h"
#include "server/doors/objects/find.h"
#include "server/doors/v1/routes.h"
#include "server/http/server.h"
#include "thread/doc.h"

static void write_configuration(struct wj_writer *w, const struct wm_doc_agent *agent,
                                const struct wd_configuration *configuration)
{
    wj_write_open(w, '{');
    wj_put_str(w, "id", agent->config);
    wj_put_str(w, "object", UPP_STR("thread.configuration"));
    wj_put_str(w, "agent_id", agent->id.n ? agent->id : agent->name);
    wj_put_str(w, "agent_name", agent->name.n ? agent->name : agent->id);
    wj_put_open(w, "prompts", '[');
    for (const struct wd_prompt *p = configuration->first; p; p = p->next)
        wj_write_str(w, p->text);
    wj_write_close(w, ']');
    wj_write_close(w, '}');
}

WEFT_SUSPENDS int sv_list_configurations(struct sv_exchange *x, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena memory = WB_ARENA(1u << 30);
    WB_CLEANUP(wm_doc_done) struct wm_doc doc = {0};
    struct wd_configuration *list;
    struct wl_thread t;
    struct wj_writer w;
    int r = sv_find_thread(x, &t, err);
    if (r >= 0)
        r = wa_thread_doc(x->server->opts.store, &x->owner, &t, NULL, &memory, &doc, err);
    if (r >= 0)
        r = wd_configurations_read(&doc, &memory, &list, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "object", UPP_STR("list"));
    wj_put_open(&w, "data", '[');
    for (size_t i = 0; i < doc.agents.n; i++)
        if (doc.agents.p[i].config.n)
            write_configuration(&w, &doc.agents.p[i], &list[i]);
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}
