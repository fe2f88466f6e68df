/* server/http/core.h — the loops of a server.
 *
 * The server's own loop accepts connections and reads requests. A request about a thread or a run is handled on the
 * loop where that is at home (run/engine.h), which also sends its stream: nothing that the engine has in memory is
 * touched by another thread, and the connection belongs to one loop at a time.
 */
#pragma once

#include <stdatomic.h>

#include "base/list.h"
#include "server/http/route.h"

struct wr_engine;

struct sv_core {
    struct weft_loop *loop;
    struct wr_engine *engine;

    /* Used only on its loop. */
    struct wb_link streams;
    struct sv_date date;

    _Atomic uint64_t n_streams; /* open ones */
    _Atomic uint32_t waking;    /* messages of sv_core_wake that are under way */
};

enum { SV_CORES = 64 };

/* An id for a new thread. Its home is the core where the fewest runs work: a run stays on its core to its end. */
int sv_core_thread_id(const struct sv_server *server, struct wb_uuid *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Runs a handler on a core, and waits for it. If the caller is cancelled, so is the handler; this returns when it has
 * ended, because the exchange is on the caller's stack. */
WEFT_SUSPENDS int sv_core_run(struct sv_core *core, struct sv_exchange *x, sv_handler *handler,
                              struct upp_err *err) UPP_MUST_CHECK;

/* Makes all streams of a core look whether they have to end. From any loop. */
void sv_core_wake(struct sv_core *core);

/* Waits until all that sv_core_wake has sent is done: before the core is freed. */
WEFT_SUSPENDS void sv_core_settle(struct sv_core *core);
