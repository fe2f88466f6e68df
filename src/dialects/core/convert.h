/* dialects/core/convert.h — converts a document from any dialect to any other.
 *
 *     struct wd_document d;
 *     r = wd_document_read(&d, NULL, text, &opts, &err);       NULL: detect the dialect
 *     r = wd_document_write(&d, to, &opts, &out, &losses, &err);
 *     wd_document_done(&d);
 */
#pragma once

#include "dialects/core/document.h"

struct wd_convert_opts {
    uint32_t size;
    int64_t now_ms;       /* for missing times */
    uint64_t seed;        /* for generated ids: the same seed gives the same ids */
    struct upp_str agent; /* reading: the document's agent, if it names none */
    struct upp_str view;  /* writing: the agent for whom it is written; empty: as it was */
    unsigned target;      /* writing: version of the dialect */
    bool pure, no_system;
    bool forget;            /* reading: neither computes nor reports residue, for callers that need only the model */
    uint32_t before;        /* both: how many entries of the conversation come before this document, for made-up ids */
    struct upp_str last;    /* both: the id of the item before it, for dialects that chain theirs */
    struct wd_items *items; /* writing: where the items of the written list are; NULL: not asked for */
};

struct wd_document {
    const struct wd_document_ops *ops;
    struct wb_arena a;
    yyjson_val *root;
    size_t bytes; /* length of its text */
    struct wm_doc doc;
    struct wd_problems problems; /* found by lifting; validation is a separate step */
    struct wd_lifting lifting;
    uint64_t ids, seed;
    uint32_t before;
    struct upp_str last; /* the id of its last item, in such a dialect */
};

/* wd_document_done accepts a zeroed or a read document. `ops` NULL: the dialect is detected. -UPP_EINVALID: not JSON,
 * or not such a document; err has the pointer. */
int wd_document_read(struct wd_document *d, const struct wd_document_ops *ops, struct upp_str text,
                     const struct wd_convert_opts *opts, struct upp_err *err) UPP_MUST_CHECK;
void wd_document_done(struct wd_document *d);

/* Appends the document to out. `losses` (zeroed except for its arena, or NULL) receives everything that was not
 * converted. */
int wd_document_write(struct wd_document *d, const struct wd_document_ops *to, const struct wd_convert_opts *opts,
                      struct wb_buf *out, struct wd_losses *losses, struct upp_err *err) UPP_MUST_CHECK;

/* Makes `losses` exact. `text` is the document as written in the dialect `to`: it is read back, every value that does
 * not come back is reported with its pointer, and losses of values that do come back are removed. */
int wd_document_returns(struct wd_document *d, const struct wd_document_ops *to, struct upp_str text,
                        const struct wd_convert_opts *opts, struct wd_losses *losses,
                        struct upp_err *err) UPP_MUST_CHECK;

/* Writes a document that was not read from one. Its entries must be divided into turns. */
int wd_doc_write(const struct wm_doc *doc, const struct wd_document_ops *to, const struct wd_convert_opts *opts,
                 struct wb_buf *out, struct wd_losses *losses, struct upp_err *err) UPP_MUST_CHECK;

/* Detects the dialect; *ret NULL: unknown. -UPP_EINVALID: not JSON. */
int wd_document_detect_text(struct upp_str text, const struct wd_document_ops **ret,
                            struct upp_err *err) UPP_MUST_CHECK;

/* Collects every problem of a document. ops NULL: the dialect is detected. *ret is the dialect. */
int wd_document_validate(const struct wd_document_ops *ops, struct upp_str text, struct wb_arena *a,
                         struct wd_problems *problems, const struct wd_document_ops **ret,
                         struct upp_err *err) UPP_MUST_CHECK;

void wd_losses_done(struct wd_losses *l);
void wd_problems_done(struct wd_problems *p);
