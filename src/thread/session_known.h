/* thread/session_known.h — what the log knows of a node's messages and UPP's JSON has no member for.
 *
 * Who spoke, names of results, metadata and titles of parts, and the system events behind a message stand in
 * metadata.weft of that message, in the words of docs/dialects/upp.md: agent, name, parts, events. Events before the
 * first message of a node stand in the map that the caller names.
 */
#ifndef WA_SESSION_KNOWN_H
#define WA_SESSION_KNOWN_H

#include "thread/session_doc.h"

/* The message of lines[0], with the events among the entries behind it (n with the first). `asked`: the message of the
 * assistant before it on its node, whose calls name results; NULL: none. */
int wa_known_message(struct wb_arena *a, const struct wa_doc_opts *opts, const struct wl_line *lines, size_t n,
                     const struct upp_message *asked, struct upp_message *m, struct upp_err *err) UPP_MUST_CHECK;

/* A map with the events of the lines in its weft; as it is where there are none. */
int wa_known_events(struct wb_arena *a, const struct wa_doc_opts *opts, const struct wl_line *lines, size_t n,
                    struct upp_str *map, struct upp_err *err) UPP_MUST_CHECK;

/* The way back. What is not understood stays in the metadata. */
struct wa_known {
    struct wm_entry  message;
    struct wm_entry *events;
    size_t           n;
};
int wa_known_take(struct wb_arena *a, const struct upp_message *m, const struct upp_message *asked,
                  struct wa_known *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The events of a map, which is then without them. */
int wa_known_take_events(struct wb_arena *a, struct upp_str *map, struct wa_known *ret,
                         struct upp_err *err) UPP_MUST_CHECK;

#endif
