/* weft/runtime.h — process-wide initialisation, and the runtime that agents live in. */
#pragma once

#include <upp/hooks.h>
#include <weft/fiber.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For programs that own the process: upp_global_init, and also gives the allocator to libuv, SQLite and libcurl and the
 * file functions to SQLite. Call it once, before any of them is used. A library or plug-in must not call it. */
UPP_API int weft_global_init(const struct upp_hooks *hooks, struct upp_err *err) UPP_MUST_CHECK;

/* Agents live and run in a runtime. It belongs to one thread (and the fibers of its loop). */
struct weft_runtime;

struct weft_runtime_opts {
    uint32_t size;
    uint32_t max_depth;         /* of sub-agents; 0: 8 */
    struct weft_loop *loop;     /* must outlive the runtime; NULL: that of the calling fiber, else one of its own */
    const char *store;          /* of sessions: "memory:" (default) or "sqlite:PATH" */
    const char *encryption_key; /* of an encrypted file: 64 hex digits, or base64 of 32 bytes. NULL: not encrypted */
    const char *search; /* search index over messages: "words", "substrings" or "off"; rebuilt if the store has another.
                         * NULL: keep the store's; a new store gets "words" */
};

/* opts NULL: the defaults. Starts no thread: the caller's thread drives the loop during calls. On a fiber of the loop a
 * call blocks that fiber; on a fiber of another loop, or while another thread drives this one, it is -UPP_EINVALID. */
UPP_API int weft_runtime_open(const struct weft_runtime_opts *opts, struct weft_runtime **ret,
                              struct upp_err *err) UPP_MUST_CHECK;

/* Lets fibers on its loop (such as those of open streams) run as far as they can without waiting. */
UPP_API WEFT_SUSPENDS int weft_runtime_poll(struct weft_runtime *rt, struct upp_err *err) UPP_MUST_CHECK;

/* Also frees its agents. No call may be in progress, and its streams must be closed. Accepts NULL. */
UPP_API WEFT_SUSPENDS void weft_runtime_close(struct weft_runtime *rt);
UPP_API WEFT_SUSPENDS void weft_runtime_closep(struct weft_runtime **rt);

#ifdef __cplusplus
}
#endif
