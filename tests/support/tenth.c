/* support/tenth.c — see tenth.h. */
#include "support/tenth.h"

#include "base/err.h"
#include "dialects/lift.h"
#include "json/value.h"

/* ---- Shapes ---------------------------------------------------------------------------------------------- */

struct line {
    struct wj_node node;
    struct upp_str from, says;
    yyjson_val    *uses, *gave;
};
static const struct wj_field line_rows[] = {
    F_STR(struct line, from, "from", F_REQUIRED),
    F_STR(struct line, says, "says", 0),
    F_ANY(struct line, uses, "uses", 0),
    F_ANY(struct line, gave, "gave", 0),
};
WJ_SHAPE(chat_line, struct line, line_rows);

struct chat {
    struct wj_node node;
    struct upp_str topic;
    WJ_ARR(struct line) lines;
};
static const struct wj_field chat_rows[] = {
    F_STR(struct chat, topic, "topic", 0),
    F_LIST(struct chat, lines, "chat", F_REQUIRED | F_BAD_ITEMS, chat_line),
};
WJ_SHAPE(whole_chat, struct chat, chat_rows);

static int detect(yyjson_val *root)
{
    return yyjson_is_arr(yyjson_obj_get(root, "chat")) ? 2 : 0;
}

/* ---- Validating ------------------------------------------------------------------------------------------ */

static void check_line(struct wd_problems *p, yyjson_val *v)
{
    yyjson_val *says = yyjson_obj_get(v, "says"), *uses = yyjson_obj_get(v, "uses"), *gave = yyjson_obj_get(v, "gave");
    if (!yyjson_is_obj(v)) {
        wd_problem(p, WD_ERROR, "TENTH-1", v, "a line is an object");
        return;
    }
    if (!wd_text_at(v, "from").n)
        wd_problem(p, WD_ERROR, "TENTH-2", v, "nobody says it");
    if (!says + !uses + !gave != 2)
        wd_problem(p, WD_ERROR, "TENTH-3", v, "a line says something, uses a tool, or gives what it gave");
    if (says && !yyjson_is_str(says))
        wd_problem(p, WD_ERROR, "TENTH-4", says, "what is said is a text");
    if ((uses && !wd_text_at(uses, "tool").p) || (gave && !wd_text_at(gave, "id").p))
        wd_problem(p, WD_ERROR, "TENTH-5", uses ? uses : gave, "which one?");
    if (uses && !wd_text_at(uses, "id").p)
        wd_problem(p, WD_WARNING, "TENTH-6", uses, "nobody can give an answer to it");
}

static int validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    yyjson_val *lines = yyjson_obj_get(root, "chat"), *line;
    size_t      i, n;
    (void)err;
    if (!yyjson_is_arr(lines))
        wd_problem(p, WD_ERROR, "TENTH-1", lines ? lines : root, "there is no list 'chat'");
    yyjson_arr_foreach(lines, i, n, line) check_line(p, line);
    return 0;
}

/* ---- Lifting --------------------------------------------------------------------------------------------- */

/* What a line is; kind 0: nothing that the model has. */
static int part_of(struct wd_lifting *l, const struct line *line, struct upp_part *to, struct upp_err *err)
{
    struct upp_str id = wd_text_at(line->uses ? line->uses : line->gave, "id");
    if (line->says.p)
        *to = (struct upp_part){.kind = UPP_PART_TEXT, .text = line->says};
    else if (wd_text_at(line->uses, "tool").p) {
        *to = (struct upp_part){.kind = UPP_PART_CALL,
                                .id   = id.p ? id : l->id(l->arg, l->a, "call_"),
                                .name = wd_text_at(line->uses, "tool"),
                                .text = UPP_STR("{}")};
        return wd_value_text(l->a, yyjson_obj_get(line->uses, "with"), &to->text, err);
    } else if (line->gave && id.p) {
        *to = (struct upp_part){.kind                     = UPP_PART_RESULT,
                                .id                       = id,
                                .text                     = UPP_STR("null"),
                                                .is_error = yyjson_is_true(yyjson_obj_get(line->gave, "failed"))};
        return wd_value_text(l->a, yyjson_obj_get(line->gave, "is"), &to->text, err);
    }
    return 0;
}

static int lift_line(struct wd_lifting *l, const struct line *line, struct upp_err *err)
{
    struct wd_parts parts = {0};
    struct upp_part part  = {0};
    uint32_t        agent = WM_NO_AGENT;
    bool            user  = wb_str_eq(line->from, UPP_STR("user"));
    int             r     = line->node.from ? part_of(l, line, &part, err) : 0; /* none: an item that is no line */
    if (r < 0 || !part.kind || (user && part.kind != UPP_PART_TEXT))
        return r;
    if (!user)
        r = wd_agent_of(l, line->from, line->from, &agent, err);
    uint8_t role           = user ? UPP_ROLE_USER : part.kind == UPP_PART_RESULT ? UPP_ROLE_TOOL : UPP_ROLE_ASSISTANT;
    struct wm_doc_entry *e = r < 0 ? NULL : wd_entry_add(l, role, agent, (struct upp_str){0}, err);
    if (!e)
        return r < 0 ? r : -UPP_ENOMEM;
    r = wd_parts_add(&parts, &part, err);
    if (r >= 0)
        r = wd_parts_settle(l->a, &parts, &e->e.message, err);
    wb_vec_done(&parts.list);
    return r < 0 ? r : wd_anchor(l, line->node.from, "line", l->doc->entries.n - 1, 1, err);
}

