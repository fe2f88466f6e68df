/* weft/runtime.h — starting up. */
#ifndef WEFT_RUNTIME_H
#define WEFT_RUNTIME_H

#include <upp/hooks.h>
#include <weft/fiber.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For programs that own the process: upp_global_init, and the same memory (and for SQLite the same file calls) for
 * libuv, SQLite and libcurl. Once, before any of them is used. A library or plug-in must not call it. */
UPP_API int weft_global_init(const struct upp_hooks *hooks, struct upp_err *err) UPP_MUST_CHECK;

/* Where agents live and run. It belongs to one thread (and the fibers of its loop). */
struct weft_runtime;

struct weft_runtime_opts {
    uint32_t          size;
    uint32_t          max_depth; /* of agents below agents; 0: 8 */
    struct weft_loop *loop;      /* instead of one of its own; it must outlive the runtime */
    const char       *store;     /* where sessions are kept: "memory:" (NULL), or "sqlite:PATH" */
    const char *encryption_key; /* of a file that is encrypted: 64 hex digits, or base64 of 32 bytes. NULL: it is not */
    const char *search; /* what is kept of messages so that they are found: "words", "substrings", or "off"; another than
                         * the store has is made anew. NULL: what it has; a new one has "words" */
};

/* opts NULL: the defaults. No thread is started: the caller's drives the loop inside of calls. On a fiber of the loop a
 * call blocks that fiber; on a fiber of another loop, or while another thread drives this one, it is refused. */
UPP_API int weft_runtime_open(const struct weft_runtime_opts *opts, struct weft_runtime **ret,
                              struct upp_err *err) UPP_MUST_CHECK;

/* Lets what runs on its loop (streams that are open, say) go on as far as it can without waiting. */
UPP_API WEFT_SUSPENDS int weft_runtime_poll(struct weft_runtime *rt, struct upp_err *err) UPP_MUST_CHECK;

/* Frees its agents too. No call of it is under way, and its streams are closed. NULL is fine. */
UPP_API WEFT_SUSPENDS void weft_runtime_close(struct weft_runtime *rt);
UPP_API WEFT_SUSPENDS void weft_runtime_closep(struct weft_runtime **rt);

#ifdef __cplusplus
}
#endif
#endif
