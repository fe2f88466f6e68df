/* dialects/envelope/envelope.c — envelopes: the table of their members, their shape, and the dialect's table of
 * functions. */
#include "dialects/envelope/envelope.h"

#include "base/iso8601.h"
#include "dialects/core/lift.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"

#define NAME(text) UPP_STR_INIT(text)
static const struct upp_str protocols[] = {NAME(WD_ENVELOPE_PROTOCOL), {0}};
static const struct upp_str roles[] = {NAME("agent"), NAME("user"), NAME("system"), NAME("tool"), {0}};
static const struct upp_str intents[] = {NAME("plan"),
                                         NAME("decompose"),
                                         NAME("execute"),
                                         NAME("route"),
                                         NAME("retrieve"),
                                         NAME("analyze"),
                                         NAME("summarize"),
                                         NAME("reflect"),
                                         NAME("finalize"),
                                         NAME("tool.call"),
                                         {0}};
static const struct upp_str contents[] = {NAME("text"),        NAME("code"),  NAME("json"),
                                          NAME("tool_result"), NAME("error"), {0}};
static const struct upp_str resources[] = {NAME("url"), NAME("file"), NAME("db"), NAME("tool"), {0}};
static const struct upp_str artifacts[] = {NAME("plan"),    NAME("code"), NAME("query"), NAME("patch"), NAME("report"),
                                           NAME("dataset"), {0}};

static const struct wd_envelope_words protocol_words = {NULL, protocols};
static const struct wd_envelope_words resource_words = {NULL, resources};
static const struct wd_envelope_words artifact_words = {NULL, artifacts};
const struct wd_envelope_words wd_envelope_roles = {NULL, roles};
const struct wd_envelope_words wd_envelope_intents = {"Intent", intents};
const struct wd_envelope_words wd_envelope_contents = {NULL, contents};

enum { MUST = WD_ENV_REQUIRED, FILLED = WD_ENV_FILLED };

static const struct wd_envelope_field agent_fields[] = {
    {NAME("id"), WD_ENV_TEXT, MUST | FILLED, NULL, NULL, NULL, NULL},
    {NAME("name"), WD_ENV_TEXT, MUST, NULL, NULL, NULL, NULL},
    {NAME("model"), WD_ENV_TEXT, MUST, NULL, NULL, NULL, NULL},
    {NAME("version"), WD_ENV_TEXT, 0, NULL, NULL, NULL, NULL},
    {.name = {0}},
};
static const struct wd_envelope_field resource_fields[] = {
    {NAME("type"), WD_ENV_WORD, MUST, NULL, &resource_words, NULL, NULL},
    {NAME("id"), WD_ENV_TEXT, MUST, NULL, NULL, NULL, NULL},
    {NAME("hint"), WD_ENV_TEXT, 0, NULL, NULL, NULL, NULL},
    {.name = {0}},
};
static const struct wd_envelope_field artifact_fields[] = {
    {NAME("kind"), WD_ENV_WORD, MUST | WD_ENV_OPEN, NULL, &artifact_words, NULL, NULL},
    {NAME("name"), WD_ENV_TEXT, MUST, NULL, NULL, NULL, NULL},
    {NAME("uri"), WD_ENV_TEXT, WD_ENV_NULLABLE, NULL, NULL, NULL, NULL},
    {NAME("inline"), WD_ENV_TEXT, 0, NULL, NULL, NULL, NULL},
    {.name = {0}},
};
static const struct wd_envelope_field action_fields[] = {
    {NAME("intent"), WD_ENV_WORD, MUST, NULL, &wd_envelope_intents, NULL, NULL},
    {NAME("task"), WD_ENV_TEXT, MUST | FILLED, NULL, NULL, NULL, NULL},
    {NAME("args"), WD_ENV_MAP, 0, NULL, NULL, NULL, NULL},
    {.name = {0}},
};
static const struct wd_envelope_field cost_fields[] = {
    {NAME("input_tokens"), WD_ENV_COUNT, 0, NULL, NULL, NULL, NULL},
    {NAME("output_tokens"), WD_ENV_COUNT, 0, NULL, NULL, NULL, NULL},
    {.name = {0}},
};
static const struct wd_envelope_shape agent_shape = {"AgentRef", agent_fields};
static const struct wd_envelope_shape resource_shape = {"ResourceRef", resource_fields};
static const struct wd_envelope_shape artifact_shape = {NULL, artifact_fields};
static const struct wd_envelope_shape action_shape = {NULL, action_fields};
static const struct wd_envelope_shape cost_shape = {NULL, cost_fields};

