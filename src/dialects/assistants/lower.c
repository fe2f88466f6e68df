/* dialects/assistants/lower.c — the model as a thread of the Assistants API: its lists. lower.h describes their items.
 */
#include "base/iso8601.h"
#include "dialects/core/document.h"
#include "dialects/assistants/lower.h"

static void put_item(struct wd_asst_out *t, enum wd_asst_which which, size_t i)
{
    if (which == WD_ASST_RUNS)
        wd_asst_put_run(t, i);
    else if (t->pieces.p[i].calls == (which == WD_ASST_STEPS)) {
        if (which == WD_ASST_STEPS)
            wd_asst_put_step(t, &t->pieces.p[i]);
        else
            wd_asst_put_message(t, &t->pieces.p[i]);
    }
}

static void put_items(struct wd_asst_out *t, enum wd_asst_which which, bool back)
{
    size_t n = which == WD_ASST_RUNS ? t->l->doc->turns.n : t->pieces.n;
    wj_write_open(&t->l->w, '[');
    for (size_t i = 0; i < n && !t->l->w.failed; i++)
        put_item(t, which, back ? n - 1 - i : i);
    wj_write_close(&t->l->w, ']');
}

static struct upp_str last_message(const struct wd_asst_out *t, bool first)
{
    for (size_t i = 0; i < t->pieces.n; i++) {
        const struct wd_asst_piece *p = &t->pieces.p[first ? i : t->pieces.n - 1 - i];
        if (!p->calls)
            return p->id;
    }
    return (struct upp_str){0};
}

static void put_page(struct wd_asst_out *t, enum wd_asst_which which, bool back)
{
    struct wd_lowering *l = t->l;
    wj_write_open(&l->w, '{');
    wd_member(l, "object", UPP_STR("list"));
    wd_name(l, "data");
    put_items(t, which, back);
    wd_member_or_null(l, "first_id", last_message(t, !back));
    wd_member_or_null(l, "last_id", last_message(t, back));
    wj_put_bool(&l->w, "has_more", false);
    wj_write_close(&l->w, '}');
}

/* The form in which a list was read; WD_ASST_FORMS: unknown. */
static enum wd_asst_form form_of(struct wd_asst_out *t, enum wd_asst_which which)
{
    enum wd_asst_form form = WD_ASST_SIMPLE;
    while (form < WD_ASST_FORMS && !(t->l->doc->entries.n && wd_span(t->l, 0, wd_asst_slots[which][form], 0)))
        form++;
    return form;
}

static void put_list(struct wd_asst_out *t, enum wd_asst_which which, enum wd_asst_form form)
{
    enum wd_asst_which items = which == WD_ASST_ROOT ? WD_ASST_MESSAGES : which;
    bool back = form == WD_ASST_BACK || form == WD_ASST_PAGE_BACK, known = form != WD_ASST_FORMS;
    if (known)
        wd_open(t->l, 0, wd_asst_slots[which][form]);
    if (form == WD_ASST_PAGE || form == WD_ASST_PAGE_BACK)
        put_page(t, items, back);
    else
        put_items(t, items, back);
    if (known)
        wd_close(t->l);
}

static void put_created(struct wd_asst_out *t)
{
    const struct wm_doc *d = t->l->doc;
    int64_t ms = d->entries.n ? d->entries.p[0].e.message.time_ms : t->l->now_ms;
    struct wb_time time;
    if (d->created.p && wb_time_parse(d->created, &time, NULL) >= 0)
        ms = wb_time_ms(&time);
    wd_asst_seconds(t, "created_at", ms);
}

static void put_thread(struct wd_asst_out *t)
{
    struct wd_lowering *l = t->l;
    wd_implied(l, WD_IMPLIED_THREAD | WD_IMPLIED_MADE | WD_IMPLIED_AGENTS | WD_IMPLIED_TURNS | WD_IMPLIED_LATER_IDS |
                      WD_IMPLIED_LATER_TIMES);
    wd_open(l, WD_THREAD, "thread");
    wj_write_open(&l->w, '{');
    wd_member_or_null(l, "id", wd_asst_thread_id(t));
    wd_member(l, "object", UPP_STR("thread"));
    put_created(t);
    wd_member_json(l, "metadata", l->doc->metadata.n ? l->doc->metadata : UPP_STR("{}"));
    wd_asst_null(t, "tool_resources");
    wd_name(l, "messages");
    put_list(t, WD_ASST_MESSAGES, form_of(t, WD_ASST_MESSAGES));
    wd_name(l, "runs");
    put_list(t, WD_ASST_RUNS, form_of(t, WD_ASST_RUNS));
    wd_name(l, "steps");
    put_list(t, WD_ASST_STEPS, form_of(t, WD_ASST_STEPS));
    wj_write_close(&l->w, '}');
    wd_close(l);
}

static void put_messages(struct wd_asst_out *t, enum wd_asst_form form)
{
    struct wd_lowering *l = t->l;
    put_list(t, WD_ASST_ROOT, form);
    for (size_t i = 0; i < t->pieces.n; i++)
        if (t->pieces.p[i].calls)
            wd_lose(l, t->pieces.p[i].entry, "calls and results", "it is a list of messages alone");
}

static void lose_results(struct wd_lowering *l)
{
    for (uint32_t i = 0; i < l->doc->entries.n; i++)
        if (wm_is_visible(&wd_entry_at(l, i)->e))
            wd_lose_unmatched_results(l, i);
}

int wd_asst_lower(struct wd_lowering *l, struct upp_err *err)
{
    struct wd_asst_out t = {.l = l};
    enum wd_asst_form form = form_of(&t, WD_ASST_ROOT);
    t.list = form != WD_ASST_FORMS;
    wd_asst_cut(&t);
    lose_results(l);
    if (t.list)
        put_messages(&t, form);
    else
        put_thread(&t);
    if (t.subsecond)
        wd_lose(l, WD_THREAD, "times finer than a second", "times are whole seconds");
    wb_vec_done(&t.pieces);
    return wb_arena_check(&l->keep, err);
}
