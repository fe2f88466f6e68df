/* weft/agentapi.h — a message of the Agent API under construction (docs/agentapi.md), for programs that produce or
 * collect its streams.
 *
 *     struct weft_agentapi_message *m;
 *     struct upp_str                json;
 *     r = weft_agentapi_message_new(NULL, &m, &err);
 *     r = weft_agentapi_message_add_delta_content(m, 0, UPP_STR("{\"type\": \"text\", \"text\": \"Hel\"}"), &err);
 *     r = weft_agentapi_message_add_delta_content(m, 0, UPP_STR("{\"type\": \"text\", \"text\": \"lo\"}"), &err);
 *     r = weft_agentapi_message_content_completed(m, 0, &err);
 *     r = weft_agentapi_message_end(m, "completed", &err);
 *     r = weft_agentapi_message_json(m, &json, &err);
 *
 * A content is a JSON object as on the wire: its `type` and its payload. `object`, `status`, `index`, `delta` and
 * `msg_id` are ignored: a frame of a stream may be passed as it is. Illegal use is -UPP_EINVALID and changes nothing:
 * a delta after the end of its content, an index that neither exists nor is the next one, a type other than that of the
 * content's beginning, anything after the end of the message.
 */
#pragma once

#include <upp/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_agentapi_message;

enum {
    WEFT_AGENTAPI_CONTENTS = 1 << 14, /* per message */
    WEFT_AGENTAPI_CONTENT = 64 << 20  /* bytes of one content; 256 KiB of one whose deltas are not text */
};

struct weft_agentapi_message_opts {
    uint32_t size;
    const char *id;   /* NULL: "msg_" and a new UUID */
    const char *type; /* NULL: "message" */
    const char *role; /* NULL: "assistant" */
};

UPP_API int weft_agentapi_message_new(const struct weft_agentapi_message_opts *opts, struct weft_agentapi_message **ret,
                                      struct upp_err *err) UPP_MUST_CHECK;
UPP_API void weft_agentapi_message_free(struct weft_agentapi_message *m); /* accepts NULL */
UPP_API void weft_agentapi_message_freep(struct weft_agentapi_message **m);

/* Appends to the content at this index; the next free index begins one. Texts and lists are appended, numbers are
 * added, objects are merged, anything else is replaced. */
UPP_API int weft_agentapi_message_add_delta_content(struct weft_agentapi_message *m, size_t index,
                                                    struct upp_str content, struct upp_err *err) UPP_MUST_CHECK;

/* What the content has is all of it. -UPP_EINVALID: it was never begun, or has ended. */
UPP_API int weft_agentapi_message_content_completed(struct weft_agentapi_message *m, size_t index,
                                                    struct upp_err *err) UPP_MUST_CHECK;

/* A complete content, at the next free index. */
UPP_API int weft_agentapi_message_add_content(struct weft_agentapi_message *m, struct upp_str content,
                                              struct upp_err *err) UPP_MUST_CHECK;

/* The message, and its open contents with it: "completed", "incomplete", "canceled", "failed" or "rejected". */
UPP_API int weft_agentapi_message_end(struct weft_agentapi_message *m, const char *status,
                                      struct upp_err *err) UPP_MUST_CHECK;

/* The message as on the wire, at any time; free it with upp_text_free. */
UPP_API int weft_agentapi_message_json(const struct weft_agentapi_message *m, struct upp_str *ret,
                                       struct upp_err *err) UPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
