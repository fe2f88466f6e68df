/* server/doors/objects/message_files.h — images, files and attachments of messages in requests. */
#pragma once

#include "run/def.h"
#include "server/http/body.h"

/* An image part of a request, by address or, if `file`, by the id of a file. */
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
