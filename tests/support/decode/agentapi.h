/* support/decode/agentapi.h — the end of an Agent API stream that is read into the model. */
#ifndef DECODE_AGENTAPI_H
#define DECODE_AGENTAPI_H

#include "dialects/agentapi/decode.h"

/* Nothing more comes: the doc has one turn more, where something was said. `agent`: where the stream names none. */
int wd_aap_decode_end(struct wd_aap_decoder *d, struct wm_doc *doc, struct upp_str agent, int64_t now_ms,
                      struct upp_err *err) UPP_MUST_CHECK;

#endif
