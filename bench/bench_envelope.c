/* bench/bench_envelope.c — what it costs to route envelopes in a process: read and check one, find its agent, ask a
 * function, read and check its reply, and write the answer. By what it takes to parse the two texts.
 *
 * With arguments, for bench/peers/compare: `mux TIMES` prints the microseconds for one routed envelope, `print
 * question` and `print reply` the two envelopes.
 */
#include <string.h>
#include <weft/envelope.h>

#include "bench.h"
#include "envelope/replay.h"
#include "json/read.h"
#include "upp/turn.h"

static const struct upp_str question = UPP_STR_INIT(
    "{\"protocol\":\"multiagent-1.0\",\"role\":\"agent\",\"agent\":{\"id\":\"gpt5.plan\",\"name\":\"Planner\","
    "\"model\":"
    "\"gpt-5\"},\"timestamp\":\"2025-10-10T12:40:00Z\",\"intent\":\"decompose\",\"task\":\"Turn plan into executable "
    "tasks\",\"inputs\":{\"context\":\"User sells items; wants daily price "
    "tracker\",\"parameters\":{\"temperature\":0.2,"
    "\"max_tokens\":8000}},\"content\":{\"type\":\"text\",\"text\":\"I propose a 3-step "
    "plan.\"},\"confidence\":{\"score\":"
    "0.78,\"rationale\":\"Common workflow; low complexity\"},\"trace\":{\"parents\":[\"msg_001\"],\"id\":\"msg_002\","
    "\"tags\":[\"checkout-flow\"]}}");
static const struct upp_str reply = UPP_STR_INIT(
    "{\"protocol\":\"multiagent-1.0\",\"role\":\"agent\",\"agent\":{\"id\":\"claude.decompose\",\"name\":"
    "\"Decomposer\","
    "\"model\":\"claude-3.7-sonnet\"},\"timestamp\":\"2025-10-10T12:41:30Z\",\"intent\":\"decompose\",\"task\":\"Break "
    "plan "
    "into atomic steps\",\"content\":{\"type\":\"json\",\"text\":\"object: tasks\",\"data\":{\"tasks\":[{\"id\":\"t1\","
    "\"desc\":\"Read urls.csv\"},{\"id\":\"t2\",\"desc\":\"Fetch HTML per URL\"},{\"id\":\"t3\",\"desc\":\"Parse price "
    "with "
    "selector\"}]}},\"outputs\":{\"next_actions\":[{\"intent\":\"execute\",\"task\":\"Run t1..t3 via "
    "Tool.Scraper\",\"args\":{\"batch\":50}}]},\"confidence\":{\"score\":0.74}}");

static struct weft_mux *mux;
static struct we_envelope envelope;
static struct wb_arena memory = WB_ARENA(1u << 20);

static int answer(void *arg, struct upp_str text, struct weft_mux_answer *to, struct upp_err *err)
{
    (void)arg, (void)text;
    return weft_mux_reply(to, reply, err);
}

static void route_in_process(unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        struct upp_str text;
        if (weft_mux_route(mux, question, &text, NULL) < 0)
            abort();
        bench_keep(text.p);
        upp_text_free(text);
    }
}

static void parse_both(unsigned times)
{
    struct wb_arena a = WB_ARENA(1u << 20);
    for (unsigned i = 0; i < times; i++) {
        yyjson_val *v;
        wb_arena_reset(&a);
        if (wj_read(&a, question, NULL, &v, NULL) < 0 || wj_read(&a, reply, NULL, &v, NULL) < 0)
            abort();
        bench_keep(v);
    }
    wb_arena_done(&a);
}

static void read_one(unsigned times)
{
    struct wb_arena a = WB_ARENA(1u << 20);
    for (unsigned i = 0; i < times; i++) {
        struct we_envelope e;
        wb_arena_reset(&a);
        if (we_read(&a, question, NULL, &e, NULL) < 0)
            abort();
        bench_keep(&e);
    }
    wb_arena_done(&a);
}

static void parse_one(unsigned times)
{
    struct wb_arena a = WB_ARENA(1u << 20);
    for (unsigned i = 0; i < times; i++) {
        yyjson_val *v;
        wb_arena_reset(&a);
        if (wj_read(&a, question, NULL, &v, NULL) < 0)
            abort();
        bench_keep(v);
    }
    wb_arena_done(&a);
}

