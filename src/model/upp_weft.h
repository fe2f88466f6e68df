/* model/upp_weft.h — metadata.weft in UPP messages and documents: its member names, and foreign members in it.
 *
 * model/upp_json.h explains those about parts (order, arguments, interrupted, cut), dialects/upp/doc.h the others.
 */
#pragma once

#include <upp/message.h>
#include <upp/model.h>

#include "base/str.h"
#include "json/value.h"
#include "json/write.h"

/* Of messages, in the order of writing; last those about parts, which every message may have. */
enum {
    WM_WEFT_AGENT,
    WM_WEFT_NAME,
    WM_WEFT_TURN,
    WM_WEFT_MODEL,
    WM_WEFT_PROVIDER,
    WM_WEFT_RESPONSE,
    WM_WEFT_STOP,
    WM_WEFT_USAGE,
    WM_WEFT_ID,
    WM_WEFT_MORE,
    WM_WEFT_ROLE,
    WM_WEFT_PARTS,
    WM_WEFT_EVENTS,
    WM_WEFT_ORDER,
    WM_WEFT_ARGUMENTS,
    WM_WEFT_INTERRUPTED,
    WM_WEFT_CUT,
    WM_WEFT_NAMES,
};
/* clang-format off */
static const struct upp_str wm_upp_message_names[] = {
    [WM_WEFT_AGENT]       = UPP_STR_INIT("agent"),
    [WM_WEFT_NAME]        = UPP_STR_INIT("name"),
    [WM_WEFT_TURN]        = UPP_STR_INIT("turn"),
    [WM_WEFT_MODEL]       = UPP_STR_INIT("model"),
    [WM_WEFT_PROVIDER]    = UPP_STR_INIT("provider"),
    [WM_WEFT_RESPONSE]    = UPP_STR_INIT("response"),
    [WM_WEFT_STOP]        = UPP_STR_INIT("stop"),
    [WM_WEFT_USAGE]       = UPP_STR_INIT("usage"),
    [WM_WEFT_ID]          = UPP_STR_INIT("id"),
    [WM_WEFT_MORE]        = UPP_STR_INIT("more"),
    [WM_WEFT_ROLE]        = UPP_STR_INIT("role"),
    [WM_WEFT_PARTS]       = UPP_STR_INIT("parts"),
    [WM_WEFT_EVENTS]      = UPP_STR_INIT("events"),
    [WM_WEFT_ORDER]       = UPP_STR_INIT("order"),
    [WM_WEFT_ARGUMENTS]   = UPP_STR_INIT("arguments"),
    [WM_WEFT_INTERRUPTED] = UPP_STR_INIT("interrupted"),
    [WM_WEFT_CUT]         = UPP_STR_INIT("cut"),
    [WM_WEFT_NAMES]       = {0},
};

/* Of a message's turn, and of a usage: also in the order of writing. */
enum {
    WM_TURN_ID,
    WM_TURN_RUN,
    WM_TURN_STARTED,
    WM_TURN_ENDED,
    WM_TURN_USAGE,
    WM_TURN_PARTIAL,
    WM_TURN_AGENT,
    WM_TURN_NAME,
    WM_TURN_NAMES,
};
static const struct upp_str wm_upp_turn_names[] = {
    [WM_TURN_ID]      = UPP_STR_INIT("id"),
    [WM_TURN_RUN]     = UPP_STR_INIT("run"),
    [WM_TURN_STARTED] = UPP_STR_INIT("started"),
    [WM_TURN_ENDED]   = UPP_STR_INIT("ended"),
    [WM_TURN_USAGE]   = UPP_STR_INIT("usage"),
    [WM_TURN_PARTIAL] = UPP_STR_INIT("partial"),
    [WM_TURN_AGENT]   = UPP_STR_INIT("agent"),
    [WM_TURN_NAME]    = UPP_STR_INIT("name"),
    [WM_TURN_NAMES]   = {0},
};

enum {
    WM_USAGE_INPUT,
    WM_USAGE_OUTPUT,
    WM_USAGE_TOTAL,
    WM_USAGE_CACHE_READ,
    WM_USAGE_CACHE_WRITE,
    WM_USAGE_REASONING,
    WM_USAGE_NAMES,
};
static const struct upp_str wm_upp_usage_names[] = {
    [WM_USAGE_INPUT]       = UPP_STR_INIT("inputTokens"),
    [WM_USAGE_OUTPUT]      = UPP_STR_INIT("outputTokens"),
    [WM_USAGE_TOTAL]       = UPP_STR_INIT("totalTokens"),
    [WM_USAGE_CACHE_READ]  = UPP_STR_INIT("cacheReadTokens"),
    [WM_USAGE_CACHE_WRITE] = UPP_STR_INIT("cacheWriteTokens"),
    [WM_USAGE_REASONING]   = UPP_STR_INIT("reasoningTokens"),
    [WM_USAGE_NAMES]       = {0},
};

