/* dialects/core/documents.c — the dialects that have documents, by name. */
#include "dialects/core/document.h"

/* clang-format off */
static const struct wd_document_ops *const documents[] = {
    &wd_document_thread,
    &wd_document_pydantic,
    &wd_document_ui,
    &wd_document_agentapi,
    &wd_document_aitp,
    &wd_document_assistants,
    &wd_document_envelope,
    &wd_document_upp,
    &wd_document_uap,
};
/* clang-format on */

const struct wd_document_ops *wd_document_at(size_t i)
{
    return i < WB_LEN(documents) ? documents[i] : NULL;
}

const struct wd_document_ops *wd_document_find(struct upp_str name)
{
    const struct wd_document_ops *ops = NULL;
    for (size_t i = 0; (ops = wd_document_at(i)) && !wb_str_eq(name, wb_cstr(ops->name)); i++)
        ;
    return ops;
}

const struct wd_document_ops *wd_document_detect(yyjson_val *root)
{
    const struct wd_document_ops *ops, *best = NULL;
    int sure = 0;
    for (size_t i = 0; (ops = wd_document_at(i)); i++) {
        int n = ops->detect(root);
        if (n > sure) {
            sure = n;
            best = ops;
        }
    }
    return best;
}
