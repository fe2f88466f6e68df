/* bench/bench_llm.c — what libupp's own loop costs beside a plain loop over the step interface: a turn without tools, a
 * round of two tools that do nothing, a streamed delta. All on one thread, with the scripted model. */
#include <stdint.h>
#include <string.h>
#include <upp/upp.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "json/syntax.h"
#include "models.h"

enum { ROUNDS = 10 };

static struct models models;
static struct upp_llm *llm_says, *llm_calls, *llm_talks;

static const struct upp_tool tools[] = {
    {.name = "noop_a", .description = "does nothing", .parameters = "{x: integer}", .run = no_op},
    {.name = "noop_b", .description = "does nothing", .parameters = "{x: integer}", .run = no_op}};

static void llm_turns(unsigned times)
{
    generate(llm_says, times);
}

/* Turns of ROUNDS rounds each; times counts rounds. */
static void llm_rounds(unsigned times)
{
    generate(llm_calls, times / ROUNDS);
}

static void llm_deltas(unsigned times)
{
    struct upp_err err = {0};
    struct upp_event ev;
    for (unsigned i = 0; i < times / DELTAS; i++) {
        UPP_CLEANUP(upp_stream_closep) struct upp_stream *s = NULL;
        int r;
        must(upp_stream_open(llm_talks, UPP_OPTS(upp_input, .text = UPP_STR("hello there")), &s, &err), &err);
        while ((r = upp_stream_next(s, &ev, &err)) > 0)
            bench_keep(&ev);
        must(r, &err);
    }
}

static void stamp(struct wb_arena *a, struct upp_message *m)
{
    struct upp_err err = {0};
    struct wb_uuid id;
    char text[WB_UUID_TEXT + 1];
    must(wb_uuid_new(&id, &err), &err);
    m->id = wb_arena_dup(a, wb_uuid_text(id, text));
    m->time_ms = wb_wall_ms();
}

static struct upp_message *user(struct wb_arena *a)
{
    struct upp_message *m = wb_new(a, struct upp_message);
    m->role = UPP_ROLE_USER;
    m->parts = wb_new(a, struct upp_part);
    m->n_parts = 1;
    m->parts[0] = (struct upp_part){.kind = UPP_PART_TEXT, .text = wb_arena_dup(a, UPP_STR("hello there"))};
    stamp(a, m);
    return m;
}

/* One answer of a model, kept; the scripts say each part in one delta. */
static struct upp_message *ask(const struct upp_model *model, const struct upp_message *const *path, size_t n,
                               struct wb_arena *a)
{
    static const struct upp_tool_spec specs[2];
    struct upp_err err = {0};
    struct upp_step *step;
    struct upp_step_event ev;
    struct upp_request req = {
        .messages = path, .n_messages = n, .tools = specs, .n_tools = 2, .attempt = 1, .whole = true};
    struct upp_message *m = wb_new(a, struct upp_message);
    m->role = UPP_ROLE_ASSISTANT;
    m->parts = wb_new_n(a, struct upp_part, 4);
    int r = upp_step_open(model, &req, NULL, &step, &err);
    must(r, &err);
    while ((r = upp_step_next(step, &ev, &err)) > 0)
        switch (ev.kind) {
        case UPP_STEP_PART_OPEN:
            m->parts[m->n_parts++] =
                (struct upp_part){.kind = ev.part_kind, .id = wb_arena_dup(a, ev.id), .name = wb_arena_dup(a, ev.name)};
            break;
        case UPP_STEP_DELTA:
            m->parts[ev.part].text = wb_arena_dup(a, ev.text);
            break;
        case UPP_STEP_END:
            m->metadata = wb_arena_dup(a, ev.metadata);
            break;
        default:
            break;
        }
    must(r, &err);
    upp_step_close(step);
    stamp(a, m);
    return m;
}

static void plain_turns(unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        struct wb_arena a = WB_ARENA(1u << 20);
        const struct upp_message *path = user(&a);
        bench_keep(ask(models.says, &path, 1, &a));
        wb_arena_done(&a);
    }
}

