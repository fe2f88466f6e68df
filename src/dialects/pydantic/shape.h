/* dialects/pydantic/shape.h — tables of the members of Pydantic AI's objects, for validation. */
#pragma once

#include <yyjson.h>

#include "base/str.h"
#include "dialects/core/document.h"
#include "json/value.h"

enum { PYD_REQUEST = 1, PYD_RESPONSE = 2 }; /* which messages */
enum { PYD_ROWS = 16 };                     /* maximum of a shape */

struct pyd_check {
    struct wd_problems *p;
    const char *rule;    /* of the current object */
    unsigned where;      /* kind of the current message */
    struct upp_str time; /* the last valid one: many are the same */
};

/* A member; `is` reports what is wrong with its value. */
struct pyd_row {
    struct upp_str name;
    unsigned flags;
    void (*is)(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row);
    const char *const *words;
    const struct pyd_shape *of; /* shape of its items */
};
enum {
    PYD_NEEDED = 1 << 0,
    PYD_OR_NULL = 1 << 1,
    PYD_GENERATED = 1 << 2, /* Pydantic AI generates it if it is missing */
};

#define PYD_ANY(name_, flags_)                                                                                         \
    {                                                                                                                  \
        .name = UPP_STR_INIT(name_), .flags = (flags_)                                                                 \
    }
#define PYD_OF(name_, flags_, is_)                                                                                     \
    {                                                                                                                  \
        .name = UPP_STR_INIT(name_), .flags = (flags_), .is = (is_)                                                    \
    }
#define PYD_ONE(name_, flags_, is_, words_)                                                                            \
    {                                                                                                                  \
        .name = UPP_STR_INIT(name_), .flags = (flags_), .is = (is_), .words = (words_)                                 \
    }

struct pyd_shape {
    struct upp_str name;
    unsigned where, later;      /* which messages may have it, as of 2.33 and since then */
    const struct pyd_row *rows; /* NULL: not checked */
    size_t n;
    bool open; /* unknown members are allowed */
};
#define PYD_SHAPE(name_, where_, rows_)                                                                                \
    {                                                                                                                  \
        .name = UPP_STR_INIT(name_), .where = (where_), .rows = (rows_), .n = WB_LEN(rows_)                            \
    }

/* The last member of that name, which is the one that counts. */
static inline yyjson_val *pyd_last_of(yyjson_val *object, struct upp_str name)
{
    size_t i, n;
    yyjson_val *key, *v, *found = NULL;
    yyjson_obj_foreach(object, i, n, key, v)
    {
        if (wj_named(key, name))
            found = v;
    }
    return found;
}

static inline bool pyd_is_text(yyjson_val *v, struct upp_str text)
{
    return v && yyjson_is_str(v) && wj_named(v, text);
}

/* The shape that `name` names; NULL: none. Inline: with a list known to the compiler, the comparison is by the names'
 * lengths first. */
static inline const struct pyd_shape *pyd_shape_of(const struct pyd_shape *list, size_t n, yyjson_val *name)
{
    for (size_t i = 0; i < n; i++)
        if (pyd_is_text(name, list[i].name))
            return &list[i];
    return NULL;
}

void pyd_check_object(struct pyd_check *c, yyjson_val *object, const struct pyd_shape *s);

/* Report problems: a value violates its row; `name`, the value of an object's `member`, names no shape or (NULL) is
 * missing; only versions after 2.33 accept it. */
void pyd_wrong(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row, const char *what);
void pyd_unknown(struct pyd_check *c, yyjson_val *object, const char *member, yyjson_val *name);
void pyd_newer(struct pyd_check *c, yyjson_val *at, const char *what);

/* Checks of values, for rows. */
void pyd_text(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row);
void pyd_object(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row);
void pyd_whole(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row);
void pyd_decimal(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row);
void pyd_moment(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row);
void pyd_word(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row);
void pyd_texts(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row);

/* What Pydantic accepts as a number, time or boolean: more than the JSON type. It reads leniently: "5" and true are
 * integers, 1700000000 is a time. The values stay as they are. */

bool wd_pydantic_int(yyjson_val *v);
bool wd_pydantic_bool(yyjson_val *v);
