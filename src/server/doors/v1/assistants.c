/* server/doors/v1/assistants.c — /v1/assistants: agents of the configuration, which cannot be changed here, and stored
 * assistants, which can. /v1/models: the names of the configuration's models and agents, and their aliases. */
#include "base/clock.h"
#include "base/defs.h"
#include "base/utf8.h"
#include "json/value.h"
#include "runtime/config.h"
#include "server/doors/agent.h"
#include "server/doors/assistants.h"
#include "server/doors/objects/find.h"
#include "server/doors/objects/list_page.h"
#include "server/doors/options.h"
#include "server/doors/v1/routes.h"
#include "server/http/auth.h"
#include "server/http/server.h"

/* What an assistant has: of the options of a run these, and a few of its own. */
static const char *const settings[] = {
    "model",       "name",  "description",     "instructions",     "tools", "tool_resources", "metadata",
    "temperature", "top_p", "response_format", "reasoning_effort", NULL};

/* Those that only a run has. */
static const struct sv_alias not_here[] = {
    {"additional_instructions", NULL},
    {"max_prompt_tokens", NULL},
    {"max_completion_tokens", NULL},
    {"truncation_strategy", NULL},
    {"tool_choice", NULL},
    {"parallel_tool_calls", NULL},
    {"stop", NULL},
    {"seed", NULL},
    {"frequency_penalty", NULL},
    {"presence_penalty", NULL},
    {NULL, NULL},
};

/* Texts by their length in characters: OpenAI's reference, 2026-08. */
static const struct {
    const char *name;
    size_t max;
} lengths[] = {{"name", 256}, {"description", 512}, {"instructions", 256000}};

static int check_lengths(const struct sv_body *b, struct upp_err *err)
{
    for (size_t i = 0; i < WB_LEN(lengths); i++) {
        struct upp_str text;
        int r = sv_body_str(b, b->root, wb_cstr(lengths[i].name), &text, err);
        if (r < 0)
            return r;
        if (r > 0 && wb_utf8_count(text) > lengths[i].max)
            return sv_body_wrong(b, sv_member(b->root, wb_cstr(lengths[i].name)), err,
                                 "'%s' has at most %zu characters", lengths[i].name, lengths[i].max);
    }
    return 0;
}

static struct upp_str tool_name(yyjson_val *tool)
{
    return wj_text_at(yyjson_obj_get(tool, "function"), "name");
}

/* As a run would find, but only then. */
static int check_names(const struct sv_body *b, struct upp_err *err)
{
    yyjson_val *tools = sv_member(b->root, UPP_STR("tools")), *one;
    size_t i, max;
    yyjson_arr_foreach(tools, i, max, one)
    {
        for (size_t k = 0; k < i; k++)
            if (wb_str_eq(tool_name(one), tool_name(yyjson_arr_get(tools, k))))
                return sv_body_wrong(b, one, err, "two tools are called '%.*s'", UPP_FMT(tool_name(one)));
    }
    return 0;
}

static int read_settings(struct sv_exchange *x, struct sv_body *ret, struct upp_err *err)
{
    struct upp_str none = {NULL, 0}, text;
    int r = sv_body_read(x, settings, ret, err);
    if (r >= 0)
        r = check_lengths(ret, err);
    if (r >= 0)
        r = sv_options_read(x, ret, ret->root, none, not_here, &text, err);
    if (r >= 0)
        r = check_names(ret, err);
    if (r >= 0)
        r = sv_resources_read(ret, ret->root, &x->arena, &text, err);
    return r;
}

/* The record: what is given, over what was there. null takes a setting away; a model always is. Whoever changes it,
 * its maker stays. */
