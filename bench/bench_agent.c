/* Agents by their public interface, beside what they cost at least: one agent beside its memory and id, a run beside
 * libupp's own loop, a streamed delta beside libupp's own stream. All on one thread, from outside of any fiber. */
#include <stdint.h>
#include <string.h>
#include <weft/weft.h>

#include "base/buf.h"
#include "base/hooks.h"
#include "base/uuid.h"
#include "models.h"

enum { AGENTS = 10000 };

static struct weft_runtime *rt;
static struct models models;
static struct weft_agent *says_agent, *calls_agent, *talks_agent;
static struct upp_llm *says_llm, *calls_llm, *talks_llm;

static const struct upp_tool tools[] = {
    {.name = "noop_a", .description = "does nothing", .parameters = "{x?: integer}", .run = no_op},
    {.name = "noop_b", .description = "does nothing", .parameters = "{x?: integer}", .run = no_op}};

static size_t taken; /* bytes asked of the system's memory */

static void *count_alloc(size_t n)
{
    taken += n;
    return malloc(n);
}

static void *count_resize(void *p, size_t n)
{
    taken += n;
    return realloc(p, n);
}

static void new_agent(struct weft_runtime *in, struct weft_agent **ret)
{
    struct upp_err err;
    must(weft_agent_new(in,
                        UPP_OPTS(weft_agent_opts, .use = models.says, .system = "You do nothing.", .tools = {tools, 2}),
                        ret, &err),
         &err);
}

enum { ROUNDS = 128 };
static struct weft_runtime *runtimes[ROUNDS];
static size_t n_runtimes;

/* So many live at the same time, in a runtime of their own, which is part of the cost; neither side frees anything
 * before the end. */
static void make_agents(unsigned times)
{
    struct upp_err err = {0};
    struct weft_runtime *in = NULL;
    if (n_runtimes == ROUNDS)
        exit(1);
    must(weft_runtime_open(NULL, &in, &err), &err);
    runtimes[n_runtimes++] = in;
    for (unsigned i = 0; i < times; i++) {
        struct weft_agent *a;
        new_agent(in, &a);
        bench_keep(a);
    }
}

static void *memory[AGENTS * ROUNDS];

static void make_memory(unsigned times)
{
    static size_t at;
    for (unsigned i = 0; i < times; i++) {
        struct wb_uuid id;
        struct upp_err err;
        char *p = wb_alloc(136);
        must(wb_uuid_new(&id, &err), &err);
        memcpy(p, &id, sizeof id);
        memory[at++ % WB_LEN(memory)] = p;
        bench_keep(p);
    }
}

static void run(struct weft_agent *a, unsigned times)
{
    struct upp_err err = {0};
    for (unsigned i = 0; i < times; i++) {
        UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
        must(weft_agent_run(a, UPP_STR("hello there"), &turn, &err), &err);
        bench_keep(turn);
    }
}

static void run_says(unsigned times)
{
    run(says_agent, times);
}

static void run_calls(unsigned times)
{
    run(calls_agent, times);
}

static void upp_says(unsigned times)
{
    generate(says_llm, times);
}

static void upp_calls(unsigned times)
{
    generate(calls_llm, times);
}

static size_t heard;

static void stream_talks(unsigned times)
{
    struct upp_err err = {0};
    for (unsigned i = 0; i < times / DELTAS; i++) {
        struct weft_stream *s;
        struct weft_event ev;
        int r;
        must(weft_agent_stream(talks_agent, UPP_OPTS(upp_input, .text = UPP_STR("hello there")), NULL, &s, &err), &err);
        while ((r = weft_stream_next(s, &ev, &err)) > 0)
            heard += ev.upp.text.n;
        must(r, &err);
        weft_stream_close(s);
    }
}

static void upp_talks(unsigned times)
{
    struct upp_err err = {0};
    for (unsigned i = 0; i < times / DELTAS; i++) {
        struct upp_stream *s;
        struct upp_event ev;
        int r;
        must(upp_stream_open(talks_llm, UPP_OPTS(upp_input, .text = UPP_STR("hello there")), &s, &err), &err);
        while ((r = upp_stream_next(s, &ev, &err)) > 0)
            heard += ev.text.n;
        must(r, &err);
        upp_stream_close(s);
    }
}

static void make_one(struct upp_model *m, struct weft_agent **agent, struct upp_llm **llm, struct upp_err *err)
{
    must(weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .use = m, .tools = {tools, 2}), agent, err), err);
    must(upp_llm_new(UPP_OPTS(upp_llm_opts, .use = m, .tools = tools, .n_tools = 2), llm, err), err);
}

/* For a profiler, and beside peers: one thing, so many times, and the nanoseconds of one. */
static int only(const char *what, unsigned times)
{
    static const struct {
        const char *name;
        void (*fn)(unsigned);
    } things[] = {{"agent", make_agents}, {"memory", make_memory},  {"run", run_says},       {"upp-run", upp_says},
                  {"round", run_calls},   {"upp-round", upp_calls}, {"delta", stream_talks}, {"upp-delta", upp_talks}};
    for (size_t i = 0; i < WB_LEN(things); i++)
        if (strcmp(things[i].name, what) == 0)
            printf("%.2f\n", bench_once(things[i].fn, times));
    return 0;
}

static void report_bytes(struct upp_err *err)
{
    struct weft_runtime *in;
    struct weft_agent *a;
    must(weft_runtime_open(NULL, &in, err), err);
    taken = 0;
    for (unsigned i = 0; i < AGENTS; i++)
        new_agent(in, &a);
    printf("agent with a model and 2 tools: %zu bytes each, of %d (goal: 256)\n", taken / AGENTS, AGENTS);
    weft_runtime_close(in);
}

int main(int argc, char **argv)
{
    struct upp_err err = {0};
    struct upp_hooks hooks = {.size = sizeof hooks, .alloc = count_alloc, .resize = count_resize, .release = free};
    must(upp_global_init(&hooks, &err), &err);
    models = make_models(1, &err);
    must(weft_runtime_open(NULL, &rt, &err), &err);
    make_one(models.says, &says_agent, &says_llm, &err);
    make_one(models.calls, &calls_agent, &calls_llm, &err);
    make_one(models.talks, &talks_agent, &talks_llm, &err);
    if (argc == 3)
        return only(argv[1], (unsigned)atoi(argv[2]));
    report_bytes(&err);
    BENCH(.name = "make an agent", .product = make_agents, .floor = make_memory, .times = AGENTS, .goal_ns = 200,
          .goal_ratio = 2);
    BENCH(.name = "agent run without tools", .product = run_says, .floor = upp_says, .times = 20000, .goal_ratio = 2);
    BENCH(.name = "agent run with a round of 2 tools", .product = run_calls, .floor = upp_calls, .times = 10000,
          .goal_ratio = 2);
    BENCH(.name = "agent stream, a delta", .product = stream_talks, .floor = upp_talks, .times = 5 * DELTAS,
          .goal_ratio = 2);
    while (n_runtimes)
        weft_runtime_close(runtimes[--n_runtimes]);
    upp_llm_free(says_llm);
    upp_llm_free(calls_llm);
    upp_llm_free(talks_llm);
    weft_runtime_close(rt);
    free_models(&models);
    return heard == 0;
}
