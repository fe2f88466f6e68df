/* upp/providers/openai_responses.h — an answer of the Responses API while it is read. */
#pragma once

#include "upp/providers/adapter.h"

/* One of our parts: a text of a message, a summary or a text of reasoning, or a call. Found by where it stands in the
 * output, never by its item's id: GitHub Copilot's server gives every event another one. */
struct upp__piece {
    uint64_t output, sub; /* output_index; content_index or summary_index */
    uint8_t what;         /* enum upp__piece_what */
    bool spoke, closed;
    uint32_t part;
};
enum upp__piece_what { UPP__OF_CONTENT = 1, UPP__OF_SUMMARY, UPP__OF_CALL };

/* An item of the output that is complete, as it came. */
struct upp__item {
    uint64_t output;
    struct upp_str json;
};

struct upp__responses {
    WB_VEC(struct upp__piece) pieces;
    WB_VEC(struct upp__item) items; /* by their place in the output */
    struct upp_str id, model;
    bool refused;
    bool special; /* some item says more than our parts do */
    bool half;    /* some call is not complete */
};

int upp__responses_event(struct upp__reader *r, const struct ww_frame *f, struct upp_err *err) UPP_MUST_CHECK;
int upp__responses_whole(struct upp__reader *r, struct upp_str body, struct upp_err *err) UPP_MUST_CHECK;
void upp__responses_done(struct upp__reader *r);