static const struct wd_envelope_field input_fields[] = {
    {NAME("context"), WD_ENV_TEXT, 0, NULL, NULL, NULL, NULL},
    {NAME("resources"), WD_ENV_OBJECTS, 0, NULL, NULL, &resource_shape, NULL},
    {NAME("parameters"), WD_ENV_MAP, 0, NULL, NULL, NULL, NULL},
    {.name = {0}},
};
static const struct wd_envelope_field content_fields[] = {
    {NAME("type"), WD_ENV_WORD, MUST, NULL, &wd_envelope_contents, NULL, NULL},
    {NAME("text"), WD_ENV_TEXT, 0, NULL, NULL, NULL, "what is said; a summary where the type is not text"},
    {NAME("data"), WD_ENV_ANY, 0, NULL, NULL, NULL, NULL},
    {.name = {0}},
};
static const struct wd_envelope_field output_fields[] = {
    {NAME("artifacts"), WD_ENV_OBJECTS, 0, NULL, NULL, &artifact_shape, NULL},
    {NAME("next_actions"), WD_ENV_OBJECTS, 0, NULL, NULL, &action_shape, "steps that are proposed"},
    {.name = {0}},
};
static const struct wd_envelope_field confidence_fields[] = {
    {NAME("score"), WD_ENV_RATIO, MUST, NULL, NULL, NULL, NULL},
    {NAME("rationale"), WD_ENV_TEXT, 0, NULL, NULL, NULL, NULL},
    {NAME("risks"), WD_ENV_TEXTS, 0, NULL, NULL, NULL, NULL},
    {.name = {0}},
};
static const struct wd_envelope_field trace_fields[] = {
    {NAME("parents"), WD_ENV_TEXTS, 0, NULL, NULL, NULL, NULL},
    {NAME("id"), WD_ENV_TEXT, FILLED, NULL, NULL, NULL, NULL},
    {NAME("tags"), WD_ENV_TEXTS, 0, NULL, NULL, NULL, NULL},
    {NAME("cost"), WD_ENV_OBJECT, 0, NULL, NULL, &cost_shape, NULL},
    {.name = {0}},
};
static const struct wd_envelope_shape input_shape = {NULL, input_fields};
static const struct wd_envelope_shape content_shape = {NULL, content_fields};
static const struct wd_envelope_shape output_shape = {NULL, output_fields};
static const struct wd_envelope_shape confidence_shape = {NULL, confidence_fields};
static const struct wd_envelope_shape trace_shape = {NULL, trace_fields};

static const struct wd_envelope_field envelope_fields[] = {
    {NAME("protocol"), WD_ENV_WORD, MUST, "ENV-1.1", &protocol_words, NULL, NULL},
    {NAME("role"), WD_ENV_WORD, MUST, "ENV-1.2", &wd_envelope_roles, NULL, NULL},
    {NAME("agent"), WD_ENV_OBJECT, 0, "ENV-1.2", NULL, &agent_shape, NULL},
    {NAME("timestamp"), WD_ENV_TIME, MUST, "ENV-1.3", NULL, NULL, "RFC 3339, with an offset"},
    {NAME("intent"), WD_ENV_WORD, MUST, "ENV-1.4", &wd_envelope_intents, NULL, "what the message advances"},
    {NAME("task"), WD_ENV_TEXT, MUST | FILLED, "ENV-1.4", NULL, NULL, "its purpose, in a sentence"},
    {NAME("inputs"), WD_ENV_OBJECT, 0, "ENV-1.5", NULL, &input_shape, NULL},
    [WD_ENV_ROW_CONTENT] = {NAME("content"), WD_ENV_OBJECT, MUST, "ENV-1.6", NULL, &content_shape, NULL},
    {NAME("outputs"), WD_ENV_OBJECT, 0, "ENV-1.7", NULL, &output_shape, NULL},
    {NAME("confidence"), WD_ENV_OBJECT, 0, "ENV-1.8", NULL, &confidence_shape, NULL},
    [WD_ENV_ROW_TRACE] = {NAME("trace"), WD_ENV_OBJECT, 0, "ENV-1.9", NULL, &trace_shape,
                          "where it comes from, and what it cost"},
    {.name = {0}},
};
_Static_assert(WB_LEN(envelope_fields) <= WD_ENV_FIELDS + 1, "the longest has room");
const struct wd_envelope_shape wd_envelope_table = {"Envelope", envelope_fields};

