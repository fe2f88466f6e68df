/* json/schema_compile.h — internals of the schema compiler: its state, and the keyword tables. */
#pragma once

#include "base/vec.h"
#include "json/schema_rules.h"

struct wj_schema_job {
    yyjson_val *v, *base;
    struct wj_rules *to;
};

struct wj_schema_work {
    struct upp_schema *s;
    yyjson_val *root;
    size_t n_values;
    struct wj_rules **made; /* by the schema's index in the document */
    WB_VEC(struct wj_schema_job) work;
    struct wj_schema_job now;
    uint64_t budget; /* for following references */
    struct upp_err *err;
};

struct wj_keyword {
    struct upp_str name;
    int (*make)(struct wj_schema_work *c, yyjson_val *v);
};

/* Keywords for values of one type (schema_compile_typed.c); the last row has no name. */
extern const struct wj_keyword wj_schema_typed[];

/* Fail; those with v add its pointer. -UPP_EINVALID, except too_many (-UPP_ELIMIT) and no_room (the arena's failure).
 */
int wj_schema_refuse(struct wj_schema_work *c, yyjson_val *v, const char *fmt, ...) UPP_PRINTF(3, 4);
int wj_schema_expected(struct wj_schema_work *c, yyjson_val *v, const char *what);
int wj_schema_too_many(struct wj_schema_work *c, yyjson_val *v, int max, const char *what);
int wj_schema_at(struct wj_schema_work *c, int r, yyjson_val *v); /* r; if it is a failure, adds v's pointer */
int wj_schema_no_room(struct wj_schema_work *c);

/* The rules of a schema, or of all schemas in an array, nested in the one being compiled. */
int wj_schema_inside(struct wj_schema_work *c, yyjson_val *v, const struct wj_rules **ret);
int wj_schema_list_inside(struct wj_schema_work *c, yyjson_val *v, bool may_be_empty, struct wj_rules_list *ret);
