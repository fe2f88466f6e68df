/* dialects/thread/rules.h — the rules of ThreadProtocol about more than one object. */
#pragma once

#include "dialects/thread/thread.h"

/* Times (TP-40, 43, 44), calls and their results (TP-41), agents (TP-42; not in a fragment, which has none). */
int wd_tp_rules(struct wd_problems *p, const struct wd_tp_thread *d, bool fragment, struct upp_err *err);

/* Reports problems that a table finds in a value below the root: adds the value's pointer. */
struct wd_below {
    struct wd_problems *p;
    yyjson_val *at;
};
void wd_problem_below(void *below, const char *pointer, const char *sentence);
