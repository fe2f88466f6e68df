/* upp/wait.h — how libupp waits: a table, because it knows neither threads' loops nor fibers.
 *
 * Every wait can end early with -UPP_ECANCELED or -UPP_ETIMEOUT; whoever called the library gave the table.
 */
#ifndef UPP_WAIT_H
#define UPP_WAIT_H

#include <upp/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct upp_wait {
    uint32_t size;
    void    *arg;
    int (*sleep_ms)(void *arg, uint64_t ms, struct upp_err *err); /* NULL: the calling thread sleeps */
};

/* Sleeps through the table; `w` NULL: the calling thread. */
UPP_API int upp_wait_ms(const struct upp_wait *w, uint64_t ms, struct upp_err *err) UPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
