/* model/doc_calls.c — the tool calls of a document, and their results. */
#include "model/doc_calls.h"

#include "base/err.h"
#include "json/read.h"
#include "json/value.h"
#include "model/names.h"

void wm_doc_calls_done(struct wm_doc_calls *c)
{
    wb_vec_done(&c->list);
}

/* Was the call rejected? The answer's metadata decides; without it, an error counts as a rejection unless it is a retry
 * or about the arguments. */
static int state_of(struct wb_arena *a, const struct upp_part *answer, struct upp_err *err)
{
    yyjson_val *v = NULL;
    if (!answer->is_error)
        return WM_CALL_COMPLETED;
    if (answer->metadata.n) {
        wb_arena_reset(a);
        int r = wj_read(a, answer->metadata, NULL, &v, err);
        if (r < 0)
            return r;
    }
    yyjson_val *own = yyjson_obj_get(v, "pydantic_ai"), *outcome = yyjson_obj_get(own, "outcome");
    if (yyjson_is_str(outcome))
        return wj_named(outcome, UPP_STR("denied")) ? WM_CALL_REJECTED : WM_CALL_COMPLETED;
    bool fault = yyjson_is_true(yyjson_obj_get(own, "retry")) || yyjson_obj_get(own, "status");
    return fault ? WM_CALL_COMPLETED : WM_CALL_REJECTED;
}

struct finding {
    struct wm_doc_calls *c;
    struct wm_names ids;
    WB_VEC(uint32_t) last; /* by the number of an id: 1 + the index of its last call in the list */
    struct wb_arena a;
};

static int add_call(struct finding *f, const struct upp_part *p, uint32_t entry, struct upp_err *err)
{
    uint32_t id;
    struct wm_doc_call call = {.call = p, .entry = entry, .state = WM_CALL_PENDING};
    int r = wm_names_add(&f->ids, p->id, &id, err);
    if (r < 0)
        return r;
    if ((r && !wb_vec_push(&f->last, 0, (size_t)WM_NAMES_MAX)) || !wb_vec_push(&f->c->list, call, (size_t)WM_NAMES_MAX))
        return upp_fail(err, UPP_ENOMEM, "no memory for a call");
    f->last.p[id] = (uint32_t)f->c->list.n;
    return 0;
}

static int add_answer(struct finding *f, const struct upp_part *p, struct upp_err *err)
{
    uint32_t id = wm_names_find(&f->ids, p->id);
    if (id == UINT32_MAX || !f->last.p[id])
        return 0; /* answers no call */
    struct wm_doc_call *call = &f->c->list.p[f->last.p[id] - 1];
    if (call->answer)
        return 0;
    int state = state_of(&f->a, p, err);
    call->answer = p;
    call->state = (uint8_t)WB_MAX(state, 0);
    return WB_MIN(state, 0);
}

int wm_doc_calls_find(struct wm_doc_calls *c, const struct wm_doc *d, uint32_t upto, struct upp_err *err)
{
    struct finding f = {.c = c, .a = WB_ARENA(16u << 20)};
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < upto && i < d->entries.n; i++) {
        const struct upp_message *m = &d->entries.p[i].e.message;
        for (size_t k = 0; r >= 0 && k < m->n_parts; k++)
            if (m->parts[k].kind == UPP_PART_CALL)
                r = add_call(&f, &m->parts[k], i, err);
            else if (m->parts[k].kind == UPP_PART_RESULT)
                r = add_answer(&f, &m->parts[k], err);
    }
    wm_names_done(&f.ids);
    wb_vec_done(&f.last);
    wb_arena_done(&f.a);
    return r;
}

size_t wm_doc_pending(const struct wm_doc_calls *c, const struct wm_doc_turn *turn)
{
    size_t n = 0;
    for (size_t i = 0; i < c->list.n; i++)
        n += c->list.p[i].state == WM_CALL_PENDING && c->list.p[i].entry >= turn->first &&
             c->list.p[i].entry - turn->first < turn->n;
    return n;
}
