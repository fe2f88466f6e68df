#include "support/ledger.h"

#include <time.h>

#include "dialects/core/lift.h"

/* ---- What a line says ------------------------------------------------------------------------------------ */

enum says { SAYS_NOTHING, SAYS_TEXT, SAYS_ASKS, SAYS_ANSWERS };

struct line {
    enum says says;
    bool user;
    struct upp_str by, at, text, tool, key;
    yyjson_val *value; /* what it asks with, or answers */
    bool failed;
};

/* Of members that stand twice the last counts: what comes back by itself is compared with that one. */
static yyjson_val *member(yyjson_val *obj, const char *name)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(obj);
    yyjson_val *k, *found = NULL;

    while ((k = yyjson_obj_iter_next(&it))) {
        if (yyjson_equals_str(k, name))
            found = yyjson_obj_iter_get_val(k);
    }
    return found;
}

static struct upp_str text_of(yyjson_val *obj, const char *name)
{
    yyjson_val *v = member(obj, name);

    return yyjson_is_str(v) ? wb_str(yyjson_get_str(v), yyjson_get_len(v)) : (struct upp_str){0};
}

/* An agent may be called "user" too: it is "~user" here, and "~user" is "~~user". */
static bool is_tilde_user(struct upp_str s)
{
    while (s.n > 0 && s.p[0] == '~') {
        s.p++;
        s.n--;
    }
    return wb_str_eq(s, UPP_STR("user"));
}

/* SAYS_NOTHING: nothing of it can be understood, and it stays where it is. */
static struct line line_of(yyjson_val *v)
{
    struct line n = {.by = text_of(v, "by"), .at = text_of(v, "at"), .key = text_of(v, "key")};
    struct upp_str text = text_of(v, "text");
    yyjson_val *asks = member(v, "asks");
    yyjson_val *with = member(asks, "with");

    n.user = wb_str_eq(n.by, UPP_STR("user"));
    if (!n.user && is_tilde_user(n.by)) {
        n.by.p++;
        n.by.n--;
    }
    if (text.p && n.by.n > 0) {
        n.says = SAYS_TEXT;
        n.text = text;
    } else if (asks && !n.user && n.by.n > 0) {
        n.tool = text_of(asks, "tool");
        n.key = text_of(asks, "key");
        n.value = yyjson_is_obj(with) ? with : NULL;
        n.says = n.tool.n > 0 && n.key.n > 0 ? SAYS_ASKS : SAYS_NOTHING;
    } else if (n.key.n > 0 && (n.value = member(v, "answers"))) {
        n.says = SAYS_ANSWERS;
        n.failed = yyjson_is_true(member(v, "failed"));
    }
    return n;
}

static int ledger_detect(yyjson_val *root)
{
    if (!yyjson_is_arr(member(root, "lines")) || !member(root, "ledger"))
        return 0;
    return wd_number_at(root, "ledger") == 1 ? 3 : 2;
}

/* ---- Lifting --------------------------------------------------------------------------------------------- */

/* The message whose lines are being read: it is the last entry. */
struct gather {
    struct wd_parts parts;
    uint8_t role; /* 0: none yet */
    uint32_t agent;
};

static void gather_done(struct gather *g)
{
    wb_vec_done(&g->parts.list);
}

static const char *slot_of(struct wb_arena *a, size_t nth)
{
    return nth == 0 ? "line" : wb_arena_printf(a, "line-%zu", nth).p;
}

static int settle(struct wd_lifting *l, struct gather *g, struct upp_err *err)
{
    if (g->role == 0)
        return 0;
    return wd_parts_finish(l->a, &g->parts, &l->doc->entries.p[l->doc->entries.n - 1].e.message, err);
}

