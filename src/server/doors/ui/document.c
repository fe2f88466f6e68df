/* server/doors/ui/document.c — writes a thread as the messages of a chat, with the approvals that it waits for. */
#include "server/doors/ui/document.h"

#include "base/defs.h"
#include "dialects/core/convert.h"
#include "json/write.h"
#include "server/http/core.h"
#include "server/http/server.h"
#include "thread/doc.h"

/* As in its stream, an agent's id is its name in the configuration. */
static void know_agent(void *arg, struct wm_doc_agent *agent)
{
    const struct wr_agent_def *def = wr_agent(arg, agent->name);
    agent->id = agent->name;
    if (def && !def->base && def->title.n && !wb_str_eq(def->title, def->name))
        agent->name = def->title;
}

/* A call that waits for an approval says so, as one in an imported document does. */
static void ask_approval(struct wb_arena *a, struct upp_part *call)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(SV_REPLY_BODY);
    struct upp_str had = call->metadata;
    struct wj_writer w;
    wj_writer_init(&w, &out, NULL);
    wj_write_open(&w, '{');
    wj_put_open(&w, "pydantic_ai", '{');
    wj_put_open(&w, "approval", '{');
    wj_put_str(&w, "id", call->id);
    wj_write_close(&w, '}');
    wj_write_close(&w, '}');
    wj_write_close(&w, '}');
    if (wj_writer_check(&w) < 0)
        return;
    struct upp_str text = wb_buf_str(&out);
    call->metadata =
        had.n > 2 ? wb_arena_printf(a, "%.*s,%.*s", (int)text.n - 1, text.p, UPP_FMT(wb_str_sub(had, 1, had.n - 1)))
                  : wb_arena_dup(a, text);
}

int sv_ui_document(struct sv_exchange *x, const struct wl_thread *t, const struct sv_ui_document_opts *chat,
                   struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena memory = WB_ARENA(1u << 30);
    WB_CLEANUP(wm_doc_done) struct wm_doc doc = {0};
    const struct wd_document_ops *ui = wd_document_find(UPP_STR("ui"));
    struct wa_thread_doc_opts opts = {
        .agent = know_agent, .arg = x->core->engine, .dialect = UPP_STR("ui"), .by_run = true};
    int r = wa_thread_doc(x->server->opts.store, &x->owner, t, &opts, &memory, &doc, err);
    if (r >= 0) {
        if (doc.turns.n)
            doc.turns.p[doc.turns.n - 1].partial &= chat->works;
        const struct wm_doc_turn *turn = doc.turns.n ? &doc.turns.p[doc.turns.n - 1] : NULL;
        for (uint32_t i = turn ? turn->first : 0; turn && i < turn->first + turn->n; i++) {
            struct upp_message *m = &doc.entries.p[i].e.message;
            for (size_t k = 0; k < m->n_parts; k++)
                for (size_t p = 0; p < chat->n_pending && m->parts[k].kind == UPP_PART_CALL; p++)
                    if (chat->pending[p].approval && wb_str_eq(chat->pending[p].call, m->parts[k].id))
                        ask_approval(&memory, &m->parts[k]);
        }
        r = wb_arena_check(&memory, err);
    }
    x->reply.status = 200;
    return r < 0 ? r
                 : wd_doc_write(&doc, ui, UPP_OPTS(wd_convert_opts, .target = chat->target), &x->reply.body, NULL, err);
}
