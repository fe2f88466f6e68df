/* server/doors/conversation/messages.c — reads the messages of a chat request. */
#include "server/doors/conversation/messages.h"

#include <openssl/evp.h>
#include <stdio.h>

#include "base/clock.h"
#include "json/pointer.h"
#include "json/value.h"
#include "json/write.h"

/* Every call of the last assistant message has its result: providers refuse a conversation in which one has none. */
static int check_results(struct sv_conversation_building *rd, yyjson_val *at, struct upp_err *err)
{
    const struct sv_entries *list = &rd->to->list;
    size_t n = rd->to->next;
    const struct upp_message *of = n ? &list->p[n - 1].message : NULL;
    const struct upp_message *has = n < list->n ? &list->p[n].message : NULL;
    for (const struct upp_part *call = NULL; of && (call = upp_part_next(of, call, UPP_PARTS_CALLS));) {
        bool found = false;
        for (const struct upp_part *p = NULL; has && (p = upp_part_next(has, p, UPP_PARTS_RESULTS));)
            found = found || wb_str_eq(p->id, call->id);
        if (!found)
            return sv_body_wrong(rd->body, at, err, "a call needs its result after it: there is none for '%.*s'",
                                 UPP_FMT(call->id));
    }
    return 0;
}

size_t sv_conversation_count(const struct upp_message *m, unsigned kinds, struct upp_str id)
{
    size_t n = 0;
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, kinds));)
        n += wb_str_eq(p->id, id);
    return n;
}

int sv_conversation_result(struct wb_arena *a, struct upp_str call, struct upp_str text, struct upp_part *ret,
                           struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(SV_MAX_BODY * 6);
    struct wj_writer w;
    wj_writer_init(&w, &json, err);
    wj_write_str(&w, text);
    *ret = (struct upp_part){.kind = UPP_PART_RESULT, .id = call};
    return wj_writer_text(&w, a, &ret->text);
}

int sv_conversation_text(struct wb_buf *out, const struct upp_message *m, struct upp_err *err)
{
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, 1 << UPP_PART_TEXT));)
        wb_buf_add(out, p->text);
    return wb_buf_check(out, err);
}

/* Adds what identifies a message. Lengths keep two conversations apart that differ only in where a text ends. */
static void digest_message(struct wb_buf *out, const struct upp_message *m)
{
    wb_buf_addf(out, "%u:%zu;", m->role, m->n_parts);
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        struct upp_str data = p->media ? p->media->data : p->text;
        wb_buf_addf(out, "%u,%zu,%zu,%zu;", p->kind, p->id.n, p->name.n, data.n);
        wb_buf_add(out, p->id);
        wb_buf_add(out, p->name);
        wb_buf_add(out, data);
    }
}

