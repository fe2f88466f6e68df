/* upp/provider.h — vendors' models: provider, address, keys and retries.
 *
 *     struct upp_model *model;
 *     r = upp_model_new(upp_anthropic("claude-sonnet-4-20250514"), &model, err);
 *
 * A reference is a value: the provider's name, the model's name and the options, all borrowed until upp_model_new
 * returns. Providers: anthropic, openai, google, ollama; openrouter, xai, moonshot, groq, cerebras, deepseek, vllm,
 * llamacpp (servers with an OpenAI-compatible chat API, each with its quirks); scripted.
 */
#pragma once

#include <upp/http.h>
#include <upp/model.h>

#ifdef __cplusplus
extern "C" {
#endif

enum upp_keys_kind {
    UPP_KEYS_ROUND_ROBIN = 1,
    UPP_KEYS_WEIGHTED, /* random, in proportion to the weights, which need not add up to 1 */
    UPP_KEYS_DYNAMIC,  /* from a function, called before each attempt */
};

struct upp_key {
    struct upp_str text;
    double weight; /* WEIGHTED; > 0 */
};

struct upp_keys {
    uint8_t kind; /* 0: no keys here */
    const struct upp_key *list;
    size_t n;
    /* DYNAMIC: writes the key to `into`, a buffer of `size` bytes, and returns its length. May wait, through `wait`. */
    int (*get)(void *arg, const struct upp_wait *wait, char *into, size_t size, struct upp_err *err);
    void *arg;
};

enum upp_retry_kind {
    UPP_RETRY_NONE = 0,
    UPP_RETRY_EXPONENTIAL,
    UPP_RETRY_LINEAR,
    UPP_RETRY_TOKEN_BUCKET,
    UPP_RETRY_RETRY_AFTER,
    UPP_RETRY_CUSTOM,
};

/* 0 is the strategy's default, given below. */
struct upp_retry_opts {
    uint8_t kind;
    unsigned max_attempts;       /* number of retries: 3, so at most 4 calls. Not for CUSTOM */
    uint64_t base_delay_ms;      /* exponential, linear: 1000; retry_after: 5000, if the server names no delay */
    uint64_t max_delay_ms;       /* exponential: 30000 */
    bool no_jitter;              /* exponential: otherwise times a random factor of 0.5 to 1.5 */
    double max_tokens;           /* token bucket: 10 */
    double refill_per_second;    /* token bucket: 1 */
    uint64_t retry_after_max_ms; /* cap of the server's delay: 3600000 */

    /* CUSTOM: returns 1 and sets *ms, or 0 to give up. before NULL: no delay before a call; succeeded may be NULL. */
    int (*on_failure)(void *arg, const struct upp_err *why, unsigned attempt, uint64_t *ms);
    uint64_t (*before)(void *arg);
    void (*succeeded)(void *arg);
    void *arg;
};

/* The state of a strategy between calls; may be used from any thread. */
struct upp_retry;
UPP_API int upp_retry_new(const struct upp_retry_opts *opts, struct upp_retry **ret,
                          struct upp_err *err) UPP_MUST_CHECK;
UPP_API void upp_retry_free(struct upp_retry *r); /* accepts NULL */

/* before: how many ms to wait before a call. failed: after the attempt-th failure (1, 2 ...), returns 1 and the delay,
 * or 0 to give up. succeeded: to be called after a success. r NULL: no delay, no retry. */
UPP_API uint64_t upp_retry_before(struct upp_retry *r);
UPP_API int upp_retry_failed(struct upp_retry *r, const struct upp_err *why, unsigned attempt, uint64_t *ms);
UPP_API void upp_retry_succeeded(struct upp_retry *r);

struct upp_provider_opts {
    uint32_t size;
    const char *base_url;    /* the API's root or the whole endpoint. NULL: the provider's default */
    const char *api;         /* openai: "responses" (default) or "chat" */
    const char *api_version; /* anthropic: "2023-06-01" (default), "2026-10-21" */
    const char *auth;        /* how the key is sent; NULL: the vendor's way (docs/configuration.md) */
    const char *api_key;     /* NULL: `keys`, else the provider's environment variable */
    struct upp_keys keys;
    const struct upp_header *headers; /* additional ones; one with a NULL value removes the provider's own */
    size_t n_headers;
    uint64_t timeout_ms; /* until the response to an attempt begins. 0: 120000 */
    uint64_t idle_ms;    /* without a byte of it. 0: 60000 */
    uint64_t turn_ms;    /* all cycles of a turn (struct upp_llm). 0: no limit */
    size_t max_event;    /* bytes of one stream event. 0: 16 MiB */
    size_t max_answer;   /* bytes of a response. 0: 64 MiB */
    struct upp_retry_opts retry;
    const struct upp_transport *transport; /* NULL: libcurl. Must outlive the model */
    struct upp_http_opts http;             /* its member `size` is ignored */
    bool no_stream_usage;                  /* for a server that rejects stream_options */
};

struct upp_model_ref {
    const char *provider, *name;
    const struct upp_provider_opts *opts; /* NULL: defaults */
};

UPP_API int upp_model_new(struct upp_model_ref ref, struct upp_model **ret, struct upp_err *err) UPP_MUST_CHECK;

#ifndef __cplusplus
/* upp_anthropic("claude-sonnet-4-20250514"), upp_openai("gpt-5", .api = "chat") ...: options follow the name. The
 * reference is valid until the end of the enclosing block. */
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

/* The name of the i-th provider; NULL after the last. */
UPP_API const char *upp_provider_name(size_t i);

#ifdef __cplusplus
}
#endif
