/* base/crash.c — counting hits of crash points, and the end of the process. */
#include "base/crash.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/str.h"

enum { NAME_MAX_BYTES = 63 };

bool wb_crash_armed;

static char point[NAME_MAX_BYTES + 1]; /* set once, before threads start */
static _Atomic uint64_t left;          /* hits until the end */

int wb_crash_arm(const char *spec, struct upp_err *err)
{
    struct upp_str rest = wb_cstr(spec), name;
    uint64_t n;
    wb_crash_armed = false;
    if (rest.n == 0)
        return 0;
    if (!wb_str_split(&rest, ':', &name) || name.n == 0 || name.n > NAME_MAX_BYTES || !rest.p ||
        !wb_str_u64(rest, &n) || n == 0)
        return upp_fail(err, UPP_EINVALID, "crash point '%s' is not NAME:N", spec);
    memcpy(point, name.p, name.n);
    point[name.n] = 0;
    atomic_store(&left, n);
    wb_crash_armed = true;
    return 0;
}

void wb_crash_hit(const char *name)
{
    if (strcmp(point, "any") != 0 && strcmp(point, name) != 0)
        return;
    if (atomic_fetch_sub(&left, 1) != 1)
        return;
    (void)kill(getpid(), SIGKILL);
    for (;;) /* it comes before kill returns, but for the other threads of a group */
        (void)pause();
}
