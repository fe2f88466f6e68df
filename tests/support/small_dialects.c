/* support/small_dialects.c — detects, reads and writes the three small dialects. */
#include "support/small_dialects.h"

#include "base/err.h"
#include "json/value.h"

static struct upp_str text_of(yyjson_val *v)
{
    return yyjson_is_str(v) ? wj_text(v) : (struct upp_str){NULL, 0};
}

/* The last member of that name: the one that counts. */
static yyjson_val *get(yyjson_val *obj, const char *name)
{
    yyjson_val *key, *value, *found = NULL;
    size_t i, n;
    yyjson_obj_foreach(obj, i, n, key, value)
    {
        if (wj_named(key, wb_cstr(name)))
            found = value;
    }
    return found;
}

/* A message of one text, and of a thought before it where there is one. */
static int say(struct wd_lifting *l, uint8_t role, struct upp_str thought, struct upp_str text, struct upp_err *err)
{
    struct upp_part *parts = wb_new_n(l->a, struct upp_part, 2);
    struct wm_doc_entry *e = parts ? wm_doc_entry_add(l->doc, err) : NULL;
    size_t n = 0;
    if (!parts)
        return wb_arena_check(l->a, err);
    if (!e)
        return -UPP_ENOMEM;
    if (thought.p)
        parts[n++] = (struct upp_part){.kind = UPP_PART_REASONING, .text = thought};
    if (text.p)
        parts[n++] = (struct upp_part){.kind = UPP_PART_TEXT, .text = text};
    e->e.message = (struct upp_message){
        .role = role, .time_ms = l->now_ms, .id = l->id(l->arg, l->a, "toy_"), .parts = parts, .n_parts = n};
    return 0;
}

static struct upp_str part_text(const struct wm_doc_entry *e, unsigned kind)
{
    const struct upp_part *p = upp_part_next(&e->e.message, NULL, 1u << kind);
    return p ? p->text : (struct upp_str){NULL, 0};
}

static bool is_users(const struct wm_doc_entry *e)
{
    return e->e.message.role == UPP_ROLE_USER;
}

/* ---- toy ------------------------------------------------------------------------------------------------- */

static int toy_detect(yyjson_val *root)
{
    return get(root, "toy") ? 3 : 0;
}

static int toy_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    (void)err;
    yyjson_val *pairs = get(root, "pairs"), *pair;
    size_t i, n;
    if (!yyjson_is_arr(pairs)) {
        wd_problem(p, WD_ERROR, "TOY-1", pairs ? pairs : root, "there is no list of pairs");
        return 0;
    }
    yyjson_arr_foreach(pairs, i, n, pair)
    {
        if (!yyjson_is_obj(pair))
            wd_problem(p, WD_ERROR, "TOY-2", pair, "pair %zu is no object", i);
        else if (!get(pair, "ask"))
            wd_problem(p, WD_WARNING, "TOY-3", pair, "nobody asked");
    }
    return 0;
}

static int toy_side(struct wd_lifting *l, yyjson_val *pair, const char *name, uint8_t role, struct upp_err *err)
{
    yyjson_val *side = get(pair, name);
    if (!yyjson_is_obj(side))
        return 0;
    int r = say(l, role, text_of(get(side, "thought")), text_of(get(side, "text")), err);
    return r < 0 ? r : wd_anchor(l, side, name, l->doc->entries.n - 1, 1, err);
}

static int toy_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err)
{
    yyjson_val *pairs = get(root, "pairs"), *pair;
    size_t i, n;
    if (!yyjson_is_obj(root) || !yyjson_is_arr(pairs))
        return upp_fail(err, UPP_EINVALID, "no toy: it has no pairs");
    l->doc->title = text_of(get(root, "title"));
    int r = wd_anchor(l, root, "toy", WD_THREAD, 0, err);
    yyjson_arr_foreach(pairs, i, n, pair)
    {
        size_t first = l->doc->entries.n;
        if (r >= 0)
            r = toy_side(l, pair, "ask", UPP_ROLE_USER, err);
        if (r >= 0)
            r = toy_side(l, pair, "reply", UPP_ROLE_ASSISTANT, err);
        if (r >= 0 && l->doc->entries.n > first)
            r = wd_anchor(l, pair, "pair", first, l->doc->entries.n - first, err);
        else if (r >= 0)
            wd_problem(l->problems, WD_WARNING, "TOY-2", pair, "not understood");
    }
    return r;
}

