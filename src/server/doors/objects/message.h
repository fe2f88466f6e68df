/* server/doors/objects/message.h — messages of the Assistants API: those of requests as entries, and entries as
 * objects. */
#pragma once

#include "json/write.h"
#include "log/log.h"
#include "run/engine.h"
#include "server/doors/system_text.h"
#include "server/http/body.h"
#include "server/members/members.h"

/* A client's metadata, as a message has it: under the name of its dialect, next to that of providers. */
#define SV_MESSAGE_METADATA "assistants"
int sv_message_metadata(struct wb_arena *a, struct upp_str given, struct upp_str *ret,
                        struct upp_err *err) UPP_MUST_CHECK;

/* A message of a request (a bare string is a user's): role user or assistant, content text (a string or parts) and, of
 * a user, image_url and image_file. Anything else is refused with its pointer: a client's account of the past has no
 * authority. The entry points into the arena. System messages are taken as sv_system_take says for `agent`, for which
 * the request is (NULL: none), and `system`. 1: an entry; 0: it is a part of `system` and no entry.
 */
int sv_read_message(const struct sv_body *b, yyjson_val *v, const struct wr_agent_def *agent, struct wb_arena *a,
                    struct sv_system *system, struct wm_entry *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Entries of an array of messages of an object, for an agent (NULL: none); no entries without an array. `system`: where
 * a gateway's system messages go (server/doors/system_text.h). */
enum { SV_MAX_MESSAGES = 256 /* in one request */ };
WEFT_SUSPENDS int sv_read_messages(struct sv_exchange *x, const struct sv_body *b, yyjson_val *object,
                                   struct upp_str name, const struct wr_agent_def *agent, struct sv_system *system,
                                   struct sv_entries *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The object of a message. why: the reason if it was cut short (asst_why_incomplete). */
int sv_write_message(struct wj_writer *w, struct wb_arena *a, struct wb_uuid thread, const struct wl_line *line,
                     const char *why, struct upp_err *err) UPP_MUST_CHECK;
