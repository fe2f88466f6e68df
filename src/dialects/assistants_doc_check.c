/* dialects/assistants_doc_check.c — is it a thread of the Assistants API? */
#include "dialects/assistants_doc.h"

int wd_asst_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    (void)p, (void)root, (void)err;
    return 0;
}
