/* server/http/multipart.h — reads multipart/form-data (RFC 7578) as its bytes arrive.
 *
 * No I/O, and no memory but the headers of one part: bytes in, events out. The content of a part is returned as slices
 * of the input, so that a part may be longer than memory.
 *
 *     while ((r = sv_multipart_next(&m, &input, &data, err)) > 0)      // 0: needs more input
 *         switch (r) { case SV_MULTI_PART: ... m.name ... }
 *
 * Invariants
 *  1. Events do not depend on how the bytes were split, except for where one SV_MULTI_DATA ends and the next begins.
 *  2. Every SV_MULTI_PART is followed by one SV_MULTI_PART_END before the next part or SV_MULTI_END, unless it fails.
 *  3. After a failure every further call fails.
 */
#pragma once

#include "base/buf.h"

enum {
    SV_MULTI_BOUNDARY = 70,  /* RFC 2046 5.1.1 */
    SV_MULTI_HEAD = 8 << 10, /* bytes of the headers of one part */
    SV_MULTI_PARTS = 64,
    SV_MULTI_PREAMBLE = 4 << 10, /* bytes before the first part */
};

enum sv_multi_event {
    SV_MULTI_MORE = 0, /* the input is used up */
    SV_MULTI_PART,     /* a part begins: name, filename and type are set */
    SV_MULTI_DATA,     /* bytes of it, valid as long as the input */
    SV_MULTI_PART_END,
    SV_MULTI_END, /* the last part was complete; what follows is skipped */
};

struct sv_multipart {
    char delimiter[4 + SV_MULTI_BOUNDARY]; /* CR LF - - boundary */
    size_t n_delimiter;
    size_t matched; /* bytes of the delimiter that the input so far ends with */
    uint8_t state, last;
    bool failed;
    unsigned parts; /* so far */
    uint64_t at;    /* bytes read */

    struct wb_buf head, texts;
    /* Of the part, until the next one. filename: NULL without one, and not checked in any way. type: may be empty. */
    struct upp_str name, filename, type;
};

/* From the Content-Type of the request. -UPP_EINVALID: it is another one, or has no usable boundary. */
int sv_multipart_init(struct sv_multipart *m, struct upp_str content_type, struct upp_err *err) UPP_MUST_CHECK;
void sv_multipart_done(struct sv_multipart *m); /* accepts one that is all zero */

/* The next event (enum sv_multi_event); consumes input. -UPP_EINVALID: the body is broken; the error names the byte. */
int sv_multipart_next(struct sv_multipart *m, struct upp_str *input, struct upp_str *data,
                      struct upp_err *err) UPP_MUST_CHECK;

/* The body has ended. -UPP_EINVALID: before its last boundary. */
int sv_multipart_check_end(const struct sv_multipart *m, struct upp_err *err) UPP_MUST_CHECK;
