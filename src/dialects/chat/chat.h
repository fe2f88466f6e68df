/* dialects/chat/chat.h — options of a run's stream as a chat completion. */
#pragma once

#include "dialects/core/dialect.h"

struct wd_chat_opts {
    bool whole;    /* one frame at the end: the completion, or an error with the name "error" */
    bool usage;    /* a chunk with the usage before the end */
    bool metadata; /* whole: the completion has the run's metadata, as a stored one */
};
