/* server/doors/assistants.c — stores, finds and writes assistants, and starts runs with their settings. */
#include "server/doors/assistants.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/log.h"
#include "json/edit.h"
#include "json/read.h"
#include "json/value.h"
#include "log/log.h"
#include "server/doors/options.h"
#include "server/http/server.h"

enum { PAGE = 256 };

/* Assistants are their tenant's: all of its users read and run them. Who made one is in its record. */
static struct wl_owner owner_of(const struct sv_exchange *x)
{
    return (struct wl_owner){.tenant = x->owner.tenant};
}

static struct upp_str hex_of(struct upp_str id)
{
    return wb_str_sub(id, 5, SIZE_MAX);
}

static int no_assistant(struct upp_str id, struct upp_err *err)
{
    return upp_fail(err, UPP_ENOTFOUND, "No assistant found with id '%.*s'.", UPP_FMT(id));
}

/* ---- Finding ----------------------------------------------------------------------------------------------------- */

/* {"created_ms": N, "user": ..., "model": ..., ...} */
static int read_record(struct upp_str text, struct wb_arena *a, struct sv_assistant *ret, struct upp_err *err)
{
    uint64_t ms = 0;
    int r = wj_read(a, text, NULL, &ret->record, err);
    if (r < 0)
        return r == -UPP_ENOMEM ? r : upp_fail(err, UPP_ESTORE, "the record of an assistant is no JSON");
    yyjson_val *created = yyjson_obj_get(ret->record, "created_ms");
    if (!yyjson_is_raw(created) || !wb_str_u64(wj_text(created), &ms))
        return upp_fail(err, UPP_ESTORE, "the record of an assistant has no time");
    ret->created_ms = (int64_t)ms;
    ret->user = wj_text_at(ret->record, "user");
    return 0;
}

int sv_assistant_read(struct sv_exchange *x, struct upp_str record, struct sv_assistant *ret, struct upp_err *err)
{
    int r = read_record(record, &x->arena, ret, err);
    return r < 0 ? r : wb_arena_check(&x->arena, err);
}

/* The definition may be replaced while somebody waits: its name is copied. */
static bool find_agent(const struct sv_exchange *x, struct upp_str id, struct wb_arena *a, struct sv_assistant *ret)
{
    const struct wr_agent_def *def = NULL, *at;
    struct wb_uuid wanted, own;
    bool by_id = wl_id_parse(id, UPP_STR("asst_"), &wanted);
    for (size_t i = 0; !def && (at = wr_agent_at(x->core->engine, i)); i++)
        if (wb_str_eq(at->name, id) || (by_id && wb_uuid_parse(at->id, &own) && wb_uuid_eq(own, wanted)))
            def = at;
    if (def) {
        struct upp_str name = wb_arena_dup(a, def->name);
        *ret = (struct sv_assistant){.id = name, .agent = name};
    }
    return def;
}

