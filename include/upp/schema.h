/* upp/schema.h — validates a JSON value against a JSON Schema and reports the violations.
 *
 *     struct upp_schema *s;
 *     struct upp_schema_report report;
 *     int r = upp_schema_new(UPP_STR("{\"type\":\"object\",\"required\":[\"city\"]}"), &s, &err);
 *     ...
 *     r = upp_schema_check(s, arguments, NULL, &report, &err);
 *     if (r > 0)
 *         puts(report.text);               "/city: missing"
 *
 * For the arguments of tools and for structured responses: the structural part of JSON Schema 2020-12 and draft 7.
 * docs/schema.md lists the supported, ignored and rejected keywords, and the limits.
 *
 * A schema is immutable: any number of threads may use it at once.
 */
#pragma once

#include <upp/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct upp_schema;

/* Compiles a schema from JSON, which is copied. -UPP_EINVALID: not JSON, not a schema, or an unsupported one; err.where
 * is the JSON pointer of the error. -UPP_ELIMIT: the schema exceeds a limit. -UPP_ENOMEM. */
UPP_API int upp_schema_new(struct upp_str json, struct upp_schema **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Accepts NULL. */
UPP_API void upp_schema_free(struct upp_schema *s);

static inline void upp_schema_freep(struct upp_schema **s)
{
    upp_schema_free(*s);
}

/* The report lists at most this many violations and counts the others. */
enum { UPP_SCHEMA_SHOWN = 16 };

/* The violations, as text for people and models. A plain value: nothing to free. */
struct upp_schema_report {
    uint32_t violations; /* their number; 0: the value is valid */
    uint32_t shown;      /* how many of them the text lists */
    char text[3064];     /* "/days: 3.5 is not an integer", one per line, then "and 3 more"; UTF-8, NUL-terminated */
};

struct upp_schema_opts {
    uint32_t size;
    /* Called for each of the first UPP_SCHEMA_SHOWN violations, with its JSON pointer ("": the whole value; of a long
     * pointer, only the end) and the reason; UTF-8, valid during the call. NULL: not called. */
    void (*violation)(void *arg, const char *pointer, const char *reason);
    void *arg;
};

/* Returns the number of violations; 0: the value is valid. opts and report may be NULL; the report is set if the result
 * is >= 0. -UPP_EINVALID: not JSON, or an object has a member twice, which fits no schema. -UPP_ELIMIT: too long, too
 * deep, or too much work (the message says which). -UPP_ENOMEM. Treat a value that could not be checked as invalid. */
UPP_API int upp_schema_check(const struct upp_schema *s, struct upp_str json, const struct upp_schema_opts *opts,
                             struct upp_schema_report *report, struct upp_err *err) UPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
