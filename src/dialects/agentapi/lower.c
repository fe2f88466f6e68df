/* dialects/agentapi/lower.c — the model as messages of the Agent API Protocol.
 *
 * An entry becomes as many messages as needed: one per reasoning part, call and result; texts and media between them
 * are one message with several contents. All members are written, null if empty, in the order in which other
 * implementations write them.
 */
#include <inttypes.h>

#include "base/err.h"
#include "base/uuid.h"
#include "dialects/core/document.h"
#include "dialects/agentapi/agentapi.h"
#include "dialects/pai/pai.h"
#include "json/value.h"
#include "model/call_source.h"

struct out {
    struct wd_lowering *l;
    const struct wm_doc_turn *turn;
    struct wd_aap_flow flow; /* as a reader will see it */
};

/* Parts of an entry that form one message. */
struct message {
    uint32_t entry, agent;
    size_t first, n;
    enum wd_aap_kind kind;
    uint8_t role; /* as a reader will see it */
    bool last;    /* the last message of the entry */
    struct upp_str id;
};

static const char *slot_of(struct wd_lowering *l, struct upp_str what, size_t i)
{
    struct upp_str s = wb_arena_numbered(&l->keep, what, i);
    return s.p ? s.p : "";
}

/* Of a medium. */
static void lose_media(struct wd_lowering *l, uint32_t entry, const struct upp_part *p)
{
    const struct upp_media *m = p->media;
    bool file = p->kind == UPP_PART_DOCUMENT || p->kind == UPP_PART_BINARY;
    if (m->source != UPP_SOURCE_URL && m->source != UPP_SOURCE_TEXT && !m->mime.n)
        wd_lose(l, entry, "that nobody knows what a file is", "bytes have a media type");
    if (m->source == UPP_SOURCE_URL && m->mime.n)
        wd_lose(l, entry, "the media type of what is at an address", "the address is all that is said");
    if (m->title.p && !file)
        wd_lose(l, entry, "the title of a medium", "only files have a name");
    if (m->duration.p || m->width.p || m->height.p)
        wd_lose(l, entry, "how long or how large a medium is", "there is no member for it");
    if (p->kind == UPP_PART_BINARY)
        wd_lose(l, entry, "that a file is bytes of no known kind", "a file is a file");
}

/* ---- Contents -------------------------------------------------------------------------------------------- */

/* Where the tool of a call comes from. Valid until the next scratch read. */
static struct wm_call_source source_of(struct wd_lowering *l, const struct upp_part *call)
{
    wb_arena_reset(&l->scratch);
    return wm_call_source_of(call && call->metadata.n ? wd_scratch_read(l, call->metadata) : NULL);
}

static enum wd_aap_kind kind_of(const struct upp_part *p)
{
    switch (p->kind) {
    case UPP_PART_REASONING:
        return WD_AAP_REASONING;
    case UPP_PART_CALL:
        return WD_AAP_CALL;
    case UPP_PART_RESULT:
        return WD_AAP_OUTPUT;
    default:
        return WD_AAP_MESSAGE;
    }
}

static enum wd_aap_status status_of(bool result, bool error, bool cut)
{
    if (result)
        return error ? WD_AAP_FAILED : WD_AAP_COMPLETED;
    return cut ? WD_AAP_INCOMPLETE : WD_AAP_COMPLETED;
}

static void put_content(struct wd_lowering *l, const struct message *m, size_t i)
{
    const struct upp_part *p = &wd_entry_at(l, m->entry)->e.message.parts[m->first + i];
    bool result = p->kind == UPP_PART_RESULT;
    struct wd_aap_payload c = {.kind = kind_of(p),
                               .status = status_of(result, p->is_error, p->cut),
                               .index = i,
                               .message = m->id,
                               .text = result && !p->text.n ? UPP_STR("null") : p->text,
                               .call = p->id,
                               .name = p->name,
                               .media = p->media ? p : NULL,
                               .nulls = true};
    if (c.kind == WD_AAP_CALL)
        c.server = source_of(l, p).server;
    else if (p->media && !result)
        lose_media(l, m->entry, p);
    wd_aap_write_content(&l->w, NULL, &c);
}

