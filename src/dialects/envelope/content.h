/* dialects/envelope/content.h — what an envelope says of a part or an event: its intent, its task, its content. */
#ifndef WD_ENVELOPE_SAY_H
#define WD_ENVELOPE_SAY_H

#include "dialects/core/document.h"

struct wd_envelope_says {
    struct upp_str intent, type, task, text;
    yyjson_val    *data;   /* NULL: none, or a text: */
    struct upp_str string; /* that is a string, */
    struct upp_str json;   /* or JSON that is compact */
};

/* p NULL: a message without parts. What is made lies in l->scratch, which is not emptied before. The data of a call are
 * not here: they are made where they are written. */
void wd_envelope_say_part(struct wd_lowering *l, const struct upp_part *p, bool user, struct wd_envelope_says *s);
void wd_envelope_say_event(struct wd_lowering *l, yyjson_val *event, struct wd_envelope_says *s);

#endif
