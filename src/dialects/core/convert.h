/* dialects/core/convert.h — from any dialect's document to any other's.
 *
 *     struct wd_document d;
 *     r = wd_document_read(&d, NULL, text, &opts, &err);       NULL: find out which dialect it is
 *     r = wd_document_write(&d, to, &opts, &out, &losses, &err);
 *     wd_document_done(&d);
 */
#ifndef WD_CONVERT_H
#define WD_CONVERT_H

#include "dialects/core/document.h"

struct wd_convert_opts {
    uint32_t       size;
    int64_t        now_ms; /* for times that nobody has said */
    uint64_t       seed;   /* of the ids that are made: the same gives the same */
    struct upp_str agent;  /* reading: whose document it is, where it does not say */
    struct upp_str view;   /* writing: for which agent; no text: as it was */
    unsigned       target; /* writing: version of the dialect */
    bool           pure, no_system;
    bool           forget; /* reading: residue is neither made nor reported; for whoever wants the model alone */
};

struct wd_document {
    const struct wd_document_ops *ops;
    struct wb_arena               a;
    yyjson_val                   *root;
    size_t                        bytes; /* of its text */
    struct wm_doc                 doc;
    struct wd_problems            problems; /* that lifting met; validating is a step of its own */
    struct wd_lifting             lifting;
    uint64_t                      ids, seed;
};

/* All zero or read: wd_document_done may be called on both. `ops` NULL: detected. -UPP_EINVALID: no JSON, or no such
 * document, with the pointer. */
int  wd_document_read(struct wd_document *d, const struct wd_document_ops *ops, struct upp_str text,
                      const struct wd_convert_opts *opts, struct upp_err *err) UPP_MUST_CHECK;
void wd_document_done(struct wd_document *d);

/* Adds the document to out. `losses` (all zero but its arena, or NULL) gets all that did not come along. */
int wd_document_write(struct wd_document *d, const struct wd_document_ops *to, const struct wd_convert_opts *opts,
                      struct wb_buf *out, struct wd_losses *losses, struct upp_err *err) UPP_MUST_CHECK;

/* Settles what was lost in `text`, which is the document as it was written in the dialect `to`: what does not come back
 * from there is told with its pointer, and what does is not. */
int wd_document_returns(struct wd_document *d, const struct wd_document_ops *to, struct upp_str text,
                        const struct wd_convert_opts *opts, struct wd_losses *losses,
                        struct upp_err *err) UPP_MUST_CHECK;

/* Writes a document of the model that was not read from one: its entries are divided into turns. */
int wd_doc_write(const struct wm_doc *doc, const struct wd_document_ops *to, const struct wd_convert_opts *opts,
                 struct wb_buf *out, struct wd_losses *losses, struct upp_err *err) UPP_MUST_CHECK;

/* Whose document it is; *ret NULL: nobody knows it. -UPP_EINVALID: it is no JSON. */
int wd_document_whose(struct upp_str text, const struct wd_document_ops **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Every problem of a document. ops NULL: detected, and *ret is whose it is. */
int wd_document_validate(const struct wd_document_ops *ops, struct upp_str text, struct wb_arena *a,
                         struct wd_problems *problems, const struct wd_document_ops **ret,
                         struct upp_err *err) UPP_MUST_CHECK;

void wd_losses_done(struct wd_losses *l);
void wd_problems_done(struct wd_problems *p);

#endif
