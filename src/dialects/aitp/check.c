/* dialects/aitp/check.c — problems of an AITP thread: its members, actors and structured messages. */
#include "dialects/aitp/aitp.h"
#include "dialects/aitp/capabilities.h"
#include "json/number.h"
#include "json/value.h"
#include "model/names.h"

struct checking {
    struct wd_problems *p;
    yyjson_val *actors;  /* NULL: none */
    struct wm_names ids; /* of them */
    struct upp_str id, creator;
    struct wb_arena scratch;                             /* for one structured message */
    int8_t shared[WD_AITP_CAPABILITIES][WD_AITP_MAJORS]; /* 0: not checked yet; 1: all actors have it; -1: not all */
};

static bool is_text(yyjson_val *v)
{
    return v && yyjson_is_str(v);
}

static void check_capability(struct wd_problems *p, yyjson_val *v)
{
    yyjson_val *schema = is_text(v) ? v : yyjson_obj_get(v, "schema");
    struct wd_aitp_schema s;
    if (is_text(v))
        wd_problem(p, WD_WARNING, "AITP-12", v, "a capability is {\"schema\": URL}; a bare address is taken for one");
    if (!is_text(schema))
        wd_problem(p, WD_ERROR, "AITP-6", schema ? schema : v, "a capability is an object with the text 'schema'");
    else if (!wd_aitp_schema_parse(wj_text(schema), &s))
        wd_problem(p, WD_WARNING, "AITP-6", schema,
                   "its name and version cannot be found: .../capabilities/NAME/vX.Y.Z/schema.json is expected");
}

static void check_actor(struct wd_problems *p, yyjson_val *actor)
{
    yyjson_val *id = yyjson_obj_get(actor, "id"), *capabilities = yyjson_obj_get(actor, "capabilities"), *v;
    size_t i, n;
    if (!yyjson_is_obj(actor) || !is_text(id)) {
        wd_problem(p, WD_ERROR, "AITP-4", id ? id : actor, "an actor is an object with the text 'id'");
        return;
    }
    if (!capabilities)
        wd_problem(p, WD_WARNING, "AITP-6", actor, "it does not say which capabilities it has");
    else if (!yyjson_is_arr(capabilities))
        wd_problem(p, WD_ERROR, "AITP-6", capabilities, "'capabilities' must be a list");
    yyjson_arr_foreach(capabilities, i, n, v) check_capability(p, v);
}

/* The ids of a list of actors; those that are there twice are reported. */
static int check_ids(struct checking *c, yyjson_val *list, struct wm_names *ids, struct upp_err *err)
{
    yyjson_val *actor;
    uint32_t number;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, actor)
    {
        check_actor(c->p, actor);
        struct upp_str id = wj_text_at(actor, "id");
        int r = id.p ? wm_names_add(ids, id, &number, err) : 1;
        if (r < 0)
            return r;
        if (r == 0)
            wd_problem(c->p, WD_ERROR, "AITP-4", yyjson_obj_get(actor, "id"), "another actor has the same id");
    }
    return 0;
}

static int check_actors(struct checking *c, yyjson_val *list, struct upp_err *err)
{
    if (!yyjson_is_arr(list)) {
        wd_problem(c->p, WD_ERROR, "AITP-1", list, "'actors' must be a list");
        return 0;
    }
    struct wm_names ids = {0};
    int r = check_ids(c, list, list == c->actors ? &c->ids : &ids, err);
    wm_names_done(&ids);
    return r;
}

/* Do all actors have the message's capability, if that is known? */
static void check_shared(struct checking *c, yyjson_val *item, yyjson_val *inside)
{
    struct upp_str url = wj_text_at(inside, "$schema");
    enum wd_aitp_capability capability = url.p ? wd_aitp_capability(url) : WD_AITP_UNKNOWN;
    struct wd_aitp_schema s;
    if (!capability || !c->actors || !wd_aitp_schema_parse(url, &s))
        return;
    int8_t *shared = &c->shared[capability][s.major];
    if (!*shared)
        *shared = wd_aitp_shares(c->actors, &s) ? 1 : -1;
    if (*shared < 0)
        wd_problem(c->p, WD_WARNING, "AITP-6", item, "not every actor has this capability");
}

