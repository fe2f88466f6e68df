/* upp/turn.h — what one call of generate or stream brought: UPP's Turn. */
#ifndef UPP_TURN_H
#define UPP_TURN_H

#include <upp/message.h>
#include <upp/model.h>

#ifdef __cplusplus
extern "C" {
#endif

enum upp_approved { UPP_APPROVED_UNASKED = 0, UPP_APPROVED_YES, UPP_APPROVED_NO };

/* A call of a tool as it was done. */
struct upp_execution {
    struct upp_str id, name;
    struct upp_str arguments; /* those that the tool got */
    struct upp_str result;    /* JSON */
    bool           is_error;
    uint8_t        approved; /* enum upp_approved; UNASKED: it failed before */
    uint64_t       duration_ms;
};

/* Read-only, and owns all it points to. */
struct upp_turn {
    const struct upp_message   *messages; /* the new input and everything that came of it; not the history */
    size_t                      n_messages;
    const struct upp_message   *response;   /* the last assistant message; NULL only in the turn of a failure */
    const struct upp_execution *executions; /* in the order in which they ended */
    size_t                      n_executions;
    struct upp_usage            usage;  /* the sum over cycles */
    const struct upp_usage     *cycles; /* of each */
    size_t                      n_cycles;
    struct upp_str              data;   /* the structured answer as JSON; no text: none */
    const struct upp_loss      *losses; /* what could not be told to the model; `message` counts history and turn */
    size_t                      n_losses;
};

/* A turn of one's own, from a struct that the caller filled in: all of it is copied, messages get ids and times where
 * they have none, and the response is the last assistant message. */
UPP_API int upp_turn_copy(const struct upp_turn *t, struct upp_turn **ret, struct upp_err *err) UPP_MUST_CHECK;

UPP_API void upp_turn_free(struct upp_turn *t); /* NULL is fine */
UPP_API void upp_turn_freep(struct upp_turn **t);

/* The response's text, followed by a NUL that is not counted; "" when there is none. */
UPP_API const char *upp_turn_text(const struct upp_turn *t);

/* UPP's TurnJSON. Written into memory that upp_text_free frees. */
UPP_API int  upp_turn_to_json(const struct upp_turn *t, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int  upp_turn_from_json(struct upp_str json, struct upp_turn **ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void upp_text_free(struct upp_str text);

#ifdef __cplusplus
}
#endif
#endif
