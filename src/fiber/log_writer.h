/* fiber/log_writer.h — a thread that writes the log, so that no loop waits for who reads it.
 *
 * While it runs, lines are copied into a ring and the thread writes them, one write each and in their order. Who logs
 * never waits: when the ring is full, because nobody reads the pipe or the disk is stuck, lines are dropped, counted
 * (wb_log_lost), and their number is logged when there is room again.
 *
 * Like the log it is one in a process and belongs to the program. Without it, and in children that a fork makes, lines
 * are written by who logs.
 */
#pragma once

#include <upp/base.h>

enum { WEFT__LOG_RING = 1 << 20 /* bytes: thousands of lines */, WEFT__LOG_LAST_MS = 1000 };

/* bytes: of the ring, 0: WEFT__LOG_RING; a longer line is always dropped. -UPP_ENOMEM, -UPP_ELIMIT: no thread.
 * -UPP_EINVALID: there is one. The lines of the ring are also written before a fault or abort() ends the process,
 * at most for WEFT__LOG_LAST_MS. */
int weft__log_writer_start(size_t bytes, struct upp_err *err) UPP_MUST_CHECK;

/* Waits until everything is written, at most limit_ms. False: something is not, or the descriptor takes no more. The
 * thread goes on with that and frees itself; a write by somebody else would hang as it does. True without a writer. */
bool weft__log_writer_stop(unsigned limit_ms);

/* Waits until everything is written, at most limit_ms. For handlers of faults too: it takes no lock. */
bool weft__log_writer_flush(unsigned limit_ms);
