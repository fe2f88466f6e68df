/* fuzz/fuzz_turn_json.c — any JSON as a turn: what reads is written, and that text reads and writes the same again. */
#include <upp/turn.h>

#include "base/str.h"
#include "fuzz/fuzz.h"

static void look_at(const struct upp_turn *t)
{
    bool found = false;
    for (size_t i = 0; i < t->n_messages; i++)
        found |= t->response == &t->messages[i];
    REQUIRE(found && t->response->role == UPP_ROLE_ASSISTANT);
    REQUIRE(upp_turn_text(t));
    REQUIRE(wb_str_eq(wb_cstr(upp_turn_text(t)), wb_cstr(upp_turn_text(t))));
    for (size_t i = 0; i < t->n_executions; i++)
        REQUIRE(t->executions[i].id.p && t->executions[i].name.p);
    REQUIRE(t->n_losses == 0);
}

/* Written, or too long for that. */
static bool put(const struct upp_turn *t, struct upp_str *ret)
{
    struct upp_err err = {0};
    int r = upp_turn_to_json(t, ret, &err);
    REQUIRE(r == 0 || r == -UPP_ELIMIT);
    REQUIRE_SHOWN(err.msg);
    return r == 0;
}

FUZZ(turn_json)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL, *back = NULL;
    struct upp_err err = {0};
    struct upp_str text, again;
    int r = upp_turn_from_json(in, &turn, &err);
    REQUIRE_SHOWN(err.msg);
    REQUIRE_SHOWN(err.where);
    if (r < 0) {
        REQUIRE((r == -UPP_EINVALID || r == -UPP_ELIMIT) && err.code == -r && err.msg[0] && !turn);
        return;
    }
    look_at(turn);
    if (!put(turn, &text))
        return;
    REQUIRE(upp_turn_from_json(text, &back, &err) == 0);
    look_at(back);
    REQUIRE(back->n_messages == turn->n_messages && back->n_executions == turn->n_executions);
    REQUIRE(back->usage.input == turn->usage.input && back->usage.output == turn->usage.output);
    if (put(back, &again)) {
        REQUIRE(wb_str_eq(text, again));
        upp_text_free(again);
    }
    upp_text_free(text);
}
