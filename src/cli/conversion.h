/* cli/conversion.h — one document from dialect to dialect, with its losses told on standard error. */
#ifndef CLI_CONVERTING_H
#define CLI_CONVERTING_H

#include <stdio.h>

#include "cli/cli.h"
#include "cli/terminal.h"
#include "dialects/core/convert.h"
#include "runtime/config.h"

/* Which document: a file, or a line of it. */
struct cli_place {
    const char *file;
    uint64_t    line; /* 0: the whole */
};

struct cli_conversion {
    const struct cli_command     *self;
    const struct wd_document_ops *from, *to; /* from NULL: whichever it is */
    const struct wc_config       *config;    /* where agents have their system prompts; NULL: nobody knows them */
    struct wd_convert_opts        opts;
    bool                          seeded; /* opts.seed counts; else it is made from the document's bytes */
    bool                          verify;
    bool                          report; /* losses as JSON lines, all of them */
    bool                          many;   /* each says its file too */
    bool                          log;    /* what is read is lines that are the items of one list */
    bool                          wrong;  /* something was written that its own dialect does not take */
    struct cli_progress           progress;
};

enum {
    CLI_LOSSES_SHOWN = 20,       /* of a document, to people */
    CLI_RETURN_BYTES = 32 << 20, /* of a document that is sent back to find its losses; longer: with --report alone */
};

/* Adds the converted document to out. What of it was lost, or could not be understood, is told. */
int cli_convert_text(struct cli_conversion *c, const struct cli_place *at, struct upp_str text, struct wb_buf *out,
                     struct upp_err *err) UPP_MUST_CHECK;

/* "weft NAME: FILE:LINE: sentence". */
void cli_tell(const struct cli_command *self, const struct cli_place *at, const struct upp_err *err);

/* "FILE:LINE", and the same as members of an object that is open. */
void cli_place_print(FILE *out, const struct cli_place *at);
void cli_place_write(struct wj_writer *w, const struct cli_place *at);

/* "pointer", "rule", "severity" and "sentence" of an object that is open. */
void cli_problem_write(struct wj_writer *w, const struct wd_problem *p);
void cli_problem_print(FILE *out, const struct cli_place *at, const struct wd_problem *p);

/* A line of JSON to a stream; `w` has written it into a buffer of its own. */
int cli_line_out(FILE *out, struct wj_writer *w) UPP_MUST_CHECK;

/* The dialect of an option, or NULL and it was said which there are. */
const struct wd_document_ops *cli_dialect(const struct cli_command *self, const char *option, const char *name);

#endif
