/* Random exchanges: whatever the agents reply, an exchange ends within its limits, every envelope in it is valid and
 * has an id of its own, and it continues from every prefix of its log as if nothing had happened. */
#include <stdio.h>

#include "json/value.h"
#include "support/envelopes.h"
#include "support/test.h"

enum { MOST = 600, CUTS = 6 };

struct entry {
    struct upp_str agent, id, sent, got; /* got: empty while there is no reply */
};

struct scene {
    struct wb_arena a;
    struct wc_config *c;
    struct envelopes_world world;
    struct we_limits limits;
    struct we_envelope ingress;
    struct entry *log;
    size_t n;
    size_t *order; /* of replies: indices of the log */
    size_t replies;
    unsigned *ids, *known; /* before each reply: ids made, requests sent */
    struct upp_str answer;
};

static void done(struct scene *s)
{
    wc_config_free(s->c);
    wb_arena_done(&s->a);
}

static uint64_t chance(uint64_t *seed)
{
    *seed += 0x9e3779b97f4a7c15;
    uint64_t z = (*seed ^ *seed >> 30) * 0xbf58476d1ce4e5b9;
    return (z ^ z >> 27) >> 8;
}

static int open(struct scene *s, uint64_t seed)
{
    static const char *const routes[] = {
        "",
        "routes: [{intent: [plan, execute, route], to: [{agent: a, weight: 2}, b], fallback: [c, d]}, {intent: "
        "reflect, to: c}]\n",
        "routes: [{intent: plan, when: {tags: x}, to: a}, {intent: plan, to: b, fallback: a}, {intent: [reflect, "
        "summarize], to: d, fallback: c}]\n",
        "routes: [{intent: [plan, reflect], to: a}, {intent: execute, to: a}]\n",
    };
    char yaml[1024];
    uint64_t r = seed;
    (void)snprintf(yaml, sizeof yaml,
                   "models: {gpt-5: {provider: scripted, echo: true}, claude: {provider: scripted, echo: true}, "
                   "gemini: {provider: scripted, "
                   "echo: true}, x: {provider: scripted, echo: true}}\n"
                   "agents: {a: {model: gpt-5}, b: {model: claude}, c: {model: gemini}, d: {model: x}}\n%s"
                   "envelopes: {reflections: %u, actions: {enabled: %s, depth: %u, count: %u, fan_out: %u}}\n",
                   routes[chance(&r) % 4], (unsigned)(chance(&r) % 4), chance(&r) % 4 ? "true" : "false",
                   (unsigned)(1 + chance(&r) % 6), (unsigned)(1 + chance(&r) % 60), (unsigned)(1 + chance(&r) % 4));
    *s = (struct scene){.a = WB_ARENA((size_t)256 << 20)};
    int code = envelopes_config(yaml, &s->c, NULL);
    if (code < 0)
        return code;
    s->limits = s->c->envelopes.limits;
    envelopes_world(&s->world, s->c);
    s->log = wb_new_n(&s->a, struct entry, MOST);
    s->order = wb_new_n(&s->a, size_t, MOST);
    s->ids = wb_new_n(&s->a, unsigned, MOST);
    s->known = wb_new_n(&s->a, unsigned, MOST);
    return s->log && s->order && s->ids && s->known
               ? envelopes_read(
                     &s->a,
                     envelopes_text(&s->a, "user", chance(&r) % 2 ? "plan" : "route", ",\"trace\":{\"id\":\"q\"}"),
                     &s->ingress)
               : -UPP_ENOMEM;
}

/* A reply that depends on the request alone. */
static int answer(struct scene *s, const struct we_exchange *x, struct entry *e)
{
    static const char *const parts[] = {"", ",\"confidence\":{\"score\":0.1}", ",\"confidence\":{\"score\":0.45}",
                                        ",\"confidence\":{\"score\":0.9}",
                                        ",\"role\":\"tool\",\"confidence\":{\"score\":0.2}"};
    static const char *const acts[] = {
        "", "{\"intent\":\"plan\",\"task\":\"t1\"}",
        "{\"intent\":\"execute\",\"task\":\"t2\"},{\"intent\":\"execute\",\"task\":\"t2\"}",
        ("{\"intent\":\"finalize\",\"task\":\"f\"},{\"intent\":\"summarize\",\"task\":\"s\"},{\"intent\":\"plan\","
         "\"task\":\"p\"}")};
    uint64_t r = wb_str_hash(e->id) ^ wb_str_hash(e->agent);
    struct upp_err failure = {.code = UPP_ENET, .msg = "down"};
    unsigned kind = (unsigned)(chance(&r) % 10);
    struct we_replied to = {.request = we_exchange_request(x, e->id),
                            .agent_id = e->agent,
                            .agent_name = e->agent,
                            .has_cost = true,
                            .output_tokens = 1};
    to.model = s->world.host.model_of(&s->world, e->agent);
    to.id = wb_arena_printf(&s->a, "re-%.*s", UPP_FMT(e->id));
    if (kind == 0)
        to.failure = &failure;
    else
        to.text = wb_arena_printf(&s->a,
                                  "{\"protocol\":\"multiagent-1.0\",\"content\":{\"type\":\"text\",\"text\":\"x\"}%s,"
                                  "\"outputs\":{\"next_actions\":[%s]}}",
                                  parts[chance(&r) % 5], acts[chance(&r) % 4]);
    if (kind == 1) { /* garbage of a broken agent */
        e->got = UPP_STR("{}");
        return 0;
    }
    return we_take_reply(&s->a, NULL, &to, &e->got, NULL);
}

