/* support/invent.c — draws documents from a seed, and writes down what must not be lost of them. */
#include "support/invent.h"

#include <upp/model.h>

#include "base/defs.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"

struct inventing {
    uint64_t seed;
    struct wb_arena *a;
    struct wm_doc *d;
    struct upp_err *err;
    int64_t now;
    unsigned calls;
    WB_VEC(struct upp_part) parts;
};

static uint32_t pick(struct inventing *x, uint32_t below)
{
    x->seed = x->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(x->seed >> 33) % below;
}

static struct upp_str words(struct inventing *x)
{
    static const char *const some[] = {
        "What is the weather?", "Paris", "\xc3\xa9t\xc3\xa9, \xe2\x82\xac 5", "a\nb\tc",     "He said \"no\" \\ twice",
        "{\"a\": 1}",           "1",     "https://example.org/?q=1&r=2",      "<b>bold</b>", "null"};
    return wb_arena_printf(x->a, "%s #%u", some[pick(x, WB_LEN(some))], pick(x, 1000));
}

static int add(struct inventing *x, struct upp_part part)
{
    return wb_vec_push(&x->parts, part, (size_t)64) ? 0 : -UPP_ENOMEM;
}

static int add_text(struct inventing *x, uint8_t kind)
{
    return add(x, (struct upp_part){.kind = kind, .text = words(x)});
}

static int add_medium(struct inventing *x)
{
    struct upp_media *m = wb_new(x->a, struct upp_media);
    if (!m)
        return -UPP_ENOMEM;
    *m = pick(x, 2)
             ? (struct upp_media){.source = UPP_SOURCE_BASE64, .data = UPP_STR("aGk="), .mime = UPP_STR("image/png")}
             : (struct upp_media){.source = UPP_SOURCE_URL,
                                  .data = UPP_STR("https://example.org/a.png"),
                                  .mime = UPP_STR("image/png")};
    if (!pick(x, 3)) {
        m->width = UPP_STR("2"), m->height = UPP_STR("1");
        m->title = UPP_STR("a.png");
    }
    if (m->source == UPP_SOURCE_BASE64 && !pick(x, 4))
        m->source = UPP_SOURCE_BYTES;
    return add(x, (struct upp_part){.kind = UPP_PART_IMAGE, .media = m});
}

static int end_entry(struct inventing *x, uint8_t role, uint32_t agent)
{
    struct wm_doc_entry *e = wm_doc_entry_add(x->d, x->err);
    if (!e)
        return -UPP_ENOMEM;
    struct upp_message *m = &e->e.message;
    e->agent = agent;
    if (agent != WM_NO_AGENT)
        e->e.who = x->d->agents.p[agent].name;
    x->now += 1000;
    m->id = e->id = wb_arena_printf(x->a, "m-%zu", x->d->entries.n);
    m->role = role;
    m->time_ms = x->now;
    m->n_parts = x->parts.n;
    m->parts = wb_new_n(x->a, struct upp_part, x->parts.n);
    if (!m->parts)
        return -UPP_ENOMEM;
    memcpy(m->parts, x->parts.p, x->parts.n * sizeof *m->parts);
    x->parts.n = 0;
    if (!pick(x, 8))
        m->metadata = UPP_STR("{\"own\":{\"k\":1.50}}");
    return 0;
}

static int add_event(struct inventing *x, uint32_t agent)
{
    struct wm_doc_entry *e = wm_doc_entry_add(x->d, x->err);
    if (!e)
        return -UPP_ENOMEM;
    e->agent = agent;
    if (agent != WM_NO_AGENT)
        e->e.who = x->d->agents.p[agent].name;
    e->e.kind = WM_ENTRY_EVENT;
    e->e.data = UPP_STR("{\"type\":\"note.taken\",\"data\":{\"n\":1}}");
    e->e.message.time_ms = x->now += 1000;
    return 0;
}

static int invent_user(struct inventing *x)
{
    int r = 0;
    for (uint32_t n = 1 + pick(x, 2); r >= 0 && n; n--)
        r = add_text(x, UPP_PART_TEXT);
    if (r >= 0 && !pick(x, 5))
        r = add_medium(x);
    return r < 0 ? r : end_entry(x, UPP_ROLE_USER, WM_NO_AGENT);
}

/* What is said and called, then the results; `all` of them, or perhaps not. */
static int invent_step(struct inventing *x, uint32_t agent, bool calls, bool all)
{
    static const char *const args[] = {"{}", "{\"city\":\"Paris\"}", "{\"n\":[1,2.50,null],\"s\":\"\xc3\xa9\"}"};
    static const char *const results[] = {"\"sunny\"", "{\"t\":21}", "[1,2]", "null", "true", "17"};
    size_t first = x->d->entries.n;
    int r = pick(x, 4) ? 0 : add_text(x, UPP_PART_REASONING);
    for (uint32_t n = calls ? pick(x, 2) : 1 + pick(x, 2); r >= 0 && n; n--)
        r = add_text(x, UPP_PART_TEXT);
    for (uint32_t n = calls ? 1 + pick(x, 3) : 0; r >= 0 && n; n--)
        r = add(x, (struct upp_part){.kind = UPP_PART_CALL,
                                     .id = wb_arena_printf(x->a, "call_%u", ++x->calls),
                                     .name = pick(x, 2) ? UPP_STR("weather") : UPP_STR("search_web"),
                                     .text = wb_cstr(args[pick(x, WB_LEN(args))])});
    if (r >= 0)
        r = end_entry(x, UPP_ROLE_ASSISTANT, agent);
    if (r < 0 || !calls)
        return r;
    const struct upp_message *m = &x->d->entries.p[first].e.message;
    for (size_t i = 0; r >= 0 && i < m->n_parts; i++)
        if (m->parts[i].kind == UPP_PART_CALL && (all || pick(x, 2)))
            r = add(x, (struct upp_part){.kind = UPP_PART_RESULT,
                                         .id = m->parts[i].id,
                                         .name = m->parts[i].name,
                                         .text = wb_cstr(results[pick(x, WB_LEN(results))]),
                                         .is_error = !pick(x, 6)});
    return r < 0 || !x->parts.n ? r : end_entry(x, UPP_ROLE_TOOL, agent);
}

