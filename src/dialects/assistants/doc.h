/* dialects/assistants/doc.h — threads of the Assistants API as documents: shared by lift, check and lower.
 *
 * A document is a thread object with its `messages`, `runs` and `steps`, each a list or a page of a list
 * ({"object":"list","data":[...]}); or such a list or page of messages alone. What messages and steps have no member
 * for is in their metadata:
 *
 *     message  "metadata": {"weft": {"agent", "name"}}
 *     step     "metadata": {"weft": {"name", "after", "errors": [CALL...], "json": [CALL...]}}
 */
#pragma once

#include "dialects/core/document.h"

/* A list of the document. */
struct wd_asst_list {
    yyjson_val *of;   /* the list or the page; NULL: none */
    yyjson_val *list; /* its items */
    bool newest_first;
};

/* Its items are objects of the API, oldest or newest first. */
struct wd_asst_list wd_asst_list(yyjson_val *v);

/* The messages of a document: those of the thread, or the root itself. */
yyjson_val *wd_asst_messages(yyjson_val *root);

/* Slots that record the form of a list, unless it is a bare list, oldest first; anchored at the first entry. */
enum wd_asst_which { WD_ASST_MESSAGES, WD_ASST_RUNS, WD_ASST_STEPS, WD_ASST_ROOT, WD_ASST_LISTS };
enum wd_asst_form { WD_ASST_SIMPLE, WD_ASST_BACK, WD_ASST_PAGE, WD_ASST_PAGE_BACK, WD_ASST_FORMS };
extern const char *const wd_asst_slots[WD_ASST_LISTS][WD_ASST_FORMS];

int wd_asst_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err);
int wd_asst_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err);
/* Like wd_asst_lift, for a thread built from a stream: its lists are in order, whatever their times are. */
int wd_asst_lift_stream(struct wd_lifting *l, yyjson_val *root, struct upp_err *err) UPP_MUST_CHECK;
int wd_asst_lower(struct wd_lowering *l, struct upp_err *err);
