/* upp/later_llm.c — stands for what the loop needs of parts that are being built; it goes when they come. */
#include <upp/wait.h>

#define WEAK __attribute__((weak))

WEAK int upp_wait_readable(const struct upp_wait *w, int fd, uint64_t ms, struct upp_err *err)
{
    if (w && w->readable)
        return w->readable(w->arg, fd, ms, err);
    return upp_fail(err, UPP_EBUG, "upp_wait_readable is not built yet");
}
