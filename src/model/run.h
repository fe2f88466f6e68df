/* model/run.h — a run as a row of its own: the part that can change; the log has what happened. */
#pragma once

#include <upp/message.h>

#include "base/uuid.h"
#include "model/event.h"

/* What a crash of the process or the machine may lose. The start of an at_most_once tool is synced in all modes. */
enum wm_durability {
    WM_SYNC = 1, /* nothing that was acknowledged */
    WM_GROUP,    /* the same; commits wait up to 10 ms to share a sync */
    WM_ASYNC,    /* at most the last second */
    WM_EXIT,     /* everything of a run that has not ended */
};

struct wm_run {
    struct wb_uuid id, root, parent; /* parent: all zero for a root */
    struct wb_uuid thread;
    uint64_t node;    /* the node it holds */
    uint64_t first;   /* position of its first row there (log/store.h); 0 while queued: none yet */
    uint32_t input;   /* index of its input entry in the node */
    uint32_t version; /* incremented at each change of this row: compare and swap */
    uint16_t depth;
    uint8_t status;         /* enum wm_status */
    uint8_t durability;     /* enum wm_durability */
    bool cancel;            /* requested */
    bool swept;             /* retention has removed its tapes and journal: its events cannot be reconstructed */
    uint32_t epoch;         /* of the last row that changed it; while it runs, the node's rows are more current */
    uint64_t queue;         /* position among the queued runs of its thread; 0: not queued */
    struct upp_str agent;   /* by name: the current definition is used */
    struct upp_str call;    /* of a child: id of its parent's call */
    struct upp_str options; /* JSON: instructions, metadata and the rest of the request; empty: none */
    struct upp_str error;   /* UPPError as JSON; of a completed run the limit that cut it short: {"reason":"max_steps"}.
                               Empty: none */
    struct upp_usage usage; /* once it has ended: sub-agents included */
    int64_t created_ms, started_ms, ended_ms; /* 0: not yet */
    int64_t expires_ms;                       /* a waiting run; 0: never */
    struct wb_uuid engine; /* a root that runs or is being cancelled: who works on it (wr_engine_id). All zero: an
                              earlier version did not say */
};
