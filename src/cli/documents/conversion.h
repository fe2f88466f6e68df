/* cli/documents/conversion.h — converts one document, and reports its losses on standard error. */
#pragma once

#include <stdio.h>

#include "cli/list.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "dialects/core/convert.h"
#include "runtime/config.h"

/* Which document: a file, or a line of it. */
struct cli_document_ref {
    const char *file;
    uint64_t line; /* 0: the whole */
};

struct cli_conversion {
    const struct cli_command *self;
    const struct wd_document_ops *from, *to; /* from NULL: detected */
    const struct wc_config *config;          /* has the system prompts of agents; NULL: none */
    struct wd_convert_opts opts;
    bool seeded; /* opts.seed is set; else the seed is a hash of the document */
    bool verify;
    bool report;                      /* losses as JSON lines, all of them */
    bool many;                        /* messages include the file */
    bool log;                         /* the input is lines that are the items of one list */
    bool pieces;                      /* the document is a part of one */
    bool wrong;                       /* some output is not valid */
    size_t losses_shown, losses_more; /* of the parts so far */
    struct cli_progress progress;
};

enum {
    CLI_LOSSES_SHOWN = 20,       /* of a document, as text */
    CLI_RETURN_BYTES = 32 << 20, /* of a document that is converted back; longer ones only with --report */
};

/* Reads a document. opts: the conversion's, or of a part of the document. */
int cli_document_read(struct cli_conversion *c, struct upp_str text, const struct wd_convert_opts *opts,
                      struct wd_document *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Adds the converted document to out. Reports losses and problems. */
int cli_document_convert(struct cli_conversion *c, const struct cli_document_ref *at, struct wd_document *d,
                         const struct wd_convert_opts *opts, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

/* Both. */
int cli_convert_text(struct cli_conversion *c, const struct cli_document_ref *at, struct upp_str text,
                     struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

/* How many losses of a document in parts were not shown. */
void cli_losses_end(struct cli_conversion *c, const struct cli_document_ref *at);

/* "weft NAME: FILE:LINE: sentence". */
void cli_report(const struct cli_command *self, const struct cli_document_ref *at, const struct upp_err *err);

/* "FILE:LINE", and the same as members of an object that is open. */
void cli_document_ref_print(FILE *out, const struct cli_document_ref *at);
void cli_document_ref_write(struct wj_writer *w, const struct cli_document_ref *at);

/* "pointer", "rule", "severity" and "sentence" of an object that is open. */
void cli_problem_write(struct wj_writer *w, const struct wd_problem *p);
void cli_problem_print(FILE *out, const struct cli_document_ref *at, const struct wd_problem *p);

/* "pointer", "what" and "why" of an object that is open. */
void cli_loss_write(struct wj_writer *w, const struct wd_loss *loss);

/* The dialect that an option names, or NULL after a message that lists the known ones, and with them the word `also`
 * (NULL: none). */
const struct wd_document_ops *cli_dialect(const struct cli_command *self, const char *option, const char *name,
                                          const char *also);

/* A log as one document: its lines are the items of a list, or a recorded stream.
 *
 * A long log is converted in pieces. Each begins with a message of the user, is read, converted, checked and released;
 * what is written of it goes to a temporary file until all is converted. So memory does not grow with the log.
 */

/* Adds the document of a log that is in memory. */
int cli_log_read(const struct cli_conversion *c, struct upp_str lines, struct wb_buf *to,
                 struct upp_err *err) UPP_MUST_CHECK;

/* Converts a log, in pieces if it is long, and writes it to `to`. at: the file; after a failure also the line where the
 * piece begins, if there are several. */
int cli_log_convert(struct cli_conversion *c, struct cli_document_ref *at, FILE *to,
                    struct upp_err *err) UPP_MUST_CHECK;
