/* upp/later_llm.c — stands for what the loop needs of parts that are being built; it goes when they come. */
#include <upp/provider.h>

#define WEAK __attribute__((weak))

WEAK uint64_t upp_retry_before(struct upp_retry *r)
{
    (void)r;
    return 0;
}

WEAK int upp_retry_failed(struct upp_retry *r, const struct upp_err *why, unsigned attempt, uint64_t *ms)
{
    (void)r, (void)why, (void)attempt, (void)ms;
    return 0;
}

WEAK void upp_retry_succeeded(struct upp_retry *r)
{
    (void)r;
}

WEAK int upp_wait_readable(const struct upp_wait *w, int fd, uint64_t ms, struct upp_err *err)
{
    if (w && w->readable)
        return w->readable(w->arg, fd, ms, err);
    return upp_fail(err, UPP_EBUG, "upp_wait_readable is not built yet");
}
