/* agent/strategy/observation.h — formats tool results as text for the model to reason about.
 *
 * The text depends on the results alone: no ids, no times, not the tool's JSON formatting. Equal results give equal
 * bytes, before and after a restart.
 */
#pragma once

#include <upp/message.h>

#include "base/buf.h"

enum wa_format { WA_MARKDOWN = 1, WA_JSON, WA_TEXT };

/* By name; NULL: markdown. -UPP_EINVALID: unknown format. */
int wa_format(const char *name, uint8_t *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Adds the results of a message. A failure of the buffer stays in the buffer. */
int wa_observe(struct wb_buf *out, const struct upp_message *results, uint8_t format,
               struct upp_err *err) UPP_MUST_CHECK;
