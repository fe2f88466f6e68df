/* upp/providers/mint.h — ids for calls that their vendor gave none.
 *
 * Where calls need none they are ours alone, and the vendor never sees them: metadata.PROVIDER.minted lists them, so
 * that the next request knows. Where calls must have one, the vendor is told ours.
 */
#ifndef UPP_PROVIDERS_MINT_H
#define UPP_PROVIDERS_MINT_H

#include "upp/providers/adapter.h"

/* A new id, in r->keep: "call_" and 32 hex digits by chance, because a name and a number would come again in the next
 * turn. It is added to r->minted. */
int upp__mint(struct upp__reader *r, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* One that the vendor is told, in r->keep: of no other call in this thread. `n`: how many calls came before it. */
struct upp_str upp__mint_told(struct upp__reader *r, size_t n);

/* Has it the shape of ours? Whoever finds an id taken gives a new one of the same shape. */
bool upp__looks_minted(struct upp_str id);

/* Does `minted`, the array of a message, name this id? */
bool upp__is_minted(yyjson_val *minted, struct upp_str id);

#endif
