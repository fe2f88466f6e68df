/* server/ops/webhook_send.h — one attempt to deliver a message to a webhook: its body, its signature, the request. */
#pragma once

#include <upp/http.h>

#include "base/secret.h"
#include "runtime/runtime.h"
#include "server/ops/webhook.h"
#include "stores/outbox/outbox.h"

struct sv_webhook_sender {
    struct wr_engine *engine;
    struct upp_http *http;
    struct upp_wait wait;
    uint64_t answer_ms;
    size_t max_body;
    struct upp_str urls[WS_DUE_KINDS]; /* of the configuration; empty: no such hook any more */
    struct wb_secret *keys[WS_DUE_KINDS];
};

/* The sender may not move afterwards. */
int sv_webhook_sender_init(struct sv_webhook_sender *s, const struct sv_webhook_opts *opts,
                           struct upp_err *err) UPP_MUST_CHECK;
void sv_webhook_sender_done(struct sv_webhook_sender *s); /* accepts one that is zeroed or failed */

/* As the receiver sees it: "msg_RUN-VERSION". */
enum { SV_WEBHOOK_ID = WS_DUE_NAME + 8 };
struct upp_str sv_webhook_id(const struct ws_due *d, char buf[SV_WEBHOOK_ID]);

/* 1: delivered, the answer was 2xx. 0: there is nothing to deliver any more: it was delivered, the run was deleted, or
 * its hook is not in the configuration. -UPP_ELIMIT: the message is too long, also without
 * its long parts, and stays so. Otherwise: try again later. */
WEFT_SUSPENDS int sv_webhook_send(struct sv_webhook_sender *s, const struct ws_due *d,
                                  struct upp_err *err) UPP_MUST_CHECK;
