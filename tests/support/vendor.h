/* support/vendor.h — a vendor that keeps what it was sent: the real adapters, and a transport of memory.
 *
 * It refuses what it is asked (400, which nobody tries again), so that a run ends there: what it was sent is all that
 * matters. With an answer it gives that to the first request.
 */
#pragma once

#include <upp/provider.h>

#include "base/buf.h"

struct vendor {
    const char *answer; /* NULL: none */
    struct wb_buf sent; /* the body of the last request */
    unsigned asked;
    bool read;
    struct upp_transport via;
};

/* Ollama's answer that calls the tool `pick`, by the id c1. */
#define VENDOR_CALLS_PICK                                                                                              \
    "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"c1\","            \
    "\"function\":{\"name\":\"pick\",\"arguments\":{\"task\":\"x\"}}}]},\"done\":true,\"done_reason\":\"stop\"}\n"

void vendor_init(struct vendor *v, const char *answer);
void vendor_done(struct vendor *v);

/* A model of a provider that talks to it. api NULL: the provider's own. */
int vendor_model(struct vendor *v, const char *provider, const char *api, struct upp_model **ret,
                 struct upp_err *err) UPP_MUST_CHECK;

/* Whatever a vendor takes for the system prompt in the last request: its member, and the messages that speak as it. */
int vendor_told_system(const struct vendor *v, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

bool vendor_has(struct upp_str text, const char *what);
