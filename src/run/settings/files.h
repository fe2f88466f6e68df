/* run/settings/files.h — uploaded files in what a model gets (model/file_url.h).
 *
 * An image becomes its bytes; a text becomes a text part that names the file; a PDF becomes a document with its bytes.
 * What cannot be given (deleted, of another type, too large) becomes a text that says so, so that a history stays
 * usable. Attachments for tools (file_search, code_interpreter) are only named.
 */
#pragma once

#include <upp/model.h>
#include <weft/fiber.h>

#include "base/arena.h"

struct wr_run;

enum {
    WR_FILE_IMAGE = 20 << 20, /* OpenAI's limit */
    WR_FILE_TEXT = 1 << 20,
    WR_FILE_DOCUMENT = 32 << 20,
    WR_FILES = 64 << 20, /* of one request */
};

/* Replaces messages of the request that refer to files; what it makes is in the arena. */
WEFT_SUSPENDS int wr_files_fetch(struct wr_run *run, struct upp_request *request, struct wb_arena *a,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* The media type of these bytes, if it is one that models take as an image: PNG, JPEG, GIF, WebP; else NULL. `head`: at
 * least the first 12 bytes. */
const char *wr_image_type(struct upp_str head);