static int make_record(struct sv_exchange *x, const struct sv_body *b, const struct sv_assistant *old,
                       int64_t created_ms, struct upp_str *ret, struct upp_err *err)
{
    struct upp_str user = old ? old->user : x->owner.user;
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(2 * SV_ASSISTANT_BYTES);
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_i64(&w, "created_ms", created_ms);
    if (user.n)
        wj_put_str(&w, "user", user);
    for (size_t i = 0; settings[i]; i++) {
        const char *name = settings[i];
        yyjson_val *given = b->root ? yyjson_obj_get(b->root, name) : NULL;
        bool keep = !given || (i == 0 && yyjson_is_null(given));
        yyjson_val *v = keep ? (old ? yyjson_obj_get(old->record, name) : NULL) : given;
        if (v == given && i == 0 && yyjson_is_str(v)) /* the model, by its own name */
            wj_put_str(&w, name, sv_model_named(x, wj_text(v)));
        else if (v && !yyjson_is_null(v))
            wj_put_value(&w, name, v);
    }
    wj_write_close(&w, '}');
    return wj_writer_text(&w, &x->arena, ret);
}

static int answer_assistant(struct sv_exchange *x, const struct sv_assistant *s, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, &x->reply.body, err);
    sv_assistant_write(&w, x, s);
    return sv_finish(x, &w);
}

WEFT_SUSPENDS int sv_create_assistant(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_body b;
    struct upp_str record;
    struct sv_assistant s;
    int r = read_settings(x, &b, err);
    if (r >= 0 && !sv_member(b.root, UPP_STR("model")))
        return upp_fail(err, UPP_EINVALID, "model names a model of the configuration, and is missing");
    if (r >= 0)
        r = make_record(x, &b, NULL, wb_wall_ms(), &record, err);
    if (r >= 0)
        r = sv_assistant_add(x, record, &s, err);
    return r < 0 ? r : answer_assistant(x, &s, err);
}

WEFT_SUSPENDS int sv_get_assistant(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_assistant s;
    int r = sv_assistant_find(x, sv_agent_named(x, x->params[0]), &x->arena, &s, err);
    return r < 0 ? r : answer_assistant(x, &s, err);
}

/* The stored one that {a} names, for somebody who may change it: an agent stays as the configuration says, and what a
 * user made is that user's, or an administrator's. */
WEFT_SUSPENDS static int find_stored(struct sv_exchange *x, struct sv_assistant *ret, struct upp_err *err)
{
    int r = sv_assistant_find(x, sv_agent_named(x, x->params[0]), &x->arena, ret, err);
    if (r >= 0 && !ret->record)
        r = upp_fail(err, UPP_EREFUSED,
                     "'%.*s' is an agent of the server's configuration: it is neither modified nor deleted here",
                     UPP_FMT(ret->id));
    if (r < 0 || wb_str_eq(ret->user, x->owner.user) || sv_auth_need(x, SV_SCOPE_ADMIN, NULL) >= 0)
        return r;
    r = sv_auth_need(x, SV_SCOPE_ADMIN, err);
    return upp_wrap(err, r, "assistant '%.*s' was made by another user", UPP_FMT(ret->id));
}

WEFT_SUSPENDS int sv_modify_assistant(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_assistant s;
    struct sv_body b;
    struct upp_str record;
    int r = find_stored(x, &s, err);
    if (r >= 0)
        r = read_settings(x, &b, err);
    if (r >= 0)
        r = make_record(x, &b, &s, s.created_ms, &record, err);
    if (r >= 0)
        r = sv_assistant_read(x, record, &s, err);
    if (r >= 0)
        r = sv_assistant_set(x, &s, record, err);
    return r < 0 ? r : answer_assistant(x, &s, err);
}

WEFT_SUSPENDS int sv_delete_assistant(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_assistant s;
    int r = find_stored(x, &s, err);
    if (r >= 0)
        r = sv_assistant_drop(x, &s, err);
    return r < 0 ? r : sv_answer_deleted(x, s.id, "assistant.deleted", err);
}

/* The ids of all assistants: the page is some of them. */
struct id_list {
    struct sv_exchange *x;
    struct upp_str *p;
    size_t n;
};

