/* server/desk.h — the routes of /v1 over a store in memory, two tenants, agents on scripts, on a simulated loop; and
 * asking in one line.
 */
#pragma once

#include <yyjson.h>

#include "base/arena.h"
#include "server/keys/table.h"
#include "server/talk.h"
#include "support/lazy.h"
#include "support/rig.h"

struct desk {
    struct talk talk;
    struct rig rig;   /* agents: echo; picker, which asks for a client's tool; noter, which notes something */
    struct lazy lazy; /* the store of all of it */
    struct talk_reply reply;
    struct wb_arena arena;
    yyjson_val *json; /* of the last answer; NULL: it is none */
    const char *key;  /* of whoever asks: "one" or "two", which are tenants */
    struct sv_keys *keys;
    char texts[2][SV_KEY_TEXT + 1]; /* of their keys */
    int (*act)(struct desk *d, struct upp_err *err);
    void *arg;
};

/* Opens all of it and lets act happen. */
int desk_play(struct desk *d);

#define DESK(...)                                                                                                      \
    do {                                                                                                               \
        static struct desk desk_;                                                                                      \
        desk_ = (struct desk){__VA_ARGS__};                                                                            \
        CHECK_INT(desk_play(&desk_), 0);                                                                               \
    } while (0)

/* A request ("POST /v1/threads/%s/fork" and what follows), with a body unless that is NULL. The answer is in d->reply
 * and d->json until the next one. */
WEFT_SUSPENDS int desk_ask(struct desk *d, const char *body, struct upp_err *err, const char *fmt, ...)
    UPP_PRINTF(4, 5);

/* The value at "data/0/id" of the last answer; NULL: there is none. As text ("" for what is none), and as a number (-1
 * likewise). */
yyjson_val *desk_get(const struct desk *d, const char *path);
const char *desk_text(const struct desk *d, const char *path);
long long desk_number(const struct desk *d, const char *path);
size_t desk_count(const struct desk *d, const char *path); /* of a list */

/* Is it an error of this status whose sentence has these words? */
bool desk_refused(const struct desk *d, int status, const char *words);

/* An id of the last answer, kept. */
struct desk_id {
    char s[80];
};
struct desk_id desk_id(const struct desk *d, const char *path);

/* A new thread, and a run on one which says `text`, until it has ended or waits. */
WEFT_SUSPENDS int desk_thread(struct desk *d, struct desk_id *ret, struct upp_err *err);
WEFT_SUSPENDS int desk_run(struct desk *d, const char *thread, const char *agent, const char *text,
                           struct upp_err *err);

/* Has every call of it its result? */
WEFT_SUSPENDS int desk_well_formed(struct desk *d, const char *thread, struct upp_err *err);

#define ASK(body, ...)     TRY(desk_ask(d, (body), err, __VA_ARGS__))
#define GET(...)           ASK(NULL, "GET " __VA_ARGS__)
#define REFUSED(status, w) FAIL_UNLESS(desk_refused(d, (status), (w)))
#define IS(path, text)     FAIL_UNLESS(strcmp(desk_text(d, (path)), (text)) == 0)
#define COUNTS(path, n)    FAIL_UNLESS(desk_number(d, (path)) == (n))
