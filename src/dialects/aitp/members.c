/* dialects/aitp/members.c — reads the actors of a thread's metadata, checks them, and intersects their capabilities. */
#include "dialects/aitp/members.h"

#include "json/value.h"

static bool is_text(yyjson_val *v)
{
    return v && yyjson_is_str(v);
}

struct wd_aitp_members wd_aitp_members_of(yyjson_val *metadata)
{
    yyjson_val *list = yyjson_obj_get(metadata, "actors");
    struct wd_aitp_members m = {0};
    if (!yyjson_is_arr(list))
        return m;
    m.actors = list;
    m.creator = wj_text_at(yyjson_obj_get(metadata, "weft"), "user");
    if (!m.creator.p)
        m.creator = wj_text_at(yyjson_arr_get_first(list), "id");
    return m;
}

static yyjson_val *actor_with(yyjson_val *actors, const char *member, struct upp_str value)
{
    yyjson_val *actor;
    size_t i, n;
    yyjson_arr_foreach(actors, i, n, actor)
    {
        struct upp_str its = wj_text_at(actor, member);
        if (value.n && its.p && wb_str_eq(its, value))
            return actor;
    }
    return NULL;
}

yyjson_val *wd_aitp_member(const struct wd_aitp_members *m, struct upp_str id)
{
    return actor_with(m->actors, "id", id);
}

yyjson_val *wd_aitp_member_of_key(yyjson_val *actors, struct upp_str key)
{
    return actor_with(actors, "client_id", key);
}

uint8_t wd_aitp_role(const struct wd_aitp_members *m, struct upp_str actor)
{
    return wb_str_eq(actor, m->creator) ? UPP_ROLE_USER : UPP_ROLE_ASSISTANT;
}

struct upp_str wd_aitp_other(const struct wd_aitp_members *m, struct upp_str agent)
{
    struct upp_str first = {0};
    yyjson_val *actor;
    size_t i, n, others = 0;
    yyjson_arr_foreach(m->actors, i, n, actor)
    {
        struct upp_str id = wj_text_at(actor, "id");
        if (wb_str_eq(id, m->creator))
            continue;
        if (!others++)
            first = id;
    }
    return others > 1 && wd_aitp_member(m, agent) && !wb_str_eq(agent, m->creator) ? agent : first;
}

struct upp_str wd_aitp_mention(struct upp_str text)
{
    size_t n = 1;
    if (!text.n || text.p[0] != '@')
        return (struct upp_str){0};
    while (n < text.n && !strchr(" \t\r\n,:", text.p[n]))
        n++;
    return n > 1 ? wb_str(text.p + 1, n - 1) : (struct upp_str){0};
}

static struct upp_str url_of(yyjson_val *capability)
{
    return is_text(capability) ? wj_text(capability) : wj_text_at(capability, "schema");
}

const char *wd_aitp_actor_wrong(yyjson_val *actor, const yyjson_val **at)
{
    yyjson_val *id = yyjson_obj_get(actor, "id"), *list = yyjson_obj_get(actor, "capabilities"), *v;
    yyjson_val *client = yyjson_obj_get(actor, "client_id");
    size_t i, n;
    *at = id ? id : actor;
    if (!yyjson_is_obj(actor) || !is_text(id) || !wj_text(id).n)
        return "an actor is an object with the text 'id'";
    if (wj_text(id).n > WD_AITP_ID_MAX)
        return "the id of an actor has at most 256 bytes";
    *at = client;
    if (client && !yyjson_is_null(client) && !is_text(client))
        return "'client_id' is a text";
    *at = list;
    if (list && !yyjson_is_null(list) && !yyjson_is_arr(list))
        return "'capabilities' is a list";
    if (yyjson_arr_size(list) > WD_AITP_CAPABILITIES_MAX)
        return "an actor has at most 64 capabilities";
    yyjson_arr_foreach(list, i, n, v)
    {
        *at = v;
        if (!url_of(v).n)
            return "a capability is {\"schema\": URL}";
    }
    return NULL;
}

