/* upp/schema.h — does a JSON value fit a JSON Schema, and if not, why?
 *
 *     struct upp_schema *s;
 *     struct upp_schema_report report;
 *     int r = upp_schema_new(UPP_STR("{\"type\":\"object\",\"required\":[\"city\"]}"), &s, &err);
 *     ...
 *     r = upp_schema_check(s, arguments, NULL, &report, &err);
 *     if (r > 0)
 *         puts(report.text);               "/city: missing"
 *
 * For the arguments of tools and for structured answers: JSON Schema 2020-12 and draft 7, the part that says what a
 * value looks like. docs/schema.md has the list of what is checked, what is ignored and what is refused, and the
 * limits.
 *
 * A schema never changes once it is made: any number of threads may check with it at once.
 */
#ifndef UPP_SCHEMA_H
#define UPP_SCHEMA_H

#include <upp/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct upp_schema;

/* Makes one from its JSON, which is copied. -UPP_EINVALID: it is no JSON, or no schema, or one that cannot be checked
 * here; err.where is the pointer of what is wrong. -UPP_ELIMIT: larger than a schema may be. -UPP_ENOMEM. */
UPP_API int upp_schema_new(struct upp_str json, struct upp_schema **ret, struct upp_err *err) UPP_MUST_CHECK;

/* NULL is fine. */
UPP_API void upp_schema_free(struct upp_schema *s);

static inline void upp_schema_freep(struct upp_schema **s)
{
    upp_schema_free(*s);
}

/* So many violations are told one by one; of the others there is the number. */
enum { UPP_SCHEMA_SHOWN = 16 };

/* What does not fit, in words that a model can read. A plain value: nothing to free. */
struct upp_schema_report {
    uint32_t violations; /* how many there are; 0: the value fits */
    uint32_t shown;      /* how many have a line in the text */
    char     text[3064]; /* "/days: 3.5 is not an integer", a line each, and "and 3 more"; UTF-8, ends in NUL */
};

struct upp_schema_opts {
    uint32_t size;
    /* Called for each violation, up to UPP_SCHEMA_SHOWN: its JSON pointer ("" is the whole value; of a long one the
     * end) and its reason; UTF-8, for the time of the call. NULL: not called. */
    void (*violation)(void *arg, const char *pointer, const char *reason);
    void *arg;
};

/* >= 0: how many violations there are; 0: the value fits. opts and report may be NULL; the report is set whenever the
 * result is >= 0. -UPP_EINVALID: not JSON. -UPP_ELIMIT: too long, too deep, or too much work to find out (the message
 * says which). -UPP_ENOMEM. A value that could not be checked does not fit. */
UPP_API int upp_schema_check(const struct upp_schema *s, struct upp_str json, const struct upp_schema_opts *opts,
                             struct upp_schema_report *report, struct upp_err *err) UPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
