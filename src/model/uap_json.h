/* model/uap_json.h — calls and results in UAP's stream events: those of C programs (agent/event_json.c) and those of
 * the dialect (dialects/uap/stream.c). */
#pragma once

#include <upp/message.h>

#include "json/read.h"
#include "json/write.h"

WB_EXPORT_BEGIN

/* Writes a text that should be JSON as one value on one line; NULL is written as null. False: not JSON (or too deep to
 * read), and nothing was written. `scratch` is used and left empty. */
bool wm_json_write(struct wj_writer *w, struct wb_arena *scratch, const struct wj_read_opts *opts, struct upp_str text);

/* Writes the members of a call: toolCallId, toolName, arguments. False: the arguments are no JSON; `arguments` is {},
 * and argumentsJson has their text. */
bool wm_uap_call(struct wj_writer *w, struct wb_arena *scratch, const struct wj_read_opts *opts, struct upp_str id,
                 struct upp_str name, struct upp_str arguments);

/* Writes the member "results". */
void wm_uap_results(struct wj_writer *w, struct wb_arena *scratch, const struct wj_read_opts *opts,
                    const struct upp_message *m);

WB_EXPORT_END
