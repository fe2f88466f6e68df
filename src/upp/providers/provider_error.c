/* upp/providers/provider_error.c — failures of vendors, normalised: one table for all of them.
 *
 * The words a vendor has for its errors are looked at before the status, because statuses are shared (a 429 is also an
 * empty account, a 400 also a wrong key). Words that vendors put on everything ("invalid_request_error" comes with a
 * 401, a 404 and a 429 as well) count only inside a stream, where there is no status.
 *
 * The text of a provider is never matched, with one exception: Anthropic, Google and most servers that speak OpenAI's
 * chat have no code for a context that is too long. So the phrases below are looked for, only where there is no code
 * and the status is that of such an answer.
 */
#include "upp/providers/provider_error.h"

#include <stdio.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/mask.h"
#include "base/str.h"

enum {
    /* Which rows of the table a pass may take. */
    WORD = 1,   /* type, code or reason is exactly this */
    WITHIN = 2, /* the reason holds this */
    PHRASE = 3, /* the message holds this, whatever the case of its letters */
    STATUS = 4,
    WEAK = 5, /* as WORD, in a stream that says no status */
};

struct row {
    uint8_t kind;
    uint8_t code;
    uint16_t from, to; /* STATUS */
    const char *text;
};

/* The order is that of looking: first match wins. */
static const struct row table[] = {
    {.kind = WORD, .code = UPP_ECANCELED, .text = "CANCELLED"}, /* Google, with 499 */
    {.kind = WORD, .code = UPP_ETIMEOUT, .text = "timeout_error"},
    {.kind = WORD, .code = UPP_ETIMEOUT, .text = "DEADLINE_EXCEEDED"},
    {.kind = WORD, .code = UPP_ECONTEXT, .text = "context_length_exceeded"},
    {.kind = WORD, .code = UPP_ECONTEXT, .text = "exceed_context_size_error"}, /* llama.cpp */
    {.kind = WORD, .code = UPP_EINVALID, .text = "request_too_large"},         /* Anthropic's 413: bytes, not tokens */
    {.kind = WORD, .code = UPP_EQUOTA, .text = "billing_error"},
    {.kind = WORD, .code = UPP_EQUOTA, .text = "insufficient_quota"},
    {.kind = WORD, .code = UPP_EQUOTA, .text = "enforced_spend_limit_reached"},
    {.kind = WITHIN, .code = UPP_EQUOTA, .text = "PerDay"}, /* Google's quotaId */
    {.kind = WORD, .code = UPP_ERATE, .text = "rate_limit_error"},
    {.kind = WORD, .code = UPP_ERATE, .text = "rate_limit_exceeded"},
    {.kind = WORD, .code = UPP_ERATE, .text = "RESOURCE_EXHAUSTED"},
    {.kind = WORD, .code = UPP_EFILTERED, .text = "content_filter"},
    {.kind = WORD, .code = UPP_EFILTERED, .text = "content_policy_violation"},
    {.kind = WORD, .code = UPP_EFILTERED, .text = "image_content_policy_violation"},
    {.kind = WORD, .code = UPP_EFILTERED, .text = "bio_policy"},
    {.kind = WORD, .code = UPP_EFILTERED, .text = "moderation"}, /* what adapters call OpenRouter's metadata.reasons */
    {.kind = WORD, .code = UPP_EAUTH, .text = "API_KEY_INVALID"},
    {.kind = WORD, .code = UPP_EAUTH, .text = "invalid_api_key"},
    {.kind = WORD, .code = UPP_ENOMODEL, .text = "model_not_found"},
    {.kind = WORD, .code = UPP_EINVALID, .text = "FAILED_PRECONDITION"},
    {.kind = WORD, .code = UPP_EPROTO, .text = "MALFORMED_FUNCTION_CALL"},
    {.kind = WORD, .code = UPP_EPROVIDER, .text = "overloaded_error"},
    {.kind = WORD, .code = UPP_EPROVIDER, .text = "session_busy"}, /* what a remote agent's adapter calls its 409 */
    {.kind = WORD, .code = UPP_EPROVIDER, .text = "server_error"},

    {.kind = PHRASE, .code = UPP_ECONTEXT, .text = "prompt is too long"},
    {.kind = PHRASE, .code = UPP_ECONTEXT, .text = "exceed context limit"}, /* Anthropic: the prompt and max_tokens */
    {.kind = PHRASE, .code = UPP_ECONTEXT, .text = "context length"},
    {.kind = PHRASE, .code = UPP_ECONTEXT, .text = "context window"},
    {.kind = PHRASE, .code = UPP_ECONTEXT, .text = "maximum context"},
    {.kind = PHRASE, .code = UPP_ECONTEXT, .text = "exceeds the maximum number of tokens"},
    {.kind = PHRASE, .code = UPP_ECONTEXT, .text = "input token count"},
    {.kind = PHRASE, .code = UPP_ECONTEXT, .text = "exceeds the available context"},

    {.kind = STATUS, .code = UPP_ECANCELED, .from = 499, .to = 499},
    {.kind = STATUS, .code = UPP_ETIMEOUT, .from = 408, .to = 408},
    {.kind = STATUS, .code = UPP_ETIMEOUT, .from = 504, .to = 504},
    {.kind = STATUS, .code = UPP_ECONTEXT, .from = 413, .to = 413},
    {.kind = STATUS, .code = UPP_EQUOTA, .from = 402, .to = 402},
    {.kind = STATUS, .code = UPP_ERATE, .from = 429, .to = 429},
    {.kind = STATUS, .code = UPP_EFILTERED, .from = 451, .to = 451},
    {.kind = STATUS, .code = UPP_EAUTH, .from = 401, .to = 401},
    {.kind = STATUS, .code = UPP_EAUTH, .from = 403, .to = 403},
    {.kind = STATUS, .code = UPP_ENOMODEL, .from = 404, .to = 404},
    {.kind = STATUS, .code = UPP_EINVALID, .from = 400, .to = 400},
    {.kind = STATUS, .code = UPP_EINVALID, .from = 409, .to = 409},
    {.kind = STATUS, .code = UPP_EINVALID, .from = 422, .to = 422},

    {.kind = WEAK, .code = UPP_EAUTH, .text = "authentication_error"},
    {.kind = WEAK, .code = UPP_EAUTH, .text = "permission_error"},
    {.kind = WEAK, .code = UPP_EAUTH, .text = "UNAUTHENTICATED"},
    {.kind = WEAK, .code = UPP_EAUTH, .text = "PERMISSION_DENIED"},
    {.kind = WEAK, .code = UPP_ENOMODEL, .text = "not_found_error"},
    {.kind = WEAK, .code = UPP_ENOMODEL, .text = "NOT_FOUND"},
    {.kind = WEAK, .code = UPP_EINVALID, .text = "invalid_request_error"},
    {.kind = WEAK, .code = UPP_EINVALID, .text = "INVALID_ARGUMENT"},
    {.kind = WEAK, .code = UPP_EINVALID, .text = "invalid_prompt"}, /* this and the others: Responses that failed */
    {.kind = WEAK, .code = UPP_EINVALID, .text = "invalid_image"},
    {.kind = WEAK, .code = UPP_EINVALID, .text = "invalid_image_format"},
    {.kind = WEAK, .code = UPP_EINVALID, .text = "invalid_base64_image"},
    {.kind = WEAK, .code = UPP_EINVALID, .text = "invalid_image_url"},
    {.kind = WEAK, .code = UPP_EINVALID, .text = "image_too_large"},
    {.kind = WEAK, .code = UPP_EINVALID, .text = "image_too_small"},
    {.kind = WEAK, .code = UPP_EINVALID, .text = "image_parse_error"},
    {.kind = WEAK, .code = UPP_EINVALID, .text = "invalid_image_mode"},
    {.kind = WEAK, .code = UPP_EINVALID, .text = "image_file_too_large"},
    {.kind = WEAK, .code = UPP_EINVALID, .text = "unsupported_image_media_type"},
    {.kind = WEAK, .code = UPP_EINVALID, .text = "empty_image_file"},
    {.kind = WEAK, .code = UPP_EINVALID, .text = "failed_to_download_image"},
    {.kind = WEAK, .code = UPP_EINVALID, .text = "image_file_not_found"},
}; /* all else: PROVIDER_ERROR */

