/* The engine and upp_generate drive the same steps: for the same script they give the same messages, usage and errors.
 */
#include <stdio.h>
#include <string.h>
#include <upp/upp.h>

#include "base/defs.h"
#include "support/sim/sim.h"
#include "stores/memory/memory.h"
#include "support/fibers.h"
#include "support/llm.h"
#include "support/rig.h"

/* What came of it, either way. */
struct outcome {
    struct wb_buf said; /* as rig_history writes it */
    struct upp_usage usage;
    size_t cycles;
    int code; /* 0: it went well */
    char msg[256];
    int told; /* by on_max_iterations */
};

/* What is played. */
struct row {
    const char *script;
    int max_iterations;
    const char *structure; /* NULL: none */
};

static int too_many(void *arg, int max, struct upp_err *err)
{
    struct outcome *o = arg;
    (void)err;
    o->told = max;
    return 0;
}

static struct upp_tool_strategy strategy_of(const struct row *row, struct outcome *o)
{
    return (struct upp_tool_strategy){.arg = o, .max_iterations = row->max_iterations, .on_max_iterations = too_many};
}

static int completed(void *arg, struct weft_run *run, const struct upp_turn *turn, struct upp_err *err)
{
    struct outcome *o = arg;
    (void)turn, (void)err;
    o->usage = run->state.usage;
    o->cycles = run->state.cycles;
    return 0;
}

static int failed(void *arg, struct weft_run *run, const struct upp_err *why, struct upp_turn **ret,
                  struct upp_err *err)
{
    struct outcome *o = arg;
    o->code = why->code;
    (void)snprintf(o->msg, sizeof o->msg, "%s", why->msg);
    (void)ret;
    return completed(arg, run, NULL, err);
}

struct engine_run {
    const struct row *row;
    struct outcome *out;
};

static void store_closep(struct wl_store **s)
{
    if (*s)
        (*s)->ops->close(*s);
}

static WEFT_SUSPENDS int in_rig(struct rig *rig, struct outcome *out, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    WB_CLEANUP(wb_buf_done) struct wb_buf all = WB_BUF(1u << 20);
    TRY(rig_start(rig, "main", "go", NULL, &s, err));
    TRY(wr_wait(rig->engine, &rig_owner, s.run, &status, err));
    TRY(rig_history(rig, s.thread, &all, err));
    struct upp_str rest = wb_buf_str(&all), line;
    while (wb_str_split(&rest, '\n', &line)) /* what the engine mends after a failure is its own affair */
        if (line.n && !wb_str_starts(line, UPP_STR("repair")) && !wb_str_starts(line, UPP_STR("event")))
            wb_buf_addf(&out->said, "%.*s\n", UPP_FMT(line));
    return wb_buf_check(&out->said, err);
}

static WEFT_SUSPENDS int by_engine(void *arg, struct upp_err *err)
{
    struct engine_run *e = arg;
    WB_CLEANUP(store_closep) struct wl_store *store = NULL;
    const struct weft_hooks hooks = {.arg = e->out, .on_complete = completed, .on_error = failed};
    const struct upp_tool_strategy tools = strategy_of(e->row, e->out);
    struct rig rig = {0};
    TRY(ws_memory_open(&store, err));
    rig.store = store;
    int r = rig_agent(&rig, "main", e->row->script, err);
    if (r >= 0) {
        rig.agents[0].hooks = &hooks;
        rig.agents[0].tool_strategy = &tools;
        if (e->row->structure)
            rig.agents[0].structure = wb_cstr(e->row->structure);
        upp_retry_free(rig.models[0]->retry); /* as libupp, which tries again only where it is told to */
        rig.models[0]->retry = NULL;
        r = rig_open(&rig, weft_loop_current(), NULL, err);
    }
    if (r >= 0)
        r = in_rig(&rig, e->out, err);
    rig_close(&rig);
    return r;
}

