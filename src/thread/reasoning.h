/* thread/reasoning.h — whose reasoning it is, and with which signature a vendor takes it back: in the metadata of
 * parts, where dialects look (dialects/pai/pai.h). */
#pragma once

#include "base/arena.h"
#include "model/entry.h"

/* Marks reasoning parts without metadata with the provider of the message, and with the ids and signatures that its
 * output had (metadata.PROVIDER.raw). The parts are changed in place. */
int wa_reasoning_mark(struct wb_arena *a, struct upp_str provider, struct upp_message *m,
                      struct upp_err *err) UPP_MUST_CHECK;