/* ---- Metadata -------------------------------------------------------------------------------------------- */

/* The agent; null for a message of nobody that a reader would take for an agent's. */
static void put_speaker(struct wd_lowering *l, const struct message *m)
{
    if (m->agent == WM_NO_AGENT) {
        if (m->role != UPP_ROLE_USER)
            wj_put_null(&l->w, "agent");
        return;
    }
    const struct wm_doc_agent *a = &l->doc->agents.p[m->agent];
    struct upp_str id = a->id.p ? a->id : a->name;
    wd_member_or_null(l, "agent", id);
    if (a->name.p && !wb_str_eq(a->name, id))
        wd_member(l, "name", a->name);
}

/* Provider metadata of a part, unless lift would derive the same. */
static struct upp_str metadata_of(struct wd_lowering *l, const struct upp_part *p)
{
    bool canonical = true;
    if (p->kind == UPP_PART_CALL && wb_str_eq(p->metadata, UPP_STR(WD_AAP_RAW))) {
        int r = wd_aap_is_canonical(p->text, &canonical, l->w.err);
        if (r < 0)
            wj_writer_fail(&l->w, r);
    }
    return canonical ? p->metadata : (struct upp_str){0};
}

static void put_parts(struct wd_lowering *l, const struct message *m)
{
    const struct upp_part *p = m->n ? &wd_entry_at(l, m->entry)->e.message.parts[m->first] : NULL;
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        n = metadata_of(l, &p[i]).n ? i + 1 : n;
    if (!n)
        return;
    wj_put_open(&l->w, "parts", '[');
    for (size_t i = 0; i < n; i++)
        if (metadata_of(l, &p[i]).n)
            wd_json_value(l, p[i].metadata);
        else
            wj_write_null(&l->w);
    wj_write_close(&l->w, ']');
}

/* The protocol's own form of id; other ids go to the metadata. */
static bool is_message_id(struct upp_str id)
{
    return wb_str_starts(id, UPP_STR("msg_"));
}

static void put_metadata(struct out *o, const struct message *m)
{
    struct wd_lowering *l = o->l;
    bool begins = !m->first;
    bool joins = wd_aap_joins(&o->flow, m->kind, m->role, m->agent);
    bool may = wd_aap_may_join(&o->flow, m->kind, m->role, m->agent);
    wj_put_open(&l->w, "metadata", '{');
    wj_put_open(&l->w, "weft", '{');
    put_speaker(l, m);
    if (begins ? joins : may && !joins)
        wj_put_bool(&l->w, "joins", !begins);
    if (begins) {
        struct upp_str own = wd_entry_at(l, m->entry)->id;
        if (own.p && !is_message_id(own))
            wd_member(l, "id", own);
        /* What is written once per entry. */
        const struct wm_doc_entry *e = wd_entry_at(l, m->entry);
        wd_member(l, "time", wd_pai_time_text(l, &e->e.message));
        wd_member(l, "model", e->said.model);
        wd_member(l, "provider", e->said.provider);
        wd_member(l, "response", e->said.response);
        if (wd_pai_finish(e->said.stop))
            wd_member(l, "stop", wb_cstr(wd_pai_finish(e->said.stop)));
        wd_member_json(l, "metadata", e->e.message.metadata);
    }
    put_parts(l, m);
    wj_write_close(&l->w, '}');
    wj_write_close(&l->w, '}');
}

/* ---- Usage ----------------------------------------------------------------------------------------------- */

/* The usage of the whole turn is written in its last message, if no entry of the turn has a usage. */
static bool is_turns(const struct out *o, const struct message *m)
{
    const struct wm_doc_turn *t = o->turn;
    if (!t->has_usage || m->entry + 1 != t->first + t->n)
        return false;
    for (uint32_t i = t->first; i < t->first + t->n; i++)
        if (wd_entry_at(o->l, i)->said.has_usage)
            return false;
    return true;
}

