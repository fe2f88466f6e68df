/* cli/thread_word.h — the thread that a person means: by its id, or nearly. */
#pragma once

#include "cli/store_owner.h"
#include "cli/store_reader.h"
#include "log/log.h"

enum { CLI_THREADS_TRIED = 1000 /* the last ones */ };

/* wl_thread_find; if there is none, the message names the thread whose id begins so, or nearly is it. */
WEFT_SUSPENDS int cli_thread_find(struct cli_reader *rd, const char *word, struct wl_thread *ret,
                                  struct upp_err *err) UPP_MUST_CHECK;

/* The same for commands that ask the owner of the store: completes *err of the failure r, which it returns. */
WEFT_SUSPENDS int cli_thread_guess(struct cli_owner *d, const char *word, int r, struct upp_err *err) UPP_MUST_CHECK;
