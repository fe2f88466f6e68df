/* support/documents.h — the golden documents of the dialects. */
#pragma once

#include "dialects/core/convert.h"

/* Calls for each document of tests/golden/DIALECT/ (or DIALECT/documents/, where it has streams too); false: one of the
 * calls was, or there is none. */
bool test_each_document(const struct wd_document_ops *ops,
                        bool (*check)(const struct wd_document_ops *ops, struct upp_str text, void *arg), void *arg);

/* The same text without blanks between its tokens. */
int test_compact(struct upp_str text, struct wb_buf *out, struct upp_err *err);

/* From one dialect (NULL: found out) to another. losses: NULL where nobody asks. */
int test_convert(struct upp_str text, const struct wd_document_ops *from, const struct wd_document_ops *to,
                 struct wb_buf *out, struct wd_losses *losses, struct upp_err *err);

/* Written back it is what it was, token for token; *settled: how many of its objects were not compared for that. */
bool test_comes_back(const struct wd_document_ops *ops, struct upp_str text, size_t *settled);

/* The same; and so many were not. */
bool test_comes_back_settled(const struct wd_document_ops *ops, struct upp_str text, size_t settled);

/* The same of a text in which `was`, which stands at this place, has become `is`. */
struct test_edit {
    const char *was, *is;
};
bool test_comes_back_edited(const struct wd_document_ops *ops, struct upp_str text, size_t at,
                            const struct test_edit *edit, size_t *settled);

/* A document of which so many objects are settled (wd_canonical) comes back token for token; and so it does with each
 * of these edits, one at a time, in the first place of `was`; then less of it is settled. */
bool test_settled(const struct wd_document_ops *ops, struct upp_str plain, size_t settled,
                  const struct test_edit *edits, size_t n);

/* Expects the same text. What was written without an error is right, also where something failed on the way. */
bool test_same_text(const struct wb_buf *is, const struct wb_buf *was, const char *what);
