/* dialects/agentapi/build.h — builds a message of the Agent API from the frames of a stream.
 *
 *     wd_aap_add_delta_content     adds a delta to the content at an index; the next free index begins a new content
 *     wd_aap_content_completed     completes that content; a payload in the frame replaces what was there
 *     wd_aap_add_content           adds a complete content
 *
 * Contents are objects as on the wire. Invalid frames are refused with -UPP_EINVALID and change nothing: a delta
 * after the content's end, an index that neither exists nor is the next one, a type other than that of the content's
 * beginning, anything after the message's end.
 *
 * Text deltas are appended. In other payloads, texts and lists are appended too, numbers are added, objects are
 * merged, and anything else is replaced; null changes nothing.
 */
#pragma once

#include "dialects/agentapi/agentapi.h"

enum {
    WD_AAP_CONTENTS = 1 << 14, /* per message */
    WD_AAP_TEXT = 64 << 20,    /* bytes per text */
    WD_AAP_MERGED = 256 << 10, /* bytes of a payload merged from deltas: every delta parses it again */
};

struct wd_aap_built {
    struct upp_str type;
    enum wd_aap_status status;
    bool over;
    bool text; /* "text", "refusal": `content` is its text; else a JSON object of its members */
    struct wb_buf content;
};

struct wd_aap_building {
    struct wb_arena *a; /* holds the texts */
    struct upp_str id, type, role;
    struct upp_str code, message, usage, metadata, error; /* the last three: JSON */
    enum wd_aap_status status;
    struct upp_str word; /* the status as received */
    WB_VEC(struct wd_aap_built) contents;
    size_t tag; /* the reader's own; 0 in the beginning */
};

void wd_aap_building_done(struct wd_aap_building *b);

int wd_aap_add_delta_content(struct wd_aap_building *b, size_t index, yyjson_val *content,
                             struct upp_err *err) UPP_MUST_CHECK;

/* Replaces the content, which stays in progress: a snapshot. */
int wd_aap_replace_content(struct wd_aap_building *b, size_t index, yyjson_val *content,
                           struct upp_err *err) UPP_MUST_CHECK;

/* content NULL: what is there is complete. */
int wd_aap_content_completed(struct wd_aap_building *b, size_t index, yyjson_val *content,
                             struct upp_err *err) UPP_MUST_CHECK;
int wd_aap_add_content(struct wd_aap_building *b, yyjson_val *content, struct upp_err *err) UPP_MUST_CHECK;

/* Replaces all contents with those of the list. */
int wd_aap_set_contents(struct wd_aap_building *b, yyjson_val *list, struct upp_err *err) UPP_MUST_CHECK;

/* The message has this status now; a final one ends its open contents too. */
void wd_aap_building_end(struct wd_aap_building *b, enum wd_aap_status now);

/* Writes the message in wire format. */
void wd_aap_built_write(struct wj_writer *w, const struct wd_aap_building *b);