static void toy_write_side(struct wd_lowering *l, uint32_t i)
{
    const struct wm_doc_entry *e = &l->doc->entries.p[i];
    const char *name = is_users(e) ? "ask" : "reply";
    wd_name(l, name);
    wd_open(l, i, name);
    wj_write_open(&l->w, '{');
    wd_member_or_null(l, "text", part_text(e, UPP_PART_TEXT));
    wd_member(l, "thought", part_text(e, UPP_PART_REASONING));
    wj_write_close(&l->w, '}');
    wd_close(l);
}

static int toy_lower(struct wd_lowering *l, struct upp_err *err)
{
    (void)err;
    const struct wm_doc_entry *e = l->doc->entries.p;
    uint32_t n = (uint32_t)l->doc->entries.n;
    wd_open(l, WD_THREAD, "toy");
    wj_write_open(&l->w, '{');
    wd_member_u64(l, "toy", 1);
    wd_member_or_null(l, "title", l->doc->title);
    wd_name(l, "pairs");
    wj_write_open(&l->w, '[');
    for (uint32_t i = 0; i < n;) {
        bool two = i + 1 < n && is_users(&e[i]) && !is_users(&e[i + 1]);
        uint32_t span = wd_span(l, i, "pair", two ? 2 : 1);
        wd_open(l, i, "pair");
        wj_write_open(&l->w, '{');
        toy_write_side(l, i++);
        if (span == 2 && two)
            toy_write_side(l, i++);
        wj_write_close(&l->w, '}');
        wd_close(l);
    }
    wj_write_close(&l->w, ']');
    wj_write_close(&l->w, '}');
    wd_close(l);
    return 0;
}

const struct wd_document_ops toy_dialect = {.name = "toy",
                                            .title = "pairs of messages",
                                            .detect = toy_detect,
                                            .validate = toy_validate,
                                            .lift = toy_lift,
                                            .lower = toy_lower};

/* ---- lines ----------------------------------------------------------------------------------------------- */

static int lines_detect(yyjson_val *root)
{
    return yyjson_is_arr(root);
}

static int lines_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    (void)err;
    yyjson_val *item;
    size_t i, n;
    yyjson_arr_foreach(root, i, n, item) wd_problem(p, WD_ERROR, "LINES-1", item, "line %zu", i);
    return 0;
}

static int lines_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err)
{
    yyjson_val *item;
    size_t i, n;
    int r = wd_anchor(l, root, "lines", WD_THREAD, 0, err);
    yyjson_arr_foreach(root, i, n, item)
    {
        struct upp_str text = text_of(item);
        if (r >= 0 && text.n >= 3)
            r = say(l, text.p[0] == 'u' ? UPP_ROLE_USER : UPP_ROLE_ASSISTANT, (struct upp_str){NULL, 0},
                    wb_str_sub(text, 3, SIZE_MAX), err);
    }
    return r;
}

static int lines_lower(struct wd_lowering *l, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf line = WB_BUF(WD_DOC_BYTES);
    if (l->doc->title.p)
        wd_lose(l, WD_THREAD, "the title", "lines have none");
    wd_open(l, WD_THREAD, "lines");
    wj_write_open(&l->w, '[');
    for (size_t i = 0; i < l->doc->entries.n; i++) {
        const struct wm_doc_entry *e = &l->doc->entries.p[i];
        if (part_text(e, UPP_PART_REASONING).p)
            wd_lose(l, (uint32_t)i, "a thought", "lines have none");
        wb_buf_clear(&line);
        wb_buf_add(&line, is_users(e) ? UPP_STR("u: ") : UPP_STR("a: "));
        wb_buf_add(&line, part_text(e, UPP_PART_TEXT));
        int r = wb_buf_check(&line, err);
        if (r < 0)
            return r;
        wj_write_str(&l->w, wb_buf_str(&line));
    }
    wj_write_close(&l->w, ']');
    wd_close(l);
    return 0;
}

const struct wd_document_ops lines_dialect = {.name = "lines",
                                              .title = "a list of lines",
                                              .detect = lines_detect,
                                              .validate = lines_validate,
                                              .lift = lines_lift,
                                              .lower = lines_lower};

/* ---- carrier --------------------------------------------------------------------------------------------- */

static int carrier_detect(yyjson_val *root)
{
    return get(root, "said") ? 2 : 0;
}

