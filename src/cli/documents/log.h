/* cli/documents/log.h — a log as one document: its lines are the items of a list, or a recorded stream.
 *
 * A long log is converted in pieces. Each begins with a message of the user, is read, converted, checked and released;
 * what is written of it goes to a temporary file until all is converted. So memory does not grow with the log.
 */
#pragma once

#include "cli/documents/conversion.h"

/* Adds the document of a log that is in memory. */
int cli_log_read(const struct cli_conversion *c, struct upp_str lines, struct wb_buf *to,
                 struct upp_err *err) UPP_MUST_CHECK;

/* Converts a log, in pieces if it is long, and writes it to `to`. at: the file; after a failure also the line where the
 * piece begins, if there are several. */
int cli_log_convert(struct cli_conversion *c, struct cli_document_ref *at, FILE *to,
                    struct upp_err *err) UPP_MUST_CHECK;
