/* model/upp_json.h — UPP 1.2 JSON: messages, threads, usage, errors.
 *
 * Written with the reference's key order; what is not set is left out, never null. Read: metadata maps are kept token
 * for token, bytes may be base64 (either alphabet, padded or not), an array of numbers or an index-keyed object; an
 * unknown type is an error that names it, with its JSON pointer.
 *
 * What UPP's shape cannot say stands under metadata.weft of the message, only where it is needed, and is taken out
 * again when it is read: order        ["content","call",...]: the order of parts where it is not "content, then calls"
 * ("then results") arguments    {"INDEX":"text"}: of toolCalls whose arguments are text that is no JSON object (UPP's
 * say {} there), or one with blanks or escapes that we would not write: models hear what they said as they spelled it.
 * (Empty text is {} alone.) interrupted  true;  cut  [INDEX...]: parts, counted in message order One that does not fit
 * the message (it was edited since) is dropped.
 *
 * Not in UPP's JSON, and lost in it: metadata of parts other than binary, the name in a result, the title of what is no
 * document. Other members of messages, blocks, calls and results than UPP's are not kept when reading (residue is the
 * dialect's work).
 */
#ifndef WM_UPP_JSON_H
#define WM_UPP_JSON_H

#include <upp/message.h>

#include "base/arena.h"
#include "json/write.h"

struct wm_thread_json {
    struct upp_str      id, created, updated; /* times as text */
    struct upp_message *messages;
    size_t              n;
};

enum { WM_MESSAGE_SCRATCH = 128 << 20 }; /* the most that JSON inside a message can be */

WB_EXPORT_BEGIN

/* -UPP_EINVALID, by wj_writer_check: a part that UPP has no form for in such a message, or JSON inside that is none. */
void wm_message_write(struct wj_writer *w, const struct upp_message *m);

/* The same in two, for who writes the member "metadata" himself: between them. end: false where the text of a result is
 * no JSON, or too deep, and was written as a string; all else that a message cannot be fails as before. It is told what
 * wm_weft_needs has said. */
void wm_message_begin(struct wj_writer *w, const struct upp_message *m);
bool wm_message_end(struct wj_writer *w, const struct upp_message *m, unsigned needs);

/* Which members of metadata.weft it needs (0: none), and those members. */
enum {
    WM_NEEDS_ORDER       = 1 << 0,
    WM_NEEDS_ARGUMENTS   = 1 << 1,
    WM_NEEDS_INTERRUPTED = 1 << 2,
    WM_NEEDS_CUT         = 1 << 3,
};
unsigned wm_weft_needs(const struct upp_message *m);
void     wm_weft_write(struct wj_writer *w, const struct upp_message *m, unsigned needs);

/* v comes from wj_read. Pointers in err begin at v. The texts of ret lie in `a` and in v's arena. A time that is not
 * spelled as UPP spells it is kept as text too. */
int wm_message_read(struct wb_arena *a, yyjson_val *v, struct upp_message *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The same for who wants to know whether it is a message, and what its parts are: what is JSON inside it (arguments,
 * results, metadata) has no text in ret. */
int wm_message_check(struct wb_arena *a, yyjson_val *v, struct upp_message *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The same where a time may be missing, as the reference's proxy leaves it out: then it is `ms`. */
int wm_message_read_untimed(struct wb_arena *a, yyjson_val *v, int64_t ms, struct upp_message *ret,
                            struct upp_err *err) UPP_MUST_CHECK;

/* The same for who reads many, and takes their metadata himself: ret has nothing of it but what metadata.weft says of
 * the message's parts. The buffer is used for each, and has room for WM_MESSAGE_SCRATCH bytes. */
struct wm_message_sidecar {
    yyjson_val *metadata; /* that member; NULL: there is none */
    bool        plain;    /* all else is, member for member, what wm_message_begin and _end would write; no: perhaps */
};
int wm_message_lift(struct wb_arena *a, struct wb_buf *scratch, yyjson_val *v, int64_t ms, struct upp_message *ret,
                    struct wm_message_sidecar *beside, struct upp_err *err) UPP_MUST_CHECK;

/* The messages of `list`, an array inside root. Pointers in err begin at root. *ret is NULL where there are none. */
int wm_messages_read(struct wb_arena *a, yyjson_val *root, yyjson_val *list, struct upp_message **ret, size_t *n,
                     struct upp_err *err) UPP_MUST_CHECK;

void wm_part_write(struct wj_writer *w, const struct upp_part *p); /* as content block, ToolCall or ToolResult */
void wm_usage_write(struct wj_writer *w, const struct upp_usage *u);
void wm_usage_put(struct wj_writer *w, const struct upp_usage *u);              /* the same as the member "usage" */
void wm_usage_open(struct wj_writer *w, const struct upp_usage *u, bool total); /* without the last bracket */
void wm_err_write(struct wj_writer *w, const struct upp_err *e); /* UPPError; without a provider where none is known */
void wm_time_write(struct wj_writer *w, int64_t ms);             /* "2026-02-03T04:05:06.007Z" */

void wm_thread_write(struct wj_writer *w, const struct wm_thread_json *t);
int  wm_thread_read(struct wb_arena *a, yyjson_val *v, struct wm_thread_json *ret, struct upp_err *err) UPP_MUST_CHECK;

/* UPP's `text`: text parts joined by a blank line; results as UPP renders them: strings as they are, all else as JSON.
 * No text: the arena failed. */
struct upp_str wm_message_text(struct wb_arena *a, const struct upp_message *m);

/* A copy with all it points to. */
int wm_message_copy(struct wb_arena *a, const struct upp_message *m, struct upp_message *ret,
                    struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END

#endif
