/* dialects/core/lift.h — what lifts share: agents, entries and their parts, texts of values. */
#pragma once

#include "dialects/core/data_url.h"
#include "dialects/core/document.h"
#include "json/value.h"

enum { WD_PARTS = 1 << 14 }; /* maximum of one message */

/* The result of a function that has failed and returned NULL. */
static inline int wd_error_of(const struct upp_err *err)
{
    return err && err->code ? -err->code : -UPP_ENOMEM;
}

/* Finds or adds the agent with this id (NULL: that of the lifting). `name` NULL: its name is its id. */
int wd_agent_of(struct wd_lifting *l, struct upp_str id, struct upp_str name, uint32_t *ret,
                struct upp_err *err) UPP_MUST_CHECK;

/* Reserves memory for this many turns, entries and anchored objects. */
void wd_reserve(struct wd_lifting *l, size_t turns, size_t entries, size_t objects);

/* Adds an entry, to the last turn if there are turns. `time` as in the document; NULL: now. Returns NULL on failure,
 * see err. */
struct wm_doc_entry *wd_entry_add(struct wd_lifting *l, uint8_t role, uint32_t agent, struct upp_str time,
                                  struct upp_err *err);

/* Sets the time as text and in milliseconds. An invalid time gives `otherwise` as milliseconds. */
void wd_entry_time(struct upp_str text, int64_t otherwise, struct upp_message *m);

/* Collects the parts of one message. */
struct wd_parts {
    WB_VEC(struct upp_part) list;
};

/* 1, or < 0. */
int wd_parts_add(struct wd_parts *to, const struct upp_part *part, struct upp_err *err) UPP_MUST_CHECK;

/* Moves the parts into the message; the list is empty again. */
int wd_parts_finish(struct wb_arena *a, struct wd_parts *from, struct upp_message *m,
                    struct upp_err *err) UPP_MUST_CHECK;

/* Encodes a string as JSON. */
int wd_string_text(struct wb_arena *a, struct upp_str s, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

yyjson_val *wd_last_at(yyjson_val *obj, const char *name); /* the last duplicate, which may contain anchors */
uint64_t wd_number_at(yyjson_val *obj, const char *name);  /* a whole number; otherwise 0 */
uint64_t wd_number_of(struct upp_str number);
bool wd_is_canonical_number(struct upp_str number); /* wd_number_of it is formatted as the same text */

/* Problem callback for decoding: ignores members of the wrong type. They come back as residue, and validation reports
 * them. */
void wd_ignore_problem(void *ctx, const char *pointer, const char *sentence);
