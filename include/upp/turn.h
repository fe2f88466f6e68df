/* upp/turn.h — UPP's Turn: the result of one generate or stream call. */
#pragma once

#include <upp/message.h>
#include <upp/model.h>

#ifdef __cplusplus
extern "C" {
#endif

enum upp_approved { UPP_APPROVED_UNASKED = 0, UPP_APPROVED_YES, UPP_APPROVED_NO };

/* An executed tool call. */
struct upp_execution {
    struct upp_str id, name;
    struct upp_str arguments; /* as passed to the tool */
    struct upp_str result;    /* JSON */
    bool is_error;
    uint8_t approved; /* enum upp_approved; UNASKED: it failed before the approval */
    uint64_t duration_ms;
};

/* Read-only; owns everything it points to. */
struct upp_turn {
    const struct upp_message *messages; /* the new input and everything after it; not the history */
    size_t n_messages;
    const struct upp_message *response;     /* the last assistant message; NULL only in a failed turn */
    const struct upp_execution *executions; /* in the order in which they ended */
    size_t n_executions;
    struct upp_usage usage;         /* the sum of all cycles */
    const struct upp_usage *cycles; /* one entry per model response */
    size_t n_cycles;
    struct upp_str data;           /* the structured response as JSON; NULL: none */
    const struct upp_loss *losses; /* what the model could not receive; `message` counts history and turn */
    size_t n_losses;
};

/* Creates a turn from a struct that the caller filled in: copies everything, gives ids and times to messages that have
 * none, and sets the response to the last assistant message. */
UPP_API int upp_turn_copy(const struct upp_turn *t, struct upp_turn **ret, struct upp_err *err) UPP_MUST_CHECK;

UPP_API void upp_turn_free(struct upp_turn *t); /* accepts NULL */
UPP_API void upp_turn_freep(struct upp_turn **t);

/* The response's text, NUL-terminated; "" if there is none. */
UPP_API const char *upp_turn_text(const struct upp_turn *t);

/* UPP's TurnJSON; free *ret with upp_text_free. */
UPP_API int upp_turn_to_json(const struct upp_turn *t, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_turn_from_json(struct upp_str json, struct upp_turn **ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void upp_text_free(struct upp_str text);

#ifdef __cplusplus
}
#endif
