/* remote/session.c — hashes the history to find the conversation that a call continues, and writes the note for the
 * next one. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/uuid.h"
#include "json/read.h"
#include "base/defs.h"
#include "base/err.h"
#include "remote/remote.h"
#include "upp/providers/vendors.h"

enum { NOTE_BYTES = 64 << 20 };

static uint64_t mix(uint64_t h, struct upp_str text)
{
    return (h ^ wb_str_hash(text)) * UINT64_C(0x9e3779b97f4a7c15) + text.n;
}

static uint64_t mix_message(uint64_t h, const struct upp_message *m)
{
    h = h * 31 + m->role;
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        h = mix(mix(mix(h * 31 + p->kind, p->id), p->name), p->text);
        if (p->media)
            h = mix(mix(h, p->media->data), p->media->mime);
    }
    return h;
}

struct upp_str rm_seen_text(uint64_t seen, char out[RM_SEEN + 1])
{
    (void)snprintf(out, RM_SEEN + 1, "%016" PRIx64, seen);
    return wb_str(out, RM_SEEN);
}

/* The note of a message; NULL: none. */
static int note_of(struct wb_arena *a, const char *protocol, const struct upp_message *m, yyjson_val **ret,
                   struct upp_err *err)
{
    yyjson_val *v = NULL;
    *ret = NULL;
    if (m->role != UPP_ROLE_ASSISTANT || m->interrupted || !m->metadata.n)
        return 0;
    int r = wj_read(a, m->metadata, UPP_OPTS(wj_read_opts, .max_bytes = NOTE_BYTES), &v, err);
    if (r == -UPP_ENOMEM)
        return r;
    *ret = r < 0 ? NULL : yyjson_obj_get(v, protocol);
    return 0;
}

/* A new conversation has another id than an earlier one on the same branch: it begins at another message. */
static struct upp_str new_id(struct wb_arena *a, const struct upp_request *req)
{
    if (!req->session.n || req->n_messages < 2)
        return req->session;
    return wb_arena_printf(a, "%.*s.%zu", UPP_FMT(req->session), req->n_messages);
}

static bool is_ours(const struct upp_request *req, yyjson_val *note, uint64_t before)
{
    char digits[RM_SEEN + 1];
    struct upp_str session = wj_text_at(note, "session");
    return req->session.n && wb_str_starts(session, req->session) &&
           wb_str_eq(wj_text_at(note, "seen"), rm_seen_text(before, digits));
}

int rm_session_find(struct wb_arena *a, const char *protocol, const struct upp_request *req, struct rm_session *ret,
                    struct upp_err *err)
{
    yyjson_val *note = NULL;
    uint64_t h = mix(0, req->system);
    *ret = (struct rm_session){0};
    for (size_t i = 0; i < req->n_messages; i++) {
        const struct upp_message *m = req->messages[i];
        int r = note_of(a, protocol, m, &note, err);
        if (r < 0)
            return r;
        if (note && is_ours(req, note, h))
            *ret = (struct rm_session){.from = i + 1, .note = note};
        else if (m->role == UPP_ROLE_ASSISTANT && m->interrupted)
            *ret = (struct rm_session){0};
        h = mix_message(h, m);
    }
    ret->seen = h;
    ret->id = ret->note ? wb_arena_dup(a, wj_text_at(ret->note, "session")) : new_id(a, req);
    return wb_arena_check(a, err);
}

struct upp_str rm_message_id(struct wb_arena *a, const struct rm_session *s, size_t i)
{
    char text[WB_UUID_TEXT + 1];
    return wb_arena_printf(a, "msg_%s", wb_uuid_text(wb_uuid_v4(wb_str_hash(s->id), i), text).p);
}

const char *const rm_protocols[] = {"agentapi", "aitp", "envelopes", NULL};

/* In the same order. */
static const struct upp__provider providers[] = {
    {"agentapi", NULL, &rm_agentapi, NULL, NULL, UPP__KEY_OPTIONAL, 0},
    {"aitp", NULL, &rm_aitp, NULL, NULL, UPP__KEY_OPTIONAL, 0},
    {"envelopes", NULL, &rm_envelopes, NULL, NULL, UPP__KEY_OPTIONAL, 0},
};

int rm_model_new(const char *protocol, const char *name, const struct upp_provider_opts *opts, struct upp_str actor,
                 struct upp_model **ret, struct upp_err *err)
{
    size_t i = 0;
    while (i < WB_LEN(providers) && strcmp(providers[i].name, protocol) != 0)
        i++;
    if (i == WB_LEN(providers))
        return upp_fail(err, UPP_EINVALID, "no protocol '%s'", protocol);
    int r = upp__model_new(&providers[i], (struct upp_model_ref){protocol, name, opts}, ret, err);
    if (r < 0)
        return r;
    (*ret)->once = true;
    r = upp__model_set_own(*ret, actor, err);
    if (r < 0)
        upp_model_free(WB_TAKE(*ret));
    return r;
}
