/* support/tenth.h — a small dialect that follows docs/adding-a-dialect.md.
 *
 *     {"topic": TEXT, "chat": [{"from": "user", "says": TEXT},
 *                              {"from": "bot", "uses": {"id": TEXT, "tool": TEXT, "with": OBJECT}},
 *                              {"from": "bot", "gave": {"id": TEXT, "is": ANYTHING, "failed": true}}]}
 *
 * A line is said, used or given by the user or by the agent that it names; of which message it is a part nobody knows.
 */
#ifndef TEST_TENTH_H
#define TEST_TENTH_H

#include "dialects/convert.h"

extern const struct wd_document_ops tenth_dialect;

#endif
