/* upp/llm.h — a model with its system prompt, tools and options: generate and stream.
 *
 *     UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
 *     UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
 *     if (upp_llm_new(UPP_OPTS(upp_llm_opts, .model = upp_anthropic("claude-sonnet-4-20250514")), &llm, &err) < 0 ||
 *         upp_ask(llm, UPP_STR("two plus two?"), &turn, &err) < 0)
 *         ...
 *     puts(upp_turn_text(turn));
 *
 * A turn alternates model calls and the tools they ask for. An llm may be used by any number of threads at once.
 */
#pragma once

#include <upp/provider.h>
#include <upp/thread.h>
#include <upp/tool.h>
#include <upp/turn.h>

#ifdef __cplusplus
extern "C" {
#endif

struct upp_llm;

/* Strings and tables are copied; what the `arg` members point to is not. */
struct upp_llm_opts {
    uint32_t size;
    struct upp_model_ref model;
    struct upp_model *use;                   /* instead of `model`; belongs to the caller and must outlive the llm */
    const char *system, *params, *structure; /* params, structure: JSON objects. NULL: none */
    const struct upp_tool *tools;
    size_t n_tools;
    struct upp_tool_strategy strategy;
};

UPP_API int upp_llm_new(const struct upp_llm_opts *opts, struct upp_llm **ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void upp_llm_free(struct upp_llm *llm); /* accepts NULL; no call on it may be in progress */
UPP_API void upp_llm_freep(struct upp_llm **llm);
UPP_API const struct upp_model *upp_llm_model(const struct upp_llm *llm); /* .can: its capabilities */

/* The input of a turn. Everything is borrowed until generate returns or the stream is closed. */
struct upp_input {
    uint32_t size;
    const struct upp_message *history; /* or `thread` */
    size_t n_history;
    const struct upp_thread *thread;
    struct upp_str text;          /* one user message with this text; NULL: none */
    const struct upp_part *parts; /* one user message with these parts */
    size_t n_parts;
    const struct upp_message *messages; /* new messages, unchanged */
    size_t n_messages;
    const struct upp_wait *wait; /* how to wait and be cancelled; NULL: the thread blocks */
};

/* On failure *ret is the turn so far if there is output (free it), else NULL. */
UPP_API int upp_generate(struct upp_llm *llm, const struct upp_input *in, struct upp_turn **ret,
                         struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_ask(struct upp_llm *llm, struct upp_str text, struct upp_turn **ret,
                    struct upp_err *err) UPP_MUST_CHECK;

enum upp_event_type {
    UPP_MESSAGE_START = 1,
    UPP_MESSAGE_STOP,
    UPP_CONTENT_BLOCK_START,
    UPP_CONTENT_BLOCK_STOP,
    UPP_TEXT_DELTA,
    UPP_REASONING_DELTA,
    UPP_IMAGE_DELTA,
    UPP_AUDIO_DELTA,
    UPP_VIDEO_DELTA,
    UPP_OBJECT_DELTA, /* text of a structured response */
    UPP_TOOL_CALL_DELTA,
    UPP_TOOL_EXECUTION_START,
    UPP_TOOL_EXECUTION_END,
};

struct upp_event {
    uint8_t type;            /* enum upp_event_type */
    uint32_t index;          /* of the block; execution events: of the call among the message's calls */
    struct upp_str text;     /* deltas: the added content (base64 for media; TOOL_CALL_DELTA: arguments) */
    struct upp_str id, name; /* of the call */
    struct upp_str result;   /* EXECUTION_END: JSON */
    bool is_error;
    int64_t time_ms; /* execution events */
};

struct upp_stream;

UPP_API int upp_stream_open(struct upp_llm *llm, const struct upp_input *in, struct upp_stream **ret,
                            struct upp_err *err) UPP_MUST_CHECK;

/* 1: *ret, borrowed until the next call. 0: end of the stream. <0: the stream failed and has ended. */
UPP_API int upp_stream_next(struct upp_stream *s, struct upp_event *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Reads the remaining events and returns the turn, on every call the same. It belongs to the stream, until close. */
UPP_API int upp_stream_turn(struct upp_stream *s, const struct upp_turn **ret, struct upp_err *err) UPP_MUST_CHECK;

UPP_API void upp_stream_abort(struct upp_stream *s); /* from any thread: the next call fails with -UPP_ECANCELED */
UPP_API void upp_stream_close(struct upp_stream *s); /* accepts NULL; abandons a turn that is not complete */
UPP_API void upp_stream_closep(struct upp_stream **s);

/* "text_delta"; and the event as StreamEvent JSON, to be freed with upp_text_free. */
UPP_API const char *upp_event_name(uint8_t type);
UPP_API int upp_event_to_json(const struct upp_event *ev, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