/* Servers that speak OpenAI's chat put the status into `code`: there it is no code, and in a stream it is the status.
 */
static int status_of_code(struct upp_str code)
{
    uint64_t n;
    return wb_str_u64(code, &n) && n >= 100 && n <= 999 ? (int)n : 0;
}

static bool fits(const struct row *row, const struct upp__provider_error *t, int status, bool coded)
{
    struct upp_str text = row->text ? wb_cstr(row->text) : (struct upp_str){0};
    switch (row->kind) {
    case WEAK:
        if (status)
            return false;
        __attribute__((fallthrough));
    case WORD:
        return wb_str_eq(t->type, text) || wb_str_eq(t->code, text) || wb_str_eq(t->reason, text);
    case WITHIN:
        return wb_str_find(t->reason, text, 0) != SIZE_MAX;
    case PHRASE:
        return !coded && (status == 0 || status == 400 || status == 413) && wb_str_has_nocase(t->message, text);
    default:
        return status >= row->from && status <= row->to;
    }
}

static enum upp_code code_of(const struct upp__provider_error *t)
{
    int number = status_of_code(t->code), status = t->status ? t->status : number;
    for (size_t i = 0; i < WB_LEN(table); i++)
        if (fits(&table[i], t, status, t->code.n && !number))
            return (enum upp_code)table[i].code;
    return UPP_EPROVIDER;
}