static int lift_line(struct wd_lifting *l, struct gather *g, yyjson_val *v, struct upp_err *err)
{
    struct line n = line_of(v);
    struct upp_part part = {0};
    uint32_t agent = WM_NO_AGENT;
    uint8_t role = n.says == SAYS_ANSWERS ? UPP_ROLE_TOOL : n.user ? UPP_ROLE_USER : UPP_ROLE_ASSISTANT;
    const char *slot;
    int r = 0;

    switch (n.says) {
    case SAYS_NOTHING:
        return 0;
    case SAYS_TEXT:
        part = (struct upp_part){.kind = UPP_PART_TEXT, .text = n.text};
        break;
    case SAYS_ASKS:
        part = (struct upp_part){.kind = UPP_PART_CALL, .id = n.key, .name = n.tool, .text = UPP_STR("{}")};
        r = wj_value_text(l->a, n.value, &part.text, err);
        break;
    case SAYS_ANSWERS:
        part = (struct upp_part){.kind = UPP_PART_RESULT, .id = n.key, .is_error = n.failed};
        r = wj_value_text(l->a, n.value, &part.text, err);
        break;
    }
    /* An answer is of whoever spoke last: it does not say. */
    if (r >= 0 && role == UPP_ROLE_TOOL && g->agent != WM_NO_AGENT)
        agent = g->agent;
    else if (r >= 0 && role != UPP_ROLE_USER)
        r = wd_agent_of(l, role == UPP_ROLE_TOOL ? (struct upp_str){0} : n.by, (struct upp_str){0}, &agent, err);
    if (r < 0)
        return r;

    if (n.at.n > 0 || g->role != role || (role == UPP_ROLE_ASSISTANT && g->agent != agent) ||
        g->parts.list.n == WD_PARTS) {
        r = settle(l, g, err);
        if (r < 0)
            return r;
        if (!wd_entry_add(l, role, agent, n.at.n > 0 ? n.at : (struct upp_str){0}, err))
            return -err->code;
        g->role = role;
    }
    if (agent != WM_NO_AGENT)
        g->agent = agent;
    slot = slot_of(l->a, g->parts.list.n);
    if (!slot)
        return upp_fail(err, UPP_ENOMEM, "no memory");
    r = wd_parts_add(&g->parts, &part, err);
    return r < 0 ? r : wd_anchor(l, v, slot, l->doc->entries.n - 1, 1, err);
}

static int ledger_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err)
{
    WB_CLEANUP(gather_done) struct gather g = {.agent = WM_NO_AGENT};
    yyjson_val *lines = member(root, "lines"), *v;
    yyjson_arr_iter it;
    int r;

    if (!yyjson_is_arr(lines))
        return upp_fail(err, UPP_EINVALID, "a ledger has lines");
    l->doc->title = text_of(root, "book");
    it = yyjson_arr_iter_with(lines);
    while ((v = yyjson_arr_iter_next(&it))) {
        r = lift_line(l, &g, v, err);
        if (r < 0)
            return r;
    }
    r = settle(l, &g, err);
    return r < 0 ? r : wd_anchor(l, root, "thread", WD_THREAD, 0, err);
}

/* ---- Lowering -------------------------------------------------------------------------------------------- */

/* The time of a message: as it was said, or the moment. No text: there is no memory. */
static struct upp_str time_of(struct wb_arena *a, const struct upp_message *m)
{
    int64_t ms = m->time_ms % 1000;
    time_t s = (time_t)(m->time_ms / 1000);
    struct tm tm;
    char day[64];

    if (m->time_text.n > 0)
        return m->time_text;
    if (ms < 0) {
        ms += 1000;
        s--;
    }
    if (!gmtime_r(&s, &tm) || strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        return UPP_STR("1970-01-01T00:00:00Z"); /* no calendar goes that far */
    return ms ? wb_arena_printf(a, "%s.%03dZ", day, (int)ms) : wb_arena_printf(a, "%sZ", day);
}

/* Who an agent is in a ledger: its name, unless that is another's. */
static struct upp_str by_of(struct wd_lowering *l, uint32_t agent)
{
    const struct wm_doc_agent *a;
    struct upp_str by = UPP_STR("agent");

    if (agent < l->doc->agents.n) {
        a = &l->doc->agents.p[agent];
        if (a->name.n > 0 && wm_doc_agent_find(l->doc, a->name) == agent)
            by = a->name;
        else if (a->id.n > 0)
            by = a->id;
    }
    return is_tilde_user(by) ? wb_arena_printf(&l->keep, "~%.*s", (int)by.n, by.p) : by;
}

/* JSON of the model, where it is JSON; else what stands for it, and that is told. */
static void value_or(struct wd_lowering *l, uint32_t entry, const char *name, struct upp_str json, bool object,
                     struct upp_str otherwise)
{
    yyjson_val *v;

