/* model/session_get.h — internals of the UPP and UAP readers: failures with their pointer, values as text, and members
 * of an object by a table of rows.
 *
 * After the first failure nothing more is examined: err has its pointer, and every function returns nothing.
 */
#pragma once

#include "base/buf.h"
#include "json/value.h"
#include "model/session.h"

struct wm_getting {
    struct wb_arena *a;
    yyjson_val *root;
    struct wb_buf *scratch;
    struct upp_err *err;
    int failed;
    unsigned nested; /* number of enclosing sessions */
    bool read;       /* the caller has read the messages of the outermost tree: they are only counted */
};

enum wm_type { WM_STR, WM_ID /* not empty */, WM_TIME /* with a zone */, WM_U32, WM_OBJ, WM_ARR };
enum { WM_MAY_MISS = 1 << 0, WM_MAY_BE_NULL = 1 << 1 /* the same as missing */ };

struct wm_member {
    struct upp_str name;
    uint8_t type; /* enum wm_type */
    uint8_t flags;
};

enum { WM_MEMBERS = 8 }; /* maximum per table */

/* Checks that v is an object whose members have the types of the table: ret[i] is the value of the i-th, NULL if
 * missing. A duplicate is refused; other members are ignored. */
bool wm_getting_members(struct wm_getting *d, yyjson_val *v, const struct wm_member *table, size_t n, yyjson_val **ret);

/* -UPP_EINVALID at v: "expected EXPECTED, found ..."; or with the caller's sentence; or r, a failure of a callee. */
void wm_getting_refuse(struct wm_getting *d, yyjson_val *v, const char *expected);
void wm_getting_fail_at(struct wm_getting *d, const yyjson_val *v, int r);
void wm_getting_fail(struct wm_getting *d, yyjson_val *v, enum upp_code code, const char *fmt, ...) UPP_PRINTF(4, 5);

/* The text of a value that the table has checked. NULL: empty. */
static inline struct upp_str wm_getting_text(yyjson_val *v)
{
    return v ? wj_text(v) : (struct upp_str){0};
}
uint32_t wm_doc_u32(yyjson_val *v);
struct upp_str wm_getting_json(struct wm_getting *d, yyjson_val *v); /* the whole value as text; NULL: empty */

/* A map as text, without the members named by `keys`; found[i] is the value of the i-th, or NULL. */
struct upp_str wm_getting_map(struct wm_getting *d, yyjson_val *map, const struct upp_str *keys, size_t n,
                              yyjson_val **found);

/* A number of messages under one of our keys: at most `most`. NULL: WM_ALL_MESSAGES. */
uint32_t wm_getting_length(struct wm_getting *d, yyjson_val *v, size_t most);

/* Out of memory, or too much for the arena. */
bool wm_doc_out_of_memory(struct wm_getting *d);

/* ThreadTreeJSON. The times are for threads without any; empty: they stay without. */
void wm_getting_tree(struct wm_getting *d, yyjson_val *v, struct upp_str created, struct upp_str updated,
                     struct wm_tree_doc *ret);
