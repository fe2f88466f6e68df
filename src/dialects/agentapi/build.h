/* dialects/agentapi/build.h — a message of the Agent API that is under construction.
 *
 *     wd_aap_add_delta_content     more of a content: the one of this index, or the next one, which it begins
 *     wd_aap_content_completed     that content is whole; what it says now replaces what was there
 *     wd_aap_add_content           a content that is whole
 *
 * Contents are objects as the wire has them. What cannot be is refused with -UPP_EINVALID, and changes nothing: a
 * content that goes on after its end, an index that is not there and is not the next, another type than it began with,
 * anything after the message was over.
 *
 * Deltas of text are put behind each other. Of all else: texts and lists too, numbers are added, objects are merged,
 * and the rest is replaced; null changes nothing.
 */
#ifndef WD_AGENTAPI_BUILD_H
#define WD_AGENTAPI_BUILD_H

#include "dialects/agentapi/agentapi.h"

enum {
    WD_AAP_CONTENTS = 1 << 14,   /* of one message */
    WD_AAP_TEXT     = 64 << 20,  /* bytes of one text */
    WD_AAP_MERGED   = 256 << 10, /* bytes of what is merged from deltas: each one reads it again */
};

struct wd_aap_built {
    struct upp_str     type;
    enum wd_aap_status status;
    bool               over;
    bool               text; /* "text", "refusal": what it says; else its members, as an object */
    struct wb_buf      said;
};

struct wd_aap_building {
    struct wb_arena   *a; /* of the texts */
    struct upp_str     id, type, role;
    struct upp_str     code, message, usage, metadata, error; /* the last three: JSON */
    enum wd_aap_status status;
    struct upp_str     word; /* the status as it was said */
    WB_VEC(struct wd_aap_built) contents;
};

void wd_aap_building_done(struct wd_aap_building *b);

int wd_aap_add_delta_content(struct wd_aap_building *b, size_t index, yyjson_val *content,
                             struct upp_err *err) UPP_MUST_CHECK;

/* In progress, and what it says replaces what was there: a snapshot. */
int wd_aap_replace_content(struct wd_aap_building *b, size_t index, yyjson_val *content,
                           struct upp_err *err) UPP_MUST_CHECK;

/* content NULL: what is there is all of it. */
int wd_aap_content_completed(struct wd_aap_building *b, size_t index, yyjson_val *content,
                             struct upp_err *err) UPP_MUST_CHECK;
int wd_aap_add_content(struct wd_aap_building *b, yyjson_val *content, struct upp_err *err) UPP_MUST_CHECK;

/* All contents are what the list says. */
int wd_aap_set_contents(struct wd_aap_building *b, yyjson_val *list, struct upp_err *err) UPP_MUST_CHECK;

/* As the wire has it. */
void wd_aap_built_write(struct wj_writer *w, const struct wd_aap_building *b);

#endif
