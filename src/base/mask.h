/* base/mask.h — secrets masked in all output: values of environment variables, and keys.
 *
 * A value is hidden from the moment it is read until it is given back. Whatever leaves by an error, the log or metadata
 * goes through wb_mask, and *** stands where the value would. Found is the value itself; as it stands in an address
 * (%2F), in JSON (\") and in base64, at any place of what was encoded; and where a text was cut inside of it.
 *
 *   less than 4 bytes   never masked: it can be guessed, and stands in every text
 *   4 to 7              where it is a word: no letter and no digit beside it
 *   8 and more          anywhere
 *   16 and more         and so is every piece of at least 8 bytes, unless it has a blank or "://" in it: vendors like
 *                       to show the beginning or the end of a key
 *
 * The list belongs to the process, as the log does that it keeps clean. All of it may be called from any thread.
 */
#pragma once

#include "base/buf.h"
#include "base/mask_stream.h"

struct wb_hidden;

WB_EXPORT_BEGIN

/* Hides a text; NULL in *ret where it is too short. It is copied, into memory like that of a secret. wb_hide_in_errors
 * leaves it in what models and tools say: it is nobody's secret, like a home directory, and tools need it.
 * -UPP_ELIMIT: more is hidden than may be. */
int wb_hide(struct upp_str text, struct wb_hidden **ret, struct upp_err *err) UPP_MUST_CHECK;
int wb_hide_in_errors(struct upp_str text, struct wb_hidden **ret, struct upp_err *err) UPP_MUST_CHECK;
struct wb_hidden *wb_unhide(struct wb_hidden *h); /* accepts NULL; returns NULL */

/* s without what is hidden: s itself where there is nothing of that in it, else written to out, as much as fits. */
struct upp_str wb_mask(struct upp_str s, char *out, size_t size);

/* The same, appended. json: s is a JSON text, of which only the strings are changed, so that it stays one. True:
 * something was masked. */
bool wb_mask_add(struct wb_buf *b, struct upp_str s, bool json);

/* The texts of an error. Accepts NULL. */
void wb_mask_err(struct upp_err *err);

WB_EXPORT_END