    wb_arena_reset(&l->scratch);
    v = json.p ? wd_scratch_read(l, json) : NULL;
    if (v && (!object || yyjson_is_obj(v))) {
        wd_member_json(l, name, json);
        return;
    }
    wd_lose(l, entry, object ? "arguments" : "result", object ? "a line asks with an object" : "it is no JSON");
    wd_member_json(l, name, otherwise);
}

/* Why a part is no line; NULL: it is one. */
static const char *unsaid(uint8_t role, const struct upp_part *part)
{
    switch (part->kind) {
    case UPP_PART_TEXT:
        return role == UPP_ROLE_TOOL ? "a tool has no lines but answers" : NULL;
    case UPP_PART_CALL:
        if (part->name.n == 0 || part->id.n == 0)
            return "a line asks a tool, with a key";
        return role == UPP_ROLE_ASSISTANT ? NULL : "only agents ask";
    case UPP_PART_RESULT:
        if (part->id.n == 0)
            return "an answer has a key";
        return role == UPP_ROLE_TOOL ? NULL : "only tools answer";
    case UPP_PART_REASONING:
        return "a ledger has no lines for reasoning";
    default:
        return "a ledger has no lines for media";
    }
}

static const char *part_word(const struct upp_part *part)
{
    switch (part->kind) {
    case UPP_PART_TEXT:
        return "text";
    case UPP_PART_CALL:
        return "call";
    case UPP_PART_RESULT:
        return "result";
    case UPP_PART_REASONING:
        return "reasoning";
    default:
        return "media";
    }
}

/* `at` has no text where the message goes on. */
static void lower_line(struct wd_lowering *l, uint32_t entry, size_t nth, struct upp_str by, struct upp_str at,
                       const struct upp_part *part)
{
    const char *slot = slot_of(&l->keep, nth);

    if (!slot) {
        l->w.failed = -UPP_ENOMEM;
        return;
    }
    wd_open(l, entry, slot);
    wj_write_open(&l->w, '{');
    if (part->kind != UPP_PART_RESULT)
        wd_member(l, "by", by);
    wd_member(l, "at", at);
    switch (part->kind) {
    case UPP_PART_TEXT:
        wd_member(l, "text", part->text.p ? part->text : UPP_STR(""));
        break;
    case UPP_PART_CALL:
        wd_name(l, "asks");
        wj_write_open(&l->w, '{');
        wd_member(l, "tool", part->name);
        wd_member(l, "key", part->id);
        value_or(l, entry, "with", part->text, true, UPP_STR("{}"));
        wj_write_close(&l->w, '}');
        break;
    case UPP_PART_RESULT:
        wd_member(l, "key", part->id);
        value_or(l, entry, "answers", part->text, false, UPP_STR("null"));
        if (part->is_error)
            wd_member_json(l, "failed", UPP_STR("true"));
        break;
    }
    wj_write_close(&l->w, '}');
    wd_close(l);
    if (part->cut)
        wd_lose(l, entry, "cut", "a line is whole");
    if (part->metadata.p)
        wd_lose(l, entry, "metadata", "a line has none");
}

static void lower_entry(struct wd_lowering *l, uint32_t entry, uint32_t turn_agent)
{
    const struct wm_doc_entry *e = &l->doc->entries.p[entry];
    const struct upp_message *m = &e->e.message;
    struct upp_str by, at;
    const char *why;
    size_t lines = 0;

    if (e->e.kind != WM_ENTRY_MESSAGE) {
        wd_lose(l, entry, "event", "a ledger has lines for what was said alone");
        return;
    }
    by = m->role == UPP_ROLE_USER ? UPP_STR("user") : by_of(l, e->agent != WM_NO_AGENT ? e->agent : turn_agent);
    at = time_of(&l->keep, m);
    if (!by.p || !at.p) {
        l->w.failed = -UPP_ENOMEM;
        return;
    }
    for (size_t i = 0; i < m->n_parts; i++) {
        why = unsaid(m->role, &m->parts[i]);
        if (why)
            wd_lose(l, entry, part_word(&m->parts[i]), why);
        else
            lower_line(l, entry, lines, by, lines == 0 ? at : (struct upp_str){0}, &m->parts[i]);
        lines += !why;
    }
    if (m->n_parts == 0)
        wd_lose(l, entry, "message", "a message without parts has no line");
    if (m->interrupted)
        wd_lose(l, entry, "interrupted", "a line is whole");
    if (m->metadata.p)
        wd_lose(l, entry, "metadata", "a line has none");
    if (e->said.model.p || e->said.provider.p || e->said.response.p || e->said.stop)
        wd_lose(l, entry, "model", "a line does not say which model said it");
    if (e->said.has_usage)
        wd_lose(l, entry, "usage", "a ledger does not count tokens");
}

static int ledger_lower(struct wd_lowering *l, struct upp_err *err)
{
    const struct wm_doc_turn *t;

    (void)err;
    wd_open(l, WD_THREAD, "thread");
    wj_write_open(&l->w, '{');
    wd_member_u64(l, "ledger", 1);
    wd_member(l, "book", l->doc->title);
    wd_name(l, "lines");
    wj_write_open(&l->w, '[');
    for (size_t i = 0; i < l->doc->turns.n; i++) {
        t = &l->doc->turns.p[i];
        for (uint32_t k = 0; k < t->n; k++)
            lower_entry(l, t->first + k, t->agent);
    }
    wj_write_close(&l->w, ']');
    wj_write_close(&l->w, '}');
    wd_close(l);
    if (l->doc->metadata.p)
        wd_lose(l, WD_THREAD, "metadata", "a ledger has none");
    if (l->doc->parent.p)
        wd_lose(l, WD_THREAD, "parent", "a ledger comes from nowhere");
    wd_implied(l, WD_IMPLIED_ID | WD_IMPLIED_MADE | WD_IMPLIED_AGENTS | WD_IMPLIED_TURNS | WD_IMPLIED_IDS);
    return 0;
}

/* ---- Validating ------------------------------------------------------------------------------------------ */

static void want_text(struct wd_problems *p, const char *rule, yyjson_val *obj, const char *name)
{
    yyjson_val *v = member(obj, name);

    if (!v)
        wd_problem(p, WD_ERROR, rule, obj, "%s is missing", name);
    else if (!yyjson_is_str(v) || yyjson_get_len(v) == 0)
        wd_problem(p, WD_ERROR, rule, v, "%s is not a text", name);
}

static void validate_asks(struct wd_problems *p, yyjson_val *line, yyjson_val *asks)
{
    yyjson_val *with = member(asks, "with");

    if (wb_str_eq(text_of(line, "by"), UPP_STR("user")))
        wd_problem(p, WD_ERROR, "LEDGER-7", member(line, "by"), "the user asks no tools");
    if (!yyjson_is_obj(asks)) {
        wd_problem(p, WD_ERROR, "LEDGER-7", asks, "asks is not an object");
        return;
    }
    want_text(p, "LEDGER-7", asks, "tool");
    want_text(p, "LEDGER-7", asks, "key");
    if (!yyjson_is_obj(with))
        wd_problem(p, WD_ERROR, "LEDGER-7", with ? with : asks, "with is not an object");
}

static void validate_line(struct wd_problems *p, yyjson_val *v)
{
    yyjson_val *at = member(v, "at"), *text = member(v, "text");
    yyjson_val *asks = member(v, "asks"), *answers = member(v, "answers");
    yyjson_val *failed = member(v, "failed");
    struct upp_message m = {0};

    if (!yyjson_is_obj(v)) {
        wd_problem(p, WD_ERROR, "LEDGER-3", v, "a line is an object");
        return;
    }
    if (!!text + !!asks + !!answers != 1)
        wd_problem(p, WD_ERROR, "LEDGER-4", v, "a line has one of text, asks and answers");
    if (text || asks)
        want_text(p, "LEDGER-5", v, "by");
    if (text && !yyjson_is_str(text))
        wd_problem(p, WD_ERROR, "LEDGER-6", text, "text is not a text");
    if (asks)
        validate_asks(p, v, asks);
    if (answers)
        want_text(p, "LEDGER-8", v, "key");
    if (failed && !yyjson_is_bool(failed))
        wd_problem(p, WD_ERROR, "LEDGER-8", failed, "failed is neither true nor false");
    if (!at)
        return;
    wd_entry_time(text_of(v, "at"), INT64_MIN, &m);
    if (!yyjson_is_str(at) || m.time_ms == INT64_MIN)
        wd_problem(p, yyjson_is_str(at) ? WD_WARNING : WD_ERROR, "LEDGER-9", at, "at is not a time");
}

static int ledger_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    yyjson_val *number = member(root, "ledger"), *book = member(root, "book");
    yyjson_val *lines = member(root, "lines"), *v;
    yyjson_arr_iter it;

    (void)err;
    if (!yyjson_is_obj(root)) {
        wd_problem(p, WD_ERROR, "LEDGER-1", root, "a ledger is an object");
        return 0;
    }
    if (wd_number_at(root, "ledger") != 1)
        wd_problem(p, WD_ERROR, "LEDGER-1", number ? number : root, "ledger is not 1");
    if (book && !yyjson_is_str(book))
        wd_problem(p, WD_ERROR, "LEDGER-2", book, "book is not a text");
    if (!yyjson_is_arr(lines)) {
        wd_problem(p, WD_ERROR, "LEDGER-3", lines ? lines : root, "a ledger has a list of lines");
        return 0;
    }
    it = yyjson_arr_iter_with(lines);
    while ((v = yyjson_arr_iter_next(&it)))
        validate_line(p, v);
    return 0;
}

const struct wd_document_ops ledger = {
    .name = "ledger",
    .title = "Ledger 1",
    .detect = ledger_detect,
    .validate = ledger_validate,
    .lift = ledger_lift,
    .lower = ledger_lower,
};
