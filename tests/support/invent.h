/* support/invent.h — invented documents of the model, and what must not be lost of them on any way. */
#pragma once

#include "base/buf.h"
#include "model/doc.h"

/* Several agents, prompts and answers, reasoning, calls with and without results, media, system events. The same seed
 * gives the same document; texts lie in the arena. */
int test_invent(uint64_t seed, struct wb_arena *a, struct wm_doc *ret, struct upp_err *err);

/* A line for each text, call and result in their order: who, and what. */
void test_gist(const struct wm_doc *d, struct wb_buf *out);
