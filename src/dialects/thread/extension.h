/* dialects/thread/extension.h — what a thread carries in `x_weft` in addition to ThreadProtocol's own members: the
 * residue of other dialects, and what the model has beyond those members (extension_needs.c finds it, extension.c
 * writes it, extension_read.c reads it). */
#pragma once

#include "dialects/thread/thread.h"

/* Entries that are one object of a thread, and what a reader assumes of them if nothing is carried. */
struct wd_carry {
    uint32_t first, n;   /* first WD_THREAD: the thread itself, without entries */
    uint32_t agent;      /* their author */
    struct upp_str time; /* their time */
    uint8_t is;          /* enum wd_carry_is */
};
enum wd_carry_is { WD_CARRY_REQUEST = 1, WD_CARRY_RESPONSE, WD_CARRY_EVENT }; /* a user turn is a request */

/* Adds to c->n the entries that the object itself cannot express. */
int wd_carried_read(struct wd_lifting *l, yyjson_val *x_weft, struct wd_carry *c, struct upp_err *err) UPP_MUST_CHECK;

/* What is to be carried: the members "residue" and "model". */
enum { WD_CARRIES_RESIDUE = 1 << 0, WD_CARRIES_PARTS = 1 << 1 };
unsigned wd_carries(struct wd_lowering *l, const struct wd_carry *c);
void wd_carried_write(struct wd_lowering *l, const struct wd_carry *c, unsigned what);

int wd_carried_parts_read(struct wd_lifting *l, yyjson_val *x_weft, struct wd_carry *c,
                          struct upp_err *err) UPP_MUST_CHECK;

/* What the members of a thread express. */

/* Entries that are not visible (wm_is_visible) are not part of their object, and not counted. */

/* True if the object cannot express this entry at all. Then it is carried whole, and no part of it is written. */
bool wd_carried_is_unsupported(const struct wd_lowering *l, const struct wd_carry *c, uint32_t i); /* of a request */
static inline bool wd_carried_is_new(const struct wd_lowering *l, const struct wd_carry *c, uint32_t i)
{
    return c->is == WD_CARRY_REQUEST ? wd_carried_is_unsupported(l, c, i) : i > c->first;
}

static inline bool wd_carried_is_medium(const struct upp_part *p)
{
    return p->kind >= UPP_PART_IMAGE && p->kind <= UPP_PART_BINARY && p->media && p->media->data.p;
}

/* Can a message of this role express the part? */
static inline bool wd_carried_part_fits(const struct upp_message *m, const struct upp_part *p)
{
    switch (m->role) {
    case UPP_ROLE_USER:
        return (p->kind == UPP_PART_TEXT && !p->media) || wd_carried_is_medium(p);
    case UPP_ROLE_ASSISTANT:
        return wd_carried_is_medium(p) ||
               (!p->media && (p->kind == UPP_PART_TEXT || p->kind == UPP_PART_REASONING || p->kind == UPP_PART_CALL));
    case UPP_ROLE_TOOL:
        return p->kind == UPP_PART_RESULT && !p->media;
    default:
        return false;
    }
}

/* Does the object express all of the part? False: perhaps. */
bool wd_carried_is_expressed(struct wd_lowering *l, const struct upp_message *m, const struct upp_part *p);

/* What the object does not express of a part. */
struct wd_carried_needs {
    bool whole, metadata, text, title, cut, kind, source, size, data, error;
};
struct wd_carried_needs wd_carried_needs(struct wd_lowering *l, const struct upp_message *m, const struct upp_part *p,
                                         bool is_new);

/* Would the event be read back unchanged? */
bool wd_carried_event_is_expressed(struct wd_lowering *l, const struct wm_doc_entry *e);

/* Writes a mention of an agent as its id, in whatever way the event names it; any other value unchanged. */
void wd_carried_mention(struct wd_lowering *l, struct wj_writer *w, yyjson_val *v);

/* Names of kinds of parts and sources of media. */
static const char *const wd_carried_kinds[] = {
    [UPP_PART_TEXT] = "text",         [UPP_PART_REASONING] = "reasoning", [UPP_PART_IMAGE] = "image",
    [UPP_PART_DOCUMENT] = "document", [UPP_PART_AUDIO] = "audio",         [UPP_PART_VIDEO] = "video",
    [UPP_PART_BINARY] = "binary",     [UPP_PART_CALL] = "call",           [UPP_PART_RESULT] = "result"};
static const char *const wd_carried_sources[] = {
    [UPP_SOURCE_BASE64] = "base64", [UPP_SOURCE_BYTES] = "bytes", [UPP_SOURCE_URL] = "url", [UPP_SOURCE_TEXT] = "text"};
