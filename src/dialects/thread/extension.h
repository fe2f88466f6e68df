/* dialects/thread/extension.h — what a thread carries in `x_weft` beside ThreadProtocol's own members: the residue of
 * other dialects (extension.c), and what the model says beyond those members (extension_needs.c finds it,
 * extension_write.c writes it, extension_read.c reads it).
 */
#ifndef WD_CARRIED_H
#define WD_CARRIED_H

#include "dialects/thread/thread.h"

/* Entries that are one object of a thread, and what a reader would take of them where nothing is carried. */
struct wd_carry {
    uint32_t       first, n; /* first may be WD_THREAD: it is the thread itself, without entries */
    uint32_t       agent;    /* whose they are */
    struct upp_str time;     /* when they were */
    uint8_t        is;       /* enum wd_carry_is */
};
enum wd_carry_is { WD_CARRY_REQUEST = 1, WD_CARRY_RESPONSE, WD_CARRY_EVENT }; /* a user's turn is a request */

int wd_carried_read(struct wd_lifting *l, yyjson_val *x_weft, struct wd_carry *c,
                    struct upp_err *err) UPP_MUST_CHECK; /* adds to n the entries that the object itself cannot say */

/* What there is to carry: the members "residue" and "model". */
enum { WD_CARRIES_RESIDUE = 1 << 0, WD_CARRIES_PARTS = 1 << 1 };
unsigned wd_carries(struct wd_lowering *l, const struct wd_carry *c);
void     wd_carried_write(struct wd_lowering *l, const struct wd_carry *c, unsigned what);

bool wd_carries_parts(struct wd_lowering *l, const struct wd_carry *c);
void wd_carried_parts_write(struct wd_lowering *l, const struct wd_carry *c);
int  wd_carried_parts_read(struct wd_lifting *l, yyjson_val *x_weft, struct wd_carry *c,
                           struct upp_err *err) UPP_MUST_CHECK;

/* ---- What the members of a thread say -------------------------------------------------------------------------- */

/* Entries that are not shown (wm_is_visible) are no part of its object, and not counted. */

/* Can its object not say this entry at all? Then it is carried whole, and no part of it is written. */
bool wd_carried_is_unsaid(const struct wd_lowering *l, const struct wd_carry *c, uint32_t i); /* by a request */
static inline bool wd_carried_is_new(const struct wd_lowering *l, const struct wd_carry *c, uint32_t i)
{
    return c->is == WD_CARRY_REQUEST ? wd_carried_is_unsaid(l, c, i) : i > c->first;
}

static inline bool wd_carried_is_medium(const struct upp_part *p)
{
    return p->kind >= UPP_PART_IMAGE && p->kind <= UPP_PART_BINARY && p->media && p->media->data.p;
}

/* Can a message of its role say this part? */
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

/* Does its object, which says it, say all of it? No: it may yet. */
bool wd_carried_is_said(struct wd_lowering *l, const struct upp_message *m, const struct upp_part *p);

/* What of a part the object does not say. */
struct wd_carried_needs {
    bool whole, metadata, text, title, cut, kind, source, size, data, error;
};
struct wd_carried_needs wd_carried_needs(struct wd_lowering *l, const struct upp_message *m, const struct upp_part *p,
                                         bool is_new);

/* Would the event be read as it is? */
bool wd_carried_event_is_said(struct wd_lowering *l, const struct wm_doc_entry *e);

/* An agent by its id, however an event speaks of it; any other value as it is. */
void wd_carried_mention(struct wd_lowering *l, struct wj_writer *w, yyjson_val *v);

/* The words for kinds of parts and sources of media. */
static const char *const wd_carried_kinds[] = {
    [UPP_PART_TEXT] = "text",         [UPP_PART_REASONING] = "reasoning", [UPP_PART_IMAGE] = "image",
    [UPP_PART_DOCUMENT] = "document", [UPP_PART_AUDIO] = "audio",         [UPP_PART_VIDEO] = "video",
    [UPP_PART_BINARY] = "binary",     [UPP_PART_CALL] = "call",           [UPP_PART_RESULT] = "result"};
static const char *const wd_carried_sources[] = {
    [UPP_SOURCE_BASE64] = "base64", [UPP_SOURCE_BYTES] = "bytes", [UPP_SOURCE_URL] = "url", [UPP_SOURCE_TEXT] = "text"};

#endif
