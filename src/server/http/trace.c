/* server/http/trace.c — parses `traceparent`, and makes the id of our span. */
#include "server/http/trace.h"

#include <stdio.h>

#include "base/defs.h"
#include "base/random.h"

/* 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 */
enum { TRACE = 3, SPAN = 36, FLAGS = 53, LENGTH = 55 };

/* Lower-case hex digits, not all of them zero. */
static bool is_id(struct upp_str s)
{
    bool some = false;
    for (size_t i = 0; i < s.n; i++) {
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
            return false;
        some |= s.p[i] != '0';
    }
    return some;
}

/* A later version may have more fields behind ours; ff is none. */
static bool is_valid(struct upp_str h)
{
    if (h.n < LENGTH || h.p[2] != '-' || h.p[SPAN - 1] != '-' || h.p[FLAGS - 1] != '-')
        return false;
    struct upp_str version = wb_str_sub(h, 0, 2), flags = wb_str_sub(h, FLAGS, 2);
    bool first = wb_str_eq(version, UPP_STR("00")), none = wb_str_eq(flags, UPP_STR("00"));
    if (first ? h.n != LENGTH : !is_id(version) || wb_str_eq(version, UPP_STR("ff")))
        return false;
    if (h.n > LENGTH && h.p[LENGTH] != '-')
        return false;
    return is_id(wb_str_sub(h, TRACE, 32)) && is_id(wb_str_sub(h, SPAN, 16)) && (none || is_id(flags));
}

bool sv_trace_take(struct sv_trace *ret, struct upp_str header)
{
    unsigned char span[8];
    *ret = (struct sv_trace){.id = ""};
    if (!is_valid(header) || wb_random(span, sizeof span, NULL) < 0)
        return false;
    span[0] |= 1; /* never all zero */
    memcpy(ret->id, header.p + TRACE, 32);
    memcpy(ret->caller, header.p + SPAN, 16);
    int n = snprintf(ret->parent, sizeof ret->parent, "00-%s-", ret->id);
    for (size_t i = 0; i < sizeof span; i++)
        n += snprintf(ret->parent + n, sizeof ret->parent - (size_t)n, "%02x", span[i]);
    static const char digits[] = "0123456789abcdef";
    bool sampled = (strchr(digits, header.p[FLAGS + 1]) - digits) & 1; /* the only flag that is defined */
    (void)snprintf(ret->parent + n, sizeof ret->parent - (size_t)n, "-0%d", sampled);
    return true;
}
