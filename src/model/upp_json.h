/* model/upp_json.h — UPP 1.2 JSON: messages, threads, usage, turns, errors.
 *
 * Written with the reference's key order; what is not set is left out, never null. The order of parts is carried under
 * metadata.weft.order only where it is not "content, then calls". Read: unknown keys survive in metadata maps, bytes
 * may be base64, an array of numbers or an index-keyed object; an unknown type is an error that names it.
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

WB_EXPORT_BEGIN

void wm_message_write(struct wj_writer *w, const struct upp_message *m);
int  wm_message_read(struct wb_arena *a, yyjson_val *v, struct upp_message *ret, struct upp_err *err) UPP_MUST_CHECK;

void wm_part_write(struct wj_writer *w, const struct upp_part *p); /* as content block, ToolCall or ToolResult */
void wm_usage_write(struct wj_writer *w, const struct upp_usage *u);
void wm_err_write(struct wj_writer *w, const struct upp_err *e); /* UPPError */
void wm_time_write(struct wj_writer *w, int64_t ms);             /* "2026-02-03T04:05:06.007Z" */

void wm_thread_write(struct wj_writer *w, const struct wm_thread_json *t);
int  wm_thread_read(struct wb_arena *a, yyjson_val *v, struct wm_thread_json *ret, struct upp_err *err) UPP_MUST_CHECK;

/* UPP's `text`: text parts joined by a blank line; results as UPP renders them. */
struct upp_str wm_message_text(struct wb_arena *a, const struct upp_message *m);

/* A copy with all it points to. */
int wm_message_copy(struct wb_arena *a, const struct upp_message *m, struct upp_message *ret,
                    struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END

#endif
