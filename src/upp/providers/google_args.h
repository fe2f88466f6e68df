/* upp/providers/google_args.h — arguments that come in pieces, each with its place in the whole (Vertex: partialArgs).
 *
 *     {"jsonPath": "$.cities[0].name", "stringValue": "Par", "willContinue": true}
 *
 * Strings of one place are joined; other values replace what was there. All lives in the arena.
 */
#pragma once

#include "upp/providers/adapter.h"

enum {
    UPP__GOOGLE_NODES = 1 << 14, /* values in one call's arguments */
    UPP__GOOGLE_LOOKS = 1 << 24, /* how many of them are looked at to find places, all pieces together */
};

struct upp__google_args;

struct upp__google_args *upp__google_args_new(struct wb_arena *a); /* NULL: the arena failed */

/* One piece. -UPP_EPROTO: its path makes no sense; -UPP_ELIMIT: too many values, or too deep. */
int upp__google_args_add(struct upp__google_args *args, yyjson_val *piece, struct upp_err *err) UPP_MUST_CHECK;

/* The object as a value being written. */
void upp__google_args_write(const struct upp__google_args *args, struct wj_writer *w);
