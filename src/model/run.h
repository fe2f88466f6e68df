/* model/run.h — a run as a row of its own: what can change, beside the log that says what happened. */
#ifndef WM_RUN_H
#define WM_RUN_H

#include <upp/message.h>

#include "base/uuid.h"
#include "model/event.h"

/* What may be lost when the process or the machine dies. The start of an at_most_once tool is synced in all of them. */
enum wm_durability {
    WM_SYNC = 1, /* nothing that was acknowledged */
    WM_GROUP,    /* the same; commits wait up to 10 ms for company */
    WM_ASYNC,    /* at most the last second */
    WM_EXIT,     /* everything of a run that has not ended */
};

struct wm_run {
    struct wb_uuid id, root, parent; /* parent: all zero for a root */
    struct wb_uuid thread;
    uint64_t       node;    /* that it holds */
    uint64_t       first;   /* position of its first row there (log/store.h); 0 while queued: none yet */
    uint32_t       input;   /* index of its input entry in the node */
    uint32_t       version; /* counts the changes of this row: compare and swap */
    uint16_t       depth;
    uint8_t        status;     /* enum wm_status */
    uint8_t        durability; /* enum wm_durability */
    bool           cancel;     /* was asked for */
    bool           swept;      /* retention has taken its tapes and journal: its events cannot be told again */
    uint32_t       epoch;      /* of the last row that changed it; rows of the node know better while it runs */
    uint64_t       queue;      /* place among the queued runs of its thread; 0: not queued */
    struct upp_str agent;      /* by name: the definition now in force is used */
    struct upp_str call;       /* a child's: id of the call of its parent */
    struct upp_str options;    /* JSON: instructions, metadata and all else the request said; no text: none */
    struct upp_str error;   /* UPPError as JSON; of a completed run the limit that cut it short: {"reason":"max_steps"}.
                             * No text: none */
    struct upp_usage usage; /* when it has ended: with all below it */
    int64_t          created_ms, started_ms, ended_ms; /* 0: not yet */
    int64_t          expires_ms;                       /* a waiting run; 0: never */
};

#endif