/* True: a usage was written. */
static bool put_usage(const struct out *o, const struct message *m)
{
    const struct wm_reply_info *reply = &wd_entry_at(o->l, m->entry)->said;
    bool own = m->last && reply->has_usage;
    wd_name(o->l, "usage");
    if (!own && !(m->last && is_turns(o, m))) {
        wj_write_null(&o->l->w);
        return false;
    }
    wd_usage_write(&o->l->w, wd_aap_usage, own ? &reply->usage : &o->turn->usage);
    return true;
}

/* ---- Messages -------------------------------------------------------------------------------------------- */

static const char *type_of(struct wd_lowering *l, const struct message *m)
{
    const struct upp_part *p = m->n ? &wd_entry_at(l, m->entry)->e.message.parts[m->first] : NULL;
    if (m->kind == WD_AAP_OUTPUT)
        p = wd_call_of(l->doc, m->entry, p->id);
    bool tool = m->kind == WD_AAP_CALL || m->kind == WD_AAP_OUTPUT;
    return wd_aap_type(m->kind, tool ? source_of(l, p).source : 0);
}

static const char *role_word(uint8_t role)
{
    return role == UPP_ROLE_USER ? "user" : role == UPP_ROLE_TOOL ? "tool" : role ? "assistant" : "system";
}

static enum wd_aap_status message_status(const struct wd_lowering *l, const struct message *m)
{
    const struct upp_message *message = &wd_entry_at(l, m->entry)->e.message;
    bool cut = false, error = false;
    for (size_t i = m->first; i < m->first + m->n; i++) {
        cut |= message->parts[i].cut;
        error |= message->parts[i].is_error;
    }
    return status_of(m->kind == WD_AAP_OUTPUT, error, cut);
}

/* The entry's id if it has the protocol's form, or with the prefix if it is a UUID; else an id derived from it, or
 * from its position. */
static struct upp_str id_of(struct wd_lowering *l, uint32_t entry, size_t part)
{
    char text[WB_UUID_TEXT + 1];
    struct upp_str own = wd_entry_at(l, entry)->id;
    struct wb_uuid id;
    if (!part && is_message_id(own))
        return own;
    if (!part && own.p && wb_uuid_parse(own, &id)) {
        struct upp_str with[] = {UPP_STR("msg_"), own};
        return wb_arena_join(&l->keep, with, WB_LEN(with));
    }
    struct upp_str made[] = {UPP_STR("msg_"),
                             wb_uuid_text(wb_uuid_v4(own.p ? wb_str_hash(own) : l->before + entry, part), text)};
    return wb_arena_join(&l->keep, made, WB_LEN(made));
}

static void put_message(struct out *o, struct message *m)
{
    struct wd_lowering *l = o->l;
    m->id = id_of(l, m->entry, m->first);
    wd_open(l, m->entry, slot_of(l, UPP_STR("p"), m->first));
    wd_aap_write_message(&l->w, NULL, message_status(l, m), m->id, type_of(l, m), role_word(m->role));
    wj_put_open(&l->w, "content", '[');
    if (m->kind == WD_AAP_IS_EVENT)
        wd_aap_write_content(&l->w, NULL,
                             &(struct wd_aap_payload){.kind = WD_AAP_IS_EVENT,
                                                      .status = WD_AAP_COMPLETED,
                                                      .message = m->id,
                                                      .text = wd_entry_at(l, m->entry)->e.data});
    for (size_t i = 0; i < m->n && !l->w.failed; i++)
        put_content(l, m, i);
    wj_write_close(&l->w, ']');
    wj_put_null(&l->w, "code");
    wj_put_null(&l->w, "message");
    bool usage = put_usage(o, m);
    put_metadata(o, m);
    wj_write_close(&l->w, '}');
    wd_close(l);
    o->flow = (struct wd_aap_flow){.role = m->role, .kind = m->kind, .agent = m->agent, .ended = usage || !m->n};
    if (m->kind == WD_AAP_IS_EVENT)
        o->flow.role = 0;
}

/* Was this part read from the same message as the previous one? */
static bool continues(struct wd_lowering *l, uint32_t entry, size_t part)
{
    return wd_span(l, entry, slot_of(l, UPP_STR("c"), part), 2) == 1;
}

