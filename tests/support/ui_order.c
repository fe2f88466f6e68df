/* support/ui_order.c — the rules of the UI client, apart from the encoder. */
#include "support/ui_order.h"

#include <stdio.h>

#include "json/read.h"
#include "json/value.h"

void ui_order_init(struct ui_order *c, unsigned target)
{
    *c = (struct ui_order){.target = target, .memory = WB_ARENA(16u << 20), .scratch = WB_ARENA(256u << 20)};
}

void ui_order_done(struct ui_order *c)
{
    wb_vec_done(&c->items);
    wb_arena_done(&c->memory);
    wb_arena_done(&c->scratch);
}

static bool wrong(struct ui_order *c, const char *why, struct upp_str what)
{
    if (!c->wrong[0])
        (void)snprintf(c->wrong, sizeof c->wrong, "%.250s: %.*s", why, WB_MIN((int)what.n, 120), what.p ? what.p : "");
    return false;
}

/* ---- Shapes ---------------------------------------------------------------------------------------------- */

/* Members: "name:T", T being s string, a any value (may be null), b boolean, o object; '?' before: may be absent. */
static const struct shape {
    const char *type;
    unsigned first; /* major */
    const char *members[5];
} shapes[] = {
    {"start", 5, {"messageId:s", "?messageMetadata:o"}},
    {"start-step", 5, {NULL}},
    {"finish-step", 5, {NULL}},
    {"reset-step", 7, {NULL}},
    {"text-start", 5, {"id:s"}},
    {"text-delta", 5, {"id:s", "delta:s"}},
    {"text-end", 5, {"id:s"}},
    {"reasoning-start", 5, {"id:s"}},
    {"reasoning-delta", 5, {"id:s", "delta:s"}},
    {"reasoning-end", 5, {"id:s"}},
    {"tool-input-start", 5, {"toolCallId:s", "toolName:s"}},
    {"tool-input-delta", 5, {"toolCallId:s", "inputTextDelta:s"}},
    {"tool-input-available", 5, {"toolCallId:s", "toolName:s", "input:a"}},
    {"tool-input-error", 6, {"toolCallId:s", "toolName:s", "input:a", "errorText:s"}},
    {"tool-approval-request", 6, {"approvalId:s", "toolCallId:s"}},
    {"tool-approval-response", 7, {"approvalId:s", "approved:b"}},
    {"tool-output-available", 5, {"toolCallId:s", "output:a"}},
    {"tool-output-error", 5, {"toolCallId:s", "errorText:s"}},
    {"tool-output-denied", 6, {"toolCallId:s"}},
    {"file", 5, {"url:s", "mediaType:s"}},
    {"data-child", 5, {"data:o", "transient:b"}},
    {"data-", 5, {"id:s", "data:a"}}, /* any other */
    {"message-metadata", 5, {"messageMetadata:o"}},
    {"error", 5, {"errorText:s"}},
    {"abort", 5, {NULL}},
    {"finish", 5, {"?finishReason:s", "?messageMetadata:o"}},
};

static bool fits(char kind, yyjson_val *v)
{
    return kind == 'a' || (kind == 's' && yyjson_is_str(v)) || (kind == 'b' && yyjson_is_bool(v)) ||
           (kind == 'o' && yyjson_is_obj(v));
}

static const struct shape *any_data(void)
{
    size_t i = 0;
    while (strcmp(shapes[i].type, "data-") != 0)
        i++;
    return &shapes[i];
}

static bool check_shape(struct ui_order *c, yyjson_val *v, struct upp_str type, struct upp_str data)
{
    const struct shape *s = NULL;
    size_t known = 1; /* the type */
    for (size_t i = 0; i < WB_LEN(shapes); i++)
        if (wb_str_eq(wb_cstr(shapes[i].type), type) && shapes[i].first <= c->target)
            s = &shapes[i];
    if (!s)
        s = wb_str_starts(type, UPP_STR("data-")) ? any_data() : NULL;
    if (!s)
        return wrong(c, "no such type in this major", data);
    for (size_t i = 0; i < WB_LEN(s->members) && s->members[i]; i++) {
        const char *m = s->members[i];
        bool optional = *m == '?';
        char name[32];
        (void)snprintf(name, sizeof name, "%s", m + optional);
        char kind = name[strlen(name) - 1];
        name[strlen(name) - 2] = 0;
        yyjson_val *member = yyjson_obj_get(v, name);
        if (!member && optional)
            continue;
        if (!member || !fits(kind, member))
            return wrong(c, "a member is missing or of the wrong type", data);
        known++;
    }
    return yyjson_obj_size(v) == known || wrong(c, "an unknown member, or one twice", data);
}

