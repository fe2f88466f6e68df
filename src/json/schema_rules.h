/* json/schema_rules.h — compiled schemas. Private to schema*.c.
 *
 * There is one struct wj_rules for each schema that is reachable from the root; for absent keywords its fields are NULL
 * or zero. References are pointers to the rules of their target, so the whole is a graph.
 */
#pragma once

#include "base/arena.h"
#include "json/regex.h"
#include "json/schema.h"
#include "json/value.h"

enum {
    WJ_IS_NULL = 1 << 0,
    WJ_IS_BOOL = 1 << 1,
    WJ_IS_OBJECT = 1 << 2,
    WJ_IS_ARRAY = 1 << 3,
    WJ_IS_NUMBER = 1 << 4,
    WJ_IS_STRING = 1 << 5,
    WJ_IS_INTEGER = 1 << 6,
};

struct wj_rules;

struct wj_rules_list {
    const struct wj_rules **p;
    size_t n;
};

/* Inclusive bounds. */
struct wj_span {
    uint64_t min, max;
};

/* A name in `properties` or `required`. */
struct wj_property {
    struct upp_str name;
    const struct wj_rules *rules; /* NULL: only required */
    bool required;
};

struct wj_pattern {
    struct upp_str text;
    struct wj_regex regex;
    const struct wj_rules *rules; /* of patternProperties */
};

struct wj_object_rules {
    struct wj_property *properties; /* sorted by name */
    size_t n;
    bool any_required;
    struct wj_pattern *patterns;
    size_t n_patterns;
    const struct wj_rules *others; /* additionalProperties */
    const struct wj_rules *names;  /* propertyNames */
    yyjson_val *needs;             /* dependentRequired: an object of arrays of names */
    struct wj_span count;
};

struct wj_array_rules {
    struct wj_rules_list first;  /* prefixItems */
    const struct wj_rules *rest; /* items */
    const struct wj_rules *some; /* contains */
    struct wj_span count, some_count;
    bool unique;
};

struct wj_string_rules {
    struct wj_span length;
    struct wj_pattern *pattern;
};

/* Empty: no such keyword. */
struct wj_number_rules {
    struct upp_str min, max, above, below, step; /* step: multipleOf */
};

struct wj_rules {
    uint32_t index; /* index of the schema in the document, in values from its root */
    uint8_t types;  /* WJ_IS_*; 0: any */
    bool never;     /* the schema `false` */
    yyjson_val *constant;
    yyjson_val *choices; /* the array of `enum` */
    const struct wj_rules *ref, *not_this;
    const struct wj_rules *when, *then, *otherwise; /* if, then, else */
    struct wj_rules_list all, any, one;
    struct wj_object_rules *object;
    struct wj_array_rules *array;
    struct wj_string_rules *string;
    struct wj_number_rules *number;
};

struct upp_schema {
    struct wb_arena arena;
    const struct wj_rules *root;
    uint16_t regex_steps; /* of the longest pattern; 0: no pattern */
};

/* Fills s, whose arena holds the value v and everything made from it. */
int wj_schema_compile(struct upp_schema *s, yyjson_val *v, struct upp_err *err) UPP_MUST_CHECK;

/* Resolves a reference like "#/$defs/a" relative to `base`, and sets base to the nearest enclosing schema of the target
 * that has its own $id. Each name that is examined takes one from *budget. -UPP_EINVALID: no such value, or not in this
 * document. -UPP_ELIMIT: the budget ran out. */
int wj_schema_find(struct upp_str ref, yyjson_val **base, yyjson_val **ret, uint64_t *budget,
                   struct upp_err *err) UPP_MUST_CHECK;

/* Does the schema have its own $id, so that references inside it are relative to it? */
bool wj_schema_is_base(yyjson_val *v);

/* Detects endless recursion. -UPP_EINVALID: a schema applies itself to the same value again; *index is one that does.
 * `n_values`: how many values the document has. */
int wj_schema_loops(const struct wj_rules *const *made, size_t n_values, uint32_t *index,
                    struct upp_err *err) UPP_MUST_CHECK;

/* A member of the schema object, or NULL. */
static inline yyjson_val *wj_member(yyjson_val *object, struct upp_str name)
{
    return yyjson_obj_getn(object, name.p, name.n);
}

struct wj_report {
    yyjson_val *root;
    const struct upp_schema_opts *opts;
    struct upp_schema_report *to; /* NULL: only count */
    uint32_t violations;
    size_t n; /* bytes in to->text */
};

/* Reports a violation at v; the sentence follows v's pointer. */
void wj_report(struct wj_report *t, const yyjson_val *v, const char *fmt, ...) UPP_PRINTF(3, 4);
void wj_report_missing(struct wj_report *t, const yyjson_val *object, struct upp_str name);
void wj_report_type(struct wj_report *t, yyjson_val *v, unsigned types);
void wj_report_choices(struct wj_report *t, yyjson_val *v, yyjson_val *choices);
void wj_report_constant(struct wj_report *t, yyjson_val *v, yyjson_val *constant);
void wj_report_unknown(struct wj_report *t, yyjson_val *name, const struct wj_object_rules *o);
/* v fits none of n alternatives. */
void wj_report_none(struct wj_report *t, yyjson_val *v, size_t n);

void wj_report_end(struct wj_report *t);

/* Formats v for messages: scalars as JSON (long ones cut), else "an object" or "an array". */
enum { WJ_SHOW_SIZE = 64 };
const char *wj_show(yyjson_val *v, char buf[WJ_SHOW_SIZE]);
