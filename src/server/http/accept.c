/* server/http/accept.c — parses the header Accept, and compares the weights of two media types. */
#include "server/http/accept.h"

#include "base/defs.h"

enum { WHOLE = 1000 }; /* a weight has three digits behind the point */

/* How well a range of the header fits a type. */
enum fit { NONE, ANY, FAMILY, EXACT };

struct preference {
    enum fit fit; /* of the closest range, whose weight counts */
    unsigned weight;
};

static enum fit fit_of(struct upp_str range, struct upp_str type)
{
    size_t slash = wb_str_find(type, UPP_STR("/"), 0);
    if (wb_str_eq_nocase(range, type))
        return EXACT;
    if (wb_str_eq(range, UPP_STR("*/*")))
        return ANY;
    bool family = wb_str_ends(range, UPP_STR("/*")) && range.n == slash + 2 &&
                  wb_str_eq_nocase(wb_str_sub(range, 0, slash), wb_str_sub(type, 0, slash));
    return family ? FAMILY : NONE;
}

/* "0.5", "1", "0.123". One that is no weight says nothing. */
static unsigned parse_weight(struct upp_str s)
{
    unsigned weight = 0, digit = WHOLE;
    for (size_t i = 0; i < s.n; i++) {
        if (i == 1 && s.p[i] == '.')
            continue;
        if (i == 1 || s.p[i] < '0' || s.p[i] > '9')
            return WHOLE;
        weight += (unsigned)(s.p[i] - '0') * digit;
        digit /= 10;
    }
    return s.n ? WB_MIN(weight, (unsigned)WHOLE) : (unsigned)WHOLE;
}

static unsigned weight_of(struct upp_str parameters)
{
    struct upp_str one;
    while (wb_str_split(&parameters, ';', &one)) {
        one = wb_str_trim(one);
        if (one.n > 1 && (one.p[0] == 'q' || one.p[0] == 'Q') && one.p[1] == '=')
            return parse_weight(wb_str_sub(one, 2, SIZE_MAX));
    }
    return WHOLE;
}

static struct preference preference_of(struct upp_str accept, struct upp_str type)
{
    struct preference best = {NONE, 0};
    struct upp_str range, name;
    while (wb_str_split(&accept, ',', &range)) {
        if (!wb_str_split(&range, ';', &name))
            continue;
        enum fit fit = fit_of(wb_str_trim(name), type);
        if (fit > best.fit)
            best = (struct preference){fit, weight_of(range)};
    }
    return best;
}

bool sv_accept_prefers(struct upp_str accept, const char *type, const char *other)
{
    struct preference a = preference_of(accept, wb_cstr(type)), b = preference_of(accept, wb_cstr(other));
    return a.weight != b.weight ? a.weight > b.weight : a.weight && a.fit > b.fit;
}