/* The worst that a configuration may have: the last of 256 rules fits. */
static void find_rule(unsigned times)
{
    static struct we_target target = {.agent = UPP_STR_INIT("a"), .weight = 1};
    static struct we_rule rules[WE_MAX_RULES];
    static const struct we_routes routes = {.rules = rules, .n = WE_MAX_RULES};
    for (size_t i = 0; i < WE_MAX_RULES; i++)
        rules[i] = (struct we_rule){.intents = 1u << WE_DECOMPOSE,
                                    .when = {.role = i + 1 < WE_MAX_RULES ? UPP_STR("user") : UPP_STR("agent")},
                                    .conditional = true,
                                    .targets = &target,
                                    .n_targets = 1};
    for (unsigned i = 0; i < times; i++) {
        struct we_choice choice;
        if (we_route(&memory, &routes, &envelope, (struct upp_str){0}, &choice, NULL) < 0)
            abort();
        bench_keep(&choice);
    }
}

/* A log of exchanges of two envelopes, a question and its reply, with ids of their own. */
static struct upp_str model_of(void *arg, struct upp_str agent)
{
    (void)arg, (void)agent;
    return UPP_STR("claude-3.7-sonnet");
}

/* Envelope number i of the log: a question with an id, or the reply to it. */
static size_t put(char *to, size_t size, unsigned i)
{
    bool is_reply = i % 2;
    struct upp_str text = is_reply ? reply : question;
    size_t trace = wb_str_find(text, UPP_STR(",\"trace\""), 0);
    int n = snprintf(to, size, "%.*s,\"trace\":{\"id\":\"%c%u\",\"parents\":[\"%c%u\"]}}",
                     (int)(is_reply ? text.n - 1 : trace), text.p, is_reply ? 'a' : 'q', i / 2, is_reply ? 'q' : 'p',
                     i / 2);
    return (size_t)n;
}

static void replay_log(unsigned times)
{
    static struct we_target target = {.agent = UPP_STR_INIT("claude.decompose"), .weight = 1};
    static struct we_rule rule = {.intents = 1u << WE_DECOMPOSE, .targets = &target, .n_targets = 1};
    static const struct we_routes routes = {.rules = &rule, .n = 1};
    static const struct we_limits limits = WE_LIMITS_DEFAULT;
    static const struct we_adapters none;
    const struct we_replay_opts opts = {.routes = &routes, .adapters = &none, .limits = &limits, .model_of = model_of};
    struct we_replay *replay;
    struct we_replayed sum;
    if (we_replay_new(&opts, &replay, NULL) < 0)
        abort();
    for (unsigned i = 0; i < times; i++) {
        char text[2048];
        size_t n = put(text, sizeof text, i);
        if (we_replay_add(replay, (struct upp_str){text, n}, NULL) < 0)
            abort();
    }
    if (we_replay_end(replay, &sum, NULL) < 0 || sum.differences || sum.exchanges != (times + 1) / 2)
        abort();
    we_replay_free(replay);
}

static void parse_log(unsigned times)
{
    for (unsigned i = 0; i < times; i += 2)
        parse_both(1);
}

int main(int argc, char **argv)
{
    static const struct weft_mux_rule rules[] = {{.intent = "plan", .fn = answer},
                                                 {.intent = "decompose", .fn = answer},
                                                 {.intent = "execute", .fn = answer},
                                                 {.intent = "reflect", .fn = answer}};
    if (weft_mux_new(rules, 4, NULL, &mux, NULL) < 0 || we_read(&memory, question, NULL, &envelope, NULL) < 0)
        return 1;
    if (argc == 3 && strcmp(argv[1], "mux") == 0) {
        unsigned times = (unsigned)strtoul(argv[2], NULL, 10);
        route_in_process(times / 10 + 1);
        (void)printf("%.3f\n", bench_once(route_in_process, times ? times : 1) / 1000);
    } else if (argc == 3 && strcmp(argv[1], "print") == 0) {
        struct upp_str text = strcmp(argv[2], "reply") == 0 ? reply : question;
        (void)printf("%.*s", UPP_FMT(text));
    } else {
        BENCH(.name = "route an envelope", .product = route_in_process, .floor = parse_both, .times = 10000,
              .goal_ns = 5000);
        BENCH(.name = "read and check one", .product = read_one, .floor = parse_one, .times = 20000, .goal_ns = 2000);
        BENCH(.name = "replay an envelope", .product = replay_log, .floor = parse_log, .times = 20000, .goal_ns = 5000);
        BENCH(.name = "the last of 256 rules", .product = find_rule, .times = 20000, .goal_ns = 5000);
    }
    weft_mux_free(mux);
    wb_arena_done(&memory);
    return 0;
}
