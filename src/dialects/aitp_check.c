/* dialects/aitp_check.c — what is wrong with an AITP thread. */
#include "dialects/aitp.h"

int wd_aitp_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    (void)p, (void)root, (void)err;
    return 0;
}