WEFT_SUSPENDS static int find_listed(void *arg, struct upp_str id, void *ret, struct upp_err *err)
{
    const struct id_list *l = arg;
    struct sv_assistant s;
    size_t *at = ret;
    int r = sv_assistant_find(l->x, id, &l->x->arena, &s, err);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? 0 : r;
    for (*at = 0; *at < l->n; (*at)++)
        if (wb_str_eq(l->p[*at], s.id))
            return 1;
    return 0;
}

WEFT_SUSPENDS int sv_list_assistants(struct sv_exchange *x, struct upp_err *err)
{
    struct id_list ids = {.x = x};
    const struct sv_cursors cursors = {find_listed, &ids, "assistant"};
    struct upp_str first = {NULL, 0}, last = {NULL, 0};
    struct sv_page p;
    struct sv_between b;
    struct wj_writer w;
    int r = sv_page_read(x, &p, err);
    if (r >= 0)
        r = sv_assistant_ids(x, &ids.p, &ids.n, err);
    if (r >= 0)
        r = sv_page_between(&p, &cursors, ids.n, &b, err);
    if (r < 0)
        return r;
    bool more = sv_page_cut(&p, &b);
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (size_t i = 0; i < b.end - b.first; i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20); /* records may be long */
        struct upp_str id = ids.p[p.ascending ? b.first + i : b.end - 1 - i];
        struct sv_assistant s;
        r = sv_assistant_find(x, id, &a, &s, err);
        if (r == -UPP_ENOTFOUND) /* deleted just now */
            continue;
        if (r < 0)
            return r;
        sv_assistant_write(&w, x, &s);
        first = first.p ? first : id;
        last = id;
    }
    sv_list_end_text(&w, first, last, more);
    return sv_finish(x, &w);
}

/* ---- Models: an agent can be asked like one ---------------------------------------------------------------------- */

static void write_model(struct wj_writer *w, struct upp_str name)
{
    wj_write_open(w, '{');
    wj_put_str(w, "id", name);
    wj_put_str(w, "object", UPP_STR("model"));
    wj_put_u64(w, "created", 0); /* nobody knows */
    wj_put_str(w, "owned_by", UPP_STR("weft"));
    wj_write_close(w, '}');
}

/* A name may be that of a model and of an agent: it is listed once. */
int sv_list_models(struct sv_exchange *x, struct upp_err *err)
{
    const struct wr_agent_def *def;
    struct upp_str name;
    struct wj_writer w;
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (size_t i = 0; wr_model_at(x->core->engine, i, &name); i++)
        write_model(&w, name);
    for (size_t i = 0; (def = wr_agent_at(x->core->engine, i)); i++)
        if (!wr_has_model(x->core->engine, def->name))
            write_model(&w, def->name);
    for (size_t i = 0; i < x->settings->names.n; i++) { /* a pattern is no name that one could ask for */
        name = x->settings->names.p[i].name;
        if (wb_str_find(name, UPP_STR("*"), 0) == SIZE_MAX)
            write_model(&w, name);
    }
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

static int find_model(struct sv_exchange *x, struct upp_err *err)
{
    const struct wr_agent_def *def;
    struct upp_str name = x->params[0];
    char shown[WJ_QUOTED];
    if (wr_has_model(x->core->engine, name))
        return 0;
    for (size_t i = 0; (def = wr_agent_at(x->core->engine, i)); i++)
        if (wb_str_eq(def->name, name))
            return 0;
    if (sv_name_find(&x->settings->names, name).n)
        return 0;
    return upp_fail(err, UPP_ENOMODEL, "The model %s does not exist", wj_quote(name, shown, sizeof shown));
}

int sv_get_model(struct sv_exchange *x, struct upp_err *err)
{
    struct wj_writer w;
    int r = find_model(x, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    write_model(&w, x->params[0]);
    return sv_finish(x, &w);
}
