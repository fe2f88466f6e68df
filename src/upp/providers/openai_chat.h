/* upp/providers/openai_chat.h — an answer of Chat Completions while it is read. */
#pragma once

#include "upp/providers/adapter.h"
#include "upp/providers/reasoning_details.h"

struct upp__chat_call {
    uint64_t index; /* as numbered by the server */
    bool open;      /* its part is open: its name is known */
    bool spoke;     /* arguments came */
    uint32_t part;
    struct upp_str id, early; /* early: arguments that came before the name */
};

struct upp__chat {
    WB_VEC(struct upp__chat_call) calls;
    struct upp__details details;
    bool refused;
    bool chosen;                  /* a choice came */
    struct upp_str model, finish; /* finish: the finish_reason; empty: none yet */
    struct upp_str usage_json;
    struct upp_usage usage;

    /* Output besides text: sources (JSON, without brackets), and speech, whose transcript is the text. */
    struct wb_buf annotations;
    struct wb_buf audio; /* its bytes */
    struct upp_str audio_id, audio_expires;
};

int upp__chat_event(struct upp__reader *r, const struct ww_frame *f, struct upp_err *err) UPP_MUST_CHECK;
int upp__chat_whole(struct upp__reader *r, struct upp_str body, struct upp_err *err) UPP_MUST_CHECK;
int upp__chat_eof(struct upp__reader *r, struct upp_err *err) UPP_MUST_CHECK;
void upp__chat_done(struct upp__reader *r);
