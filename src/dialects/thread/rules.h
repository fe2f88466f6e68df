/* dialects/thread/rules.h — the rules of ThreadProtocol that look at more than one object. */
#ifndef WD_THREAD_RULES_H
#define WD_THREAD_RULES_H

#include "dialects/thread/thread.h"

/* Times (TP-40, 43, 44), calls and their answers (TP-41), agents (TP-42: not in a fragment, which has none). */
int wd_tp_rules(struct wd_problems *p, const struct wd_tp_thread *d, bool fragment, struct upp_err *err);

/* Problems that a table finds in a value below the root: their pointers begin there. */
struct wd_below {
    struct wd_problems *p;
    yyjson_val         *at;
};
void wd_problem_below(void *below, const char *pointer, const char *sentence);

#endif
