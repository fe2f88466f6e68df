/* support/ledger.h — a dialect that is in no table, written from docs/adding-a-dialect.md alone.
 *
 *     {"ledger": 1, "book": "TITLE", "lines": [
 *         {"by": "user", "at": "2026-01-01T00:00:00Z", "text": "..."},
 *         {"by": "clerk", "at": "...", "text": "..."},
 *         {"by": "clerk", "asks": {"tool": "...", "key": "...", "with": {...}}},
 *         {"key": "...", "answers": ANY, "failed": true}]}
 *
 * A line with a time begins a message; one without goes on with the message before it if that is of the same one. So a
 * message of several parts is several lines, and two messages in a row stay two.
 */
#pragma once

#include "dialects/core/document.h"

extern const struct wd_document_ops ledger;