/* Of documents. */
static const struct upp_str wm_upp_about_names[] = {
    UPP_STR_INIT("title"), UPP_STR_INIT("parent"),    UPP_STR_INIT("agents"),      UPP_STR_INIT("events"),
    UPP_STR_INIT("order"), UPP_STR_INIT("arguments"), UPP_STR_INIT("interrupted"), UPP_STR_INIT("cut"),    {0},
};
/* clang-format on */

static const struct upp_str *const wm_upp_part_names = &wm_upp_message_names[WM_WEFT_ORDER];

static inline bool wm_upp_is_ours(const yyjson_val *name, const struct upp_str *names)
{
    for (; names->p; names++)
        if (wj_named(name, *names))
            return true;
    return false;
}

static const char *const wm_upp_stops[] = {[UPP_STOP_END] = "end_turn",
                                           [UPP_STOP_LENGTH] = "max_tokens",
                                           [UPP_STOP_TOOLS] = "tool_use",
                                           [UPP_STOP_FILTER] = "content_filter",
                                           [UPP_STOP_ERROR] = "error"};
static const char *const wm_upp_roles[] = {
    [UPP_ROLE_USER] = "user", [UPP_ROLE_ASSISTANT] = "assistant", [UPP_ROLE_TOOL] = "tool_result"};
static const char *const wm_upp_kinds[] = {
    [UPP_PART_IMAGE] = "image", [UPP_PART_AUDIO] = "audio", [UPP_PART_VIDEO] = "video", [UPP_PART_BINARY] = "binary"};

static inline uint8_t wm_upp_word(struct upp_str s, const char *const *words, size_t n)
{
    for (size_t i = 1; s.p && i < n; i++)
        if (words[i] && wb_str_eq(s, wb_cstr(words[i])))
            return (uint8_t)i;
    return 0;
}
static inline uint8_t wm_upp_stop_of(struct upp_str s)
{
    return wm_upp_word(s, wm_upp_stops, WB_LEN(wm_upp_stops));
}
static inline uint8_t wm_upp_role_of(struct upp_str s)
{
    return wm_upp_word(s, wm_upp_roles, WB_LEN(wm_upp_roles));
}
static inline uint8_t wm_upp_kind_of(struct upp_str s)
{
    return wm_upp_word(s, wm_upp_kinds, WB_LEN(wm_upp_kinds));
}

/* The name of a part in `order`. */
static inline struct upp_str wm_weft_word(uint8_t kind)
{
    return kind == UPP_PART_CALL ? UPP_STR("call") : kind == UPP_PART_RESULT ? UPP_STR("result") : UPP_STR("content");
}

/* Is it our member of a metadata map? Ours is an object; any other value is somebody else's. */
static inline bool wm_weft_is_weft(yyjson_val *name)
{
    return wj_named(name, UPP_STR("weft")) && yyjson_is_obj(name + 1);
}

/* Our member of a metadata map; NULL: none. */
static inline yyjson_val *wm_weft_find(yyjson_val *map)
{
    yyjson_val *key = unsafe_yyjson_get_first(map);
    for (size_t n = unsafe_yyjson_get_len(map); n; n--, key = unsafe_yyjson_get_next(key + 1))
        if (wm_weft_is_weft(key))
            return key + 1;
    return NULL;
}

/* Writes the members of the object that have none of our names, and returns how many; w NULL: only counts. */
static inline size_t wm_weft_put_others(struct wj_writer *w, yyjson_val *weft, const struct upp_str *ours)
{
    yyjson_val *key = unsafe_yyjson_get_first(weft);
    size_t others = 0;
    for (size_t n = unsafe_yyjson_get_len(weft); n; n--, key = unsafe_yyjson_get_next(key + 1))
        if (!wm_upp_is_ours(key, ours)) {
            others++;
            if (w)
                wj_put_member(w, key);
        }
    return others;
}

WB_EXPORT_BEGIN

/* Copies a metadata map without our members into the arena; *ret is unchanged if nothing else is in it. */
int wm_weft_foreign(struct wb_arena *a, struct wb_buf *scratch, yyjson_val *map, const struct upp_str *ours,
                    struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END