/* Sends what is due, replies to all of it, until nothing is due. */
static int live(struct scene *s, struct we_exchange *x)
{
    struct we_ask asks[3]; /* fewer than a wave may have */
    size_t n, from = s->replies;
    int r = 0;
    for (;;) {
        for (; r >= 0 && from < s->n; from++) {
            struct entry *e = &s->log[s->order[from]];
            s->ids[s->replies] = s->world.ids;
            s->known[s->replies++] = (unsigned)s->n;
            r = answer(s, x, e);
            if (r >= 0)
                r = we_exchange_reply(x, e->id, e->got, NULL);
        }
        if (r < 0)
            return r;
        r = we_exchange_next(x, asks, WB_LEN(asks), &n, NULL);
        if (r < 0 || !n)
            break;
        for (size_t i = 0; i < n; i++) {
            if (!EXPECT(s->n < MOST))
                return -1;
            s->order[s->n] = s->n;
            s->log[s->n++] = (struct entry){.agent = asks[i].agent, .id = asks[i].id, .sent = asks[i].envelope};
        }
    }
    return r < 0 ? r : we_exchange_answer(x, &s->answer, NULL);
}

/* From the first `cut` replies of a log: the rest is the same. */
static bool resumes(const struct scene *whole, size_t cut)
{
    struct scene s = *whole;
    struct we_exchange *x;
    s.n = cut < whole->replies ? whole->known[cut] : whole->n;
    s.replies = cut;
    int r = we_exchange_new(&s.a, &s.world.host, &s.limits, &s.ingress, &x, NULL);
    size_t sent = 0;
    for (size_t i = 0; r >= 0 && i <= cut; i++) {
        for (size_t upto = i < cut ? whole->known[i] : s.n; r >= 0 && sent < upto; sent++) {
            r = we_exchange_sent(x, s.log[sent].agent, s.log[sent].sent, NULL);
            if (!EXPECT(r == 0))
                return false;
        }
        if (r >= 0 && i < cut)
            r = we_exchange_reply(x, s.log[i].id, s.log[i].got, NULL);
    }
    s.world.ids = cut < whole->replies ? whole->ids[cut] : whole->world.ids;
    s.world.host.arg = &s.world;
    if (r >= 0)
        r = live(&s, x);
    bool same = EXPECT(r >= 0) && EXPECT(s.n == whole->n) &&
                test_expect_str(s.answer, whole->answer, __FILE__, __LINE__, "answer");
    for (size_t i = 0; same && i < s.n; i++)
        same = test_expect_str(s.log[i].sent, whole->log[i].sent, __FILE__, __LINE__, "request");
    /* The arena may have grown: the first scene frees it. */
    ((struct scene *)(uintptr_t)whole)->a = s.a;
    return same;
}

static bool in_limits(struct scene *s)
{
    size_t actions = 0, most;
    for (size_t i = 0; i < s->n; i++) {
        struct we_envelope e;
        if (!EXPECT(we_read(&s->a, s->log[i].sent, NULL, &e, NULL) >= 0) || !EXPECT(e.id.n > 0))
            return false;
        for (size_t k = 0; k < i; k++)
            if (!EXPECT(!wb_str_eq(s->log[k].id, e.id)))
                return false;
        actions += e.intent != WE_REFLECT && !we_has_tag(&e, UPP_STR(WE_FALLBACK)) && i > 0;
    }
    most = s->limits.actions.on ? s->limits.actions.count : 0;
    return EXPECT(actions <= most) && EXPECT(s->n <= (1 + most) * (4 + 4 * (size_t)s->limits.reflections));
}

TEST_WITH(exchange_is_sound_whatever_happens, .no_torture = "many exchanges: those of test_exchange.c are",
          .seconds = 300)
{
    uint64_t seeds = test_times("WEFT_EXCHANGES", 400), first = test_number("WEFT_SEED", 1), longest = 0;
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        WB_CLEANUP(done) struct scene s;
        struct we_exchange *x;
        struct we_envelope e;
        int r = open(&s, seed);
        test_note("seed %llu", (unsigned long long)seed);
        CHECK(r >= 0);
        CHECK(we_exchange_new(&s.a, &s.world.host, &s.limits, &s.ingress, &x, NULL) >= 0);
        s.world.host.arg = &s.world;
        CHECK(live(&s, x) >= 0 && in_limits(&s));
        CHECK(we_read(&s.a, s.answer, NULL, &e, NULL) >= 0);
        CHECK(we_exchange_waiting(x) == 0);
        if (s.n) /* without a request the answer has a new id each time */
            for (size_t k = 0; k < CUTS; k++)
                CHECK(resumes(&s, s.replies * k / (CUTS - 1)));
        longest = s.n > longest ? s.n : longest;
    }
    CHECK(seeds < 100 || longest > 40);
}
