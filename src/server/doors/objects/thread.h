/* server/doors/objects/thread.h — threads as objects of the Assistants API, with all keys: null if empty. */
#pragma once

#include "json/write.h"
#include "log/log.h"
#include "server/http/body.h"

void sv_write_thread(struct wj_writer *w, const struct wl_thread *t);

/* An item of a list: metadata above this size is omitted ({}), and metadata_bytes is its size. */
enum { SV_LISTED_METADATA = 16 << 10 };
void sv_write_listed(struct wj_writer *w, const struct wl_thread *t, size_t metadata_bytes);

/* Responds with this thread. */
int sv_answer_thread(struct sv_exchange *x, const struct wl_thread *t, struct upp_err *err) UPP_MUST_CHECK;

/* The metadata of a thread as it is to be stored, from the members metadata and tool_resources of a request: 1; 0: it
 * has neither, *ret is unchanged. What it does not give is as in `old`. */
WEFT_SUSPENDS int sv_read_thread_metadata(struct sv_exchange *x, const struct sv_body *b, yyjson_val *object,
                                          const struct wl_thread *t, struct upp_str *ret, struct wb_uuid *parent,
                                          struct upp_err *err) UPP_MUST_CHECK;
