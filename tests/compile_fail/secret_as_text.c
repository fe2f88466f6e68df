/* A secret fits where secrets go. Where text goes (WRONG is 1 or 2) it must not compile. */
#include <stdio.h>

#include "base/log.h"
#include "base/secret.h"

void say(const struct wb_secret *key);

void say(const struct wb_secret *key)
{
#if WRONG == 1
    wb_log(WB_INFO, "asked", WB_LS("key", key));
#elif WRONG == 2
    (void)printf("%s", key);
#else
    wb_log(WB_INFO, "asked", WB_LSECRET("key", key));
#endif
}
