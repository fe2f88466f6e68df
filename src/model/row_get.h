/* model/row_get.h — internals of row reading: decodes values of a stored row, trusting nothing.
 *
 * Unexpected values are refused with their pointer. Failures are sticky: after the first one nothing more is examined,
 * and results are zero or empty.
 */
#pragma once

#include "json/read.h"
#include "model/row.h"

struct wm_get {
    struct wb_arena *a;
    yyjson_val *root;
    struct wb_buf *scratch; /* for JSON that is returned as text */
    struct upp_err *err;
    int failed;
    struct wm_row *row;
    bool entries_only;
};

void wm_get_refuse(struct wm_get *g, yyjson_val *v, const char *expected);
void wm_get_refuse_name(struct wm_get *g, yyjson_val *name, const char *expected);
void wm_get_unknown(struct wm_get *g, yyjson_val *v); /* refuses an unknown member, given by its value */

struct upp_str wm_get_str(struct wm_get *g, yyjson_val *v);
uint64_t wm_get_u64(struct wm_get *g, yyjson_val *v, uint64_t from, uint64_t to, const char *expected);
uint32_t wm_get_u32(struct wm_get *g, yyjson_val *v);
uint64_t wm_get_number(struct wm_get *g, yyjson_val *v);
uint8_t wm_get_enum(struct wm_get *g, yyjson_val *v, unsigned last);
bool wm_get_flag(struct wm_get *g, yyjson_val *v); /* only set ones are written */
int64_t wm_get_time(struct wm_get *g, yyjson_val *v, int64_t from);
struct upp_str wm_get_num(struct wm_get *g, yyjson_val *v); /* as spelled */
struct wb_uuid wm_get_uuid(struct wm_get *g, yyjson_val *v);
struct upp_str wm_get_json(struct wm_get *g, yyjson_val *v, bool object); /* as text, token for token */

/* The items of an array; 0 and a failure if it is not an array, or longer than max. */
size_t wm_get_items(struct wm_get *g, yyjson_val *v, size_t max, yyjson_val **first);

/* Calls `member` for each member. Names must be one letter and unique. */
void wm_get_members(struct wm_get *g, yyjson_val *v, void *into,
                    void (*member)(struct wm_get *g, char name, yyjson_val *v, void *into));

/* A member of records of one kind; all have k, t and s. The table is in row.c. */
struct wm_record_member {
    char name;
    enum { WM_ENUM = 1, WM_TEXT, WM_JSON, WM_NUMBER, WM_USAGE, WM_UUID, WM_ENTRY, WM_PENDING } type;
    uint8_t max; /* of an enum */
    uint16_t at; /* in struct wm_event */
};

/* Ends with a member without a name. */
const struct wm_record_member *wm_record_members(uint8_t kind);

/* In row_read_entries.c. NULL: none, or failed. */
struct wm_entry *wm_get_entries(struct wm_get *g, yyjson_val *v, size_t *ret);