static int check_item(struct checking *c, yyjson_val *item, struct upp_err *err)
{
    yyjson_val *inside;
    if (!is_text(item)) {
        wd_problem(c->p, wd_aitp_text(item).p ? WD_WARNING : WD_ERROR, "AITP-2", item, "content is a list of texts");
        return 0;
    }
    wb_arena_reset(&c->scratch);
    int r = wd_aitp_structured(&c->scratch, item, &inside, err);
    if (r <= 0)
        return r;
    (void)wd_aitp_check_inside(item, inside, false, c->p); /* it has reported the problems */
    check_shared(c, item, inside);
    return 0;
}

static int check_content(struct checking *c, yyjson_val *m, struct upp_err *err)
{
    yyjson_val *content = yyjson_obj_get(m, "content"), *item;
    size_t i, n;
    int r = 0;
    if (is_text(content)) {
        wd_problem(c->p, WD_WARNING, "AITP-2", content, "'content' is a list; a bare text is taken for one");
        return check_item(c, content, err);
    }
    if (!yyjson_is_arr(content))
        wd_problem(c->p, WD_ERROR, "AITP-2", content ? content : m, "a message has a list of texts as 'content'");
    yyjson_arr_foreach(content, i, n, item)
    {
        if (r >= 0)
            r = check_item(c, item, err);
    }
    return r;
}

static void check_attachments(struct wd_problems *p, yyjson_val *list)
{
    yyjson_val *v;
    size_t i, n;
    if (!list)
        return;
    if (!yyjson_is_arr(list))
        wd_problem(p, WD_ERROR, "AITP-2", list, "'attachments' must be a list");
    yyjson_arr_foreach(list, i, n, v)
    {
        if (!wj_text_at(v, "file_id").p)
            wd_problem(p, WD_ERROR, "AITP-2", v, "an attachment is an object with the text 'file_id'");
    }
}

static void check_speaker(struct checking *c, yyjson_val *m)
{
    yyjson_val *metadata = yyjson_obj_get(m, "metadata"), *in = yyjson_obj_get(metadata, "actor");
    yyjson_val *top = yyjson_obj_get(m, "actor");
    struct upp_str actor = wd_aitp_actor(m);
    if (metadata && !yyjson_is_obj(metadata))
        wd_problem(c->p, WD_ERROR, "AITP-2", metadata, "'metadata' must be an object");
    if (in && !is_text(in))
        wd_problem(c->p, WD_ERROR, "AITP-2", in, "'actor' must be a text");
    if (top)
        wd_problem(c->p, WD_WARNING, "AITP-12", top, "'actor' stands in the metadata");
    if (!actor.p)
        wd_problem(c->p, WD_WARNING, "AITP-2", m, "it does not say which actor said it");
    else if (c->actors && wm_names_find(&c->ids, actor) == UINT32_MAX)
        wd_problem(c->p, WD_WARNING, "AITP-4", in ? in : top, "it is none of the thread's actors");
}

static int check_message(struct checking *c, yyjson_val *m, struct upp_err *err)
{
    yyjson_val *created = yyjson_obj_get(m, "created_at"), *thread = yyjson_obj_get(m, "thread_id");
    if (!yyjson_is_obj(m)) {
        wd_problem(c->p, WD_ERROR, "AITP-2", m, "a message is an object");
        return 0;
    }
    if (!created || !yyjson_is_raw(created) || !wj_num_whole(wj_text(created)))
        wd_problem(c->p, WD_ERROR, "AITP-2", created ? created : m, "'created_at' is a whole number of seconds");
    if (!is_text(thread))
        wd_problem(c->p, WD_ERROR, "AITP-2", thread ? thread : m, "'thread_id' must be a text");
    else if (c->id.p && !wb_str_eq(wj_text(thread), c->id))
        wd_problem(c->p, WD_WARNING, "AITP-2", thread, "it is the id of another thread");
    /* The role follows from the actor; without an actor it is required. */
    yyjson_val *role = yyjson_obj_get(m, "role");
    struct upp_str actor = wd_aitp_actor(m);
    bool user = is_text(role) && wj_named(role, UPP_STR("user"));
    bool known = user || (is_text(role) && wj_named(role, UPP_STR("assistant")));
    if (!known)
        wd_problem(c->p, WD_ERROR, "AITP-2", role ? role : m, "'role' is \"user\" or \"assistant\"");
    else if (actor.p && c->creator.p && user != wb_str_eq(actor, c->creator))
        wd_problem(c->p, WD_WARNING, "AITP-3", role,
                   "whoever made the thread is its user, everybody else an assistant");
    check_speaker(c, m);
    check_attachments(c->p, yyjson_obj_get(m, "attachments"));
    return check_content(c, m, err);
}