bool wd_envelope_is_word(const struct wd_envelope_words *words, struct upp_str text)
{
    const struct upp_str *w = words->list;
    while (w->p && !(w->n == text.n && wj_same(w->p, text.p, text.n)))
        w++;
    return w->p;
}

/* Stricter than wb_time_parse: RFC 3339 requires "T", seconds and an offset. */
bool wd_envelope_is_time(struct upp_str text)
{
    struct wb_time t;
    if (text.n < sizeof "2026-01-02T03:04:05Z" - 1 || (text.p[10] != 'T' && text.p[10] != 't') || text.p[16] != ':')
        return false;
    return wb_time_parse(text, &t, NULL) >= 0 && !t.naive && !t.date_only;
}

struct upp_str wd_envelope_slot(struct wb_arena *a, unsigned k)
{
    static const struct upp_str first[] = {NAME("envelope"), NAME("envelope-1"), NAME("envelope-2"),
                                           NAME("envelope-3")};
    return k < WB_LEN(first) ? first[k] : wb_arena_numbered(a, UPP_STR("envelope-"), k);
}

static const struct wj_field rows[] = {
    F_STR(struct wd_envelope, protocol, "protocol", 0), F_STR(struct wd_envelope, role, "role", 0),
    F_ANY(struct wd_envelope, agent, "agent", 0),       F_STR(struct wd_envelope, timestamp, "timestamp", 0),
    F_STR(struct wd_envelope, intent, "intent", 0),     F_STR(struct wd_envelope, task, "task", 0),
    F_ANY(struct wd_envelope, inputs, "inputs", 0),     F_ANY(struct wd_envelope, content, "content", 0),
    F_ANY(struct wd_envelope, outputs, "outputs", 0),   F_ANY(struct wd_envelope, confidence, "confidence", 0),
    F_ANY(struct wd_envelope, trace, "trace", 0),       F_ANY(struct wd_envelope, weft, "weft", 0),
};
WJ_SHAPE_PUBLIC(wd_envelope, struct wd_envelope, rows);

static int detect(yyjson_val *root)
{
    yyjson_val *v = yyjson_is_arr(root) ? yyjson_arr_get_first(root) : root;
    yyjson_val *protocol = yyjson_obj_get(v, "protocol");
    if (protocol && yyjson_is_str(protocol) && wj_named(protocol, UPP_STR(WD_ENVELOPE_PROTOCOL)))
        return 3;
    return yyjson_obj_get(v, "intent") && yyjson_obj_get(v, "task") && yyjson_is_obj(yyjson_obj_get(v, "content"));
}

const struct wd_document_ops wd_document_envelope = {.name = "envelope",
                                                     .title = "envelope multiagent-1.0, or a list of them",
                                                     .detect = detect,
                                                     .validate = wd_envelope_validate,
                                                     .half = WD_WARNING,
                                                     .half_rule = "ENV-1.1",
                                                     .lift = wd_envelope_lift,
                                                     .lower = wd_envelope_lower};

/* ---- Reading ------------------------------------------------------------------------------------------- */

/* The members of an object that were not read yet. */
struct rest {
    yyjson_val *at, *end;
};

