/* remote/aitp.h — the two halves of the AITP adapter: an agent behind an AITP-T01 service.
 *
 * One call is several requests, one after the other: create the thread, add the messages, start a run and wait for its
 * end, list the messages. A service that has no runs (the four calls of T01) is asked for its messages, less and less
 * often, until there is one of another actor.
 */
#pragma once

#include "remote/remote.h"

#define RM_AITP "aitp"

enum rm_aitp_stage {
    RM_CREATE = 0,  /* POST /v1/threads */
    RM_CREATE_ALSO, /* POST /v1/thread, as T01 has it */
    RM_UPLOAD,      /* POST /v1/files */
    RM_ADD,         /* POST /v1/threads/{t}/messages */
    RM_RUN,         /* POST /v1/threads/{t}/runs */
    RM_WATCH,       /* GET /v1/threads/{t}/runs/{r} */
    RM_LIST,        /* GET /v1/threads/{t}/messages */
    RM_FETCH,       /* GET /v1/files/{f}/content */
    RM_DONE,
};

enum {
    RM_ID = 128,         /* bytes of an id of the service */
    RM_PAGES = 1000,     /* of a list of messages */
    RM_ATTACHMENTS = 16, /* of a message */
    RM_FAILURES = 5,     /* answers in a row that a poll has not got */
    RM_FIRST_MS = 50,    /* between two polls, at first ... */
    RM_LAST_MS = 2000,   /* ... and later */
};

struct rm_reply {
    struct upp_str id, actor;
    struct upp_str text;
};

/* A call under way. */
struct rm_exchange {
    bool ready;
    bool polls;    /* the service has no runs */
    bool no_files; /* nor does it take files */
    bool again;    /* the last request is to be made again, later */
    uint8_t stage; /* of the last request: enum rm_aitp_stage */
    struct rm_session session;
    struct upp_str caller; /* the actor that we are there */
    yyjson_val *actor;     /* that of the configuration; NULL: none */
    struct upp_str thread, run, after;
    size_t at;        /* ADD: the next message of the request to be added */
    uint64_t known;   /* messages of others that earlier calls have seen */
    uint64_t foreign; /* in the pages so far */
    uint64_t before;  /* in those up to `after`, where the page that is read begins */
    unsigned pages, failures;
    uint64_t wait_ms, from_ms;
    WB_VEC(struct upp_str) sent; /* ADD: ids of the message's files there */
    WB_VEC(struct rm_reply) replies;
    WB_VEC(struct upp_str) files;
    uint64_t dropped; /* attachments that are not fetched: there are too many */
    WB_VEC(struct upp_media) media;
};

uint8_t rm_aitp_stage(const struct upp_request *req, const struct rm_exchange *e);

int rm_aitp_begin(struct upp__reader *r, struct upp_err *err) UPP_MUST_CHECK;

/* The message of the request that is to be added at or after `at`; SIZE_MAX: none. */
size_t rm_aitp_next(const struct upp_request *req, const struct rm_session *s, size_t at);

int rm_aitp_whole(struct upp__reader *r, struct upp_str body, struct upp_err *err);
bool rm_aitp_refused(struct upp__reader *r, int status);
void rm_aitp_done(struct upp__reader *r);
void rm_aitp_error(yyjson_val *v, struct upp__provider_error *t);
