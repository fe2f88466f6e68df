/* agent/strategy/observation.h — the results of tools as a text for the model to reason about.
 *
 * A function of the results alone: no ids, no times, no spelling of the tool's JSON. The same results give the same
 * bytes, whoever reads them, before and after a restart.
 */
#ifndef WA_OBSERVATION_H
#define WA_OBSERVATION_H

#include <upp/message.h>

#include "base/buf.h"

enum wa_format { WA_MARKDOWN = 1, WA_JSON, WA_TEXT };

/* By name; NULL: markdown. -UPP_EINVALID: there is no such format. */
int wa_format(const char *name, uint8_t *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Adds what a message of results says. A failure of the buffer stays in the buffer. */
int wa_observe(struct wb_buf *out, const struct upp_message *results, uint8_t format,
               struct upp_err *err) UPP_MUST_CHECK;

#endif
