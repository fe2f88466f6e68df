/* upp/client/cover.h — masks secrets in what a model says.
 *
 * A model may repeat a key that it read in a file or an error. All output passes here before anybody sees it, so the
 * log, the streams and the tools have the same text. Text is held back only while its end may be the beginning of a
 * secret (base/mask_stream.h). The texts of an event are good until the next one.
 */
#pragma once

#include <upp/model.h>

struct upp__cover;

/* NULL in *ret: there are no secrets. structure: the answer is to be JSON. */
int upp__cover_new(bool structure, struct upp__cover **ret, struct upp_err *err) UPP_MUST_CHECK;
void upp__cover_free(struct upp__cover *v); /* accepts NULL */

/* Masks an event of the model, one that keeps the rules. 0: all of it is held back. */
int upp__cover_event(struct upp__cover *v, struct upp_step_event *ev, struct upp_err *err) UPP_MUST_CHECK;

/* The end of a part, if it is due before the next event: what was held back of it came first. */
bool upp__cover_take_close(struct upp__cover *v, struct upp_step_event *ret);

/* What is held back of an open part that nothing will follow. False: nothing. */
bool upp__cover_rest(struct upp__cover *v, uint32_t part, struct upp_step_event *ret);
