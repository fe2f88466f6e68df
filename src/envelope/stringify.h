/* envelope/stringify.h — JSON as JSON.stringify of JavaScript writes what JSON.parse has read: prompts of the seed have
 * it.
 *
 * It differs from the text that was read: numbers are doubles in JavaScript's spelling (1e21 is 1e+21, -0 is 0, what is
 * too large is null), and members whose names are array indices come first, in ascending order.
 */
#pragma once

#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"

enum { WE_JS_NUMBER = 32 };

/* indent: blanks per level; 0: compact. The value is nested at most WE_MAX_DEPTH deep. */
int we_stringify(yyjson_val *v, unsigned indent, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

/* A JSON number as JavaScript writes it, into `to`; its length. */
size_t we_js_number(struct upp_str number, char to[WE_JS_NUMBER]);
