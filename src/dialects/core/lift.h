/* dialects/core/lift.h — what every lift does: agents, entries and their parts, and the texts of values. */
#ifndef WD_LIFT_H
#define WD_LIFT_H

#include "dialects/core/data_url.h"
#include "dialects/core/document.h"
#include "json/value.h"

enum { WD_PARTS = 1 << 14 }; /* of one message */

/* ---- Entries --------------------------------------------------------------------------------------------- */

/* The agent of this id (no text: the one on whose behalf the document is read), made where there is none; its name is
 * its id where nobody says one. */
int wd_agent_of(struct wd_lifting *l, struct upp_str id, struct upp_str name, uint32_t *ret,
                struct upp_err *err) UPP_MUST_CHECK;

/* So many turns and entries, and objects that have an anchor, are about to be added. */
void wd_expect(struct wd_lifting *l, size_t turns, size_t entries, size_t objects);

/* One more entry, of the turn that was added last if there are turns. `time` as the document has it; no text: now.
 * NULL: err says why. */
struct wm_doc_entry *wd_entry_add(struct wd_lifting *l, uint8_t role, uint32_t agent, struct upp_str time,
                                  struct upp_err *err);

/* A time as text, and as the moment it means; what is no time is `otherwise`. */
void wd_entry_time(struct upp_str text, int64_t otherwise, struct upp_message *m);

/* The parts of one message as they are gathered. */
struct wd_parts {
    WB_VEC(struct upp_part) list;
};

/* 1, or < 0. */
int wd_parts_add(struct wd_parts *to, const struct upp_part *part, struct upp_err *err) UPP_MUST_CHECK;

/* They become the message's, and the list is empty again. */
int wd_parts_finish(struct wb_arena *a, struct wd_parts *from, struct upp_message *m,
                    struct upp_err *err) UPP_MUST_CHECK;

/* ---- Values ---------------------------------------------------------------------------------------------- */

/* JSON text of a string. */
int wd_string_text(struct wb_arena *a, struct upp_str s, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

yyjson_val *wd_last_at(yyjson_val *obj, const char *name);   /* of those of that name: in which anchors may stand */
uint64_t    wd_number_at(yyjson_val *obj, const char *name); /* a whole number; else 0 */
uint64_t    wd_number_of(struct upp_str number);
bool        wd_is_plain_number(struct upp_str number); /* wd_number_of it is written as it is */

/* For decoding: members that are not what they should be are left where they are. They come back, and validating tells
 * of them. */
void wd_leave(void *ctx, const char *pointer, const char *sentence);

#endif
