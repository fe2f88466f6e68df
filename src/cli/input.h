/* cli/input.h — input of a command: a file or standard input, whole or line by line. */
#pragma once

#include <weft/fiber.h>
#include <yyjson.h>

#include "base/buf.h"

struct cli_input {
    const char *name; /* for messages; standard input is "-" */
    int fd;
    struct wb_buf text;
    size_t max;     /* bytes of the whole, or of a line */
    size_t from;    /* where the next line begins in text */
    size_t seen;    /* up to here there is no line end */
    uint64_t lines; /* lines returned */
    uint64_t size;  /* of a file; 0: nobody knows */
    uint64_t bytes; /* read so far */
    bool ended, skipping;
    void (*before)(void); /* called before every wait for more; NULL: nothing */
};

/* "-" or NULL: standard input. */
int cli_input_open(struct cli_input *in, const char *file, size_t max, struct upp_err *err) UPP_MUST_CHECK;
void cli_input_close(struct cli_input *in);

/* All of it. */
int cli_input_all(struct cli_input *in, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The next line, without its end, valid until the next call. 1: there is one; 0: the end. -UPP_ELIMIT: it is too long
 * and was skipped; the caller may continue. Holds at most one line and one piece in memory. */
int cli_input_line(struct cli_input *in, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* What somebody who decides about a waiting call is shown and asked. */

enum { CLI_DECISION_MAX = 4096 /* bytes of an answer */ };

/* Adds the tool and all of the arguments of an item of GET /v1/approvals, as cli_reveal does. */
void cli_waiting_call(struct wb_buf *out, yyjson_val *item);

/* Can somebody be asked? Standard input and standard error are terminals. */
bool cli_can_ask(void);

/* Asks on standard error and reads one line, trimmed. Keys that were pressed before the question are no answer to it:
 * nobody had seen it. The end of the input is an empty line. */
WEFT_SUSPENDS int cli_ask_person(const char *question, struct wb_buf *ret, struct upp_err *err) UPP_MUST_CHECK;
