/* dialects/core/members.h — tables of the members of wire objects, and their check. */
#pragma once

#include "dialects/core/document.h"

enum {
    WD_ROWS = 21,     /* per table, at most */
    WD_MUST = 1 << 0, /* present and not null */
    WD_FLAG = 1 << 1, /* this and higher ones: the dialect's own */
};

/* A table ends with an empty name. */
struct wd_row {
    struct upp_str name;
    char type; /* 's' text, 'b' true or false, 'i' whole number, 'w' that as digits alone, 'q' whole number or text, 'n'
                  number, 'o' object, 'p' object of objects, 'a' list, 't' text or list of texts, 'v' any value */
    uint8_t flags;
};

/* Checks one member of `of`. False: it is reported. `nulls`: null is like absent. */
bool wd_check_row(struct wd_problems *p, const char *rule, yyjson_val *of, const struct wd_row *row, yyjson_val *v,
                  bool nulls);

/* Checks the rows from `from` up to `end`, against the members in `found`; all of them. Null is like absent. */
void wd_check_found(struct wd_problems *p, const char *rule, yyjson_val *of, const struct wd_row *rows, size_t from,
                    size_t end, yyjson_val *const *found);
void wd_check_members(struct wd_problems *p, const char *rule, yyjson_val *of, const struct wd_row *rows);
