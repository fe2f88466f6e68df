/* server/doors/files.h — uploaded files over HTTP: what every door that has files needs.
 *
 * An upload is written to the store as it arrives, and is never in memory as a whole; neither is a download. The file
 * and its record come into existence in one commit, so that an upload that does not end leaves nothing but pieces that
 * the sweep removes.
 */
#pragma once

#include "json/write.h"
#include "log/file.h"
#include "server/http/route.h"

enum { SV_FILE_NAME = 255 /* bytes of a file's name */ };
#define SV_FILE_MAX  (UINT64_C(512) << 20)
#define SV_FILE_BODY (SV_FILE_MAX + (64u << 10)) /* with the other parts and their headers */

/* Receives the multipart/form-data body of a request (SV_ROUTE_PIECES): the parts `file` and `purpose`, and
 * `expires_after[anchor]` and `expires_after[seconds]`. The query parameter `alias` is another id of it: the one that
 * it had where it came from. Texts of the file are in the arena of the exchange. */
WEFT_SUSPENDS int sv_file_receive(struct sv_exchange *x, struct wl_file *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Responds with its bytes. A page that shows them must not run them: they are an attachment, and of the type that the
 * client gave. */
WEFT_SUSPENDS int sv_file_send(struct sv_exchange *x, const struct wl_file *f, struct upp_err *err) UPP_MUST_CHECK;

/* The file as OpenAI's object. */
void sv_file_write(struct wj_writer *w, const struct wl_file *f);