const char *wd_aitp_actors_wrong(yyjson_val *actors, const yyjson_val **at)
{
    yyjson_val *actor;
    size_t i, n;
    *at = actors;
    if (!yyjson_is_arr(actors))
        return "'actors' is a list";
    if (yyjson_arr_size(actors) > WD_AITP_MEMBERS_MAX)
        return "a thread has at most 64 actors";
    yyjson_arr_foreach(actors, i, n, actor)
    {
        const char *why = wd_aitp_actor_wrong(actor, at);
        if (why)
            return why;
        if (actor_with(actors, "id", wj_text_at(actor, "id")) != actor) {
            *at = yyjson_obj_get(actor, "id");
            return "another actor has the same id";
        }
        yyjson_val *key = yyjson_obj_get(actor, "client_id");
        if (is_text(key) && wj_text(key).n && actor_with(actors, "client_id", wj_text(key)) != actor) {
            *at = key;
            return "another actor has the same client_id";
        }
    }
    return NULL;
}

void wd_aitp_put_member(struct wj_writer *w, yyjson_val *actor)
{
    yyjson_val *key, *value, *v;
    size_t i, n, k, m;
    wj_write_open(w, '{');
    yyjson_obj_foreach(actor, i, n, key, value)
    {
        if (!wj_named(key, UPP_STR("capabilities")) || !yyjson_is_arr(value)) {
            if (!wj_named(key, UPP_STR("capabilities")))
                wj_put_member(w, key);
            continue;
        }
        wj_put_open(w, "capabilities", '[');
        yyjson_arr_foreach(value, k, m, v)
        {
            if (!is_text(v)) {
                wj_write_value(w, v);
                continue;
            }
            wj_write_open(w, '{');
            wj_put_str(w, "schema", wj_text(v));
            wj_write_close(w, '}');
        }
        wj_write_close(w, ']');
    }
    if (!yyjson_is_arr(yyjson_obj_get(actor, "capabilities")))
        wj_put_raw(w, "capabilities", "[]", 2);
    wj_write_close(w, '}');
}

static bool has_url(yyjson_val *actor, struct upp_str url)
{
    yyjson_val *v;
    size_t i, n;
    yyjson_arr_foreach(yyjson_obj_get(actor, "capabilities"), i, n, v)
    {
        if (wb_str_eq(url_of(v), url))
            return true;
    }
    return false;
}

static bool all_have_url(yyjson_val *actors, struct upp_str url)
{
    yyjson_val *actor;
    size_t i, n;
    yyjson_arr_foreach(actors, i, n, actor)
    {
        if (!has_url(actor, url))
            return false;
    }
    return true;
}

/* Is this the one of its name to be listed: the first of the highest major that all share? */
static bool is_best(yyjson_val *actors, yyjson_val *list, const yyjson_val *this, const struct wd_aitp_schema *s)
{
    yyjson_val *v;
    size_t i, n;
    struct wd_aitp_schema other;
    bool before = true;
    if (!wd_aitp_shares(actors, s))
        return false;
    yyjson_arr_foreach(list, i, n, v)
    {
        before = before && v != this;
        if (v == this || !wd_aitp_schema_parse(url_of(v), &other) || !wb_str_eq(other.name, s->name))
            continue;
        if ((before && other.major == s->major) || (other.major > s->major && wd_aitp_shares(actors, &other)))
            return false;
    }
    return true;
}

void wd_aitp_write_shared(struct wj_writer *w, yyjson_val *actors)
{
    yyjson_val *list = yyjson_obj_get(yyjson_arr_get_first(actors), "capabilities"), *v;
    size_t i, n;
    wj_write_open(w, '[');
    yyjson_arr_foreach(list, i, n, v)
    {
        struct upp_str url = url_of(v);
        struct wd_aitp_schema s;
        bool named = wd_aitp_schema_parse(url, &s);
        if (named ? !is_best(actors, list, v, &s) : !all_have_url(actors, url))
            continue;
        wj_write_open(w, '{');
        wj_put_str(w, "schema", url);
        if (named) {
            wj_put_str(w, "name", s.name);
            wj_put_u64(w, "major", s.major);
        }
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
}