static inline struct rest inside(yyjson_val *obj)
{
    return (struct rest){obj + 1, unsafe_yyjson_get_next(obj)};
}

/* Always inlined: then a name is compared as a few constant bytes. */
#define INLINE __attribute__((always_inline)) static inline

/* Reads the next member if it has this name; else NULL. */
INLINE yyjson_val *take(struct rest *r, struct upp_str name)
{
    if (r->at == r->end || !wj_named(r->at, name))
        return NULL;
    yyjson_val *v = r->at + 1;
    r->at = unsafe_yyjson_get_next(v);
    return v;
}

/* The same for a string. */
INLINE bool take_text(struct rest *r, struct upp_str name, struct upp_str *to)
{
    if (r->at == r->end || !wj_named(r->at, name) || !unsafe_yyjson_is_str(r->at + 1))
        return false;
    *to = wj_text(r->at + 1);
    r->at += 2;
    return true;
}

static bool take_agent(struct rest *r, struct wd_envelope *e)
{
    e->agent = take(r, UPP_STR("agent"));
    if (!e->agent)
        return true;
    if (!unsafe_yyjson_is_obj(e->agent))
        return false;
    struct rest in = inside(e->agent);
    return take_text(&in, UPP_STR("id"), &e->agent_id) && take_text(&in, UPP_STR("name"), &e->agent_name) &&
           take_text(&in, UPP_STR("model"), &e->model) && in.at == in.end;
}

static bool take_content(struct rest *r, struct wd_envelope *e)
{
    e->content = take(r, UPP_STR("content"));
    if (!e->content || !unsafe_yyjson_is_obj(e->content))
        return false;
    struct rest in = inside(e->content);
    if (!take_text(&in, UPP_STR("type"), &e->type) || !take_text(&in, UPP_STR("text"), &e->text))
        return false;
    e->data = take(&in, UPP_STR("data"));
    return in.at == in.end;
}

static bool is_cost(yyjson_val *v)
{
    if (!unsafe_yyjson_is_obj(v))
        return false;
    struct rest in = inside(v);
    yyjson_val *input = take(&in, UPP_STR("input_tokens")), *output = take(&in, UPP_STR("output_tokens"));
    return input && unsafe_yyjson_is_raw(input) && output && unsafe_yyjson_is_raw(output) && in.at == in.end;
}

static bool take_trace(struct rest *r, struct wd_envelope *e)
{
    e->trace = take(r, UPP_STR("trace"));
    if (!e->trace || !unsafe_yyjson_is_obj(e->trace))
        return false;
    struct rest in = inside(e->trace);
    yyjson_val *parents = take(&in, UPP_STR("parents"));
    if (parents) {
        if (!unsafe_yyjson_is_arr(parents) || unsafe_yyjson_get_len(parents) != 1 || !unsafe_yyjson_is_str(parents + 1))
            return false;
        e->parent = wj_text(parents + 1);
    }
    if (!take_text(&in, UPP_STR("id"), &e->id))
        return false;
    e->cost = take(&in, UPP_STR("cost"));
    return in.at == in.end && (!e->cost || is_cost(e->cost));
}

static bool take_weft(struct rest *r, struct wd_envelope *e)
{
    e->weft = take(r, UPP_STR("weft"));
    if (!e->weft)
        return true;
    if (!unsafe_yyjson_is_obj(e->weft) || !unsafe_yyjson_get_len(e->weft))
        return false;
    struct rest in = inside(e->weft);
    (void)take_text(&in, UPP_STR("of"), &e->of);
    (void)take_text(&in, UPP_STR("kind"), &e->kind);
    (void)take_text(&in, UPP_STR("provider"), &e->provider);
    (void)take_text(&in, UPP_STR("call"), &e->call);
    (void)take_text(&in, UPP_STR("name"), &e->name);
    return in.at == in.end;
}

