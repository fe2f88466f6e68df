/* dialects/upp/weft.h — the words of metadata.weft in messages and documents of UPP (dialects/upp/doc.h). */
#ifndef WD_UPP_WEFT_H
#define WD_UPP_WEFT_H

#include <upp/message.h>
#include <upp/model.h>

#include "base/str.h"
#include "json/value.h"

/* Of messages, in the order in which they are written, and behind them those of model/upp_weft.h. */
enum {
    WD_WEFT_AGENT,
    WD_WEFT_NAME,
    WD_WEFT_TURN,
    WD_WEFT_MODEL,
    WD_WEFT_PROVIDER,
    WD_WEFT_RESPONSE,
    WD_WEFT_STOP,
    WD_WEFT_USAGE,
    WD_WEFT_ID,
    WD_WEFT_MORE,
    WD_WEFT_ROLE,
    WD_WEFT_PARTS,
    WD_WEFT_EVENTS,
    WD_WEFT_ORDER,
    WD_WEFT_ARGUMENTS,
    WD_WEFT_INTERRUPTED,
    WD_WEFT_CUT,
    WD_WEFT_NAMES,
};
/* clang-format off */
static const struct upp_str wd_upp_message_names[] = {
    [WD_WEFT_AGENT]       = UPP_STR_INIT("agent"),
    [WD_WEFT_NAME]        = UPP_STR_INIT("name"),
    [WD_WEFT_TURN]        = UPP_STR_INIT("turn"),
    [WD_WEFT_MODEL]       = UPP_STR_INIT("model"),
    [WD_WEFT_PROVIDER]    = UPP_STR_INIT("provider"),
    [WD_WEFT_RESPONSE]    = UPP_STR_INIT("response"),
    [WD_WEFT_STOP]        = UPP_STR_INIT("stop"),
    [WD_WEFT_USAGE]       = UPP_STR_INIT("usage"),
    [WD_WEFT_ID]          = UPP_STR_INIT("id"),
    [WD_WEFT_MORE]        = UPP_STR_INIT("more"),
    [WD_WEFT_ROLE]        = UPP_STR_INIT("role"),
    [WD_WEFT_PARTS]       = UPP_STR_INIT("parts"),
    [WD_WEFT_EVENTS]      = UPP_STR_INIT("events"),
    [WD_WEFT_ORDER]       = UPP_STR_INIT("order"),
    [WD_WEFT_ARGUMENTS]   = UPP_STR_INIT("arguments"),
    [WD_WEFT_INTERRUPTED] = UPP_STR_INIT("interrupted"),
    [WD_WEFT_CUT]         = UPP_STR_INIT("cut"),
    [WD_WEFT_NAMES]       = {0},
};

/* Of a message's turn, and of a usage: likewise. */
enum {
    WD_TURN_ID,
    WD_TURN_RUN,
    WD_TURN_STARTED,
    WD_TURN_ENDED,
    WD_TURN_USAGE,
    WD_TURN_PARTIAL,
    WD_TURN_AGENT,
    WD_TURN_NAME,
    WD_TURN_NAMES,
};
static const struct upp_str wd_upp_turn_names[] = {
    [WD_TURN_ID]      = UPP_STR_INIT("id"),
    [WD_TURN_RUN]     = UPP_STR_INIT("run"),
    [WD_TURN_STARTED] = UPP_STR_INIT("started"),
    [WD_TURN_ENDED]   = UPP_STR_INIT("ended"),
    [WD_TURN_USAGE]   = UPP_STR_INIT("usage"),
    [WD_TURN_PARTIAL] = UPP_STR_INIT("partial"),
    [WD_TURN_AGENT]   = UPP_STR_INIT("agent"),
    [WD_TURN_NAME]    = UPP_STR_INIT("name"),
    [WD_TURN_NAMES]   = {0},
};

enum {
    WD_USAGE_INPUT,
    WD_USAGE_OUTPUT,
    WD_USAGE_TOTAL,
    WD_USAGE_CACHE_READ,
    WD_USAGE_CACHE_WRITE,
    WD_USAGE_REASONING,
    WD_USAGE_NAMES,
};
static const struct upp_str wd_upp_usage_names[] = {
    [WD_USAGE_INPUT]       = UPP_STR_INIT("inputTokens"),
    [WD_USAGE_OUTPUT]      = UPP_STR_INIT("outputTokens"),
    [WD_USAGE_TOTAL]       = UPP_STR_INIT("totalTokens"),
    [WD_USAGE_CACHE_READ]  = UPP_STR_INIT("cacheReadTokens"),
    [WD_USAGE_CACHE_WRITE] = UPP_STR_INIT("cacheWriteTokens"),
    [WD_USAGE_REASONING]   = UPP_STR_INIT("reasoningTokens"),
    [WD_USAGE_NAMES]       = {0},
};

/* Of documents. */
static const struct upp_str wd_upp_about_names[] = {
    UPP_STR_INIT("title"), UPP_STR_INIT("parent"),    UPP_STR_INIT("agents"),      UPP_STR_INIT("events"),
    UPP_STR_INIT("order"), UPP_STR_INIT("arguments"), UPP_STR_INIT("interrupted"), UPP_STR_INIT("cut"),    {0},
};
/* clang-format on */

static inline bool wd_upp_is_ours(const yyjson_val *name, const struct upp_str *names)
{
    for (; names->p; names++)
        if (wj_named(name, *names))
            return true;
    return false;
}

static const char *const wd_upp_stops[] = {[UPP_STOP_END]    = "end_turn",
                                           [UPP_STOP_LENGTH] = "max_tokens",
                                           [UPP_STOP_TOOLS]  = "tool_use",
                                           [UPP_STOP_FILTER] = "content_filter",
                                           [UPP_STOP_ERROR]  = "error"};
static const char *const wd_upp_roles[] = {
    [UPP_ROLE_USER] = "user", [UPP_ROLE_ASSISTANT] = "assistant", [UPP_ROLE_TOOL] = "tool_result"};
static const char *const wd_upp_kinds[] = {
    [UPP_PART_IMAGE] = "image", [UPP_PART_AUDIO] = "audio", [UPP_PART_VIDEO] = "video", [UPP_PART_BINARY] = "binary"};

static inline uint8_t wd_upp_word(struct upp_str s, const char *const *words, size_t n)
{
    for (size_t i = 1; s.p && i < n; i++)
        if (words[i] && wb_str_eq(s, wb_cstr(words[i])))
            return (uint8_t)i;
    return 0;
}
static inline uint8_t wd_upp_stop_of(struct upp_str s)
{
    return wd_upp_word(s, wd_upp_stops, WB_LEN(wd_upp_stops));
}
static inline uint8_t wd_upp_role_of(struct upp_str s)
{
    return wd_upp_word(s, wd_upp_roles, WB_LEN(wd_upp_roles));
}
static inline uint8_t wd_upp_kind_of(struct upp_str s)
{
    return wd_upp_word(s, wd_upp_kinds, WB_LEN(wd_upp_kinds));
}

#endif
