/* log/file.h — uploaded files: a record of each, next to the blob with its bytes.
 *
 * The record is a value of the space WL_FILES. It and the reference to the blob are written and dropped in one commit,
 * so that neither is ever there alone. Messages refer to a file by its address (model/file_url.h) and never contain its
 * bytes; the engine reads them when it calls a model (run/settings/files.h).
 *
 * Ids begin with the time of creation. The value's name is the id with every bit flipped: values are listed by name, so
 * files are listed newest first.
 */
#pragma once

#include "log/log.h"

#define WL_FILES       "files"
#define WL_FILE_PREFIX "file-"

struct wl_file {
    struct wb_uuid id;
    struct upp_str filename, purpose, type; /* type: a media type, never empty */
    struct upp_str user;                    /* of its owner */
    struct upp_str alias;                   /* an id that it had elsewhere; empty: none */
    uint64_t bytes;
    int64_t created_ms, expires_ms; /* expires_ms 0: never */
    struct wl_blob_key blob;
};

/* Later in lists than the tenant's other files, also if the clock was set back. */
WEFT_SUSPENDS int wl_file_id_new(struct wl_store *s, const struct wl_owner *o, int64_t now_ms, struct wb_uuid *ret,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* An id, as "file-..." or an alias of it (WL_ALIAS_FILE). -UPP_ENOTFOUND, also for files of another user and for
 * expired ones. Texts are in the arena. */
WEFT_SUSPENDS int wl_file_find(struct wl_store *s, const struct wl_owner *o, struct upp_str id, struct wb_arena *a,
                               struct wl_file *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The record, for the commit that adds the file (ws_file_end). Texts are in the arena. */
int wl_file_value(const struct wl_file *f, struct wb_arena *a, struct wl_value *ret,
                  struct upp_err *err) UPP_MUST_CHECK;

/* Drops the record and the reference; the blob is swept. */
WEFT_SUSPENDS int wl_file_delete(struct wl_store *s, const struct wl_owner *o, const struct wl_file *f,
                                 struct upp_err *err) UPP_MUST_CHECK;

struct wl_file_query {
    struct upp_str purpose; /* empty: any */
    struct wb_uuid after;   /* all zero: from the start */
    bool ascending;
    size_t max;
};
/* The owner's files, newest first or, if ascending, oldest first; that reads all of its records. */
WEFT_SUSPENDS int wl_file_list(struct wl_store *s, const struct wl_owner *o, const struct wl_file_query *q,
                               struct wb_arena *a, struct wl_file **ret, size_t *n, struct upp_err *err) UPP_MUST_CHECK;

/* All bytes of a file, at most `max`: -UPP_ELIMIT. Appended to the buffer. */
WEFT_SUSPENDS int wl_file_read(struct wl_store *s, const struct wl_owner *o, const struct wl_file *f, size_t max,
                               struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

/* Deletes at most `max` expired files of a tenant; *n: how many. */
WEFT_SUSPENDS int wl_file_expire(struct wl_store *s, const struct wl_owner *o, int64_t now_ms, size_t max, size_t *n,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* "file-0123..." */
enum { WL_FILE_ID = 5 + WB_UUID_HEX };
struct upp_str wl_file_id(struct wb_uuid id, char out[WL_FILE_ID + 1]);