static int carrier_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    (void)p, (void)root, (void)err;
    return 0;
}

static uint64_t number_of(yyjson_val *v)
{
    uint64_t n = 0;
    return yyjson_is_raw(v) && wb_str_u64(wj_text(v), &n) ? n : 0;
}

/* [[PLACE, DIALECT, SLOT, ENTRIES, JSON as text]]; PLACE 0 is the thread, n the entry before the n-th. */
static int take_carried(struct wd_lifting *l, yyjson_val *list, struct upp_err *err)
{
    yyjson_val *item;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, item)
    {
        uint64_t place = number_of(yyjson_arr_get(item, 0));
        struct wm_residue **to = &l->doc->residue, *r = wb_new(l->a, struct wm_residue);
        if (!r || place > l->doc->entries.n)
            break;
        if (place)
            to = &l->doc->entries.p[place - 1].residue;
        *r = (struct wm_residue){.next = *to,
                                 .dialect = text_of(yyjson_arr_get(item, 1)),
                                 .slot = text_of(yyjson_arr_get(item, 2)),
                                 .entries = (uint32_t)number_of(yyjson_arr_get(item, 3)),
                                 .json = text_of(yyjson_arr_get(item, 4))};
        *to = r;
    }
    return wb_arena_check(l->a, err);
}

static int carrier_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err)
{
    yyjson_val *said = get(root, "said"), *item;
    size_t i, n;
    if (!yyjson_is_arr(said))
        return upp_fail(err, UPP_EINVALID, "nothing is said");
    l->doc->title = text_of(get(root, "title"));
    int r = wd_anchor(l, root, "carrier", WD_THREAD, 0, err);
    yyjson_arr_foreach(said, i, n, item)
    {
        struct upp_str by = text_of(get(item, "by"));
        if (r >= 0)
            r = say(l, by.n && by.p[0] == 'u' ? UPP_ROLE_USER : UPP_ROLE_ASSISTANT, text_of(get(item, "thought")),
                    text_of(get(item, "text")), err);
        if (r >= 0)
            r = wd_anchor(l, item, "said", i, 1, err);
    }
    return r < 0 ? r : take_carried(l, get(root, "carried"), err);
}

static void write_carried(struct wd_lowering *l, const struct wm_residue *r, uint64_t place)
{
    if (!r)
        return;
    write_carried(l, r->next, place); /* it was hung before this one */
    if (wb_str_eq(r->dialect, UPP_STR("carrier")))
        return;
    wj_write_open(&l->w, '[');
    wj_write_u64(&l->w, place);
    wj_write_str(&l->w, r->dialect);
    wj_write_str(&l->w, r->slot);
    wj_write_u64(&l->w, r->entries);
    wj_write_str(&l->w, wb_str(r->json.p ? r->json.p : "", r->json.n));
    wj_write_close(&l->w, ']');
}

static int carrier_lower(struct wd_lowering *l, struct upp_err *err)
{
    (void)err;
    wd_open(l, WD_THREAD, "carrier");
    wj_write_open(&l->w, '{');
    wd_member(l, "title", l->doc->title);
    wd_name(l, "said");
    wj_write_open(&l->w, '[');
    for (uint32_t i = 0; i < l->doc->entries.n; i++) {
        const struct wm_doc_entry *e = &l->doc->entries.p[i];
        wd_open(l, i, "said");
        wj_write_open(&l->w, '{');
        wd_member(l, "by", is_users(e) ? UPP_STR("u") : UPP_STR("a"));
        wd_member(l, "thought", part_text(e, UPP_PART_REASONING));
        wd_member(l, "text", part_text(e, UPP_PART_TEXT));
        wj_write_close(&l->w, '}');
        wd_close(l);
    }
    wj_write_close(&l->w, ']');
    wd_name(l, "carried");
    wj_write_open(&l->w, '[');
    write_carried(l, l->doc->residue, 0);
    for (size_t i = 0; i < l->doc->entries.n; i++)
        write_carried(l, l->doc->entries.p[i].residue, i + 1);
    wj_write_close(&l->w, ']');
    wj_write_close(&l->w, '}');
    wd_close(l);
    return 0;
}

const struct wd_document_ops carrier_dialect = {.name = "carrier",
                                                .title = "what was said, and all beside",
                                                .detect = carrier_detect,
                                                .validate = carrier_validate,
                                                .lift = carrier_lift,
                                                .lower = carrier_lower,
                                                .carries = true};
