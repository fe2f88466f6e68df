/* upp/providers/call_id.h — ids for calls that came without one.
 *
 * Where the vendor's API needs no ids, ours are never sent: metadata.PROVIDER.minted lists them, so that the next
 * request can leave them out. Where the API requires ids, the vendor receives ours.
 */
#pragma once

#include "upp/providers/adapter.h"

/* A new id, in r->keep: "call_" and 32 random hex digits (a name and a number would repeat in the next turn). It is
 * added to r->own_ids. */
int upp__call_id_new(struct upp__reader *r, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* An id that is sent to the vendor, in r->keep: unique in this thread. `n`: the number of calls before it. */
struct upp_str upp__call_id_sent(struct upp__reader *r, size_t n);

/* Does it have the form of ours? Code that replaces a duplicate id keeps its form. */
bool upp__call_id_is_ours(struct upp_str id);

/* Does `list`, the array `minted` of a message, contain this id? */
bool upp__call_id_listed(yyjson_val *list, struct upp_str id);