/* The client's JSON reader refuses these. */
static bool poisoned(yyjson_val *v)
{
    yyjson_val *end = unsafe_yyjson_get_next(v);
    for (yyjson_val *at = v; at < end; at++) {
        yyjson_val *ctor;
        if (!yyjson_is_obj(at))
            continue;
        if (yyjson_obj_get(at, "__proto__"))
            return true;
        ctor = yyjson_obj_get(at, "constructor");
        if (ctor && yyjson_is_obj(ctor) && yyjson_obj_get(ctor, "prototype"))
            return true;
    }
    return false;
}

/* ---- Blocks and calls ------------------------------------------------------------------------------------ */

static struct ui_order_item *find(struct ui_order *c, const char *what, struct upp_str id)
{
    for (size_t i = c->items.n; i-- > 0;) /* the newest first, as the client does */
        if (strchr(what, c->items.p[i].what) && wb_str_eq(c->items.p[i].id, id))
            return &c->items.p[i];
    return NULL;
}

static bool any(const struct ui_order *c, const char *what)
{
    for (size_t i = 0; i < c->items.n; i++)
        if (strchr(what, c->items.p[i].what))
            return true;
    return false;
}

static void drop(struct ui_order *c, struct ui_order_item *item)
{
    size_t i = (size_t)(item - c->items.p);
    memmove(item, item + 1, (c->items.n - i - 1) * sizeof *item);
    c->items.n--;
}

static bool add(struct ui_order *c, char what, struct upp_str id)
{
    struct ui_order_item item = {wb_arena_dup(&c->memory, id), c->steps, what};
    return (item.id.p && wb_vec_push(&c->items, item, 1 << 16)) || wrong(c, "out of memory", UPP_STR(""));
}

static bool check_block(struct ui_order *c, char what, struct upp_str verb, struct upp_str id, struct upp_str data)
{
    const char set[2] = {what, 0};
    struct ui_order_item *item = find(c, set, id);
    if (!c->step)
        return wrong(c, "a block outside of a step", data);
    if (wb_str_eq(verb, UPP_STR("start")))
        return item ? wrong(c, "rule 5: this id is open", data) : add(c, what, id);
    if (!item)
        return wrong(c, "rule 1: not open", data);
    if (wb_str_eq(verb, UPP_STR("end")))
        drop(c, item);
    return true;
}

static bool check_call(struct ui_order *c, struct upp_str verb, struct upp_str id, struct upp_str data)
{
    struct ui_order_item *item = find(c, "saqo", id);
    bool here = item && item->step == c->steps && c->step; /* else an input makes another part */
    if (wb_str_starts(verb, UPP_STR("input-"))) {
        if (!c->step)
            return wrong(c, "input outside of a step", data);
        if (wb_str_eq(verb, UPP_STR("input-delta")))
            return (here && item->what == 's') || wrong(c, "rule 1: no such input is open", data);
        char what = wb_str_eq(verb, UPP_STR("input-start")) ? 's' : wb_str_eq(verb, UPP_STR("input-error")) ? 'o' : 'a';
        if (here && item->what != 's' && !(item->what == 'o' && what == 's'))
            return wrong(c, "input for a call that has it", data);
        if (!here)
            return add(c, what, id);
        item->what = what;
        return true;
    }
    if (!item)
        return wrong(c, "rule 2: no such call is known", data);
    if (wb_str_eq(verb, UPP_STR("approval-request"))) {
        if (item->what != 'a')
            return wrong(c, "an approval of a call that is not ready", data);
        item->what = 'q';
        return true;
    }
    if (wb_str_eq(verb, UPP_STR("output-denied")) && item->what != 'q')
        return wrong(c, "denied, and nobody was asked", data);
    if (item->what == 's' && !wb_str_eq(verb, UPP_STR("output-error")))
        return wrong(c, "an outcome before the input", data);
    item->what = 'o';
    return true;
}

/* ---- Stages ---------------------------------------------------------------------------------------------- */

static bool check_start(struct ui_order *c, struct upp_str id, struct upp_str data)
{
    if (c->started)
        return wrong(c, "rule 9: a second start", data);
    if (c->message.p && !wb_str_eq(c->message, id))
        return wrong(c, "rule 9: another message id", data);
    if (!c->message.p)
        c->message = wb_arena_dup(&c->memory, id);
    c->started = c->ever = true;
    c->finished = c->aborted = c->failed = false;
    return c->message.p || wrong(c, "out of memory", UPP_STR(""));
}

static bool check_step(struct ui_order *c, struct upp_str verb, struct upp_str data)
{
    if (wb_str_eq(verb, UPP_STR("start-step"))) {
        if (c->step)
            return wrong(c, "a step inside of a step", data);
        c->step = true;
        c->steps++;
        return true;
    }
    if (!c->step)
        return wrong(c, "no step is open", data);
    if (wb_str_eq(verb, UPP_STR("finish-step"))) {
        if (any(c, "trs"))
            return wrong(c, "rule 4: something is open at the end of a step", data);
        c->step = false;
        return true;
    }
    for (size_t i = c->items.n; i-- > 0;) { /* reset-step: a call that is settled must not be lost */
        struct ui_order_item *item = &c->items.p[i];
        if (item->step == c->steps && strchr("aq", item->what))
            return wrong(c, "a reset takes a call that is waited for", data);
        if (item->step == c->steps)
            drop(c, item);
    }
    return true;
}