bool wd_envelope_read_canonical(yyjson_val *v, struct wd_envelope *e)
{
    struct rest r = inside(v);
    *e = (struct wd_envelope){.node = {.from = v}};
    e->canonical = take_text(&r, UPP_STR("protocol"), &e->protocol) && take_text(&r, UPP_STR("role"), &e->role) &&
                   take_agent(&r, e) && take_text(&r, UPP_STR("timestamp"), &e->timestamp) &&
                   take_text(&r, UPP_STR("intent"), &e->intent) && take_text(&r, UPP_STR("task"), &e->task) &&
                   take_content(&r, e) && take_trace(&r, e) && take_weft(&r, e) && r.at == r.end &&
                   wb_str_eq(e->protocol, UPP_STR(WD_ENVELOPE_PROTOCOL));
    return e->canonical;
}

static void look_inside(struct wd_envelope *e)
{
    yyjson_val *parent = yyjson_arr_get_last(yyjson_obj_get(e->trace, "parents"));
    e->agent_id = wj_text_at(e->agent, "id");
    e->agent_name = wj_text_at(e->agent, "name");
    e->model = wj_text_at(e->agent, "model");
    e->type = wj_text_at(e->content, "type");
    e->text = wj_text_at(e->content, "text");
    e->data = yyjson_obj_get(e->content, "data");
    e->parent = wj_text_of(parent);
    e->id = wj_text_at(e->trace, "id");
    e->cost = yyjson_obj_get(e->trace, "cost");
    e->of = wj_text_at(e->weft, "of");
    e->kind = wj_text_at(e->weft, "kind");
    e->within = wj_text_at(e->weft, "agent");
    e->provider = wj_text_at(e->weft, "provider");
    e->call = wj_text_at(e->weft, "call");
    e->name = wj_text_at(e->weft, "name");
}

int wd_envelope_read(struct wb_arena *a, yyjson_val *v, struct wd_envelope *e, struct upp_err *err)
{
    if (wd_envelope_read_canonical(v, e))
        return 0;
    int r = WJ_DECODE(a, wd_envelope, v, UPP_OPTS(wj_decode_opts, .problem = wd_ignore_problem), e, err);
    if (r >= 0)
        look_inside(e);
    return r;
}

/* ---- Envelopes in the log of a run --------------------------------------------------------------------- */

yyjson_val *wd_envelope_recorded(struct wb_arena *a, struct upp_str text)
{
    yyjson_val *v;
    text = wb_str_trim(text);
    if (!text.n || text.p[0] != '{' ||
        wj_read(a, text, UPP_OPTS(wj_read_opts, .max_bytes = WD_DOC_BYTES), &v, NULL) < 0)
        return NULL;
    return wb_str_eq(wj_text_at(v, "protocol"), UPP_STR(WD_ENVELOPE_PROTOCOL)) ? v : NULL;
}

struct upp_str wd_envelope_id(yyjson_val *envelope)
{
    return wj_text_at(yyjson_obj_get(envelope, "trace"), "id");
}

void wd_envelope_put_as_text(struct wj_writer *w, struct wb_arena *scratch, yyjson_val *envelope)
{
    yyjson_val *content = yyjson_obj_get(envelope, "content"), *data = yyjson_obj_get(content, "data"), *key;
    struct upp_str text = wj_text_at(content, "text");
    yyjson_obj_iter it = yyjson_obj_iter_with(envelope);
    int r = !text.p && data ? wj_value_text(scratch, data, &text, w->err) : 0;
    if (r < 0)
        wj_writer_fail(w, r);
    wj_write_open(w, '{');
    while ((key = yyjson_obj_iter_next(&it))) {
        if (!wj_named(key, UPP_STR("content"))) {
            wj_put_member(w, key);
            continue;
        }
        wj_put_open(w, "content", '{');
        wj_put_str(w, "type", UPP_STR("text"));
        wj_put_str(w, "text", text.p ? text : UPP_STR(""));
        wj_write_close(w, '}');
    }
    wj_write_close(w, '}');
}

struct upp_str wd_envelope_part_text(const struct upp_part *p)
{
    bool has = p->kind == UPP_PART_TEXT || p->kind == UPP_PART_CALL || p->kind == UPP_PART_RESULT;
    return has ? p->text : (struct upp_str){NULL, 0};
}
