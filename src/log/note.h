/* log/note.h — what is noted about a message after it was said.
 *
 * Entries do not change. A client may still change the metadata of a message: the new metadata is a value beside the
 * log, named by the entry's id, and whoever shows or exports the message reads it too. Threads that share the entry
 * share the note. It is dropped with the message, and with its node.
 */
#pragma once

#include "log/log.h"

#define WL_NOTES "notes"

enum { WL_NOTE_MAX = 1 << 20 };

/* Sets members of the message's metadata: `members` is an object, each of its members replaces the one of that name.
 * The caller has found the line. -UPP_ENOTFOUND: the message was deleted meanwhile. */
WEFT_SUSPENDS int wl_note_put(struct wl_store *s, const struct wl_owner *o, const struct wl_line *line,
                              struct upp_str members, struct upp_err *err) UPP_MUST_CHECK;

/* Puts what is noted about these lines into their metadata. They are of any nodes, in any order. */
WEFT_SUSPENDS int wl_notes_read(struct wl_store *s, const struct wl_owner *o, struct wl_line *lines, size_t n,
                                struct wb_arena *a, struct upp_err *err) UPP_MUST_CHECK;

/* The value of one entry's note, without its bytes: for commits that drop it. */
int wl_note_of(struct wb_arena *a, struct wm_id at, struct wl_value *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Drops all notes about entries of a node. */
WEFT_SUSPENDS int wl_notes_drop(struct wl_store *s, const struct wl_owner *o, uint64_t node,
                                struct upp_err *err) UPP_MUST_CHECK;
