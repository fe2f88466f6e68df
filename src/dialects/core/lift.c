/* dialects/core/lift.c — adds agents, entries and parts to a document that is being read, and reads its numbers. */
#include "dialects/core/lift.h"

#include "base/err.h"
#include "base/iso8601.h"
#include "dialects/core/residue.h"
#include "json/value.h"

int wd_agent_of(struct wd_lifting *l, struct upp_str id, struct upp_str name, uint32_t *ret, struct upp_err *err)
{
    id = id.p ? id : l->agent.p ? l->agent : UPP_STR("agent");
    struct wm_doc_agent a = {.id = id, .name = name.p ? name : id};
    for (size_t i = 0; i < l->doc->agents.n; i++) /* by id only: another agent may have this id as its name */
        if (wb_str_eq(l->doc->agents.p[i].id, id)) {
            *ret = (uint32_t)i;
            return 0;
        }
    return wm_doc_agent_add(l->doc, &a, ret, err);
}

void wd_reserve(struct wd_lifting *l, size_t turns, size_t entries, size_t objects)
{
    /* If a reservation fails, a later push succeeds or reports it. */
    (void)wb_vec_reserve(&l->doc->turns, WB_MIN(turns, (size_t)WM_DOC_ENTRIES));
    (void)wb_vec_reserve(&l->doc->entries, WB_MIN(entries, (size_t)WM_DOC_ENTRIES));
    (void)wb_vec_reserve(&l->anchors, WB_MIN(objects, (size_t)WM_DOC_ENTRIES));
}

void wd_entry_time(struct upp_str text, int64_t otherwise, struct upp_message *m)
{
    struct wb_time t;
    m->time_ms = otherwise;
    m->time_text = (struct upp_str){0};
    if (!text.p)
        return;
    m->time_text = text;
    if (!wb_time_parse_upp(text, &m->time_ms) && wb_time_parse(text, &t, NULL) >= 0)
        m->time_ms = wb_time_ms(&t);
}

/* Many consecutive entries have the same time. */
static void set_time(struct wd_lifting *l, struct upp_str time, struct upp_message *m)
{
    if (time.p && l->last_time.p && wb_str_eq(time, l->last_time)) {
        m->time_text = time;
        m->time_ms = l->last_time_ms;
        return;
    }
    wd_entry_time(time, l->now_ms, m);
    l->last_time = time;
    l->last_time_ms = m->time_ms;
}

struct wm_doc_entry *wd_entry_add(struct wd_lifting *l, uint8_t role, uint32_t agent, struct upp_str time,
                                  struct upp_err *err)
{
    struct wm_doc_entry *e = wm_doc_entry_add(l->doc, err);
    if (!e)
        return NULL;
    e->agent = agent;
    e->e.message.role = role;
    if (agent != WM_NO_AGENT)
        e->e.who = l->doc->agents.p[agent].name;
    set_time(l, time, &e->e.message);
    if (l->doc->turns.n)
        l->doc->turns.p[l->doc->turns.n - 1].n++;
    return e;
}

int wd_parts_add(struct wd_parts *to, const struct upp_part *part, struct upp_err *err)
{
    if (wb_vec_push(&to->list, *part, (size_t)WD_PARTS))
        return 1;
    return to->list.n < WD_PARTS ? upp_fail(err, UPP_ENOMEM, "no memory for a part")
                                 : upp_fail(err, UPP_ELIMIT, "a message of more than %d parts", WD_PARTS);
}

int wd_parts_finish(struct wb_arena *a, struct wd_parts *from, struct upp_message *m, struct upp_err *err)
{
    m->n_parts = from->list.n;
    m->parts = from->list.n ? wb_new_n(a, struct upp_part, from->list.n) : NULL;
    if (m->parts)
        memcpy(m->parts, from->list.p, from->list.n * sizeof *m->parts);
    from->list.n = 0;
    return wb_arena_check(a, err);
}

int wd_string_text(struct wb_arena *a, struct upp_str s, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_DOC_BYTES);
    struct wj_writer w;
    wj_writer_init(&w, &b, err);
    wj_write_str(&w, s);
    return wj_writer_text(&w, a, ret);
}

yyjson_val *wd_last_at(yyjson_val *obj, const char *name)
{
    return yyjson_is_obj(obj) ? wd_residue_member(obj, wb_cstr(name)) : NULL;
}

uint64_t wd_number_of(struct upp_str number)
{
    uint64_t n = 0;
    return number.p && wb_str_u64(number, &n) ? n : 0;
}

bool wd_is_canonical_number(struct upp_str number)
{
    enum { DIGITS = 19 }; /* any number of so many digits fits into 64 bits */
    size_t i = 0;
    while (i < number.n && number.p[i] >= '0' && number.p[i] <= '9')
        i++;
    return i == number.n && i && i <= DIGITS;
}

uint64_t wd_number_at(yyjson_val *obj, const char *name)
{
    yyjson_val *v = yyjson_obj_get(obj, name);
    return v && yyjson_is_raw(v) ? wd_number_of(wj_text(v)) : 0;
}

void wd_ignore_problem(void *ctx, const char *pointer, const char *sentence)
{
    (void)ctx, (void)pointer, (void)sentence;
}