enum {
    NO_SECRET = 4, /* a key shorter than this can be guessed: "x", for servers that only want some */
    FRAGMENT = 8,  /* as many bytes of a key, from anywhere in it, are masked like the whole */
    SOUGHT = 1024, /* how far into a key a fragment may begin */
    SHOWN = 512,   /* of a message; more than any error holds */
};

/* How many bytes at the beginning of s are of the key; 0 where they are too few to mind. */
static size_t of_key(struct upp_str s, struct upp_str key)
{
    size_t most = 0;
    for (size_t at = 0; at < key.n && at < SOUGHT; at++) {
        size_t n = 0;
        while (n < s.n && at + n < key.n && s.p[n] == key.p[at + n])
            n++;
        most = WB_MAX(most, n);
    }
    return most >= WB_MIN(key.n, (size_t)FRAGMENT) ? most : 0;
}

/* s without the key. What is cut off is cut off after masking, so that no half of a key stays at the end. */
static struct upp_str masked(struct upp_str s, struct upp_str key, char out[SHOWN])
{
    char first[2 * SHOWN];
    size_t n = 0;
    s = wb_mask(s, first, sizeof first);
    for (size_t i = 0; i < s.n && n + 3 < SHOWN;) {
        size_t hidden = key.n < NO_SECRET ? 0 : of_key(wb_str_sub(s, i, s.n), key);
        if (hidden) {
            memcpy(out + n, "***", 3);
            n += 3;
            i += hidden;
        } else
            out[n++] = s.p[i++];
    }
    return wb_str(out, n);
}

void upp__mask(struct upp_err *err, struct upp_str key)
{
    if (!err)
        return;
    char *texts[] = {err->msg, err->cause, err->where};
    static const size_t sizes[] = {sizeof err->msg, sizeof err->cause, sizeof err->where};
    for (size_t i = 0; i < WB_LEN(texts); i++) {
        char out[SHOWN];
        struct upp_str s = masked(wb_cstr(texts[i]), key, out);
        if (wb_str_eq(s, wb_cstr(texts[i])))
            continue;
        (void)snprintf(texts[i], sizes[i], "%.*s", UPP_FMT(s));
    }
}

/* "invalid_request_error, invalid_api_key": what the vendor calls it, each word once. */
static void put_cause(const struct upp__provider_error *t, struct upp_str key, struct upp_err *err)
{
    const struct upp_str words[] = {t->type, t->code, t->reason};
    struct upp_err e; /* makes any bytes fit to be shown */
    char out[SHOWN];
    size_t n = 0;
    for (size_t i = 0; i < WB_LEN(words); i++) {
        bool again = !words[i].n;
        for (size_t k = 0; k < i; k++)
            again = again || wb_str_eq(words[i], words[k]);
        if (again)
            continue;
        (void)upp_fail(&e, UPP_EPROVIDER, "%.*s", UPP_FMT(masked(words[i], key, out)));
        int r = snprintf(err->cause + n, sizeof err->cause - n, "%s%.60s", n ? ", " : "", e.msg);
        n = WB_MIN(n + (r > 0 ? (size_t)r : 0), sizeof err->cause - 1);
    }
}

int upp__provider_fail(const struct upp__provider_error *t, struct upp_str key, struct upp_err *err)
{
    enum upp_code code = code_of(t);
    if (!err)
        return -(int)code;
    char out[SHOWN];
    struct upp_str message = wb_str_trim(t->message);
    if (message.n)
        (void)upp_fail(err, code, "%.*s", UPP_FMT(masked(message, key, out)));
    else if (t->status)
        (void)upp_fail(err, code, "HTTP %d: %s", t->status, upp_code_text((int)code));
    else
        (void)upp_fail(err, code, "%s", upp_code_text((int)code));
    put_cause(t, key, err);
    wb_err_where(err, masked(t->request_id, key, out));
    err->http = t->status;
    err->retry_after_ms = t->retry_ms;
    return -(int)code;
}