WEFT_SUSPENDS int sv_assistant_find(struct sv_exchange *x, struct upp_str id, struct wb_arena *a,
                                    struct sv_assistant *ret, struct upp_err *err)
{
    struct wl_owner o = owner_of(x);
    struct wb_uuid u;
    char hex[WB_UUID_HEX + 1];
    struct upp_str text;
    if (find_agent(x, id, a, ret))
        return wb_arena_check(a, err);
    if (!wl_id_parse(id, UPP_STR("asst_"), &u))
        return no_assistant(id, err);
    int r = wl_get_value(x->server->opts.store, &o, UPP_STR(SV_ASSISTANTS), wb_uuid_hex(u, hex), a, &text, err);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? no_assistant(id, err) : r;
    *ret = (struct sv_assistant){.id = wb_arena_printf(a, "asst_%s", hex)};
    r = read_record(text, a, ret, err);
    return r < 0 ? r : wb_arena_check(a, err);
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

struct ids {
    struct upp_str *p;
    size_t n;
};

/* One more than a tenant may have: those who count see that there are too many. */
WEFT_SUSPENDS static int stored_ids(struct sv_exchange *x, struct ids *ret, struct upp_err *err)
{
    struct wl_owner o = owner_of(x);
    struct upp_str after = {NULL, 0};
    struct wl_value *page;
    size_t got = PAGE;
    while (got == PAGE && ret->n < SV_ASSISTANTS_MAX + 1) {
        int r = wl_list_values(x->server->opts.store, &o, UPP_STR(SV_ASSISTANT_IDS), after, PAGE, &x->arena, &page,
                               &got, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < got && ret->n < SV_ASSISTANTS_MAX + 1; i++) {
            after = page[i].name;
            ret->p[ret->n++] = wb_arena_printf(&x->arena, "asst_%.*s", UPP_FMT(after));
        }
    }
    return wb_arena_check(&x->arena, err);
}

WEFT_SUSPENDS int sv_assistant_ids(struct sv_exchange *x, struct upp_str **ret, size_t *n, struct upp_err *err)
{
    const struct wr_agent_def *def;
    struct ids all = {0};
    size_t agents;
    for (agents = 0; wr_agent_at(x->core->engine, agents);)
        agents++;
    all.p = wb_new_n(&x->arena, struct upp_str, agents + SV_ASSISTANTS_MAX + 1);
    if (!all.p)
        return wb_arena_check(&x->arena, err);
    while (all.n < agents && (def = wr_agent_at(x->core->engine, all.n)))
        all.p[all.n++] = wb_arena_dup(&x->arena, def->name);
    struct ids stored = {.p = all.p + all.n};
    int r = stored_ids(x, &stored, err);
    *ret = all.p;
    *n = all.n + stored.n;
    return r;
}

/* ---- Storing ----------------------------------------------------------------------------------------------------- */

/* Stores a record under its name, or drops it (record NULL). */
WEFT_SUSPENDS static int commit_record(struct sv_exchange *x, struct upp_str name, struct upp_str record,
                                       struct upp_err *err)
{
    const struct wl_value values[] = {
        {UPP_STR(SV_ASSISTANTS), name, record},
        {UPP_STR(SV_ASSISTANT_IDS), name, record.p ? UPP_STR("{}") : (struct upp_str){NULL, 0}}};
    const uint8_t kind = record.p ? WL_PUT_VALUE : WL_DROP_VALUE;
    const struct wl_change list[] = {{.kind = kind, .value = &values[0]}, {.kind = kind, .value = &values[1]}};
    struct wl_store *s = x->server->opts.store;
    struct wl_commit c = {.owner = owner_of(x), .changes = list, .n = WB_LEN(list), .flags = WL_SYNCED};
    if (record.n > SV_ASSISTANT_BYTES)
        return upp_fail(err, UPP_EINVALID, "an assistant has at most %d bytes of settings", SV_ASSISTANT_BYTES);
    return wl_store_commit(s, &c, err);
}

/* Ids sort by creation: 64 bits of time, in 1/65536 ms and later than the newest one's, then random ones. */
static int new_id(const struct ids *stored, struct wb_uuid *ret, struct upp_err *err)
{
    struct wb_uuid newest = {{0}};
    uint64_t time = (uint64_t)wb_wall_ms() << 16, last = 0;
    int r = wb_uuid_new(ret, err);
    if (r >= 0 && stored->n && wl_id_parse(stored->p[stored->n - 1], UPP_STR("asst_"), &newest))
        for (size_t i = 0; i < 8; i++)
            last = last << 8 | newest.b[i];
    time = WB_MAX(time, last + 1);
    for (size_t i = 0; i < 8; i++)
        ret->b[i] = (unsigned char)(time >> (56 - 8 * i));
    return r;
}

static int too_many(struct upp_err *err)
{
    return upp_fail(err, UPP_EREFUSED, "there are %d assistants already, the most that are stored", SV_ASSISTANTS_MAX);
}

/* Counted before, and after: of several that come at the same time none gets past the limit. */
WEFT_SUSPENDS int sv_assistant_add(struct sv_exchange *x, struct upp_str record, struct sv_assistant *ret,
                                   struct upp_err *err)
{
    struct ids stored = {.p = wb_new_n(&x->arena, struct upp_str, SV_ASSISTANTS_MAX + 1)};
    struct wb_uuid u;
    struct upp_err why = {0};
    char hex[WB_UUID_HEX + 1];
    int r = stored.p ? stored_ids(x, &stored, err) : wb_arena_check(&x->arena, err);
    if (r >= 0 && stored.n >= SV_ASSISTANTS_MAX)
        return too_many(err);
    if (r >= 0)
        r = new_id(&stored, &u, err);
    if (r < 0)
        return r;
    struct upp_str name = wb_uuid_hex(u, hex);
    *ret = (struct sv_assistant){.id = wb_arena_printf(&x->arena, "asst_%s", hex)};
    r = sv_assistant_read(x, record, ret, err);
    if (r >= 0)
        r = commit_record(x, name, record, err);
    if (r < 0)
        return r;
    stored.n = 0;
    if (stored_ids(x, &stored, &why) < 0) { /* it is stored: the next one is counted */
        wb_log(WB_WARN, "the assistants could not be counted", WB_LZ("id", x->request_id), WB_LERR(&why));
        return 0;
    }
    if (stored.n <= SV_ASSISTANTS_MAX)
        return 0;
    r = commit_record(x, name, (struct upp_str){NULL, 0}, err);
    return r < 0 ? r : too_many(err);
}

WEFT_SUSPENDS int sv_assistant_set(struct sv_exchange *x, const struct sv_assistant *s, struct upp_str record,
                                   struct upp_err *err)
{
    return commit_record(x, hex_of(s->id), record, err);
}

WEFT_SUSPENDS int sv_assistant_drop(struct sv_exchange *x, const struct sv_assistant *s, struct upp_err *err)
{
    return commit_record(x, hex_of(s->id), (struct upp_str){NULL, 0}, err);
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

/* The settings that are options of a run too; metadata is the assistant's own. */
static const char *const options[] = {"model", "instructions",    "tools",           "temperature",
                                      "top_p", "response_format", "reasoning_effort"};

/* The options of its runs. `weft_title` is its name for people and for other agents' messages. */
static int options_of(const struct sv_assistant *s, struct wb_arena *a, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(2 * SV_ASSISTANT_BYTES);
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    for (size_t i = 0; i < WB_LEN(options); i++)
        wj_put_value(&w, options[i], yyjson_obj_get(s->record, options[i]));
    wj_put_value(&w, "weft_title", yyjson_obj_get(s->record, "name"));
    wj_write_close(&w, '}');
    return wj_writer_text(&w, a, ret);
}

WEFT_SUSPENDS int sv_assistant_start(struct sv_exchange *x, struct wr_start *run, struct upp_err *err)
{
    struct sv_assistant s;
    if (!wb_str_starts(run->agent, UPP_STR("asst_")))
        return 0;
    int r = sv_assistant_find(x, run->agent, &x->arena, &s, err);
    if (r < 0)
        return r;
    struct upp_str own = {NULL, 0};
    run->agent = s.id;
    if (!s.record)
        return 0;
    r = options_of(&s, &x->arena, &own, err);
    return r < 0 ? r : wj_merge(&x->arena, own, run->options, &run->options, err);
}

/* ---- The object -------------------------------------------------------------------------------------------------- */

static void put_setting(struct wj_writer *w, const char *name, yyjson_val *record, const char *otherwise)
{
    yyjson_val *v = yyjson_obj_get(record, name);
    if (v)
        wj_put_value(w, name, v);
    else
        wj_put_raw(w, name, otherwise, strlen(otherwise));
}

/* Of an agent only the tools that a client runs: the rest of its definition is nobody's business. */
static void put_tools(struct wj_writer *w, const struct wr_agent_def *def)
{
    wj_put_open(w, "tools", '[');
    for (size_t i = 0; def && i < def->n_tools; i++) {
        const struct wr_tool *t = &def->tools[i];
        if (t->kind != WR_TOOL_CLIENT)
            continue;
        wj_write_open(w, '{');
        wj_put_str(w, "type", UPP_STR("function"));
        wj_put_open(w, "function", '{');
        wj_put_str(w, "name", t->spec.name);
        wj_put_str_or_empty(w, "description", t->spec.description);
        if (t->spec.parameters.n)
            wj_put_raw(w, "parameters", t->spec.parameters.p, t->spec.parameters.n);
        wj_write_close(w, '}');
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
}

static void put_agent(struct wj_writer *w, const struct sv_exchange *x, const struct sv_assistant *s)
{
    const struct wr_agent_def *def = wr_agent(x->core->engine, s->agent);
    struct upp_str none = {NULL, 0};
    struct upp_str model = def ? wr_model_of(x->core->engine, def) : none;
    wj_put_str(w, "name", def && def->title.n ? def->title : s->agent);
    wj_put_str(w, "description", def && def->card && def->card->description.n ? def->card->description : none);
    wj_put_str_or_empty(w, "model", model);
    wj_put_null(w, "instructions");
    if (def && def == wr_agent(x->core->engine, none))
        wj_put_bool(w, "is_default", true); /* the configuration's default_agent */
    put_tools(w, def);
}

void sv_assistant_write(struct wj_writer *w, const struct sv_exchange *x, const struct sv_assistant *s)
{
    static const char *const texts[] = {"name", "description", "model", "instructions"};
    wj_write_open(w, '{');
    wj_put_str(w, "id", s->id);
    wj_put_str(w, "object", UPP_STR("assistant"));
    wj_put_i64(w, "created_at", s->created_ms / 1000);
    if (s->record) {
        for (size_t i = 0; i < WB_LEN(texts); i++)
            put_setting(w, texts[i], s->record, "null");
        put_setting(w, "tools", s->record, "[]");
    } else
        put_agent(w, x, s);
    put_setting(w, "tool_resources", s->record, "{}");
    put_setting(w, "metadata", s->record, "{}");
    put_setting(w, "temperature", s->record, "null");
    put_setting(w, "top_p", s->record, "null");
    put_setting(w, "response_format", s->record, "\"auto\"");
    put_setting(w, "reasoning_effort", s->record, "null");
    wj_write_close(w, '}');
}