static const struct upp_message *run_tools(const struct upp_message *said, struct wb_arena *a)
{
    struct upp_message *m = wb_new(a, struct upp_message);
    m->role = UPP_ROLE_TOOL;
    m->parts = wb_new_n(a, struct upp_part, said->n_parts);
    m->n_parts = said->n_parts;
    for (size_t k = 0; k < said->n_parts; k++) {
        struct wj_syntax seen;
        uint64_t from = wb_mono_ns();
        if (wj_syntax(said->parts[k].text, 128, &seen, NULL) < 0)
            exit(1);
        m->parts[k] = (struct upp_part){.kind = UPP_PART_RESULT,
                                        .id = said->parts[k].id,
                                        .name = said->parts[k].name,
                                        .text = wb_arena_dup(a, UPP_STR("\"ok\""))};
        from = wb_mono_ns() - from; /* how long it took is part of the record */
        bench_keep(&from);
    }
    stamp(a, m);
    return m;
}

static void plain_rounds(unsigned times)
{
    for (unsigned i = 0; i < times / ROUNDS; i++) {
        struct wb_arena a = WB_ARENA(1u << 20);
        const struct upp_message *path[2 * ROUNDS + 1];
        size_t n = 0;
        path[n++] = user(&a);
        for (unsigned k = 0; k < ROUNDS; k++) {
            path[n] = ask(models.calls, path, n, &a);
            n++;
            path[n] = run_tools(path[n - 1], &a);
            n++;
        }
        bench_keep(ask(models.calls, path, n, &a));
        wb_arena_done(&a);
    }
}

/* Each delta added to a buffer. */
static void plain_deltas(unsigned times)
{
    struct upp_err err = {0};
    struct upp_step_event ev;
    for (unsigned i = 0; i < times / DELTAS; i++) {
        struct upp_step *step;
        struct wb_buf b = WB_BUF(1u << 24);
        struct upp_request req = {.attempt = 1};
        int r = upp_step_open(models.talks, &req, NULL, &step, &err);
        must(r, &err);
        while ((r = upp_step_next(step, &ev, &err)) > 0)
            if (ev.kind == UPP_STEP_DELTA)
                wb_buf_add(&b, ev.text);
        must(r, &err);
        upp_step_close(step);
        wb_buf_done(&b);
    }
}

/* For a profiler: one thing, so many times. */
static void only(const char *what, unsigned times)
{
    static const struct {
        const char *name;
        void (*fn)(unsigned);
    } things[] = {{"turn", llm_turns},           {"plain-turn", plain_turns}, {"round", llm_rounds},
                  {"plain-round", plain_rounds}, {"delta", llm_deltas},       {"plain-delta", plain_deltas}};
    for (size_t i = 0; i < WB_LEN(things); i++)
        if (strcmp(things[i].name, what) == 0)
            things[i].fn(times);
}

int main(int argc, char **argv)
{
    struct upp_err err = {0};
    models = make_models(ROUNDS, &err);
    must(upp_llm_new(UPP_OPTS(upp_llm_opts, .use = models.says, .tools = tools, .n_tools = 2), &llm_says, &err), &err);
    must(upp_llm_new(UPP_OPTS(upp_llm_opts, .use = models.calls, .tools = tools, .n_tools = 2), &llm_calls, &err),
         &err);
    must(upp_llm_new(UPP_OPTS(upp_llm_opts, .use = models.talks), &llm_talks, &err), &err);
    if (argc == 3)
        return only(argv[1], (unsigned)atoi(argv[2])), 0;
    BENCH(.name = "generate without tools", .product = llm_turns, .floor = plain_turns, .times = 20000,
          .goal_ns = 1500);
    BENCH(.name = "round of 2 no-op tools", .product = llm_rounds, .floor = plain_rounds, .times = 20000,
          .goal_ns = 1300);
    BENCH(.name = "delta of upp_stream", .product = llm_deltas, .floor = plain_deltas, .times = 5 * DELTAS,
          .goal_ns = 50);
    upp_llm_free(llm_says);
    upp_llm_free(llm_calls);
    upp_llm_free(llm_talks);
    free_models(&models);
    return 0;
}
