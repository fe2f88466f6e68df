/* dialects/ui_doc_about.c — what the metadata of a UI message say of it, each object in one walk. */
#include "dialects/lift.h"
#include "dialects/ui_doc.h"
#include "json/value.h"

struct row {
    struct upp_str name;
};

/* In the order in which we write them. */
enum { PYDANTIC_AI, WEFT, USAGE, EVENTS, ALL };
static const struct row all[] = {
    [PYDANTIC_AI] = {
        UPP_STR_INIT("pydantic_ai")},
        [WEFT] = {UPP_STR_INIT("weft")}, [USAGE]                                                             = {
                                                                                                         UPP_STR_INIT("usage")}, [EVENTS] = {
                                                                                                                                     UPP_STR_INIT("weft_events")}, [ALL] = {
                                                                                                                                                                       {NULL, 0}}};

enum { TIMESTAMP, TIMES };
static const struct row times[] = {[TIMESTAMP] = {UPP_STR_INIT("timestamp")}, [TIMES] = {{NULL, 0}}};

enum { AGENT, NAME, MODEL, PROVIDER, ENDED, WHO };
static const struct row
    who[] =
        {
            [AGENT] = {UPP_STR_INIT("agent")}, [NAME] = {UPP_STR_INIT("name")},
                                                         [MODEL] = {UPP_STR_INIT("model")}, [PROVIDER] = {UPP_STR_INIT("provider")},
                                                                                                          [ENDED] = {UPP_STR_INIT("ended")}, [WHO] = {{NULL, 0}}};

enum { INPUT, OUTPUT, TOTAL, CACHE_READ, CACHE_WRITE, REASONING, TOKENS };
static const struct row tokens[] = {
    [INPUT] = {UPP_STR_INIT("inputTokens")}, [OUTPUT] = {
                                                 UPP_STR_INIT("outputTokens")},
                                                 [TOTAL] = {
                                                     UPP_STR_INIT("totalTokens")},
                                                     [CACHE_READ] = {
                                                         UPP_STR_INIT("cacheReadTokens")},
                                                         [CACHE_WRITE] = {
                                                             UPP_STR_INIT("cacheWriteTokens")},
                                                             [REASONING] = {
                                                                 UPP_STR_INIT("reasoningTokens")}, [TOKENS] = {
                                                                                                       {NULL, 0}}};

/* Are these all its members, and in this order? */
static bool are_all(yyjson_val *object, yyjson_val *const *found, size_t n)
{
    const yyjson_val *last  = NULL;
    size_t            there = 0;
    for (size_t i = 0; i < n; i++) {
        if (!found[i])
            continue;
        if (found[i] < last)
            return false;
        last = found[i];
        there++;
    }
    return there == yyjson_obj_size(object);
}

/* The texts among the members of an object, no text for the others. Is it one of these members alone, in their order,
 * and each of them a text? */
static bool read_texts(yyjson_val *object, const struct row *rows, struct upp_str *texts)
{
    yyjson_val *found[WHO];
    size_t      n = WJ_MEMBERS(object, rows, found), others = 0;
    for (size_t i = 0; i < n; i++) {
        bool text = found[i] && unsafe_yyjson_is_str(found[i]);
        texts[i]  = text ? wj_text(found[i]) : (struct upp_str){0};
        others += found[i] && !text;
    }
    return !others && are_all(object, found, n);
}

/* The same for numbers; all but the last are there, and that one unless it is 0. */
static bool read_usage(yyjson_val *v, struct wd_ui_about *to)
{
    yyjson_val    *found[TOKENS];
    struct upp_str said[TOKENS];
    size_t         n     = WJ_MEMBERS(v, tokens, found);
    bool           plain = are_all(v, found, n);
    for (size_t i = 0; i < n; i++) {
        bool number = found[i] && unsafe_yyjson_is_raw(found[i]);
        said[i]     = number ? wj_text(found[i]) : (struct upp_str){0};
        plain &= number ? wd_is_plain_number(said[i]) : i == REASONING && !found[i];
    }
    to->usage     = (struct upp_usage){.input       = wd_number_of(said[INPUT]),
                                       .output      = wd_number_of(said[OUTPUT]),
                                       .cache_read  = wd_number_of(said[CACHE_READ]),
                                       .cache_write = wd_number_of(said[CACHE_WRITE])};
    to->reasoning = wd_number_of(said[REASONING]);
    return plain && wd_number_of(said[TOTAL]) == to->usage.input + to->usage.output &&
           (!found[REASONING] || to->reasoning);
}

void wd_ui_about(yyjson_val *metadata, struct wd_ui_about *to)
{
    yyjson_val    *found[ALL];
    struct upp_str time, text[WHO] = {0};
    size_t         n     = WJ_MEMBERS(metadata, all, found);
    bool           plain = found[PYDANTIC_AI] && !found[EVENTS] && are_all(metadata, found, n);
    plain &= read_texts(found[PYDANTIC_AI], times, &time) && time.p;
    if (found[WEFT])
        plain &= read_texts(found[WEFT], who, text) && yyjson_obj_size(found[WEFT]);
    *to           = (struct wd_ui_about){.time     = time,
                                         .agent    = text[AGENT],
                                         .name     = text[NAME],
                                         .model    = text[MODEL],
                                         .provider = text[PROVIDER],
                                         .ended    = text[ENDED],
                                         .events   = found[EVENTS]};
    to->has_usage = yyjson_is_obj(found[USAGE]);
    if (found[USAGE])
        plain &= to->has_usage && read_usage(found[USAGE], to);
    to->plain = plain;
}
