/* dialects/assistants/pieces.c — cuts entries into the pieces that become messages and steps, and finds the run of
 * each. */
#include <endian.h>

#include "base/err.h"
#include "base/uuid.h"
#include "dialects/assistants/lower.h"
#include "model/file_url.h"

enum { PIECES = 1 << 26 }; /* per document */

struct upp_str wd_asst_model_of(const struct wd_asst_out *t, const struct wm_doc_turn *turn)
{
    for (uint32_t i = turn->first; i < turn->first + turn->n; i++)
        if (wd_entry_at(t->l, i)->said.model.p)
            return wd_entry_at(t->l, i)->said.model;
    return (struct upp_str){0};
}

bool wd_asst_usage_of(const struct wd_asst_out *t, const struct wm_doc_turn *turn, struct upp_usage *ret)
{
    bool has = turn->has_usage;
    *ret = turn->usage;
    for (uint32_t i = turn->first; !turn->has_usage && i < turn->first + turn->n; i++) {
        const struct wm_reply_info *s = &wd_entry_at(t->l, i)->said;
        has |= s->has_usage;
        ret->input += s->usage.input;
        ret->output += s->usage.output;
    }
    return has;
}

struct upp_str wd_asst_derived_id(struct wd_lowering *l, struct upp_str prefix, uint64_t high, uint64_t low)
{
    struct wb_uuid bits;
    char text[WB_UUID_HEX + 1];
    high = htobe64(high);
    low = htobe64(low);
    memcpy(bits.b, &high, sizeof high);
    memcpy(bits.b + sizeof high, &low, sizeof low);
    return wb_arena_join(&l->keep, (struct upp_str[]){prefix, wb_uuid_hex(bits, text)}, 2);
}

struct upp_str wd_asst_run_of(const struct wd_asst_out *t, const struct wm_doc_turn *turn)
{
    struct upp_usage usage;
    if (turn->agent == WM_NO_AGENT)
        return (struct upp_str){0};
    if (turn->run.p)
        return turn->run;
    if (!wd_asst_usage_of(t, turn, &usage) && !wd_asst_model_of(t, turn).p)
        return (struct upp_str){0};
    return wd_asst_derived_id(t->l, UPP_STR("run_"), 0, turn->first + 1);
}

bool wd_asst_is_content(const struct upp_part *p)
{
    return p->kind == UPP_PART_TEXT || (p->kind == UPP_PART_IMAGE && p->media && p->media->source != UPP_SOURCE_TEXT);
}

static void add_piece(struct wd_asst_out *t, struct wd_asst_piece p, struct upp_str *last)
{
    struct wd_lowering *l = t->l;
    const struct wm_doc_entry *e = wd_entry_at(l, p.entry);
    if (e->id.p && !p.more && !p.calls)
        p.id = e->id;
    else
        p.id = wd_asst_derived_id(l, p.calls ? UPP_STR("step_") : UPP_STR("msg_"), p.entry + 1, p.from);
    if (p.calls)
        p.after = *last;
    else
        *last = p.id;
    if (!wb_vec_push(&t->pieces, p, (size_t)PIECES))
        wj_writer_fail(&l->w, upp_fail(l->w.err, t->pieces.n < PIECES ? UPP_ENOMEM : UPP_ELIMIT,
                                       "no room for %zu messages", t->pieces.n + 1));
}

static void lose_part(struct wd_asst_out *t, uint32_t i, const struct upp_part *p)
{
    if (p->kind == UPP_PART_REASONING)
        wd_lose(t->l, i, "what was thought", "messages say only what was said");
    else if (p->media && !wm_is_attachment(p))
        wd_lose(t->l, i, "a file", "only images are shown");
}

static void cut_entry(struct wd_asst_out *t, const struct wm_doc_turn *turn, struct upp_str run, uint32_t i,
                      struct upp_str *last)
{
    const struct upp_message *m = &wd_entry_at(t->l, i)->e.message;
    bool had[2] = {false, false};
    for (uint32_t k = 0; k < m->n_parts;) {
        bool calls = m->parts[k].kind == UPP_PART_CALL;
        if (!calls && !wd_asst_is_content(&m->parts[k])) {
            lose_part(t, i, &m->parts[k++]);
            continue;
        }
        struct wd_asst_piece p = {.entry = i, .from = k, .calls = calls, .more = had[calls], .turn = turn, .run = run};
        uint32_t end = k;
        for (; k < m->n_parts; k++)
            if (calls ? m->parts[k].kind == UPP_PART_CALL : wd_asst_is_content(&m->parts[k]))
                end = k + 1;
            else if (m->parts[k].kind == UPP_PART_CALL || wd_asst_is_content(&m->parts[k]))
                break;
            else
                lose_part(t, i, &m->parts[k]);
        p.n = end - p.from;
        had[calls] = true;
        add_piece(t, p, last);
    }
}

static void lose_of_entry(struct wd_asst_out *t, uint32_t i)
{
    const struct wm_doc_entry *e = wd_entry_at(t->l, i);
    for (size_t k = 0; k < e->e.message.n_parts; k++)
        if ((e->e.message.parts[k].metadata.n && !e->e.message.parts[k].media &&
             !wb_str_starts(e->e.message.parts[k].metadata, UPP_STR("{\"assistants\":"))) ||
            (e->e.message.parts[k].cut && e->e.message.parts[k].kind == UPP_PART_CALL)) {
            wd_lose(t->l, i, "that calls were cut, and what providers said of parts", "there is no member for it");
            break;
        }
    if (e->e.message.metadata.n || e->said.response.p || e->said.stop || e->said.provider.p)
        wd_lose(t->l, i, "what providers said of a message", "messages have no member for it");
}

void wd_asst_cut(struct wd_asst_out *t)
{
    struct upp_str last = {0};
    for (size_t k = 0; k < t->l->doc->turns.n; k++) {
        const struct wm_doc_turn *turn = &t->l->doc->turns.p[k];
        struct upp_str run = wd_asst_run_of(t, turn);
        for (uint32_t i = turn->first; i < turn->first + turn->n && !t->l->w.failed; i++) {
            const struct wm_doc_entry *e = wd_entry_at(t->l, i);
            if (!wm_is_visible(&e->e))
                continue;
            if (e->e.kind == WM_ENTRY_EVENT)
                wd_lose(t->l, i, "an event", "there are only messages and steps");
            else {
                cut_entry(t, turn, run, i, &last);
                lose_of_entry(t, i);
            }
        }
    }
}
