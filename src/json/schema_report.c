/* json/schema_report.c — formats violations. */
#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"
#include "json/pointer.h"
#include "json/schema_rules.h"

enum { END = 32 }; /* room for "and 4294967295 more" */

const char *wj_show(yyjson_val *v, char buf[WJ_SHOW_SIZE])
{
    struct upp_str s = wj_text(v);
    if (yyjson_is_str(v))
        return wj_quote(s, buf, WJ_SHOW_SIZE);
    if (!yyjson_is_raw(v) || s.n > 40)
        return wj_found(v, buf, WJ_SHOW_SIZE);
    (void)snprintf(buf, WJ_SHOW_SIZE, "%.*s", UPP_FMT(s));
    return buf;
}

/* Adds a line to the text if it fits. */
static void add_line(struct wj_report *t, const char *pointer, const char *reason)
{
    struct upp_schema_report *to = t->to;
    size_t room = sizeof to->text - END - t->n;
    int n = snprintf(to->text + t->n, room, "%s%s: %s", t->n ? "\n" : "", pointer[0] ? pointer : "the value", reason);
    if (n < 0 || (size_t)n >= room) {
        to->text[t->n] = 0;
        return;
    }
    t->n += (size_t)n;
    to->shown++;
}

static void add(struct wj_report *t, const char *pointer, const char *reason)
{
    if (t->violations >= UPP_SCHEMA_SHOWN)
        return;
    if (t->to)
        add_line(t, pointer, reason);
    if (t->opts && t->opts->violation)
        t->opts->violation(t->opts->arg, pointer, reason);
}

void wj_report(struct wj_report *t, const yyjson_val *v, const char *fmt, ...)
{
    if (t->violations < UPP_SCHEMA_SHOWN) {
        char where[128], reason[256];
        struct wj_pointer at;
        va_list args;
        size_t good;
        wj_pointer_init(&at, where, sizeof where);
        wj_pointer_find(&at, t->root, v);
        va_start(args, fmt);
        (void)vsnprintf(reason, sizeof reason, fmt, args);
        va_end(args);
        if (!wb_utf8_valid(wb_cstr(reason), &good)) /* cut inside a character */
            reason[good] = 0;
        add(t, where, reason);
    }
    t->violations++;
}

void wj_report_missing(struct wj_report *t, const yyjson_val *object, struct upp_str name)
{
    if (t->violations < UPP_SCHEMA_SHOWN) {
        char where[128];
        struct wj_pointer at;
        wj_pointer_init(&at, where, sizeof where);
        wj_pointer_find(&at, t->root, object);
        wj_pointer_name(&at, name);
        add(t, where, "missing");
    }
    t->violations++;
}

void wj_report_type(struct wj_report *t, yyjson_val *v, unsigned types)
{
    static const struct upp_str names[] = {
        UPP_STR_INIT("null"),     UPP_STR_INIT("a boolean"), UPP_STR_INIT("an object"), UPP_STR_INIT("an array"),
        UPP_STR_INIT("a number"), UPP_STR_INIT("a string"),  UPP_STR_INIT("an integer")}; /* by bit */
    char shown[WJ_SHOW_SIZE];
    struct wj_list list = {0};
    for (size_t i = 0; i < WB_LEN(names); i++)
        if (types >> i & 1)
            wj_list_add(&list, " or ", "", names[i]);
    wj_report(t, v, "%s is not %s", wj_show(v, shown), list.p);
}

void wj_report_choices(struct wj_report *t, yyjson_val *v, yyjson_val *choices)
{
    char shown[WJ_SHOW_SIZE];
    struct wj_list list = {0};
    yyjson_val *item = unsafe_yyjson_get_first(choices);
    for (size_t n = unsafe_yyjson_get_len(choices); n && !list.cut; n--, item = unsafe_yyjson_get_next(item))
        wj_list_add(&list, ", ", "", wb_cstr(wj_show(item, shown)));
    wj_report(t, v, "%s is not one of %s", wj_show(v, shown), list.n ? list.p : "none");
}

void wj_report_constant(struct wj_report *t, yyjson_val *v, yyjson_val *constant)
{
    char shown[WJ_SHOW_SIZE], want[WJ_SHOW_SIZE];
    if (unsafe_yyjson_is_ctn(constant))
        wj_report(t, v, "%s is not the one value that is allowed", wj_show(v, shown));
    else
        wj_report(t, v, "%s is not %s", wj_show(v, shown), wj_show(constant, want));
}

void wj_report_unknown(struct wj_report *t, yyjson_val *name, const struct wj_object_rules *o)
{
    char quoted[WJ_QUOTED];
    struct wj_list list = {0};
    for (size_t i = 0; i < o->n && !list.cut; i++)
        if (o->properties[i].rules && !o->properties[i].rules->never)
            wj_list_add(&list, ", ", "", wb_cstr(wj_quote(o->properties[i].name, quoted, sizeof quoted)));
    if (list.n && !o->n_patterns)
        wj_report(t, name, "not allowed; allowed are %s", list.p);
    else
        wj_report(t, name, "not allowed here");
}

void wj_report_none(struct wj_report *t, yyjson_val *v, size_t n)
{
    char shown[WJ_SHOW_SIZE];
    wj_report(t, v, "%s fits none of the %zu alternatives", wj_show(v, shown), n);
}

void wj_report_end(struct wj_report *t)
{
    if (!t->to)
        return;
    t->to->violations = t->violations;
    if (t->to->shown < t->violations)
        (void)snprintf(t->to->text + t->n, sizeof t->to->text - t->n, "%sand %u more", t->n ? "\n" : "",
                       (unsigned)(t->violations - t->to->shown));
}