static bool check_finish(struct ui_order *c, yyjson_val *v, struct upp_str data)
{
    static const char *const reasons[] = {"stop", "length", "content-filter", "tool-calls", "error", "other"};
    struct upp_str reason = wj_text(yyjson_obj_get(v, "finishReason"));
    if (c->step || c->finished || c->aborted)
        return wrong(c, "finish in a step, twice or after abort", data);
    c->finished = true;
    for (size_t i = 0; i < WB_LEN(reasons); i++)
        if (wb_str_eq(wb_cstr(reasons[i]), reason))
            return true;
    return wrong(c, "no such finish reason", data);
}

static bool check_done(struct ui_order *c)
{
    if (!c->started || c->step || !(c->finished || c->aborted))
        return wrong(c, "[DONE] before the end", UPP_STR(""));
    c->started = false;
    return true;
}

static bool check_order(struct ui_order *c, yyjson_val *v, struct upp_str type, struct upp_str data)
{
    struct upp_str family = type, verb = type;
    if (wb_str_eq(type, UPP_STR("start")))
        return check_start(c, wj_text(yyjson_obj_get(v, "messageId")), data);
    if (!c->started)
        return wrong(c, c->ever ? "after [DONE]" : "before start", data);
    if (wb_str_ends(type, UPP_STR("-step")))
        return check_step(c, type, data);
    if (wb_str_eq(type, UPP_STR("finish")))
        return check_finish(c, v, data);
    if (c->finished || c->aborted)
        return wrong(c, "after finish or abort", data);
    if (c->failed)
        return wrong(c, "useChat does not read what comes after an error", data);
    c->aborted = wb_str_eq(type, UPP_STR("abort"));
    c->failed = wb_str_eq(type, UPP_STR("error"));
    if (wb_str_eq(type, UPP_STR("file")))
        return c->step || wrong(c, "a file outside of a step", data);
    if (wb_str_eq(type, UPP_STR("tool-approval-response"))) /* ids of approvals are those of the calls */
        return find(c, "q", wj_text(yyjson_obj_get(v, "approvalId"))) || wrong(c, "rule 3: nobody was asked", data);
    if (wb_str_starts(type, UPP_STR("tool-")))
        return check_call(c, wb_str_sub(type, 5, type.n), wj_text(yyjson_obj_get(v, "toolCallId")), data);
    if (wb_str_starts(type, UPP_STR("text-")) || wb_str_starts(type, UPP_STR("reasoning-"))) {
        (void)wb_str_split(&verb, '-', &family);
        return check_block(c, type.p[0], verb, wj_text(yyjson_obj_get(v, "id")), data);
    }
    return true;
}

bool ui_order_frame(struct ui_order *c, struct upp_str data)
{
    struct upp_err err = {0};
    yyjson_val *v, *type;
    if (c->wrong[0])
        return false;
    if (wb_str_eq(data, UPP_STR("[DONE]")))
        return check_done(c);
    wb_arena_reset(&c->scratch);
    int r = wj_read(&c->scratch, data, UPP_OPTS(wj_read_opts, .flags = WJ_UNIQUE, .depth = WJ_DEPTH_MAX), &v, &err);
    if (r == -UPP_ENOMEM)
        return wrong(c, "out of memory", UPP_STR(""));
    if (r < 0 && wb_str_find(data, UPP_STR("\"output\":"), 0) != SIZE_MAX)
        r = wj_read(&c->scratch, data, UPP_OPTS(wj_read_opts, .depth = WJ_DEPTH_MAX), &v,
                    &err); /* a tool's duplicates */
    if (r < 0)
        return wrong(c, err.msg, data);
    if (memchr(data.p, '\n', data.n) || memchr(data.p, '\r', data.n))
        return wrong(c, "more than one line", data);
    type = yyjson_is_obj(v) ? yyjson_obj_get(v, "type") : NULL;
    if (!type || !yyjson_is_str(type))
        return wrong(c, "no type", data);
    if (poisoned(v))
        return wrong(c, "the client refuses this JSON", data);
    return check_shape(c, v, wj_text(type), data) && check_order(c, v, wj_text(type), data);
}

bool ui_order_end(struct ui_order *c, bool ended)
{
    if (c->wrong[0])
        return false;
    if (!ended)
        return true;
    if (c->started || !c->ever)
        return wrong(c, "the stream does not end with [DONE]", UPP_STR(""));
    return !any(c, "trsaq") || wrong(c, "something was left open", UPP_STR(""));
}
