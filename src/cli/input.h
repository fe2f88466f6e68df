/* cli/input.h — input of a command: a file or standard input, whole or line by line. */
#pragma once

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
