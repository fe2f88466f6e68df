/* upp/provider.h — models of vendors: which, where, with which keys, and what to do when they fail.
 *
 *     struct upp_model *model;
 *     r = upp_model_new(upp_anthropic("claude-sonnet-4-20250514"), &model, err);
 *
 * A reference is a value: the provider's name, the model's name and the options, all borrowed until upp_model_new
 * returns. Providers: anthropic, openai, google, ollama; openrouter, xai, moonshot, groq, cerebras, deepseek, vllm,
 * llamacpp (servers that speak OpenAI's chat, each with its habits); scripted.
 */
#ifndef UPP_PROVIDER_H
#define UPP_PROVIDER_H

#include <upp/http.h>
#include <upp/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Keys ----------------------------------------------------------------------------------------------------------
 */

enum upp_keys_kind {
    UPP_KEYS_ROUND_ROBIN = 1,
    UPP_KEYS_WEIGHTED, /* by chance, as the weights say; they need not sum up to anything */
    UPP_KEYS_DYNAMIC,  /* a function says */
};

struct upp_key {
    struct upp_str text;
    double         weight; /* WEIGHTED; > 0 */
};

struct upp_keys {
    uint8_t               kind; /* 0: none of these */
    const struct upp_key *list;
    size_t                n;
    /* DYNAMIC: writes the key into `into`, of `size` bytes, and returns its length. May wait by `wait`. */
    int (*get)(void *arg, const struct upp_wait *wait, char *into, size_t size, struct upp_err *err);
    void *arg;
};

/* ---- Trying again ---------------------------------------------------------------------------------------------------
 */

enum upp_retry_kind {
    UPP_RETRY_NONE = 0,
    UPP_RETRY_EXPONENTIAL,
    UPP_RETRY_LINEAR,
    UPP_RETRY_TOKEN_BUCKET,
    UPP_RETRY_RETRY_AFTER,
    UPP_RETRY_CUSTOM,
};

/* 0 stands for the default of the strategy. */
struct upp_retry_opts {
    uint8_t  kind;
    unsigned max_attempts;       /* retries: 3, so at most 4 calls */
    uint64_t base_delay_ms;      /* exponential, linear: 1000; retry_after: 5000, where the server does not say */
    uint64_t max_delay_ms;       /* exponential: 30000 */
    bool     no_jitter;          /* exponential: else times 0.5 to 1.5 */
    double   max_tokens;         /* token bucket: 10 */
    double   refill_per_second;  /* 1 */
    uint64_t retry_after_max_ms; /* what a server says is cut to this: 3600000 */

    /* CUSTOM: 1 and *ms, or 0 to give up. `before` NULL: no wait before a call; `succeeded` NULL: nothing to do. */
    int (*on_failure)(void *arg, const struct upp_err *why, unsigned attempt, uint64_t *ms);
    uint64_t (*before)(void *arg);
    void (*succeeded)(void *arg);
    void *arg;
};

/* What the strategies remember between calls; used from any thread. */
struct upp_retry;
UPP_API int  upp_retry_new(const struct upp_retry_opts *opts, struct upp_retry **ret,
                           struct upp_err *err) UPP_MUST_CHECK;
UPP_API void upp_retry_free(struct upp_retry *r); /* NULL is fine */

/* Before a call: how long to wait. After one that failed for the attempt-th time (1, 2 ...): 1 and how long to wait, or
 * 0 to give up. After one that went well. `r` NULL: no strategy. */
UPP_API uint64_t upp_retry_before(struct upp_retry *r);
UPP_API int      upp_retry_failed(struct upp_retry *r, const struct upp_err *why, unsigned attempt, uint64_t *ms);
UPP_API void     upp_retry_succeeded(struct upp_retry *r);

/* ---- Models ---------------------------------------------------------------------------------------------------------
 */

struct upp_provider_opts {
    uint32_t                    size;
    const char                 *base_url;    /* the API's root or the whole endpoint. NULL: the provider's own */
    const char                 *api;         /* openai: "responses" (NULL: this) or "chat" */
    const char                 *api_version; /* anthropic: "2023-06-01" (NULL: this), "2026-10-21" */
    const char                 *auth;    /* how the key is sent; NULL: as the vendor wants it (docs/configuration.md) */
    const char                 *api_key; /* NULL: `keys`, else the provider's environment variable */
    struct upp_keys             keys;
    const struct upp_header    *headers; /* more of them; one with no value takes the provider's own away */
    size_t                      n_headers;
    uint64_t                    timeout_ms; /* until an attempt's answer begins: 120000 */
    uint64_t                    idle_ms;    /* without a byte: 60000 */
    uint64_t                    turn_ms;    /* all cycles of a turn (struct upp_llm): no limit */
    size_t                      max_event;  /* bytes of one event of a stream: 16 MiB */
    size_t                      max_answer; /* bytes of an answer: 64 MiB */
    struct upp_retry_opts       retry;
    const struct upp_transport *transport; /* NULL: libcurl. Else it must outlive the model */
    struct upp_http_opts        http;            /* its size does not count */
    bool                        no_stream_usage; /* a server that refuses stream_options */
};

struct upp_model_ref {
    const char                     *provider, *name;
    const struct upp_provider_opts *opts; /* NULL: defaults */
};

UPP_API int upp_model_new(struct upp_model_ref ref, struct upp_model **ret, struct upp_err *err) UPP_MUST_CHECK;

#ifndef __cplusplus
/* upp_anthropic("claude-sonnet-4-20250514"), upp_openai("gpt-5", .api = "chat") ...: options follow the name. The
 * reference is good in the block that it stands in. */
#define upp_ref_(vendor, model, ...)                                                                                   \
    ((struct upp_model_ref){.provider = (vendor), .name = (model), .opts = &(struct upp_provider_opts){__VA_ARGS__}})
#define UPP_REF_SIZE_       .size = sizeof(struct upp_provider_opts)
#define upp_anthropic(...)  upp_ref_("anthropic", __VA_ARGS__, UPP_REF_SIZE_)
#define upp_openai(...)     upp_ref_("openai", __VA_ARGS__, UPP_REF_SIZE_)
#define upp_google(...)     upp_ref_("google", __VA_ARGS__, UPP_REF_SIZE_)
#define upp_ollama(...)     upp_ref_("ollama", __VA_ARGS__, UPP_REF_SIZE_)
#define upp_openrouter(...) upp_ref_("openrouter", __VA_ARGS__, UPP_REF_SIZE_)
#define upp_xai(...)        upp_ref_("xai", __VA_ARGS__, UPP_REF_SIZE_)
#endif

/* The names of the providers, one after the other; NULL after the last. */
UPP_API const char *upp_provider_name(size_t i);

#ifdef __cplusplus
}
#endif
#endif
