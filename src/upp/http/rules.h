/* upp/http/rules.h — what outgoing HTTP needs and libcurl does not decide: heads of answers, what may be sent where. */
#pragma once

#include <upp/http.h>

#include "base/buf.h"

/* The head of an answer as its lines come. Those of an interim answer (1xx) are forgotten when the next one begins. */
struct upp__head {
    int status;
    bool whole;
    size_t n;
    struct wb_buf text; /* name NUL value NUL ... */
    struct upp_header *headers;
};
enum { UPP__HEAD_LINES = 256, UPP__HEAD_BYTES = 64 << 10 };

void upp__head_init(struct upp__head *h);
void upp__head_done(struct upp__head *h);

/* Takes one line, with or without its line end: 1, the head is whole; 0, more follows. -UPP_ELIMIT, -UPP_EPROTO,
 * -UPP_ENOMEM. Lines after the end (trailers) are passed over. */
int upp__head_line(struct upp__head *h, struct upp_str line, struct upp_err *err) UPP_MUST_CHECK;

struct upp_str upp__head_get(const struct upp__head *h, struct upp_str name);

/* -UPP_EINVALID, with the name of a header, never with a value: nothing in a request may end its line early. */
int upp__http_check(const struct upp_http_request *req, struct upp_err *err) UPP_MUST_CHECK;

/* Does this answer point elsewhere? */
bool upp__http_moved(const struct upp__head *h);

/* May this header go along to another host? None that could be a credential. */
bool upp__http_travels(struct upp_str name);

/* 0: a coding that is known not to need much memory (1: and it is none). -UPP_EPROTO: any other, or several. */
int upp__http_coding(struct upp_str content_encoding, struct upp_err *err) UPP_MUST_CHECK;

/* A library's message made safe to show: cut at a '?', where a URL has its query, and ASCII only. */
void upp__http_cause(struct upp_err *err, const char *text);
