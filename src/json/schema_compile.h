/* json/schema_compile.h — inside of the compiler of schemas: what is under way, and how keywords are found. */
#ifndef WJ_SCHEMA_COMPILE_H
#define WJ_SCHEMA_COMPILE_H

#include "base/vec.h"
#include "json/schema_rules.h"

struct wj_schema_job {
    yyjson_val      *v, *base;
    struct wj_rules *to;
};

struct wj_schema_work {
    struct upp_schema *s;
    yyjson_val        *root;
    size_t             places;
    struct wj_rules  **made; /* by place in the document */
    WB_VEC(struct wj_schema_job) work;
    struct wj_schema_job now;
    uint64_t             budget; /* for following references */
    struct upp_err      *err;
};

struct wj_keyword {
    struct upp_str name;
    int (*make)(struct wj_schema_work *c, yyjson_val *v);
};

/* Those that speak of values of one type (schema_compile_typed.c); the last one has no name. */
extern const struct wj_keyword wj_schema_typed[];

/* Failures: of what stands at v, -UPP_EINVALID with its place; of what went wrong otherwise. */
int wj_schema_refuse(struct wj_schema_work *c, yyjson_val *v, const char *fmt, ...) UPP_PRINTF(3, 4);
int wj_schema_expected(struct wj_schema_work *c, yyjson_val *v, const char *what);
int wj_schema_too_many(struct wj_schema_work *c, yyjson_val *v, int max, const char *what);
int wj_schema_at(struct wj_schema_work *c, int r, yyjson_val *v); /* r, with the place where it is a failure */
int wj_schema_no_room(struct wj_schema_work *c);

/* The rules of a schema, of all in an array, that stand inside of the one that is compiled now. */
int wj_schema_inside(struct wj_schema_work *c, yyjson_val *v, const struct wj_rules **ret);
int wj_schema_list_inside(struct wj_schema_work *c, yyjson_val *v, bool may_be_empty, struct wj_rules_list *ret);

#endif
