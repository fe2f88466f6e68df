/* bench/models.h — what benches of loops talk to: three scripted models, and two tools that do nothing. */
#pragma once

#include <errno.h>
#include <upp/upp.h>

#include "base/buf.h"
#include "base/str.h"
#include "bench.h"

enum { DELTAS = 20000, DELTA_BYTES = 5 }; /* of what `talks` says */

static inline void must(int r, const struct upp_err *err)
{
    if (r >= 0)
        return;
    (void)fprintf(stderr, "%s: %s\n", program_invocation_short_name, err->msg);
    exit(1);
}

static inline int no_op(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)call;
    return upp_value_text(ret, UPP_STR("ok"), err);
}

/* `says` a sentence, `calls` both tools in so many rounds and is done, `talks` in many deltas. */
struct models {
    struct upp_model *says, *calls, *talks;
};

static inline struct models make_models(unsigned rounds, struct upp_err *err)
{
    struct models m = {0};
    struct wb_buf b = WB_BUF(1u << 20);
    must(upp_scripted_new(UPP_STR("{\"replies\":[{\"parts\":[{\"text\":\"hello to you\"}]}]}"), &m.says, err), err);
    wb_buf_addf(&b, "{\"replies\":[");
    for (unsigned i = 0; i < rounds; i++)
        wb_buf_addf(&b,
                    "{\"parts\":[{\"tool_call\":{\"id\":\"call_a%u\",\"name\":\"noop_a\",\"arguments\":{\"x\":1}}},"
                    "{\"tool_call\":{\"id\":\"call_b%u\",\"name\":\"noop_b\",\"arguments\":{\"x\":1}}}]},",
                    i, i);
    wb_buf_addf(&b, "{\"parts\":[{\"text\":\"done\"}]}]}");
    must(upp_scripted_new(wb_buf_str(&b), &m.calls, err), err);
    wb_buf_clear(&b);
    wb_buf_addf(&b, "{\"replies\":[{\"delta_bytes\":%d,\"parts\":[{\"text\":\"", DELTA_BYTES);
    for (unsigned i = 0; i < DELTAS; i++)
        wb_buf_add(&b, UPP_STR("word "));
    wb_buf_addf(&b, "\"}]}]}");
    must(upp_scripted_new(wb_buf_str(&b), &m.talks, err), err);
    wb_buf_done(&b);
    return m;
}

static inline void free_models(const struct models *m)
{
    upp_model_free(m->says);
    upp_model_free(m->calls);
    upp_model_free(m->talks);
}

/* Turns by libupp's own loop. */
static inline void generate(struct upp_llm *llm, unsigned times)
{
    struct upp_err err = {0};
    for (unsigned i = 0; i < times; i++) {
        UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
        must(upp_ask(llm, UPP_STR("hello there"), &turn, &err), &err);
        bench_keep(turn);
    }
}
