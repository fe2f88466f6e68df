/* upp/providers/settings.h — settings that many models share, in the words of each vendor.
 *
 * Params are a vendor's own and are sent unchanged. These are what a request may set whatever the model is: OpenAI's
 * names, translated by one table into params. What a vendor has no word for is refused, never dropped.
 */
#pragma once

#include <upp/model.h>
#include <yyjson.h>

#include "base/arena.h"

enum upp__tool_choice {
    UPP__CHOICE_UNSET = 0,
    UPP__CHOICE_NONE,     /* no tool may be called */
    UPP__CHOICE_AUTO,     /* as the model wants */
    UPP__CHOICE_REQUIRED, /* some tool must be called */
    UPP__CHOICE_FUNCTION, /* this one must be called */
};

struct upp__settings {
    /* Of these members that are not null: temperature, top_p, stop (string or array), seed, frequency_penalty,
     * presence_penalty, reasoning_effort, parallel_tool_calls. Others are not looked at. */
    yyjson_val *values;
    uint8_t choice;          /* enum upp__tool_choice */
    struct upp_str function; /* of UPP__CHOICE_FUNCTION */
    uint64_t max_tokens;     /* of the response; 0: no limit. A lower one of the params stays */
    bool json;               /* the response is some JSON object */
    bool has_tools;          /* the request has tools: otherwise choice and parallel_tool_calls are not sent */
};

WB_EXPORT_BEGIN

/* The params with the settings in them, in the arena. 1: the vendor can only be kept from calling tools if the request
 * has none. -UPP_EINVALID: the vendor cannot express a setting; the message names it, err.where is its pointer. */
int upp__settings_write(const struct upp_model *m, struct upp_str params, const struct upp__settings *s,
                        struct wb_arena *a, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Is the word one of a list, with blanks between? */
bool upp__word_among(const char *list, struct upp_str word);

WB_EXPORT_END