static void check_parent(struct checking *c, yyjson_val *parent)
{
    if (parent && !is_text(parent) && !yyjson_is_null(parent))
        wd_problem(c->p, WD_ERROR, "AITP-1", parent, "'parent_id' is the id of a thread, or null");
    else if (is_text(parent) && c->id.p && wb_str_eq(wj_text(parent), c->id))
        wd_problem(c->p, WD_ERROR, "AITP-9", parent, "a thread is not its own parent");
}

static int check_metadata(struct checking *c, yyjson_val *root, struct upp_err *err)
{
    yyjson_val *metadata = yyjson_obj_get(root, "metadata"), *actors = yyjson_obj_get(metadata, "actors");
    yyjson_val *top = yyjson_obj_get(root, "actors"), *parent = yyjson_obj_get(root, "parent_id");
    int r = 0;
    if (metadata && !yyjson_is_obj(metadata))
        wd_problem(c->p, WD_ERROR, "AITP-1", metadata, "'metadata' must be an object");
    if (!actors && !top)
        wd_problem(c->p, WD_WARNING, "AITP-1", metadata ? metadata : root, "it does not say who takes part: 'actors'");
    if (actors)
        r = check_actors(c, actors, err);
    if (r >= 0 && top) {
        wd_problem(c->p, WD_WARNING, "AITP-12", top, "'actors' stand in the metadata");
        r = check_actors(c, top, err);
    }
    if (r < 0)
        return r;
    if (parent)
        wd_problem(c->p, WD_WARNING, "AITP-12", parent, "'parent_id' stands in the metadata");
    check_parent(c, parent);
    check_parent(c, yyjson_obj_get(metadata, "parent_id"));
    return 0;
}

static int check_thread(struct checking *c, yyjson_val *root, struct upp_err *err)
{
    yyjson_val *id = yyjson_obj_get(root, "id"), *messages = wd_last_at(root, "messages"), *m;
    size_t i, n;
    if (!is_text(id))
        wd_problem(c->p, WD_ERROR, "AITP-1", id ? id : root, "a thread has the text 'id'");
    int r = check_metadata(c, root, err);
    if (!yyjson_is_arr(messages))
        wd_problem(c->p, WD_ERROR, "AITP-1", messages ? messages : root, "a thread has a list of 'messages'");
    yyjson_arr_foreach(messages, i, n, m)
    {
        if (r >= 0)
            r = check_message(c, m, err);
    }
    return r;
}

int wd_aitp_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    struct checking c = {.p = p, .scratch = WB_ARENA(WD_DOC_MEMORY)};
    if (!yyjson_is_obj(root)) {
        wd_problem(p, WD_ERROR, "AITP-1", root, "a thread is an object");
        return 0;
    }
    struct wd_aitp_exchanges x = {.a = WB_ARENA(WD_DOC_MEMORY)};
    c.id = wj_text_at(root, "id");
    c.actors = wd_aitp_actors(root);
    c.creator = wd_aitp_creator(root);
    int r = check_thread(&c, root, err);
    if (r >= 0)
        r = wd_aitp_follow(&x, root, p, err);
    wd_aitp_exchanges_done(&x);
    wm_names_done(&c.ids);
    wb_arena_done(&c.scratch);
    return r;
}
