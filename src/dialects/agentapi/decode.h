/* dialects/agentapi/decode.h — reading the stream of an Agent API response (docs/dialects/agentapi.md) into the model.
 *
 *     struct wd_aap_decoder d;
 *     wd_aap_decoder_init(&d, &arena);
 *     for each line of the stream: r = wd_aap_decode(&d, line, &err);
 *     r = wd_aap_decode_end(&d, &doc, agent, now_ms, &err);
 *     wd_aap_decoder_done(&d);
 *
 * Lines are SSE lines ("data: {...}") or bare JSON. Deltas are collected by msg_id and index; without a msg_id they
 * belong to the open message. A stream that ends before its response has failed: its content is retained, and
 * whatever was open is cut.
 */
#pragma once

#include "dialects/agentapi/agentapi.h"

/* Messages, built from the frames of a stream (build.c).
 *
 *     wd_aap_add_delta_content     adds a delta to the content at an index; the next free index begins a new content
 *     wd_aap_content_completed     completes that content; a payload in the frame replaces what was there
 *     wd_aap_add_content           adds a complete content
 *
 * Contents are objects as on the wire. Invalid frames are refused with -UPP_EINVALID and change nothing: a delta after
 * the content's end, an index that neither exists nor is the next one, a type other than that of the content's
 * beginning, anything after the message's end. Text deltas are appended. In other payloads, texts and lists are
 * appended too, numbers are added, objects are merged, and anything else is replaced; null changes nothing.
 */

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

/* ---- The stream ---- */

enum {
    WD_AAP_LINE = 64 << 20,    /* bytes per line */
    WD_AAP_MESSAGES = 1 << 12, /* per stream */
};

struct wd_aap_decoder {
    struct wb_arena *a; /* holds all texts */
    struct wb_arena scratch;
    WB_VEC(struct wd_aap_building) messages;
    size_t open;  /* 1 + index of the message begun last; 0: none */
    size_t last;  /* 1 + index of the message that the last frame was about; 0: none */
    size_t first; /* index of the current response's first message */
    bool begun;
    bool numbered; /* there was a sequence_number; `sequence` is the last one */
    uint64_t sequence;
    enum wd_aap_status status; /* of the response */
    struct upp_str id, session, code, message;
    uint64_t created_at, completed_at; /* seconds; 0: absent */
    bool has_usage;
    struct upp_usage usage;
    size_t frames, skipped;
};

void wd_aap_decoder_init(struct wd_aap_decoder *d, struct wb_arena *a);
void wd_aap_decoder_done(struct wd_aap_decoder *d);

/* -UPP_EINVALID: not a frame, a missing or repeated sequence_number, a delta after its content's end ...;
 * -UPP_ELIMIT. A refused line changes nothing that was collected. */
int wd_aap_decode(struct wd_aap_decoder *d, struct upp_str line, struct upp_err *err) UPP_MUST_CHECK;

/* Are these the lines of a stream? Its first frame is a response or a content. */
bool wd_aap_is_stream(struct upp_str lines);

/* Writes the whole stream as a response document (docs/dialects/agentapi.md). err names the line that is wrong. */
int wd_aap_stream_document(struct upp_str lines, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

/* The stream has ended: a response without an end has failed. The doc has one turn more, if there was output. `agent`:
 * if the stream names none. */
int wd_aap_decode_end(struct wd_aap_decoder *d, struct wm_doc *doc, struct upp_str agent, int64_t now_ms,
                      struct upp_err *err) UPP_MUST_CHECK;
