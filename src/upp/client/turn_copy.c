/* upp/client/turn_copy.c — makes a turn from its parts. */
#include "base/err.h"
#include "model/upp_json.h"
#include "upp/client/talk.h"

static int copy_messages(struct upp__turn *t, const struct upp_turn *from, struct upp_err *err)
{
    struct upp_message *list = from->n_messages ? wb_new_n(&t->arena, struct upp_message, from->n_messages) : NULL;
    int64_t now = 0;
    for (size_t i = 0; list && i < from->n_messages; i++) {
        int r = upp__message_own(&t->arena, &from->messages[i], &now, &list[i], err);
        if (r < 0)
            return r;
        if (list[i].role == UPP_ROLE_ASSISTANT)
            t->pub.response = &list[i];
    }
    t->pub.messages = list;
    t->pub.n_messages = list ? from->n_messages : 0;
    return wb_arena_check(&t->arena, err);
}

static void copy_executions(struct upp__turn *t, const struct upp_turn *from)
{
    struct wb_arena *a = &t->arena;
    struct upp_execution *list = from->n_executions ? wb_new_n(a, struct upp_execution, from->n_executions) : NULL;
    for (size_t i = 0; list && i < from->n_executions; i++) {
        list[i] = from->executions[i];
        list[i].id = wb_arena_dup(a, list[i].id);
        list[i].name = wb_arena_dup(a, list[i].name);
        list[i].arguments = wb_arena_dup(a, list[i].arguments);
        list[i].result = wb_arena_dup(a, list[i].result);
    }
    t->pub.executions = list;
    t->pub.n_executions = list ? from->n_executions : 0;
}

static void copy_cycles(struct upp__turn *t, const struct upp_turn *from)
{
    struct upp_usage *list = from->n_cycles ? wb_new_n(&t->arena, struct upp_usage, from->n_cycles) : NULL;
    if (list)
        memcpy(list, from->cycles, from->n_cycles * sizeof *list);
    t->pub.cycles = list;
    t->pub.n_cycles = list ? from->n_cycles : 0;
}

static void copy_losses(struct upp__turn *t, const struct upp_turn *from)
{
    struct upp_loss *list = from->n_losses ? wb_new_n(&t->arena, struct upp_loss, from->n_losses) : NULL;
    for (size_t i = 0; list && i < from->n_losses; i++) {
        list[i] = from->losses[i];
        list[i].what = wb_arena_dup(&t->arena, wb_cstr(list[i].what)).p;
        list[i].why = wb_arena_dup(&t->arena, wb_cstr(list[i].why)).p;
    }
    t->pub.losses = list;
    t->pub.n_losses = list ? from->n_losses : 0;
}

int upp_turn_copy(const struct upp_turn *from, struct upp_turn **ret, struct upp_err *err)
{
    struct wb_arena a = WB_ARENA(UPP__TURN_BYTES);
    struct upp__turn *t = wb_new(&a, struct upp__turn);
    if (!t)
        return wb_arena_check(&a, err);
    t->arena = a;
    t->pub.usage = from->usage;
    t->pub.data = wb_arena_dup(&t->arena, from->data);
    copy_executions(t, from);
    copy_cycles(t, from);
    copy_losses(t, from);
    int r = copy_messages(t, from, err);
    t->text = r < 0 ? NULL : t->pub.response ? wm_message_text(&t->arena, t->pub.response).p : "";
    if (r >= 0)
        r = wb_arena_check(&t->arena, err);
    if (r < 0) {
        upp_turn_free(&t->pub);
        return r;
    }
    *ret = &t->pub;
    return 0;
}

int upp__turn_take(struct wb_arena *memory, struct upp_message *list, const struct upp_turn *of, struct upp_turn **ret,
                   struct upp_err *err)
{
    struct upp__turn *t = wb_arena_alloc(memory, sizeof *t, _Alignof(struct upp__turn));
    int64_t now = 0;
    if (!t)
        return wb_arena_check(memory, err);
    t->pub = *of; /* arena and text are set at the end */
    t->pub.messages = list;
    t->pub.response = NULL;
    for (size_t i = 0; i < of->n_messages; i++) {
        int r = upp__message_stamp(memory, &list[i], &now, err);
        if (r < 0)
            return r;
        if (list[i].role == UPP_ROLE_ASSISTANT)
            t->pub.response = &list[i];
    }
    t->text = upp__text_of(memory, t->pub.response);
    int r = wb_arena_check(memory, err);
    if (r < 0)
        return r;
    t->arena = *memory;
    *memory = (struct wb_arena){.max = memory->max};
    *ret = &t->pub;
    return 0;
}
