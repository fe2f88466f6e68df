/* server/doors/v1/objects.h — threads, messages and runs as objects of the Assistants API, with all keys: null if
 * empty. */
#ifndef SV_OBJECTS_H
#define SV_OBJECTS_H

#include "json/write.h"
#include "log/log.h"
#include "run/engine.h"
#include "server/doors/system_text.h"
#include "server/http/body.h"

/* "run_" + 32 hex digits, as a JSON string; a UUID of zeros is null. */
void sv_write_id(struct wj_writer *w, const char *prefix, struct wb_uuid id);
void sv_put_id(struct wj_writer *w, const char *key, const char *prefix, struct wb_uuid id); /* as a member */

void sv_write_thread(struct wj_writer *w, const struct wl_thread *t);

/* The member of a thread's stored metadata that is its tool_resources: so documents of it keep them. */
#define SV_RESOURCES "weft.tool_resources"

/* The metadata of a thread as it is stored: `given` (NULL: as in `old`) with `resources` (NULL: likewise). */
int sv_thread_metadata(struct wb_arena *a, struct upp_str old, struct upp_str given, struct upp_str resources,
                       struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* An item of a list: metadata above this size is omitted ({}), and metadata_bytes is its size. */
enum { SV_LISTED_METADATA = 16 << 10 };
void sv_write_listed(struct wj_writer *w, const struct wl_thread *t, size_t metadata_bytes);

/* why: the reason if it was cut short (asst_why_incomplete). */
int sv_write_message(struct wj_writer *w, struct wb_arena *a, struct wb_uuid thread, const struct wl_line *line,
                     const char *why, struct upp_err *err) UPP_MUST_CHECK;

/* Of server/doors/v1/entries.c: is it listed as an entry of the log, and such an entry; `node` is the id of its node.
 */
bool sv_is_entry(const struct wl_line *line);
void sv_write_entry(struct wj_writer *w, struct wb_uuid node, const struct wl_line *line);

int sv_write_run(struct wj_writer *w, struct wb_arena *a, const struct wr_run_info *look,
                 struct upp_err *err) UPP_MUST_CHECK;

/* "queued", "in_progress" ...: clients know these eight words and poll forever on any other. */
const char *sv_run_status(const struct wr_run_info *look);

/* A client's metadata, as a message has it: under the name of its dialect. */
int sv_message_metadata(struct wb_arena *a, struct upp_str given, struct upp_str *ret,
                        struct upp_err *err) UPP_MUST_CHECK;

/* A message of a request (a bare string is a user's): role user or assistant, content text (a string or parts) and, of
 * a user, image_url and image_file. Anything else is refused with its pointer: a client's account of the past has no
 * authority. The entry points into the arena. System messages are taken as sv_system_take says for `agent`, for which
 * the request is (NULL: none), and `system`. 1: an entry; 0: it is a part of `system` and no entry.
 */
int sv_read_message(const struct sv_body *b, yyjson_val *v, const struct wr_agent_def *agent, struct wb_arena *a,
                    struct sv_system *system, struct wm_entry *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Of server/doors/v1/message_files.c: an image part of a request, by address or, if `file`, by the id of a file. */
int sv_read_image(const struct sv_body *b, yyjson_val *v, bool file, struct wb_arena *a, struct upp_part *ret,
                  struct upp_err *err) UPP_MUST_CHECK;

/* Reads `attachments` of a message that sv_read_message has read, and checks that its files are there. */
WEFT_SUSPENDS int sv_read_files(struct sv_exchange *x, const struct sv_body *b, yyjson_val *v,
                                const struct wr_agent_def *agent, struct upp_message *m,
                                struct upp_err *err) UPP_MUST_CHECK;

/* A part of a chat or a response that names a file: `file_id` of this object, an image or a document. 1: *ret; 0: it
 * has none. */
int sv_read_file(const struct sv_body *b, yyjson_val *v, uint8_t kind, struct wb_arena *a, struct upp_part *ret,
                 struct upp_err *err) UPP_MUST_CHECK;

/* The id of a file from a client of a door with URLs instead of ids: urn:weft:file:ID, or the path of the file's
 * content, alone or as a browser makes a URL of it; false: it is another address. */
bool sv_file_of_url(struct sv_exchange *x, struct upp_str url, struct upp_str *id);

/* A part with that file, to be checked by sv_check_files. mime: what the client calls it; empty: unknown. */
int sv_file_part(struct wb_arena *a, struct upp_str id, struct upp_str mime, struct upp_part *ret,
                 struct upp_err *err) UPP_MUST_CHECK;

/* Checks that the files of these messages, those before `from` left out, are there, and that images are images. An
 * error points to `at`. */
WEFT_SUSPENDS int sv_check_files(struct sv_exchange *x, const struct sv_body *b, yyjson_val *at,
                                 const struct wm_entry *list, size_t from, size_t n,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* A tool {"type"} of a request that is one of the API's own (file_search, code_interpreter): -UPP_EINVALID unless the
 * agent (NULL: the default one) has a tool for it. */
int sv_check_hosted(struct sv_exchange *x, const struct sv_body *b, yyjson_val *tool, const struct wr_agent_def *agent,
                    struct upp_err *err) UPP_MUST_CHECK;

#endif