static int add(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    int64_t a = 0, b = 0;
    char text[32];
    (void)(upp_call_arg_i64(call, "a", &a, NULL) < 0);
    (void)(upp_call_arg_i64(call, "b", &b, NULL) < 0);
    int n = snprintf(text, sizeof text, "%lld", (long long)(a + b));
    return upp_value_json(ret, wb_str(text, (size_t)n), err);
}

static int fails(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)call, (void)ret;
    return upp_fail(err, UPP_EREFUSED, "this tool always fails");
}

static int note(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)call;
    return upp_value_text(ret, UPP_STR("noted"), err);
}

static const struct upp_tool tools[] = {UPP_TOOL(add, "adds two numbers", "{}"),
                                        UPP_TOOL(note, "writes something down", "{}"), UPP_TOOL(fails, "fails", "{}")};

/* As rig_history writes a line. */
static void line_of(struct wb_buf *out, const struct upp_message *m)
{
    static const char *const roles[] = {"?", "user", "assistant", "tool"};
    wb_buf_addf(out, "%s%s:", roles[m->role], m->interrupted ? " (interrupted)" : "");
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        wb_buf_addf(out, " %s%.*s%s%.*s", p->cut ? "cut " : "", UPP_FMT(p->name), p->name.n ? "=" : "",
                    UPP_FMT(p->text));
    }
    wb_buf_addc(out, '\n');
}

static int by_libupp(const struct row *row, bool stream, struct outcome *out, struct upp_err *err)
{
    UPP_CLEANUP(upp_model_freep) struct upp_model *model = llm_script(row->script);
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *made = NULL;
    UPP_CLEANUP(upp_stream_closep) struct upp_stream *s = NULL;
    const struct upp_turn *turn = NULL;
    struct upp_err why = {0};
    if (!model)
        return -UPP_ENOMEM;
    TRY(upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .tools = tools, .n_tools = WB_LEN(tools),
                             .structure = row->structure, .strategy = strategy_of(row, out)),
                    &llm, err));
    int r;
    if (stream) {
        TRY(upp_stream_open(llm, UPP_OPTS(upp_input, .text = UPP_STR("go")), &s, err));
        r = upp_stream_turn(s, &turn, &why);
    } else {
        r = upp_ask(llm, UPP_STR("go"), &made, &why);
        turn = made;
    }
    if (r < 0) {
        out->code = why.code;
        (void)snprintf(out->msg, sizeof out->msg, "%s", why.msg);
    }
    if (!turn) { /* nothing was said: the engine has the question */
        wb_buf_addf(&out->said, "user: go\n");
        return wb_buf_check(&out->said, err);
    }
    out->usage = turn->usage;
    out->cycles = turn->n_cycles;
    for (size_t i = 0; i < turn->n_messages; i++)
        line_of(&out->said, &turn->messages[i]);
    return wb_buf_check(&out->said, err);
}

#define CALL(id, name, arguments)                                                                                      \
    "{\"tool_call\":{\"id\":\"" id "\",\"name\":\"" name "\",\"arguments\":" arguments "}}"
#define DONE                                                                                                           \
    "{\"parts\":[{\"text\":\"done\"}],\"usage\":{\"input_tokens\":9,\"output_tokens\":1,\"cache_write_tokens\":2}}"