/* How many parts from `first` on form one message. */
static size_t run_of(struct wd_lowering *l, uint32_t entry, size_t first, enum wd_aap_kind kind)
{
    const struct upp_message *message = &wd_entry_at(l, entry)->e.message;
    size_t n = 1;
    while (first + n < message->n_parts && kind_of(&message->parts[first + n]) == kind &&
           (kind == WD_AAP_MESSAGE || continues(l, entry, first + n)))
        n++;
    return n;
}

static bool has_cut(const struct upp_message *m)
{
    size_t i = 0;
    while (i < m->n_parts && !m->parts[i].cut)
        i++;
    return i < m->n_parts;
}

static void put_entry(struct out *o, uint32_t i)
{
    const struct wm_doc_entry *e = wd_entry_at(o->l, i);
    const struct upp_message *message = &e->e.message;
    struct message m = {.entry = i, .agent = e->agent, .role = message->role};
    if (m.agent == WM_NO_AGENT && m.role != UPP_ROLE_USER)
        m.agent = o->turn->agent;
    if (e->e.kind == WM_ENTRY_EVENT) {
        m.kind = WD_AAP_IS_EVENT;
        m.role = 0;
        m.last = true;
    } else if (!message->n_parts) {
        m.kind = WD_AAP_MESSAGE;
        m.last = true;
    }
    if (m.role == UPP_ROLE_USER && m.agent == WM_NO_AGENT && e->e.who.p)
        wd_lose(o->l, i, "which user it was", "messages do not name them");
    if (message->interrupted && !has_cut(message))
        wd_lose(o->l, i, "that it was interrupted", "all that it says was finished");
    if (m.last) {
        put_message(o, &m);
        return;
    }
    for (size_t k = 0; k < message->n_parts && !o->l->w.failed; k += m.n) {
        m.first = k;
        m.kind = kind_of(&message->parts[k]);
        m.role = m.kind == WD_AAP_OUTPUT    ? UPP_ROLE_TOOL
                 : m.kind == WD_AAP_MESSAGE ? message->role
                                            : UPP_ROLE_ASSISTANT;
        m.n = run_of(o->l, i, k, m.kind);
        m.last = k + m.n == message->n_parts;
        put_message(o, &m);
    }
}

/* ---- The document ---------------------------------------------------------------------------------------- */

static void put_list(struct wd_lowering *l)
{
    struct out o = {.l = l};
    wj_write_open(&l->w, '[');
    for (size_t i = 0; i < l->doc->turns.n; i++) {
        o.turn = &l->doc->turns.p[i];
        for (uint32_t k = o.turn->first; k < o.turn->first + o.turn->n && !l->w.failed; k++)
            if (wm_is_visible(&wd_entry_at(l, k)->e))
                put_entry(&o, k);
    }
    wj_write_close(&l->w, ']');
}

/* The form that was read; a list by default. */
static enum wd_aap_form form_of(struct wd_lowering *l)
{
    enum wd_aap_form form = WD_AAP_RESPONSE;
    while (form > WD_AAP_LIST && wd_span(l, WD_THREAD, wd_aap_slot(form), 2) == 2)
        form--;
    return form;
}

int wd_aap_lower(struct wd_lowering *l, struct upp_err *err)
{
    enum wd_aap_form form = form_of(l);
    struct upp_str id = l->doc->id;
    if (wb_str_eq(id, UPP_STR("thread"))) /* the name of a thread without an id */
        id = (struct upp_str){0};
    wd_implied(l, WD_IMPLIED_THREAD | WD_IMPLIED_MADE | WD_IMPLIED_AGENTS | WD_IMPLIED_TURNS |
                      (form == WD_AAP_LIST ? WD_IMPLIED_ID : 0));
    wd_open(l, WD_THREAD, wd_aap_slot(form));
    if (form == WD_AAP_LIST)
        put_list(l);
    else {
        wj_write_open(&l->w, '{');
        if (form == WD_AAP_SESSION)
            wd_member(l, "id", id);
        wd_name(l, wd_aap_member(form));
        put_list(l);
        if (form != WD_AAP_SESSION)
            wd_member(l, "session_id", id);
        wj_write_close(&l->w, '}');
    }
    wd_close(l);
    return wb_arena_check(&l->keep, err);
}
