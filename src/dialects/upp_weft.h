/* dialects/upp_weft.h — the words of metadata.weft in messages and documents of UPP (dialects/upp_doc.h). */
#ifndef WD_UPP_WEFT_H
#define WD_UPP_WEFT_H

#include <upp/message.h>
#include <upp/model.h>

#include "base/str.h"

static const char *const wd_upp_message_names[] = {"agent", "name", "turn", "model", "provider", "response", "stop",
                                                   "usage", "id",   "more", "role",  "parts",    "events",   NULL};
static const char *const wd_upp_about_names[]   = {"title", "parent", "agents", "events", NULL};

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
