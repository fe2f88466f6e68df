/* model/session_write.c — writes sessions and trees as UAP JSON. */
#include "base/err.h"
#include "json/edit.h"
#include "json/syntax.h"
#include "model/session.h"

/* Checks JSON that is written unchanged: invalid text would corrupt the whole document. NULL: false. */
static bool check_json(struct wj_writer *w, struct upp_str name, struct upp_str *json, char first)
{
    struct wj_syntax seen;
    struct upp_err err = {0};
    if (!json->p)
        return false;
    *json = wb_str_trim(*json);
    int r = wj_syntax(*json, WJ_DEPTH_MAX, &seen, &err);
    if (r < 0)
        wj_writer_fail(w, upp_fail(w->err, (enum upp_code) - r, "%.*s: %s", UPP_FMT(name), err.msg));
    else if (first && json->p[0] != first)
        wj_writer_fail(w, upp_fail(w->err, UPP_EINVALID, "%.*s: expected %s", UPP_FMT(name),
                                   first == '{' ? "an object" : "an array"));
    return r == 0;
}

static void put_json(struct wj_writer *w, struct upp_str name, struct upp_str json, char first)
{
    if (!check_json(w, name, &json, first))
        return;
    wj_write_name(w, name);
    wj_write_raw(w, json.p, json.n);
}

/* Writes a map and leaves it open for our members. */
static void open_map(struct wj_writer *w, struct upp_str json)
{
    static const struct upp_str name = UPP_STR_INIT("metadata");
    bool some = check_json(w, name, &json, '{');
    wj_write_name(w, name);
    wj_write_open(w, '{');
    if (!some || w->failed)
        return;
    wj_put_members_text(w, json);
}

static void put_map(struct wj_writer *w, struct upp_str json)
{
    open_map(w, json);
    wj_write_close(w, '}');
}

static void put_node(struct wj_writer *w, const struct wm_tree_doc *t, const struct wm_tree_node *node)
{
    struct wm_thread_json thread = node->thread;
    if (node->untimed)
        thread.created = thread.updated = (struct upp_str){0};
    wj_write_open(w, '{');
    wj_put_str_or_empty(w, "id", node->id);
    wj_put_str(w, "parentId", node->parent == UINT32_MAX ? (struct upp_str){0} : t->nodes[node->parent].id);
    if (node->name.p)
        wj_put_str_or_empty(w, "name", node->name);
    wj_write_name(w, UPP_STR("thread"));
    wm_thread_write(w, &thread);
    wj_put_open(w, "children", '[');
    for (size_t i = 0; i < node->n_children; i++)
        wj_write_str(w, t->nodes[node->children[i]].id);
    wj_write_close(w, ']');
    open_map(w, node->metadata);
    if (node->parent != UINT32_MAX && node->branch != WM_ALL_MESSAGES)
        wj_put_u64(w, "uap.branchPoint", node->branch);
    if (node->parent != UINT32_MAX && node->branch_events != WM_ALL_MESSAGES)
        wj_put_u64(w, "uap.branchEvents", node->branch_events);
    wj_write_close(w, '}');
    wj_write_close(w, '}');
}

void wm_tree_write(struct wj_writer *w, const struct wm_tree_doc *t)
{
    wj_write_open(w, '{');
    wj_put_str_or_empty(w, "rootId", t->nodes[t->root].id);
    wj_put_str_or_empty(w, "currentId", t->nodes[t->current].id);
    wj_put_open(w, "nodes", '[');
    for (size_t i = 0; i < t->n && !w->out->failed; i++)
        put_node(w, t, &t->nodes[i]);
    wj_write_close(w, ']');
    wj_write_close(w, '}');
}

static void put_state(struct wj_writer *w, const struct wm_checkpoint *c)
{
    wj_put_open(w, "state", '{');
    wj_put_u64(w, "step", c->state_step);
    wj_put_open(w, "messages", '[');
    for (size_t i = 0; i < c->n_messages && !w->out->failed; i++)
        wm_message_write(w, &c->messages[i]);
    wj_write_close(w, ']');
    put_map(w, c->state_metadata);
    if (c->has_reasoning) {
        wj_put_open(w, "reasoning", '[');
        for (size_t i = 0; i < c->n_reasoning; i++)
            wj_write_str(w, c->reasoning[i].p ? c->reasoning[i] : UPP_STR(""));
        wj_write_close(w, ']');
    }
    put_json(w, UPP_STR("plan"), c->plan, '[');
    wj_write_close(w, '}');
}

static void put_session(struct wj_writer *w, const struct wm_session *s, unsigned nested);

static void put_checkpoint(struct wj_writer *w, const struct wm_session *s, const struct wm_checkpoint *c,
                           unsigned nested)
{
    wj_write_open(w, '{');
    wj_put_str_or_empty(w, "id", c->id);
    wj_put_str_or_empty(w, "sessionId", s->id);
    wj_put_str_or_empty(w, "timestamp", c->time);
    wj_put_u64(w, "step", c->step);
    wj_put_str_or_empty(w, "threadId", s->tree.nodes[c->node].id);
    put_state(w, c);
    wj_put_open(w, "subAgentStates", '{');
    for (size_t i = 0; i < c->n_subs && !w->out->failed; i++) {
        wj_write_name(w, c->subs[i].call);
        put_session(w, c->subs[i].session, nested + 1);
    }
    wj_write_close(w, '}');
    open_map(w, c->metadata);
    if (c->length != WM_ALL_MESSAGES)
        wj_put_u64(w, "uap.threadLength", c->length);
    put_json(w, UPP_STR("uap.own"), c->own, 0);
    wj_write_close(w, '}');
    wj_write_close(w, '}');
}

static void put_session(struct wj_writer *w, const struct wm_session *s, unsigned nested)
{
    if (nested > WM_SESSION_NESTED) {
        wj_writer_fail(w, upp_fail(w->err, UPP_ELIMIT, "more than %d sessions in one another", WM_SESSION_NESTED));
        return;
    }
    wj_write_open(w, '{');
    wj_put_str_or_empty(w, "version", UPP_STR(WM_SESSION_VERSION));
    wj_put_str_or_empty(w, "id", s->id);
    wj_put_str_or_empty(w, "agentId", s->agent_id);
    wj_put_str_or_empty(w, "createdAt", s->created);
    wj_put_str_or_empty(w, "updatedAt", s->updated);
    wj_write_name(w, UPP_STR("threadTree"));
    wm_tree_write(w, &s->tree);
    wj_put_open(w, "checkpoints", '[');
    for (size_t i = 0; i < s->n_checkpoints && !w->out->failed; i++)
        put_checkpoint(w, s, &s->checkpoints[i], nested);
    wj_write_close(w, ']');
    put_map(w, s->metadata);
    wj_write_close(w, '}');
}

void wm_session_write(struct wj_writer *w, const struct wm_session *s)
{
    put_session(w, s, 0);
}