/* The name of the conversation up to a length of `digested`. */
static int name_of(struct sv_conversation_building *rd, size_t length, char out[SV_CONVERSATION_DIGEST + 1],
                   struct upp_err *err)
{
    unsigned char hash[32];
    unsigned n = sizeof hash;
    if (wb_buf_check(&rd->digested, err) < 0)
        return -UPP_ENOMEM;
    if (EVP_Digest(rd->digested.p ? rd->digested.p : "", length, hash, &n, EVP_sha256(), NULL) != 1)
        return upp_fail(err, UPP_ENOMEM, "no memory for a digest");
    for (size_t i = 0; i < sizeof hash; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", hash[i]);
    return 0;
}

/* Results of a round, and calls of an assistant message, may come one by one. */
static int join_parts(struct sv_conversation_building *rd, struct upp_message *to, const struct upp_part *more,
                      size_t n, struct upp_err *err)
{
    struct upp_part *parts = wb_new_n(&rd->x->arena, struct upp_part, to->n_parts + n);
    if (!parts)
        return wb_arena_check(&rd->x->arena, err);
    memcpy(parts, to->parts, to->n_parts * sizeof *parts);
    memcpy(parts + to->n_parts, more, n * sizeof *parts);
    to->parts = parts;
    to->n_parts += n;
    return 0;
}

/* The message whose results come next, and those that it has already; NULL: none. */
static const struct upp_message *calls_before(const struct sv_conversation_building *rd,
                                              const struct upp_message **results)
{
    const struct sv_entries *list = &rd->to->list;
    size_t n = list->n;
    const struct upp_message *last = n ? &list->p[n - 1].message : NULL;
    *results = NULL;
    if (last && last->role == UPP_ROLE_TOOL) {
        *results = last;
        last = --n ? &list->p[n - 1].message : NULL;
    }
    if (!n)
        return rd->calls;
    return last->role == UPP_ROLE_ASSISTANT ? last : NULL;
}

/* A result belongs to a call of the message right before, which has no other one. */
static int name_results(struct sv_conversation_building *rd, yyjson_val *at, struct upp_part *parts, size_t n,
                        struct upp_err *err)
{
    const struct upp_message *results, *calls = calls_before(rd, &results);
    for (size_t i = 0; i < n; i++) {
        struct upp_str id = parts[i].id;
        yyjson_val *from = sv_member(at, UPP_STR("tool_call_id"));
        const struct upp_part *call = NULL;
        while (calls && (call = upp_part_next(calls, call, UPP_PARTS_CALLS)) && !wb_str_eq(call->id, id))
            ;
        if (!call)
            return sv_body_wrong(rd->body, from ? from : at, err,
                                 "no call before has the id '%.*s': a result comes right after its call", UPP_FMT(id));
        if (results &&
            sv_conversation_count(results, UPP_PARTS_RESULTS, id) >= sv_conversation_count(calls, UPP_PARTS_CALLS, id))
            return sv_body_wrong(rd->body, from ? from : at, err, "a call has one result: '%.*s' has two", UPP_FMT(id));
        parts[i].name = call->name;
    }
    return 0;
}

int sv_conversation_push(struct sv_conversation_building *rd, yyjson_val *at, uint8_t role, struct upp_part *parts,
                         size_t n, struct upp_err *err)
{
    struct sv_entries *list = &rd->to->list;
    struct upp_message *last = list->n ? &list->p[list->n - 1].message : NULL;
    int r = role == UPP_ROLE_TOOL ? name_results(rd, at, parts, n, err) : 0;
    if (r < 0)
        return r;
    struct upp_message message = {.role = role, .time_ms = wb_wall_ms(), .parts = parts, .n_parts = n};
    if (last && last->role == role && n && (parts[0].kind == UPP_PART_RESULT || parts[0].kind == UPP_PART_CALL)) {
        digest_message(&rd->digested, &message);
        return join_parts(rd, last, parts, n, err);
    }
    if (role == UPP_ROLE_ASSISTANT) {
        r = check_results(rd, at, err);
        rd->before = rd->digested.n;
        rd->to->next = list->n + 1;
    }
    if (r >= 0 && list->n == rd->max)
        r = upp_fail(err, UPP_EBUG, "more messages than there are");
    if (r < 0)
        return r;
    list->p[list->n++] = (struct wm_entry){
        .kind = WM_ENTRY_MESSAGE, .origin = WM_ORIGIN_CLIENT, .audience = WM_AUDIENCE_ALL, .message = message};
    digest_message(&rd->digested, &message);
    return 0;
}

int sv_conversation_push_system(struct sv_conversation_building *rd, yyjson_val *at, const struct upp_message *m,
                                struct upp_err *err)
{
    struct upp_message taken = *m;
    int r = sv_system_take(rd->body, at, rd->agent, &rd->x->arena, &taken, &rd->system, err);
    return r <= 0 ? r : sv_conversation_push(rd, at, taken.role, taken.parts, taken.n_parts, err);
}

int sv_conversation_begin(struct sv_conversation_building *rd, struct sv_exchange *x, const struct sv_body *body,
                          const struct wr_agent_def *agent, size_t max, struct sv_conversation_messages *to,
                          struct upp_err *err)
{
    *to = (struct sv_conversation_messages){0};
    *rd = (struct sv_conversation_building){.x = x,
                                            .body = body,
                                            .agent = agent,
                                            .to = to,
                                            .max = max,
                                            .system = SV_SYSTEM,
                                            .digested = WB_BUF(SV_MAX_BODY * 2)};
    to->list.p = wb_new_n(&x->arena, struct wm_entry, max);
    return to->list.p ? 0 : wb_arena_check(&x->arena, err);
}

int sv_conversation_end(struct sv_conversation_building *rd, yyjson_val *at, struct upp_err *err)
{
    int r = check_results(rd, at, err);
    if (r < 0)
        return r;
    rd->to->system = rd->system.first;
    r = sv_system_text(&rd->x->arena, &rd->system, &rd->to->instructions, err);
    if (r >= 0 && rd->to->next)
        r = name_of(rd, rd->before, rd->to->before, err);
    return r < 0 ? r : name_of(rd, rd->digested.n, rd->to->all, err);
}

void sv_conversation_done(struct sv_conversation_building *rd)
{
    sv_system_done(&rd->system);
    wb_buf_done(&rd->digested);
}

int sv_conversation_answers(struct sv_exchange *x, const struct sv_conversation_messages *m, struct sv_answers *ret,
                            struct upp_err *err)
{
    const struct upp_message *results = m->next < m->list.n ? &m->list.p[m->next].message : NULL;
    *ret = (struct sv_answers){0};
    if (m->list.n - m->next != 1 || results->role != UPP_ROLE_TOOL)
        return 0;
    ret->p = wb_new_n(&x->arena, struct wr_answer, results->n_parts);
    if (!ret->p)
        return wb_arena_check(&x->arena, err);
    for (; ret->n < results->n_parts; ret->n++)
        ret->p[ret->n] = (struct wr_answer){.call = results->parts[ret->n].id, .result = results->parts[ret->n].text};
    return 1;
}
