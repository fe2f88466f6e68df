/* model/upp_json.h — UPP 1.2 JSON: messages, threads, usage, errors.
 *
 * Writing uses the reference's key order; unset members are omitted, never null. Reading keeps metadata maps token for
 * token; bytes may be base64 (either alphabet, padded or not), an array of numbers or an index-keyed object; an unknown
 * type is an error that names it, with its JSON pointer.
 *
 * What UPP's JSON cannot represent is written under metadata.weft of the message, only if needed, and removed when
 * read:
 * - order ["content","call",...]: the order of parts if it is not "content, then calls" ("then results")
 * - arguments {"INDEX":"text"}: of toolCalls whose arguments are not a JSON object (UPP has {} there), or one with
 *   whitespace or escapes that we would not write, so that models receive their own spelling. (Empty text is just {}.)
 * - interrupted true
 * - cut [INDEX...]: parts, counted in message order
 *
 * A member that does not fit the message (it was edited since) is dropped.
 *
 * UPP's JSON loses: metadata of parts other than binary, the name in a result, the title of parts other than documents.
 * Reading drops unknown members of messages, blocks, calls and results (the dialect stores them as residue).
 */
#pragma once

#include <upp/message.h>

#include "base/arena.h"
#include "json/write.h"

struct wm_thread_json {
    struct upp_str id, created, updated; /* times as text */
    struct upp_message *messages;
    size_t n;
};

enum { WM_MESSAGE_SCRATCH = 128 << 20 }; /* maximum size of JSON inside a message */

WB_EXPORT_BEGIN

/* Fails with -UPP_EINVALID (see wj_writer_check) for a part that UPP cannot represent in such a message, and for
 * invalid JSON inside. */
void wm_message_write(struct wj_writer *w, const struct upp_message *m);

/* The same in two halves, for callers that write the member "metadata" themselves, between them. end: takes the result
 * of wm_weft_needs; returns false if a result is not JSON, or too deep, and was written as a string; everything else
 * fails as above. */
void wm_message_begin(struct wj_writer *w, const struct upp_message *m);
bool wm_message_end(struct wj_writer *w, const struct upp_message *m, unsigned needs);

/* Which members of metadata.weft the message needs (0: none), and writing those. */
enum {
    WM_NEEDS_ORDER = 1 << 0,
    WM_NEEDS_ARGUMENTS = 1 << 1,
    WM_NEEDS_INTERRUPTED = 1 << 2,
    WM_NEEDS_CUT = 1 << 3,
};
unsigned wm_weft_needs(const struct upp_message *m);
void wm_weft_write(struct wj_writer *w, const struct upp_message *m, unsigned needs);

/* v comes from wj_read. Pointers in err are relative to v. The texts of ret are in `a` and in v's arena. A time that is
 * not spelled as UPP spells it is also stored as text. */
int wm_message_read(struct wb_arena *a, yyjson_val *v, struct upp_message *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The same, to check a message and list its parts only: JSON inside it (arguments, results, metadata) is empty in
 * ret. */
int wm_message_check(struct wb_arena *a, yyjson_val *v, struct upp_message *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The same, but a missing time, as from the reference's proxy, becomes `ms`. */
int wm_message_read_untimed(struct wb_arena *a, yyjson_val *v, int64_t ms, struct upp_message *ret,
                            struct upp_err *err) UPP_MUST_CHECK;

/* The same for reading many, by callers that handle metadata themselves: ret has of it only what metadata.weft says
 * about the message's parts. The buffer is reused for each, and has room for WM_MESSAGE_SCRATCH bytes. */
struct wm_message_sidecar {
    yyjson_val *metadata; /* that member; NULL: none */
    bool plain; /* all else is, member for member, what wm_message_begin and _end would write; false: unknown */
};
int wm_message_lift(struct wb_arena *a, struct wb_buf *scratch, yyjson_val *v, int64_t ms, struct upp_message *ret,
                    struct wm_message_sidecar *sidecar, struct upp_err *err) UPP_MUST_CHECK;

/* Reads the messages of `list`, an array inside root. Pointers in err are relative to root. *ret is NULL if there are
 * none. */
int wm_messages_read(struct wb_arena *a, yyjson_val *root, yyjson_val *list, struct upp_message **ret, size_t *n,
                     struct upp_err *err) UPP_MUST_CHECK;

void wm_part_write(struct wj_writer *w, const struct upp_part *p); /* as content block, ToolCall or ToolResult */
void wm_usage_write(struct wj_writer *w, const struct upp_usage *u);
void wm_usage_put(struct wj_writer *w, const struct upp_usage *u);              /* the same, as the member "usage" */
void wm_usage_open(struct wj_writer *w, const struct upp_usage *u, bool total); /* without the closing bracket */
void wm_usage_write_all(struct wj_writer *w, const struct upp_usage *u); /* with reasoningTokens, if there are any */
void wm_err_write(struct wj_writer *w, const struct upp_err *e);         /* UPPError; without a provider if unknown */
void wm_time_write(struct wj_writer *w, int64_t ms);                     /* "2026-02-03T04:05:06.007Z" */

void wm_thread_write(struct wj_writer *w, const struct wm_thread_json *t);
int wm_thread_read(struct wb_arena *a, yyjson_val *v, struct wm_thread_json *ret, struct upp_err *err) UPP_MUST_CHECK;

/* UPP's `text`: text parts joined by a blank line; results as UPP renders them: strings unquoted, all else as JSON.
 * {NULL, 0}: the arena failed. */
struct upp_str wm_message_text(struct wb_arena *a, const struct upp_message *m);

/* A deep copy. */
int wm_message_copy(struct wb_arena *a, const struct upp_message *m, struct upp_message *ret,
                    struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END
