/* remote/agentapi.h — the two halves of the Agent API adapter. */
#pragma once

#include "dialects/agentapi/decode.h"
#include "remote/remote.h"
#include "remote/session.h"

#define RM_AGENTAPI "agentapi"

/* How much of a content was passed on. */
struct rm_passed {
    uint32_t part; /* 1 + its index; 0: not opened yet */
    size_t n;
    uint64_t hash; /* of those bytes: what was passed on cannot be changed */
    uint8_t kind;
    bool closed;
};

/* Of one message; wd_aap_building.tag - 1 is its index. */
struct rm_passing {
    WB_VEC(struct rm_passed) contents;
    bool any, found;
};

/* A response being read. */
struct rm_response {
    bool ready; /* the decoder is initialised */
    struct wd_aap_decoder decoder;
    WB_VEC(struct rm_passing) messages;
};

int rm_agentapi_event(struct upp__reader *r, const struct ww_frame *f, struct upp_err *err);
int rm_agentapi_whole(struct upp__reader *r, struct upp_str body, struct upp_err *err);
void rm_agentapi_done(struct upp__reader *r);
void rm_agentapi_error(yyjson_val *v, struct upp__provider_error *t);
