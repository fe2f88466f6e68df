/* run/path.h — loads the path of a run from the log: history, input, own messages, tool grants. */
#pragma once

#include "run/run.h"

WEFT_SUSPENDS int wr_path_load(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* Loads it again, for the agent that was just handed the thread. */
WEFT_SUSPENDS int wr_path_reload(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;
