/* dialects/assistants/doc.h — threads of the Assistants API as documents: what reading, checking and writing share.
 *
 * A document is a thread object with its `messages`, `runs` and `steps`, each a list or a page of a list
 * ({"object":"list","data":[...]}); or such a list or page of messages alone. What a message and a step have no member
 * for stands in their metadata:
 *
 *     message  "metadata": {"weft": {"agent", "name"}}
 *     step     "metadata": {"weft": {"name", "after", "errors": [CALL...], "json": [CALL...]}}
 */
#ifndef WD_ASSISTANTS_DOC_H
#define WD_ASSISTANTS_DOC_H

#include "dialects/core/document.h"

/* A list of the document. */
struct wd_asst_list {
    yyjson_val *of;   /* the list, or the page; NULL: there is none */
    yyjson_val *list; /* its items */
    bool        newest_first;
};

/* Its items are objects of the API, in time's order or against it. */
struct wd_asst_list wd_asst_list(yyjson_val *v);

/* Which list a document with this root is of: its messages. The root may be a thread. */
yyjson_val *wd_asst_messages(yyjson_val *root);

/* Slots of lists that are not simple ones in time's order; the first entry has them. */
enum wd_asst_which { WD_ASST_MESSAGES, WD_ASST_RUNS, WD_ASST_STEPS, WD_ASST_ROOT, WD_ASST_LISTS };
enum wd_asst_form { WD_ASST_SIMPLE, WD_ASST_BACK, WD_ASST_PAGE, WD_ASST_PAGE_BACK, WD_ASST_FORMS };
extern const char *const wd_asst_slots[WD_ASST_LISTS][WD_ASST_FORMS];

int wd_asst_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err);
int wd_asst_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err);
/* A thread whose lists are in time's order, whatever the times say: of a stream. */
int wd_asst_lift_stream(struct wd_lifting *l, yyjson_val *root, struct upp_err *err) UPP_MUST_CHECK;
int wd_asst_lower(struct wd_lowering *l, struct upp_err *err);

#endif
