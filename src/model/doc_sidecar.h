/* model/doc_sidecar.h — data of an imported document that the log has no field for, as JSON texts stored in the row of
 * its entries (struct wm_sidecar, model/row.h).
 *
 * - thread: {"thread", "dialect", "id", "created", "updated", "parent", "parentAt", "agents": [{"id", "name", "model",
 *   ...}]}
 * - turn: {"agent", "id", "run", "started", "ended", "partial", "usage": [...]}
 * - entry: {"id", "agent", "model", "provider", "response", "stop", "usage": [...]}
 *
 * `thread` names the thread that the document became: other threads that share its entries are not meant. Agents are
 * indexes in the document's list. Usage: input, output, cache read, cache write, and of the output reasoning.
 */
#pragma once

#include "base/buf.h"
#include "base/uuid.h"
#include "model/doc.h"

/* Before the id of the thread and the index of the agent: names the prompts that an imported document had for it. */
#define WM_CONFIG_URN "urn:weft:config:"

WB_EXPORT_BEGIN

/* Append the JSON text to out. */
int wm_sidecar_thread(const struct wm_doc *d, struct wb_uuid thread, struct wb_buf *out,
                      struct upp_err *err) UPP_MUST_CHECK;
int wm_sidecar_turn(const struct wm_doc_turn *t, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

/* Writes the entry's `agent` only if it differs from the turn's. Writes nothing if there is nothing to store. */
int wm_sidecar_entry(const struct wm_doc_entry *e, uint32_t turns_agent, struct wb_buf *out,
                     struct upp_err *err) UPP_MUST_CHECK;

/* Read them again; texts are in the arena. Agents are added to those of the document; agent numbers in turns and
 * entries are indexes in the list as it was written. -UPP_ESTORE: invalid text. */
int wm_sidecar_thread_read(struct wb_arena *a, struct upp_str text, struct wm_doc *d, struct wb_uuid *thread,
                           struct upp_err *err) UPP_MUST_CHECK;
int wm_sidecar_turn_read(struct wb_arena *a, struct upp_str text, struct wm_doc_turn *t,
                         struct upp_err *err) UPP_MUST_CHECK;
int wm_sidecar_entry_read(struct wb_arena *a, struct upp_str text, struct wm_doc_entry *e,
                          struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END
