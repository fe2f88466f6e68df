/* dialects/envelope/content.h — what an envelope contains for a part or an event: intent, task, content. */
#pragma once

#include "dialects/core/document.h"

struct wd_envelope_content {
    struct upp_str intent, type, task, text;
    yyjson_val *data;      /* NULL: none, or one of the next two */
    struct upp_str string; /* data that is a string */
    struct upp_str json;   /* data as compact JSON */
};

/* p NULL: a message without parts. New texts are in l->scratch, which is not reset. A call's data is not set here:
 * write.c writes it directly. */
void wd_envelope_part_content(struct wd_lowering *l, const struct upp_part *p, bool user,
                              struct wd_envelope_content *s);
void wd_envelope_event_content(struct wd_lowering *l, yyjson_val *event, struct wd_envelope_content *s);

/* A short text for data: "object: a, b, c", "list of 3", the beginning of a string, or the value itself. */
struct upp_str wd_envelope_summary(struct wb_arena *a, yyjson_val *v);
