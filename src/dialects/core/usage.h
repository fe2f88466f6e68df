/* dialects/core/usage.h — the usage of a reply or a run, in the words of a dialect. */
#pragma once

#include "dialects/core/document.h"

/* A table ends with a NULL name. Thread, UPP, UI and Pydantic AI write theirs by hand: they have one in each message of
 * a long document. */
struct wd_usage_member {
    const char *name;
    size_t at;          /* in struct upp_usage; or WD_USAGE_TOTAL */
    bool if_any;        /* omitted if it is 0 */
    const char *within; /* the object that has it alone; NULL: none */
    const char *other;  /* reading: another name; NULL: none */
};
#define WD_USAGE_TOTAL     sizeof(struct upp_usage)
#define WD_USAGE_OF(name_) offsetof(struct upp_usage, name_)

/* Writes the object. */
void wd_usage_write(struct wj_writer *w, const struct wd_usage_member *table, const struct upp_usage *u);

/* False: it is no object, and *to is unchanged. */
bool wd_usage_read(yyjson_val *v, const struct wd_usage_member *table, struct upp_usage *to);

extern const struct wd_usage_member wd_usage_upp[]; /* inputTokens ... */

/* That of the turn or, if it has none, the sum of its replies. False: there is none. */
bool wd_usage_of_turn(const struct wd_lowering *l, const struct wm_doc_turn *t, struct upp_usage *sum);
bool wd_usage_of_replies(const struct wd_lowering *l, uint32_t first, uint32_t n, struct upp_usage *sum);
