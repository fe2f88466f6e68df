/* upp/providers/reasoning_details.h — OpenRouter's reasoning_details: fragments of a stream back into the details that
 * were cut. They go back as they came, in their order, with the signatures in them.
 */
#pragma once

#include "upp/providers/adapter.h"

enum { UPP__DETAILS = 4096 };

struct upp__detail_member {
    struct upp_str name, json; /* json: empty if the value is `text` of the detail */
};

struct upp__detail {
    struct upp_str type, index; /* index: as text; empty: none */
    struct wb_buf text;         /* of reasoning.text and reasoning.summary, joined */
    WB_VEC(struct upp__detail_member) members;
};

struct upp__details {
    WB_VEC(struct upp__detail) list;
};

/* The details of one chunk. Failures are sticky in r. */
void upp__details_add(struct upp__reader *r, struct upp__details *d, yyjson_val *list);

/* As an array. */
void upp__details_write(struct wj_writer *w, const struct upp__details *d);

void upp__details_done(struct upp__details *d);
