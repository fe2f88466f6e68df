/* server/ops/webhook.h — delivers messages about runs that have ended or wait to the URLs of the configuration.
 *
 * What has to be delivered is in the store (stores/outbox/outbox.h) until it is delivered or given up, so every message
 * is delivered at least once. The signature is that of Standard Webhooks: headers webhook-id (the same at every
 * attempt), webhook-timestamp and webhook-signature. A hook that is slow or down delays only its own messages: runs
 * never wait.
 */
#pragma once

#include "runtime/runtime.h"

struct sv_webhooks;

struct sv_webhook_opts {
    uint32_t size;
    struct wrt_runtime *runtime; /* with an outbox */
    uint64_t first_ms;           /* before the second attempt, doubled for each further one; 0: 1000 */
    uint64_t most_ms;            /* between two attempts; 0: 600000 */
    uint64_t give_up_ms;         /* after the run ended; 0: 24 hours */
    uint64_t answer_ms;          /* for one attempt; 0: 30000 */
    size_t max_queue;            /* messages of one hook in memory, others wait in the store; 0: 4096 */
    size_t max_body;             /* bytes of a message: a longer one is sent without its long parts; 0: 16 MiB */
    unsigned max_sending;        /* to one hook at the same time; 0: 8 */
};

struct sv_webhook_counts {
    uint64_t delivered, failures /* attempts */, given_up;
    size_t queued;
};

int sv_webhooks_open(const struct sv_webhook_opts *opts, struct sv_webhooks **ret, struct upp_err *err) UPP_MUST_CHECK;
void sv_webhooks_close(struct sv_webhooks *h); /* accepts NULL; its fiber has ended */
void sv_webhooks_closep(struct sv_webhooks **h);
struct sv_webhook_counts sv_webhooks_counts(const struct sv_webhooks *h);

/* A fiber: delivers until it is cancelled. */
WEFT_SUSPENDS int sv_webhooks_main(void *h, struct upp_err *err);

/* Appends "v1," and the base64 of the HMAC-SHA256 of "ID.TIMESTAMP.BODY". */
int sv_webhook_sign(struct upp_str key, struct upp_str id, int64_t timestamp, struct upp_str body, struct wb_buf *ret,
                    struct upp_err *err) UPP_MUST_CHECK;
