/* support/agents.c — runs agents of the public interface on a real or a simulated loop. */
#include "support/agents.h"

#include <stdio.h>

#include "support/sim/sim.h"

/* Tests run one at a time. */
static struct agents *agents_now;

static int add(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    int64_t a = 0, b = 0;
    char text[32];
    (void)(upp_call_arg_i64(call, "a", &a, NULL) < 0);
    (void)(upp_call_arg_i64(call, "b", &b, NULL) < 0);
    int n = snprintf(text, sizeof text, "%lld", (long long)(a + b));
    return upp_value_json(ret, wb_str(text, (size_t)n), err);
}

static int note(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    wb_buf_addf(&agents_now->trace, "note %.*s\n", UPP_FMT(call->arguments));
    return upp_value_text(ret, UPP_STR("noted"), err);
}

static int fails(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)call, (void)ret;
    return upp_fail(err, UPP_EREFUSED, "this tool always fails");
}

static int slow(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    wb_buf_addf(&agents_now->trace, "slow begins\n");
    int r = upp_wait_ms(call->wait, 1000, err);
    wb_buf_addf(&agents_now->trace, "slow %s\n", r < 0 ? "is stopped" : "ends");
    return r < 0 ? r : upp_value_text(ret, UPP_STR("slowly"), err);
}

const struct upp_tool agents_tools[] = {UPP_TOOL(add, "adds two numbers", "{a?: integer, b?: integer}"),
                                        UPP_TOOL(note, "writes something down", "{}"), UPP_TOOL(fails, "fails", "{}"),
                                        UPP_TOOL(slow, "takes its time", "{}")};

typedef int act_fn(struct agents *p, struct upp_err *err);

struct played {
    const char *script;
    act_fn *act;
    bool simulated;
};

static WEFT_SUSPENDS int play(void *arg, struct upp_err *err)
{
    const struct played *how = arg;
    struct agents p = {.trace = WB_BUF(1u << 20), .loop = how->simulated ? weft_loop_current() : NULL};
    agents_now = &p;
    int r = upp_scripted_new(how->script ? wb_cstr(how->script) : (struct upp_str){0}, &p.model, err);
    if (r >= 0)
        r = weft_runtime_open(UPP_OPTS(weft_runtime_opts, .loop = p.loop), &p.rt, err);
    if (r >= 0)
        r = how->act(&p, err);
    weft_runtime_close(p.rt);
    upp_model_free(p.model);
    wb_buf_done(&p.trace);
    return r;
}

int agents_play(const char *script, act_fn *act, struct upp_err *err)
{
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    struct played how = {script, act, false};
    int r = play(&how, err);
    if (r < 0)
        return upp_wrap(err, r, "on a thread");
    how.simulated = true;
    r = weft__sim_open(&(struct weft__sim_opts){.size = sizeof(struct weft__sim_opts), .seed = 7}, &w, err);
    if (r >= 0)
        r = weft_loop_run(weft__sim_loop(w, 0), "test", play, &how, err);
    return r < 0 ? upp_wrap(err, r, "on a fiber of a simulated loop") : 0;
}

void agents_turn_text(struct wb_buf *out, const struct upp_turn *t)
{
    static const char *const roles[] = {"?", "user", "assistant", "tool"};
    for (size_t i = 0; i < t->n_messages; i++) {
        const struct upp_message *m = &t->messages[i];
        wb_buf_addf(out, "%s%s%s:", roles[m->role], m->interrupted ? " (interrupted)" : "",
                    m == t->response ? " (response)" : "");
        for (size_t k = 0; k < m->n_parts; k++)
            wb_buf_addf(out, " %s%.*s%s%.*s", m->parts[k].cut ? "cut " : "", UPP_FMT(m->parts[k].name),
                        m->parts[k].name.n ? "=" : "", UPP_FMT(m->parts[k].text));
        wb_buf_addf(out, "%s%.*s\n", m->metadata.n ? " " : "", UPP_FMT(m->metadata));
    }
    for (size_t i = 0; i < t->n_executions; i++)
        wb_buf_addf(out, "execution %.*s %.*s %.*s -> %.*s%s approved=%u\n", UPP_FMT(t->executions[i].id),
                    UPP_FMT(t->executions[i].name), UPP_FMT(t->executions[i].arguments),
                    UPP_FMT(t->executions[i].result), t->executions[i].is_error ? " (error)" : "",
                    t->executions[i].approved);
    wb_buf_addf(out, "usage %llu %llu cycles", (unsigned long long)t->usage.input, (unsigned long long)t->usage.output);
    for (size_t i = 0; i < t->n_cycles; i++)
        wb_buf_addf(out, " %llu/%llu", (unsigned long long)t->cycles[i].input, (unsigned long long)t->cycles[i].output);
    wb_buf_addf(out, "\ndata %.*s\n", UPP_FMT(t->data));
}