static int invent_agent(struct inventing *x, uint32_t agent, bool last)
{
    int r = 0;
    for (uint32_t n = pick(x, 3); r >= 0 && n; n--) {
        r = invent_step(x, agent, true, true);
        if (r >= 0 && !pick(x, 4))
            r = add_event(x, agent);
    }
    bool open = last && !pick(x, 3);
    if (r >= 0)
        r = invent_step(x, agent, open, false);
    if (r < 0 || open || pick(x, 6))
        return r;
    struct upp_message *m = &x->d->entries.p[x->d->entries.n - 1].e.message;
    m->interrupted = true;
    m->parts[m->n_parts - 1].cut = true;
    return 0;
}

/* What turns may have of their own. */
static void own_turns(struct inventing *x)
{
    for (size_t i = 0; i < x->d->turns.n; i++) {
        struct wm_doc_turn *t = &x->d->turns.p[i];
        if (!pick(x, 3))
            t->id = wb_arena_printf(x->a, "turn-%zu", i);
        if (t->agent != WM_NO_AGENT && !pick(x, 3))
            t->run = wb_arena_printf(x->a, "run-%zu", i);
    }
}

int test_invent(uint64_t seed, struct wb_arena *a, struct wm_doc *ret, struct upp_err *err)
{
    static const struct wm_doc_agent agents[] = {
        {.id = UPP_STR_INIT("ann"), .name = UPP_STR_INIT("ann"), .model = UPP_STR_INIT("m-1")},
        {.id = UPP_STR_INIT("bob-2"), .name = UPP_STR_INIT("Bob")},
        {.id = UPP_STR_INIT("c_3"), .name = UPP_STR_INIT("Cy the third")}};
    struct inventing x = {.seed = seed * 2654435761u + 1, .a = a, .d = ret, .err = err, .now = 1767225600000};
    uint32_t place;
    int r = 0;
    uint32_t n = 1 + pick(&x, WB_LEN(agents));
    for (uint32_t i = 0; r >= 0 && i < n; i++)
        r = wm_doc_agent_add(ret, &agents[i], &place, err);
    for (uint32_t turns = 1 + pick(&x, 4); r >= 0 && turns; turns--) {
        r = invent_user(&x);
        if (r >= 0 && !pick(&x, 5))
            r = invent_user(&x);
        if (r >= 0 && !pick(&x, 5))
            r = add_event(&x, pick(&x, 2) ? WM_NO_AGENT : pick(&x, n));
        for (uint32_t speakers = 1 + pick(&x, 2); r >= 0 && speakers; speakers--)
            r = invent_agent(&x, pick(&x, n), turns == 1 && speakers == 1);
    }
    ret->id = UPP_STR("thread-1");
    ret->title = pick(&x, 2) ? UPP_STR("A talk") : (struct upp_str){0};
    ret->created = UPP_STR("2026-01-01T00:00:00Z");
    ret->updated = UPP_STR("2026-01-02T00:00:00Z");
    wb_vec_done(&x.parts);
    if (r >= 0)
        r = wm_doc_divide(ret, err);
    if (r >= 0)
        own_turns(&x);
    return r < 0 ? r : wb_arena_check(a, err);
}

/* Compact, where it is JSON. Of a text, with `bare`, what it says: there are dialects whose errors are texts only. */
static void put_json(struct upp_str text, bool bare, struct wb_buf *out)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16 << 20);
    yyjson_val *v;
    if (wj_read(&a, text, NULL, &v, NULL) < 0)
        wb_buf_add(out, text);
    else if (bare && yyjson_is_str(v))
        wb_buf_add(out, wj_text(v));
    else if (wj_write(v, out, NULL) < 0)
        out->failed = -UPP_ENOMEM;
}

void test_gist(const struct wm_doc *d, struct wb_buf *out)
{
    for (size_t i = 0; i < d->entries.n; i++) {
        const struct wm_doc_entry *e = &d->entries.p[i];
        bool says = e->e.kind == WM_ENTRY_MESSAGE || e->e.kind == WM_ENTRY_REPAIR;
        struct upp_str who = e->agent < d->agents.n ? d->agents.p[e->agent].id : UPP_STR("the user");
        for (size_t k = 0; says && k < e->e.message.n_parts; k++) {
            const struct upp_part *p = &e->e.message.parts[k];
            if (p->kind == UPP_PART_TEXT)
                wb_buf_addf(out, "%.*s says %.*s", UPP_FMT(who), UPP_FMT(p->text));
            else if (p->kind == UPP_PART_CALL) {
                wb_buf_addf(out, "%.*s calls %.*s %.*s ", UPP_FMT(who), UPP_FMT(p->id), UPP_FMT(p->name));
                put_json(p->text, false, out);
            } else if (p->kind == UPP_PART_RESULT) {
                wb_buf_addf(out, "%.*s %s ", UPP_FMT(p->id), p->is_error ? "fails" : "gives");
                put_json(p->text, p->is_error, out);
            } else
                continue;
            wb_buf_addc(out, '\n');
        }
    }
}
