/* model/doc_sidecar.h — what a document knew and the log has no other place for, as texts that lie beside its entries
 * (model/row.h).
 *
 *     thread  {"thread", "dialect", "id", "created", "updated", "parent", "parentAt", "agents": [{"id", "name",
 * "model", ...}]} turn    {"agent", "id", "run", "started", "ended", "partial", "usage": [...]} entry   {"id", "agent",
 * "model", "provider", "response", "stop", "usage": [...]}
 *
 * `thread` is the one that was made of the document: another that shares its entries is not it. Agents are named by
 * their place in the list of the document. Usage: input, output, cache read, cache write, of the output reasoning.
 */
#ifndef WM_DOC_SIDECAR_H
#define WM_DOC_SIDECAR_H

#include "base/buf.h"
#include "base/uuid.h"
#include "model/doc.h"

WB_EXPORT_BEGIN

/* Adds the text. */
int wm_sidecar_thread(const struct wm_doc *d, struct wb_uuid thread, struct wb_buf *out,
                      struct upp_err *err) UPP_MUST_CHECK;
int wm_sidecar_turn(const struct wm_doc_turn *t, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

/* `agent` of an entry is said where it is not that of its turn. No text: there is nothing to say. */
int wm_sidecar_entry(const struct wm_doc_entry *e, uint32_t turns_agent, struct wb_buf *out,
                     struct upp_err *err) UPP_MUST_CHECK;

/* Reads them again; texts lie in the arena. Agents are added to those of the document; numbers of agents in turns and
 * entries are places in the list as it was written. -UPP_ESTORE: it is no such text. */
int wm_sidecar_thread_read(struct wb_arena *a, struct upp_str text, struct wm_doc *d, struct wb_uuid *thread,
                           struct upp_err *err) UPP_MUST_CHECK;
int wm_sidecar_turn_read(struct wb_arena *a, struct upp_str text, struct wm_doc_turn *t,
                         struct upp_err *err) UPP_MUST_CHECK;
int wm_sidecar_entry_read(struct wb_arena *a, struct upp_str text, struct wm_doc_entry *e,
                          struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END

#endif