static const char *const scripts[] = {
    "{\"replies\":[" DONE "]}",
    "{\"replies\":[{\"parts\":[{\"reasoning\":\"let me "
    "think\"},{\"text\":\"yes\"},{\"text\":\"no\"}],\"delta_bytes\":2}]}",
    "{\"replies\":[{\"parts\":[{\"text\":\"two\"}," CALL("a", "add", "{\"a\":1,\"b\":2}") "," CALL(
        "b", "add", "{\"a\":3}") "],\"usage\":{\"input_tokens\":4,\"output_tokens\":2,\"cache_read_tokens\":1}}," DONE
                                 "]}",
    "{\"replies\":[{\"parts\":[" CALL("a", "fails", "{}") "," CALL("b", "note", "{}") "]}," DONE "]}",
    "{\"replies\":[{\"parts\":[" CALL("a", "nobody", "{}") "]}," DONE "]}",
    "{\"replies\":[{\"parts\":[" CALL("a", "add", "\"{\\\"a\\\":\"") "," CALL("b", "add", "\"[1]\"") "," CALL(
        "c", "add", "\"\"") "]}," DONE "]}",
    "{\"at_end\":\"repeat_last\",\"replies\":[{\"parts\":[{\"tool_call\":{\"name\":\"note\"}}],\"usage\":{\"input_"
    "tokens\":1}}]}",
    "{\"replies\":[{\"error\":{\"code\":\"QUOTA_EXCEEDED\",\"message\":\"no money\",\"status\":402}}]}",
    "{\"replies\":[{\"parts\":[" CALL(
        "a", "note",
        "{}") "]},{\"parts\":[{\"reasoning\":\"so\"},{\"text\":\"as I was say\"}],"
              "\"delta_bytes\":3,\"error\":{\"code\":\"NETWORK_ERROR\",\"message\":\"cut\",\"after\":2}}]}",
    "{\"replies\":[{\"parts\":[]}]}",
};

/* Limits, and structured answers beside calls. */
#define AND_AGAIN "{\"at_end\":\"repeat_last\",\"replies\":[{\"parts\":[{\"tool_call\":{\"name\":\"note\"}}]}]}"
#define BOTH      "{\"replies\":[{\"parts\":[{\"text\":\"so\"}," CALL("a", "add", "{}") "],\"data\":{\"n\":1}}," DONE "]}"
static const struct row limited[] = {
    {AND_AGAIN, 1, NULL}, {AND_AGAIN, 3, NULL}, {AND_AGAIN, UPP_HAND_BACK, NULL}, {BOTH, 0, "{\"type\":\"object\"}"},
    {BOTH, 0, NULL},
};

static void outcome_done(struct outcome *o)
{
    wb_buf_done(&o->said);
}

static int plays(const struct row *row, bool stream)
{
    struct upp_err err = {0};
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    WB_CLEANUP(outcome_done) struct outcome engine = {.said = WB_BUF(1u << 20)};
    WB_CLEANUP(outcome_done) struct outcome upp = {.said = WB_BUF(1u << 20)};
    struct engine_run e = {row, &engine};
    test_note("script %s", row->script);
    if (!EXPECT(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = 7), &w, &err) >= 0) ||
        !EXPECT(weft_loop_run(weft__sim_loop(w, 0), "test", by_engine, &e, &err) >= 0) ||
        !EXPECT(by_libupp(row, stream, &upp, &err) >= 0))
        return 0;
    bool same = EXPECT(wb_str_eq(wb_buf_str(&upp.said), wb_buf_str(&engine.said)));
    same &= EXPECT(upp.code == engine.code);
    same &= EXPECT(strcmp(upp.msg, engine.msg) == 0);
    same &= EXPECT(upp.told == engine.told);
    same &= EXPECT(upp.usage.input == engine.usage.input && upp.usage.output == engine.usage.output);
    same &= EXPECT(upp.usage.cache_read == engine.usage.cache_read);
    same &= EXPECT(upp.usage.cache_write == engine.usage.cache_write);
    if (!engine.code) /* the engine counts a call that failed, too */
        same &= EXPECT(upp.cycles == engine.cycles);
    return same;
}

/* covers: UAP-5.2/1, UPP-1/1, UPP-3/1, UPP-4/1 */
TEST(llm_gives_what_the_engine_gives)
{
    for (size_t i = 0; i < 2 * WB_LEN(scripts); i++)
        CHECK(plays(&(struct row){.script = scripts[i / 2]}, i % 2));
}

/* covers: UAP-2.5/2, UAP-5.2/2 */
TEST(llm_ends_where_the_engine_ends)
{
    for (size_t i = 0; i < 2 * WB_LEN(limited); i++)
        CHECK(plays(&limited[i / 2], i % 2));
}
