/* upp/providers/kept.h — is a call that was kept in a vendor's own form still the one that the message has? */
#ifndef UPP_PROVIDERS_KEPT_H
#define UPP_PROVIDERS_KEPT_H

#include "upp/providers/body.h"

/* Their names and arguments; ids are compared by who knows what they are at the vendor. `arguments`: an object, or JSON
 * in a string as OpenAI has it; NULL: none, which is the empty object. Arguments are the same by their value, whatever
 * their spelling; those that are no JSON, by their text. */
bool upp__is_kept_call(struct upp__body *b, const struct upp_part *call, struct upp_str name, yyjson_val *arguments);

#endif
