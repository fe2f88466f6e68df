/* dialects/core/streams.h — encoders that another encoder or a test names, and that clients ask for by name. */
#ifndef WD_STREAMS_H
#define WD_STREAMS_H

#include "dialects/core/dialect.h"

/* UAP's stream with events of three further types: run, system_event, attempt_void. */
extern const struct wd_stream_ops wd_stream_weft;

#endif