static int lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err)
{
    struct chat c;
    if (!detect(root))
        return upp_fail(err, UPP_EINVALID, "expected a list 'chat'");
    int r = WJ_DECODE(l->a, whole_chat, root, UPP_OPTS(wj_decode_opts, .problem = wd_leave), &c, err);
    if (r >= 0)
        l->doc->title = c.topic;
    for (size_t i = 0; r >= 0 && i < c.lines.n; i++)
        r = lift_line(l, &c.lines.p[i], err);
    return r < 0 ? r : wd_anchor(l, root, "chat", WD_THREAD, 0, err);
}

/* ---- Lowering -------------------------------------------------------------------------------------------- */

static void put_part(struct wd_lowering *l, const struct upp_part *p)
{
    if (p->kind == UPP_PART_TEXT) {
        wd_member(l, "says", p->text.p ? p->text : UPP_STR(""));
        return;
    }
    bool call = p->kind == UPP_PART_CALL;
    wd_name(l, call ? "uses" : "gave");
    wj_write_open(&l->w, '{');
    wd_member(l, "id", p->id);
    if (call)
        wd_member(l, "tool", p->name.p ? p->name : UPP_STR(""));
    wd_name(l, call ? "with" : "is");
    wb_arena_reset(&l->scratch);
    yyjson_val *v = wd_scratch_read(l, p->text);
    if (v)
        wj_write_value(&l->w, v);
    else
        wj_write_str(&l->w, p->text);
    if (p->is_error)
        wd_member_json(l, "failed", UPP_STR("true"));
    wj_write_close(&l->w, '}');
}

/* The line of a part: the first of an entry, the next ones. */
static void put_line(struct wd_lowering *l, uint32_t i, unsigned k, struct upp_str from, const struct upp_part *p)
{
    struct upp_str slot = k ? wb_arena_printf(&l->keep, "line-%u", k) : UPP_STR("line");
    wd_open(l, i, slot.p ? slot.p : "line");
    wj_write_open(&l->w, '{');
    wd_member(l, "from", from);
    put_part(l, p);
    wj_write_close(&l->w, '}');
    wd_close(l);
}

static void put_entry(struct wd_lowering *l, const struct wm_doc_turn *turn, uint32_t i)
{
    const struct wm_doc_entry *e     = &l->doc->entries.p[i];
    const struct upp_message  *m     = &e->e.message;
    uint32_t                   agent = e->agent != WM_NO_AGENT ? e->agent : turn->agent;
    struct upp_str             from  = UPP_STR("user");
    unsigned                   k     = 0;
    if (e->e.kind == WM_ENTRY_EVENT) {
        wd_lose(l, i, "an event", "a chat has lines only");
        return;
    }
    if (m->role != UPP_ROLE_USER && agent != WM_NO_AGENT)
        from = l->doc->agents.p[agent].id;
    for (size_t n = 0; n < m->n_parts; n++) {
        const struct upp_part *p = &m->parts[n];
        if (p->kind == UPP_PART_TEXT || p->kind == UPP_PART_CALL || p->kind == UPP_PART_RESULT)
            put_line(l, i, k++, from, p);
        else
            wd_lose(l, i, p->media ? "a medium" : "a thought", "a line has none");
    }
    if (k > 1)
        wd_lose(l, i, "which lines are one message", "a line does not say it");
}

static int lower(struct wd_lowering *l, struct upp_err *err)
{
    wd_open(l, WD_THREAD, "chat");
    wj_write_open(&l->w, '{');
    wd_member(l, "topic", l->doc->title);
    wd_name(l, "chat");
    wj_write_open(&l->w, '[');
    for (size_t t = 0; t < l->doc->turns.n; t++) {
        const struct wm_doc_turn *turn = &l->doc->turns.p[t];
        for (uint32_t i = turn->first; i < turn->first + turn->n && !l->w.failed; i++)
            put_entry(l, turn, i);
    }
    wj_write_close(&l->w, ']');
    wj_write_close(&l->w, '}');
    wd_close(l);
    return wb_arena_check(&l->keep, err);
}

const struct wd_document_ops tenth_dialect = {
    .name = "tenth", .title = "chat of lines", .detect = detect, .validate = validate, .lift = lift, .lower = lower};
