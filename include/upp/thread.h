/* upp/thread.h — UPP's Thread: a list of messages with an id. Optional: upp_input also accepts a plain list. */
#pragma once

#include <upp/turn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Owns its messages: it copies what is added. Not thread-safe. */
struct upp_thread;

UPP_API int upp_thread_new(struct upp_thread **ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void upp_thread_free(struct upp_thread *t); /* accepts NULL */
UPP_API void upp_thread_freep(struct upp_thread **t);

UPP_API int upp_thread_append(struct upp_thread *t, const struct upp_turn *turn, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_thread_push(struct upp_thread *t, const struct upp_message *list, size_t n,
                            struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_thread_user(struct upp_thread *t, struct upp_str text, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_thread_assistant(struct upp_thread *t, struct upp_str text, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void upp_thread_clear(struct upp_thread *t);

/* The messages, in order; borrowed until the thread changes. */
UPP_API const struct upp_message *upp_thread_messages(const struct upp_thread *t, size_t *n);
UPP_API struct upp_str upp_thread_id(const struct upp_thread *t);
UPP_API int64_t upp_thread_created_ms(const struct upp_thread *t);
UPP_API int64_t upp_thread_updated_ms(const struct upp_thread *t);

/* Returns the next message of a role after `prev` (NULL: from the beginning), or NULL. */
UPP_API const struct upp_message *upp_thread_filter(const struct upp_thread *t, const struct upp_message *prev,
                                                    uint8_t role);

/* New threads with new ids. tail: the last n messages. slice: from `start` up to, not including, `end`; negative
 * indexes count from the end, indexes out of range are clamped (INT64_MAX: to the end). */
UPP_API int upp_thread_tail(const struct upp_thread *t, size_t n, struct upp_thread **ret,
                            struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_thread_slice(const struct upp_thread *t, int64_t start, int64_t end, struct upp_thread **ret,
                             struct upp_err *err) UPP_MUST_CHECK;

/* ThreadJSON; free *ret with upp_text_free. Ids and times survive a round trip unchanged. */
UPP_API int upp_thread_to_json(const struct upp_thread *t, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_thread_from_json(struct upp_str json, struct upp_thread **ret, struct upp_err *err) UPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
