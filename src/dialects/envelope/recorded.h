/* dialects/envelope/recorded.h — envelopes that a run of the router has recorded as they are: its input, the arguments
 * and the results of its calls, and its answer (envelope/run/router.h). */
#pragma once

#include "dialects/envelope/envelope.h"

#define WD_ENVELOPE_ROUTER "weft.router" /* the agent whose messages are envelopes */

/* The envelope that a text of such a run is, read into the arena; NULL: it is none (the refusal of a call, for
 * example). */
yyjson_val *wd_envelope_recorded(struct wb_arena *a, struct upp_str text);

/* Its trace.id; NULL: none. */
struct upp_str wd_envelope_id(yyjson_val *envelope);

/* Writes the envelope with its content as text: its summary, or its data as JSON. `scratch` is not reset. */
void wd_envelope_put_as_text(struct wj_writer *w, struct wb_arena *scratch, yyjson_val *envelope);

/* The text in which a part has an envelope; NULL: it has none. */
struct upp_str wd_envelope_part_text(const struct upp_part *p);
