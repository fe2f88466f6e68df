/* json/schema.h — JSON Schema for values that are already read. The functions that take text are in upp/schema.h. */
#pragma once

#include <upp/schema.h>
#include <yyjson.h>

#include "base/str.h"

/* Limits, documented in docs/schema.md. */
enum {
    WJ_SCHEMA_BYTES = 1 << 20,   /* of a schema's text */
    WJ_SCHEMA_MEMORY = 32 << 20, /* of a compiled schema */
    WJ_SCHEMA_COUNT = 10000,     /* schemas in a schema */
    WJ_SCHEMA_NAMES = 1024,      /* in `properties` and `required` of one schema */
    WJ_SCHEMA_DEPTH = 128,       /* nested schemas while checking, references included */
    WJ_SCHEMA_STEPS = 10000000,  /* per check: one for each schema applied to a value, one for each step of a pattern */
};

WB_EXPORT_BEGIN

/* Like upp_schema_new, from a value of wj_read, which may be freed afterwards. */
int wj_schema_new(yyjson_val *v, struct upp_schema **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Like upp_schema_check, for a value of wj_read. Pointers are relative to it. Allocates only for patterns, and to
 * compare objects whose member order differs; needs less than 40 KiB of stack. */
int wj_schema_check(const struct upp_schema *s, yyjson_val *v, const struct upp_schema_opts *opts,
                    struct upp_schema_report *report, struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END
