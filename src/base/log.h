/* base/log.h — the logger: one line per event.
 *
 *     wb_log(WB_INFO, "run started", WB_LS("run", id), WB_LI("step", 3), WB_LSECRET("key", key));
 *
 *     time=2026-02-03T04:05:06.789Z level=info msg="run started" run=2c1e step=3 key=***
 *     {"time":"2026-02-03T04:05:06.789Z","level":"info","msg":"run started","run":"2c1e","step":3,"key":"***"}
 *
 * The message and the keys are literals; whatever varies is a field with a type. So a value cannot pass for a field or
 * a line: in the first form it is quoted and escaped where it must be, in the second it is JSON. A secret has a type
 * of its own and is never shown. Nothing here allocates, and a line that is filtered out costs one load.
 *
 * There is one log in a process and it belongs to the program: it is off until wb_log_setup. Libraries log at debug
 * and below, programs log once. Logging never fails its caller; lines that could not be written are counted.
 */
#pragma once

#include <stdatomic.h>
#include <upp/base.h>

#include "base/defs.h"
#include "base/str.h"

struct wb_secret;

enum wb_log_level { WB_OFF, WB_ERROR, WB_WARN, WB_INFO, WB_DEBUG, WB_TRACE };

enum wb_log_format { WB_LOG_TEXT, WB_LOG_JSON };

enum wb_log_kind {
    WB_LOG_END, /* after the last */
    WB_LOG_STR,
    WB_LOG_INT,
    WB_LOG_UINT,
    WB_LOG_DOUBLE,
    WB_LOG_MS,
    WB_LOG_BOOL,
    WB_LOG_SECRET,
    WB_LOG_ERR,
};

struct wb_log_field {
    enum wb_log_kind kind;
    const char *key; /* a to z, 0 to 9, _ and . */
    union {
        struct upp_str str;
        int64_t i;
        uint64_t u;
        double d;
        bool b;
        const struct wb_secret *secret;
        const struct upp_err *err;
    } as;
};

/* clang-format off */
#define WB_LOG_FIELD_(kind_, key_, member, value) {.kind = (kind_), .key = "" key_, .as.member = (value)}
#define WB_LS(key, text)        WB_LOG_FIELD_(WB_LOG_STR, key, str, text)              /* struct upp_str */
#define WB_LZ(key, chars)       WB_LOG_FIELD_(WB_LOG_STR, key, str, wb_cstr(chars))    /* C string or NULL */
#define WB_LI(key, number)      WB_LOG_FIELD_(WB_LOG_INT, key, i, number)
#define WB_LU(key, number)      WB_LOG_FIELD_(WB_LOG_UINT, key, u, number)
#define WB_LD(key, number)      WB_LOG_FIELD_(WB_LOG_DOUBLE, key, d, number)
#define WB_LMS(key, us)         WB_LOG_FIELD_(WB_LOG_MS, key, u, us)                   /* microseconds, written as ms: 1.234 */
#define WB_LB(key, truth)       WB_LOG_FIELD_(WB_LOG_BOOL, key, b, truth)
#define WB_LSECRET(key, hidden) WB_LOG_FIELD_(WB_LOG_SECRET, key, secret, hidden)      /* ***, or null */
#define WB_LERR(error)          WB_LOG_FIELD_(WB_LOG_ERR, "err", err, error)           /* err, code, and what else is set */
/* clang-format on */

WB_EXPORT_BEGIN

/* The level in force; wb_log reads it without a call. Changed by wb_log_setup. */
extern atomic_int wb_log_max;

/* Lines up to `level` go to fd, one write each. Call it before there are threads, or while no thread logs. */
void wb_log_setup(enum wb_log_level level, enum wb_log_format format, int fd);

/* From now on lines go to a function instead, without the line end; NULL: to the descriptor again. It may be called
 * by several threads at once, must not suspend a fiber, and what it logs itself is lost. */
typedef void wb_log_sink(void *arg, enum wb_log_level level, struct upp_str line);
void wb_log_to(wb_log_sink *sink, void *arg);

/* From now on lines for the descriptor are given to a function, which takes them or returns false: the line is lost.
 * Any thread calls it; it must not wait. NULL: who logs writes. */
typedef bool wb_log_queue(struct upp_str line);
void wb_log_via(wb_log_queue *queue);

/* For who empties the queue: writes such a line, and waits for who reads it. False: it could not be written. */
bool wb_log_write(struct upp_str line);
int wb_log_fd(void);

/* Lines that could not be written, or only in part, since the program started. */
uint64_t wb_log_lost(void);

/* A finished line, to where lines go (before wb_log_setup: to standard error), whatever its level and
 * length. It begins with a line feed, which is written after a torn line, and ends with one. */
void wb_log_put(enum wb_log_level level, struct upp_str line);

/* How such a line is wanted. */
enum wb_log_format wb_log_format_of(void);

/* wb_log calls this for a level in force. Fields end with WB_LOG_END. */
void wb_log_line(enum wb_log_level level, const char *msg, const struct wb_log_field *fields);

WB_EXPORT_END

static inline bool wb_log_on(enum wb_log_level level)
{
    return (int)level <= atomic_load_explicit(&wb_log_max, memory_order_relaxed);
}

/* wb_log(level, "message", fields...); fields are evaluated only if the level is in force. */
#define wb_log(level, ...) wb_log_(level, __VA_ARGS__, {.kind = WB_LOG_END})
#define wb_log_(level, msg, ...)                                                                                       \
    do {                                                                                                               \
        if (WB_UNLIKELY(wb_log_on(level)))                                                                             \
            wb_log_line((level), "" msg, (const struct wb_log_field[]){__VA_ARGS__});                                  \
    } while (0)

/* Fields that every line has from here to the end of the scope:
 *
 *     WB_LOG_CTX(WB_LS("run", run->id));
 *
 * They are in a chain of values on the stack, whose innermost one the thread knows. A fiber scheduler swaps it when it
 * switches, so that the context belongs to the fiber. */
struct wb_log_ctx {
    struct wb_log_ctx *outer;
    const struct wb_log_field *fields;
};

/* clang-format off */
#define WB_LOG_CTX(...)        WB_LOG_CTX_(__LINE__, __VA_ARGS__)
#define WB_LOG_CTX_(line, ...) WB_LOG_CTX__(line, __VA_ARGS__)
#define WB_LOG_CTX__(line, ...)                                                                                        \
    const struct wb_log_field wb_log_fields_##line[] = {__VA_ARGS__, {.kind = WB_LOG_END}};                            \
    WB_CLEANUP(wb_log_ctx_pop) struct wb_log_ctx wb_log_ctx_##line = {                                                 \
        .fields = wb_log_fields_##line, .outer = wb_log_ctx_swap(&wb_log_ctx_##line)}
/* clang-format on */

WB_EXPORT_BEGIN

/* Makes `top` the innermost context of this thread (NULL: none) and returns the one before. */
struct wb_log_ctx *wb_log_ctx_swap(struct wb_log_ctx *top);

WB_EXPORT_END

static inline void wb_log_ctx_pop(struct wb_log_ctx *c)
{
    (void)wb_log_ctx_swap(c->outer);
}
