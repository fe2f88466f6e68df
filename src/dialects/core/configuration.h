/* dialects/core/configuration.h — the configurations of a document's agents: the system prompts that came with it.
 *
 * A history has no system prompts (TP-9). Those of an imported document are in the residue of the message they came
 * with, or of its list; that is where an export finds them in their position, and where they are erased with their
 * message. An agent's configuration is a list of them.
 */
#pragma once

#include "model/doc.h"

struct wd_prompt {
    struct wd_prompt *next;
    struct upp_str text;
};

/* The prompts of one agent, in their order. */
struct wd_configuration {
    struct wd_prompt *first, *last;
};

enum { WD_PROMPTS = 1 << 16 };

/* Sets *ret to the configurations of the document's agents, by index. Of an agent's equal prompts in a row the first is
 * listed; prompts in messages of their own come first. A prompt in a turn of the user belongs to the agent that
 * answers. Everything is in the arena or the document. -UPP_ELIMIT: more than WD_PROMPTS. */
int wd_configurations_read(const struct wm_doc *d, struct wb_arena *a, struct wd_configuration **ret,
                           struct upp_err *err) UPP_MUST_CHECK;

/* Sets `prompted` of each agent that has prompts. */
int wd_configurations_mark(struct wm_doc *d, struct upp_err *err) UPP_MUST_CHECK;
