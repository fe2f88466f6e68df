/* model/file_url.h — the address by which a message refers to an uploaded file: "weft:" and the file's id.
 *
 * Media with such an address (UPP_SOURCE_URL) have no bytes of their own. The engine puts the file's content in their
 * place when it calls a model (run/settings/files.h). An attachment is a document with such an address; `tools` of its
 * metadata is what it was attached for: {"assistants":{"tools":[{"type":"file_search"}]}}.
 */
#pragma once

#include <upp/message.h>

#include "base/str.h"

#define WM_FILE_SCHEME "weft:"
#define WM_FILE_URN    "urn:weft:file:" /* where clients check that there is a URL: and the file's id */

/* The id in such an address: "file-...". */
static inline bool wm_file_url(struct upp_str url, struct upp_str *id)
{
    *id = wb_str_sub(url, sizeof WM_FILE_SCHEME - 1, SIZE_MAX);
    return wb_str_starts(url, UPP_STR(WM_FILE_SCHEME "file-"));
}

/* The same of a part. */
static inline bool wm_part_file(const struct upp_part *p, struct upp_str *id)
{
    return p->media && p->media->source == UPP_SOURCE_URL && wm_file_url(p->media->data, id);
}

static inline bool wm_message_has_file(const struct upp_message *m)
{
    struct upp_str id;
    for (size_t i = 0; i < m->n_parts; i++)
        if (wm_part_file(&m->parts[i], &id))
            return true;
    return false;
}

static inline bool wm_is_attachment(const struct upp_part *p)
{
    struct upp_str id;
    return p->kind == UPP_PART_DOCUMENT && wm_part_file(p, &id);
}
