/* A run through the engine beside libupp's own loop, and a delta on its way to a reader: all without a store, on one
 * thread. */
#include <stdint.h>
#include <string.h>
#include <upp/llm.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/hooks.h"
#include "base/uuid.h"
#include "dialects/core/dialect.h"
#include "json/read.h"
#include "models.h"
#include "run/engine.h"

static const struct wl_owner owner = {.tenant = UPP_STR_INIT("local"), .user = UPP_STR_INIT("")};

static struct weft_loop *loop;
static struct wr_engine *engine;
static struct models models;

#define SPEC(name_)                                                                                                    \
    {                                                                                                                  \
        .name = UPP_STR_INIT(name_), .description = UPP_STR_INIT("does nothing"),                                      \
        .parameters = UPP_STR_INIT("{\"type\":\"object\"}")                                                            \
    }
static const struct wr_tool tools[] = {{.spec = SPEC("noop_a"), .base = {.run = no_op}},
                                       {.spec = SPEC("noop_b"), .base = {.run = no_op}}};

static struct wr_agent_def agents[3];

static const struct wr_agent_def *find_agent(void *arg, struct upp_str name)
{
    (void)arg;
    for (size_t i = 0; i < WB_LEN(agents); i++)
        if (wb_str_eq(agents[i].name, name))
            return &agents[i];
    return NULL;
}

static void make_agent(size_t i, struct upp_str name, const struct upp_model *model)
{
    agents[i] = (struct wr_agent_def){.name = name,
                                      .id = UPP_STR("5f0c8c1e-6a4e-4f0e-9d0c-0b8f6f6a1c11"),
                                      .model = model,
                                      .strategy = &weft_strategy_loop,
                                      .tools = tools,
                                      .n_tools = WB_LEN(tools)};
}

struct load {
    struct upp_str agent;
    unsigned times;
    bool read;
};

static struct upp_part hello_part = {.kind = UPP_PART_TEXT, .text = UPP_STR_INIT("hello there")};
static struct upp_message hello = {.role = UPP_ROLE_USER, .parts = &hello_part, .n_parts = 1};

static size_t frames_bytes;

static WEFT_SUSPENDS int read_run(struct wb_uuid run, struct upp_err *err)
{
    UPP_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct wd_frames frames;
    struct wm_event ev;
    static char state[4096] __attribute__((aligned(16)));
    int r = wr_reader_open(engine, &owner, run, NULL, &rd, err);
    if (r < 0)
        return r;
    if (sizeof state < wd_stream_uap.state_size)
        return upp_fail(err, UPP_EBUG, "the state of an encoder does not fit");
    memset(state, 0, sizeof state);
    wd_frames_init(&frames);
    r = wd_stream_uap.begin(state, NULL, err);
    while (r >= 0 && (r = wr_reader_next(rd, true, &ev, err)) > 0) {
        wd_frames_clear(&frames);
        r = wd_stream_uap.event(state, &ev, &frames, err);
        frames_bytes += frames.text.n;
    }
    if (wd_stream_uap.done)
        wd_stream_uap.done(state);
    wd_frames_done(&frames);
    return r;
}

static WEFT_SUSPENDS int runs(void *arg, struct upp_err *err)
{
    const struct load *l = arg;
    for (unsigned i = 0; i < l->times; i++) {
        struct wr_started s;
        uint8_t status;
        struct wr_start what = {.owner = owner, .agent = l->agent, .input = &hello};
        int r = wr_start(engine, &what, &s, err);
        if (r >= 0)
            r = l->read ? read_run(s.run, err) : wr_wait(engine, &owner, s.run, &status, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static void load(struct upp_str agent, unsigned times, bool read)
{
    struct upp_err err = {0};
    struct load l = {agent, times, read};
    must(weft_loop_run(loop, "bench", runs, &l, &err), &err);
}

static void run_says(unsigned times)
{
    load(UPP_STR("says"), times, false);
}

static void run_calls(unsigned times)
{
    load(UPP_STR("calls"), times, false);
}

static void run_talks(unsigned times)
{
    load(UPP_STR("talks"), times / DELTAS, true);
}

static struct upp_llm *says_llm, *calls_llm;

static void make_llms(void)
{
    static const char params[] = "{\"type\":\"object\"}";
    static const struct upp_tool both[] = {
        {.name = "noop_a", .description = "does nothing", .parameters = params, .run = no_op},
        {.name = "noop_b", .description = "does nothing", .parameters = params, .run = no_op}};
    struct upp_err err = {0};
    must(upp_llm_new(UPP_OPTS(upp_llm_opts, .use = models.says, .tools = both, .n_tools = 2), &says_llm, &err), &err);
    must(upp_llm_new(UPP_OPTS(upp_llm_opts, .use = models.calls, .tools = both, .n_tools = 2), &calls_llm, &err), &err);
}

static void upp_says(unsigned times)
{
    generate(says_llm, times);
}

static void upp_calls(unsigned times)
{
    generate(calls_llm, times);
}

/* The least a delta costs: escaped into a line of a buffer. */
static void plain_frames(unsigned times)
{
    static char out[1 << 16];
    size_t n = 0;
    static const char head[] =
        "data: {\"source\":\"upp\",\"upp\":{\"type\":\"text_delta\",\"index\":0,\"delta\":{\"text\":\"";
    for (unsigned i = 0; i < times; i++) {
        if (n > sizeof out - 256)
            n = 0;
        memcpy(out + n, head, sizeof head - 1);
        n += sizeof head - 1;
        for (const char *p = "word "; *p; p++) {
            if ((unsigned char)*p < 32 || *p == '"' || *p == '\\')
                out[n++] = '\\';
            out[n++] = *p;
        }
        memcpy(out + n, "\"}}}\n\n", 6);
        n += 6;
        bench_keep(out);
    }
}

/* For a profiler: one thing, so many times. */
static void only(const char *what, unsigned times)
{
    static const struct {
        const char *name;
        void (*fn)(unsigned);
    } things[] = {
        {"run", run_says}, {"upp-run", upp_says}, {"round", run_calls}, {"upp-round", upp_calls}, {"delta", run_talks}};
    for (size_t i = 0; i < WB_LEN(things); i++)
        if (strcmp(things[i].name, what) == 0)
            things[i].fn(times);
}

int main(int argc, char **argv)
{
    struct upp_err err = {0};
    models = make_models(1, &err);
    make_llms();
    make_agent(0, UPP_STR("says"), models.says);
    make_agent(1, UPP_STR("calls"), models.calls);
    make_agent(2, UPP_STR("talks"), models.talks);
    must(weft_loop_open(NULL, &loop, &err), &err);
    must(wr_engine_open(loop, UPP_OPTS(wr_engine_opts, .agent = find_agent), &engine, &err), &err);
    if (argc == 3)
        return only(argv[1], (unsigned)atoi(argv[2])), 0;
    BENCH(.name = "run without tools", .product = run_says, .floor = upp_says, .times = 20000, .goal_ratio = 2);
    BENCH(.name = "run with a round of 2 tools", .product = run_calls, .floor = upp_calls, .times = 10000,
          .goal_ratio = 2);
    BENCH(.name = "delta to one uap reader", .product = run_talks, .floor = plain_frames, .times = 5 * DELTAS,
          .goal_ns = 150);
    weft_loop_close(loop);
    upp_llm_free(says_llm);
    upp_llm_free(calls_llm);
    free_models(&models);
    return frames_bytes == 0;
}
