/* What a run reads of a long path: the end of it gives the model what the whole of it would. */
#include <stdio.h>
#include <string.h>

#include "agent/middleware/middleware.h"
#include "base/defs.h"
#include "base/vec.h"
#include "log/change.h"
#include "run/run.h"
#include "run/path.h"
#include "stores/memory/memory.h"
#include "support/fibers.h"
#include "support/rig.h"

enum { TEXT = 4 << 20, TOOLS = 4, MOST = 40 /* messages of one append */ };

/* Every answer with calls has the same ids, as with vendors that count from 0. */
static const char script[] = "{\"again\":true,\"replies\":["
                             "{\"when\":{\"contains\":\"use\"},\"parts\":[{\"tool_call\":{\"id\":\"call_0\",\"name\":"
                             "\"add\"}},{\"tool_call\":{\"id\":\"call_1\",\"name\":\"add\"}}]},"
                             "{\"parts\":[{\"text\":\"so it is, whatever it was that you said\"}]}]}";
static const char sums[] = "{\"again\":true,\"replies\":[{\"parts\":[{\"text\":\"they talked\"}]}]}";

static const char *const tools[TOOLS] = {"add", "note", "fails", "danger"};

/* A world of one thread, its forks, and what the model was asked last. */
struct world {
    int (*act)(struct world *w, struct upp_err *err);
    uint64_t seed;
    uint32_t tokens, keep; /* of the memory of the agent; 0: it has none */
    bool sums;             /* it summarises */
    const char *options;   /* of all runs of the agent "main"; NULL: none */
    struct rig rig;
    struct wl_store *store;
    struct wl_thread t;
    struct wb_arena a;
    struct wb_buf told; /* of the first model call since it was cleared */
    uint32_t unread;    /* of that run */
    unsigned n_cut;     /* runs that did not read all of their path */
};

static uint32_t dice(struct world *w, uint32_t sides)
{
    w->seed ^= w->seed << 13;
    w->seed ^= w->seed >> 7;
    w->seed ^= w->seed << 17;
    return (uint32_t)(w->seed >> 11) % sides;
}

/* ---- What the model receives ----------------------------------------------------------------------------------- */

static int listen_make(const void *opts, void **own, struct upp_err *err)
{
    (void)err;
    *own = (void *)(uintptr_t)opts;
    return 0;
}

static WEFT_SUSPENDS int listen_view(void *own, struct weft_context *c, struct upp_request *q, struct upp_err *err)
{
    struct world *w = own;
    (void)q, (void)err;
    if (!w->told.n)
        w->unread = wr_of(c->run)->unread;
    return 0;
}

static struct wr_window listen_window(const void *own)
{
    (void)own;
    return (struct wr_window){.tokens = UINT64_MAX};
}

static const struct weft_middleware_kind listen_kind = {
    .name = "listen", .make = listen_make, .view = listen_view, .window = listen_window};

/* The model of the agent "main", after all truncation. */
static struct upp_model_ops hearing;
static const struct upp_model_ops *heard;
static struct world *hearer;

static WEFT_SUSPENDS int hear_open(struct upp_step *s, struct upp_err *err)
{
    struct world *w = hearer;
    const struct upp_request *q = s->request;
    if (w->told.n)
        return heard->open(s, err);
    for (size_t i = 0; i < q->n_tools; i++)
        wb_buf_addf(&w->told, "%.*s ", UPP_FMT(q->tools[i].name));
    for (size_t i = 0; i < q->n_messages; i++) {
        wb_buf_addf(&w->told, "\n%c", "?uat"[q->messages[i]->role]);
        for (size_t k = 0; k < q->messages[i]->n_parts; k++) {
            const struct upp_part *p = &q->messages[i]->parts[k];
            wb_buf_addf(&w->told, "<%.*s %.*s %.*s>", UPP_FMT(p->id), UPP_FMT(p->name), UPP_FMT(p->text));
        }
    }
    TRY(wb_buf_check(&w->told, err));
    return heard->open(s, err);
}

static void hear(struct world *w, struct upp_model *m)
{
    heard = m->ops;
    hearing = *m->ops;
    hearing.open = hear_open;
    hearer = w;
    m->ops = &hearing;
}

/* ---- What happens to a thread ---------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int run_on(struct world *w, const char *agent, const struct wl_thread *t, const char *text,
                                struct upp_err *err)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = wb_cstr(text)};
    struct upp_message input = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    struct wr_start what = {.owner = rig_owner, .agent = wb_cstr(agent), .thread = t->id, .input = &input};
    struct wr_started s;
    uint8_t status;
    if (strcmp(agent, "main") == 0)
        what.options = wb_cstr(w->options);
    TRY(wr_start(w->rig.engine, &what, &s, err));
    TRY(wr_wait(w->rig.engine, &rig_owner, s.run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    return 0;
}

static WEFT_SUSPENDS int path_of(struct world *w, const struct wl_thread *t, struct wl_path *path,
                                 struct wl_line **lines, size_t *n, struct upp_err *err)
{
    struct wl_thread now;
    wb_arena_reset(&w->a);
    TRY(wl_get_thread(w->store, &rig_owner, t->id, &w->a, &now, err));
    TRY(wl_thread_path(w->store, &rig_owner, &now, &w->a, path, err));
    return wl_path_tail(w->store, &rig_owner, path, path->length, path->length, &w->a, lines, n, err);
}

static WEFT_SUSPENDS int append_messages(struct world *w, struct upp_err *err)
{
    static const char text[] = "something that was said long ago, neither short nor long, but of some length ";
    static struct wm_entry e[MOST]; /* too large for a frame */
    static struct upp_part parts[MOST];
    uint32_t n = 1 + dice(w, MOST), index;
    for (uint32_t i = 0; i < n; i++) {
        parts[i] = (struct upp_part){.kind = UPP_PART_TEXT, .text = wb_str(text, 1 + dice(w, sizeof text - 1))};
        e[i] = (struct wm_entry){.kind = WM_ENTRY_MESSAGE,
                                 .origin = WM_ORIGIN_CLIENT,
                                 .audience = WM_AUDIENCE_ALL,
                                 .message = {.role = (uint8_t)(dice(w, 3) ? UPP_ROLE_USER : UPP_ROLE_ASSISTANT),
                                             .parts = &parts[i],
                                             .n_parts = 1}};
    }
    return wl_append(w->store, &rig_owner, &w->t, e, n, &index, err);
}

static WEFT_SUSPENDS int append_grant(struct world *w, struct upp_err *err)
{
    static const char *const targets[] = {"", ",\"targets\":[\"main\"]", ",\"targets\":[\"helper\",\"main\"]",
                                          ",\"targets\":[\"helper\"]"};
    char json[160];
    uint32_t index;
    (void)snprintf(json, sizeof json, "{\"type\":\"tool.%s\",\"data\":{\"tools\":[\"%s\"]}%s}",
                   dice(w, 2) ? "grant" : "revoke", tools[dice(w, TOOLS)], targets[dice(w, WB_LEN(targets))]);
    struct wm_entry e = {
        .kind = WM_ENTRY_EVENT, .origin = WM_ORIGIN_CLIENT, .audience = WM_AUDIENCE_ALL, .data = wb_cstr(json)};
    return wl_append(w->store, &rig_owner, &w->t, &e, 1, &index, err);
}

/* The thread goes on from somewhere in the last 60 entries, on a fork. */
static WEFT_SUSPENDS int go_back(struct world *w, struct upp_err *err)
{
    struct wl_path path;
    struct wl_line *lines;
    size_t n;
    TRY(path_of(w, &w->t, &path, &lines, &n, err));
    if (!n)
        return 0;
    const struct wl_line *to = &lines[n - 1 - dice(w, (uint32_t)WB_MIN(n, (size_t)60))];
    if (upp_part_next(&to->entry.message, NULL, UPP_PARTS_CALLS)) /* between calls and results: that is another test */
        return 0;
    return wl_fork(w->store, &w->t, to->node, to->index + 1, &w->a, &w->t, err);
}

static WEFT_SUSPENDS int delete_message(struct world *w, struct upp_err *err)
{
    struct wl_path path;
    struct wl_line *lines;
    size_t n;
    TRY(path_of(w, &w->t, &path, &lines, &n, err));
    const struct wl_line *l = n ? &lines[dice(w, (uint32_t)n)] : NULL;
    if (!l || l->entry.kind != WM_ENTRY_MESSAGE || l->entry.audience != WM_AUDIENCE_ALL || wm_is_erased(&l->entry))
        return 0;
    struct wl_thread now;
    struct wb_uuid id = l->id;
    TRY(wl_get_thread(w->store, &rig_owner, w->t.id, &w->a, &now, err));
    return wl_message_delete(w->store, &rig_owner, &now, id, UPP_STR("test"), err);
}

static WEFT_SUSPENDS int happen(struct world *w, struct upp_err *err)
{
    switch (dice(w, 12)) {
    case 0:
    case 1:
    case 2:
        return append_messages(w, err);
    case 3:
    case 4:
        return append_grant(w, err);
    case 5:
        return go_back(w, err);
    case 6:
        return delete_message(w, err);
    case 7:
        return run_on(w, "helper", &w->t, "you too", err);
    case 8:
        return run_on(w, "main", &w->t, "use it", err);
    default:
        return run_on(w, "main", &w->t, "and now?", err);
    }
}

/* ---- What must hold ------------------------------------------------------------------------------------------- */

/* The tools that the log offers the agent "main", in the order of the rig, by the events of the whole path. */
static WEFT_SUSPENDS int offered(struct world *w, const struct wl_thread *t, struct wb_buf *out, struct upp_err *err)
{
    struct wl_path path;
    struct wl_line *lines;
    size_t n;
    TRY(path_of(w, t, &path, &lines, &n, err));
    for (size_t i = 0; i < rig_n_tools; i++) {
        bool given = true;
        for (size_t k = 0; k < n; k++) {
            char name[32];
            struct upp_str data = lines[k].entry.data;
            (void)snprintf(name, sizeof name, "[\"%.*s\"]}", UPP_FMT(rig_tools[i].spec.name));
            if (lines[k].entry.kind != WM_ENTRY_EVENT || wb_str_find(data, wb_cstr(name), 0) == SIZE_MAX ||
                (wb_str_find(data, UPP_STR("targets"), 0) != SIZE_MAX &&
                 wb_str_find(data, UPP_STR("\"main\""), 0) == SIZE_MAX))
                continue;
            given = wb_str_find(data, UPP_STR("tool.grant"), 0) != SIZE_MAX;
        }
        if (given)
            wb_buf_addf(out, "%.*s ", UPP_FMT(rig_tools[i].spec.name));
    }
    return wb_buf_check(out, err);
}

static WEFT_SUSPENDS int has_no_id_twice(struct world *w, const struct wl_thread *t, struct upp_err *err)
{
    struct wl_path path;
    struct wl_line *lines;
    size_t n;
    WB_VEC(struct upp_str) ids = {0};
    TRY(path_of(w, t, &path, &lines, &n, err));
    bool twice = false, fits = true;
    for (size_t i = 0; i < n; i++)
        for (const struct upp_part *p = NULL; (p = upp_part_next(&lines[i].entry.message, p, UPP_PARTS_CALLS));) {
            for (size_t k = 0; k < ids.n; k++)
                twice |= wb_str_eq(ids.p[k], p->id);
            fits &= wb_vec_push(&ids, p->id, 4096);
        }
    wb_vec_done(&ids);
    FAIL_UNLESS(fits && !twice);
    return 0;
}

/* Two forks of the thread get the same input. One of the runs may read only the end of its path. */
static WEFT_SUSPENDS int compare(struct world *w, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf end = WB_BUF(TEXT), out = WB_BUF(TEXT);
    struct wl_thread now, fork[2];
    struct wl_end at;
    wb_arena_reset(&w->a);
    TRY(wl_get_thread(w->store, &rig_owner, w->t.id, &w->a, &now, err));
    TRY(wl_node_end(w->store, &rig_owner, now.head, &at, err));
    for (int i = 0; i < 2; i++)
        TRY(wl_fork(w->store, &now, now.head, wl_thread_length(&now, at.length), &w->a, &fork[i], err));
    fork[0].owner = fork[1].owner = rig_owner;
    fork[0].metadata = fork[1].metadata = (struct upp_str){0};
    for (int i = 0; i < 2; i++) {
        w->rig.agents[0].reads_history = i == 1;
        wb_buf_clear(&w->told);
        TRY(run_on(w, "main", &fork[i], "what is it? use everything", err));
        w->rig.agents[0].reads_history = false;
        if (i == 0) {
            w->n_cut += w->unread > 0;
            wb_buf_add(&end, wb_buf_str(&w->told));
        }
    }
    TRY(wb_buf_check(&end, err));
    struct upp_str all = wb_buf_str(&w->told);
    if (!EXPECT(wb_str_eq(wb_buf_str(&end), all))) {
        test_note("the end:\n%.*s\nall of it:\n%.*s", UPP_FMT(wb_buf_str(&end)), UPP_FMT(all));
        return -UPP_EBUG;
    }
    TRY(offered(w, &fork[0], &out, err));
    FAIL_UNLESS(wb_str_eq(wb_buf_str(&out), wb_str_sub(all, 0, wb_str_find(all, UPP_STR("\n"), 0))));
    return has_no_id_twice(w, &fork[0], err);
}

static WEFT_SUSPENDS int begin(struct world *w, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    TRY(rig_start(&w->rig, "main", "hello", NULL, &s, err));
    TRY(wr_wait(w->rig.engine, &rig_owner, s.run, &status, err));
    TRY(wl_get_thread(w->store, &rig_owner, s.thread, &w->a, &w->t, err));
    w->t.owner = rig_owner;
    w->t.metadata = w->t.title = (struct upp_str){0};
    return 0;
}

static WEFT_SUSPENDS int live(struct world *w, struct upp_err *err)
{
    TRY(begin(w, err));
    for (int i = 0; i < 60; i++) {
        TRY(happen(w, err));
        w->t.owner = rig_owner; /* a fork's texts are in the arena */
        w->t.metadata = w->t.title = (struct upp_str){0};
        if (i % 6 == 5)
            TRY(compare(w, err));
    }
    return 0;
}

static WEFT_SUSPENDS int in_world(void *arg, struct upp_err *err)
{
    struct world *w = arg;
    const struct wr_middleware *chain = NULL;
    struct upp_model *model = NULL;
    const uint8_t mode = w->sums ? WEFT_SUMMARISE : WEFT_TRUNCATE;
    TRY(ws_memory_open(&w->store, err));
    w->rig.store = w->store;
    int r = upp_scripted_new(wb_cstr(sums), &model, err);
    if (r >= 0) {
        const struct weft_middleware list[] = {
            weft_memory(.mode = mode, .max_tokens = w->tokens, .keep_last = w->keep, .model = model),
            {.name = "listen", .kind = &listen_kind, .opts = w}};
        r = wa_middleware_new(w->tokens ? list : list + 1, w->tokens ? 2 : 1, NULL, &chain, err);
    }
    if (r >= 0)
        r = rig_agent(&w->rig, "main", script, err);
    if (r >= 0) {
        hear(w, w->rig.models[0]);
        r = rig_agent(&w->rig, "helper", NULL, err);
    }
    if (r >= 0) {
        w->rig.agents[0].middleware = chain;
        r = rig_open(&w->rig, weft_loop_current(), NULL, err);
    }
    if (r >= 0)
        r = w->act(w, err);
    if (w->rig.engine)
        rig_close(&w->rig);
    rig_done(&w->rig);
    wa_middleware_free(chain);
    upp_model_free(model);
    w->store->ops->close(w->store);
    return r;
}

static int play(struct world *w)
{
    struct upp_err err = {0};
    w->a = (struct wb_arena)WB_ARENA(256u << 20);
    w->told = (struct wb_buf)WB_BUF(TEXT);
    int r = test_on_loop(in_world, w, &err);
    if (r < 0)
        test_note("%s", err.msg);
    wb_arena_done(&w->a);
    wb_buf_done(&w->told);
    return r;
}

/* Threads that grew in every way: appended to, granted tools, forked, erased in, answered by two agents. */
TEST_WITH(tail_gives_the_model_what_the_path_would, .no_torture = "hundreds of runs: the next test reads as they do",
          .seconds = 300)
{
    uint64_t n = test_times("WEFT_TAILS", 48);
    unsigned n_cut = 0;
    for (uint64_t i = 1; i <= n; i++) {
        struct world w = {.act = live, .seed = i * UINT64_C(0x9e3779b97f4a7c15), .sums = i % 3 == 0};
        w.tokens = w.sums ? 600 + 300 * dice(&w, 6) : 1 + dice(&w, 4000);
        w.keep = dice(&w, 3) ? 1 + dice(&w, 12) : 60 + dice(&w, 90);
        char options[160];
        if (i % 3 == 1) {
            (void)snprintf(options, sizeof options,
                           "{\"truncation_strategy\":{\"type\":\"last_messages\",\"last_messages\":%u}%s}",
                           1 + dice(&w, 40), dice(&w, 2) ? ",\"max_prompt_tokens\":2000" : "");
            w.options = options;
            w.tokens = dice(&w, 2) ? w.tokens : 0;
        }
        test_note("seed %u: %u tokens, %u kept%s, %s", (unsigned)i, w.tokens, w.keep, w.sums ? ", summaries" : "",
                  w.options ? w.options : "no options");
        CHECK_INT(play(&w), 0);
        n_cut += w.n_cut;
    }
    test_note("%u runs did not read all", n_cut);
    CHECK(n_cut > 2 * n);
}

static WEFT_SUSPENDS int append_event(struct world *w, struct upp_str json, struct upp_err *err)
{
    struct wm_entry e = {.kind = WM_ENTRY_EVENT, .origin = WM_ORIGIN_CLIENT, .audience = WM_AUDIENCE_ALL, .data = json};
    uint32_t index;
    return wl_append(w->store, &rig_owner, &w->t, &e, 1, &index, err);
}

/* Runs once more; is "note" offered? */
static WEFT_SUSPENDS int run_again(struct world *w, bool *has_note, struct upp_err *err)
{
    wb_buf_clear(&w->told);
    TRY(run_on(w, "main", &w->t, "use it", err));
    struct upp_str told = wb_buf_str(&w->told);
    struct upp_str offers = wb_str_sub(told, 0, wb_str_find(told, UPP_STR("\n"), 0));
    *has_note = wb_str_find(offers, UPP_STR(" note "), 0) != SIZE_MAX;
    return 0;
}

/* The first run on a long path reads it whole. What it knows of grants is in its state, for those that come after it;
 * so is what was granted since. */
static WEFT_SUSPENDS int once(struct world *w, struct upp_err *err)
{
    bool has_note;
    TRY(begin(w, err));
    for (int i = 0; i < 8; i++)
        TRY(append_messages(w, err));
    TRY(append_event(w, UPP_STR("{\"type\":\"tool.revoke\",\"data\":{\"tools\":[\"note\"]}}"), err));
    for (int i = 0; i < 8; i++)
        TRY(append_messages(w, err));
    TRY(run_again(w, &has_note, err));
    FAIL_UNLESS(w->unread == 0 && !has_note);
    TRY(run_again(w, &has_note, err));
    FAIL_UNLESS(w->unread > 60 && !has_note);
    TRY(append_event(w, UPP_STR("{\"type\":\"tool.grant\",\"data\":{\"tools\":[\"note\"]}}"), err));
    TRY(run_again(w, &has_note, err));
    FAIL_UNLESS(w->unread > 60 && has_note);
    return has_no_id_twice(w, &w->t, err);
}

TEST(tail_is_read_once_as_a_whole)
{
    struct world w = {.act = once, .seed = 4711, .tokens = 100, .keep = 2};
    CHECK_INT(play(&w), 0);
}

/* Without memory, by what the request says. */
TEST(tail_is_read_if_the_request_truncates)
{
    static const char *const options[] = {
        "{\"truncation_strategy\":{\"type\":\"last_messages\",\"last_messages\":5}}", "{\"max_prompt_tokens\":600}",
        "{\"truncation_strategy\":{\"type\":\"last_messages\",\"last_messages\":5},\"max_prompt_tokens\":9000}"};
    for (size_t i = 0; i < WB_LEN(options); i++) {
        struct world w = {.act = once, .seed = 4711, .options = options[i]};
        test_note("%s", options[i]);
        CHECK_INT(play(&w), 0);
    }
}

/* Too many grants for a state: each run reads the whole path, and knows them all the same. */
static WEFT_SUSPENDS int crowd(struct world *w, struct upp_err *err)
{
    static char name[4096], json[8192];
    bool has_note;
    TRY(begin(w, err));
    for (int i = 0; i < 4; i++)
        TRY(append_messages(w, err));
    for (int i = 0; i < 17; i++) { /* more than 64 KiB */
        memset(name, 'a' + i, sizeof name - 1);
        (void)snprintf(json, sizeof json, "{\"type\":\"tool.revoke\",\"data\":{\"tools\":[\"note\",\"%s\"]}}", name);
        TRY(append_event(w, wb_cstr(json), err));
    }
    for (int i = 0; i < 2; i++) {
        TRY(run_again(w, &has_note, err));
        FAIL_UNLESS(w->unread == 0 && !has_note);
    }
    return 0;
}

TEST_WITH(tail_carries_64_kib_of_grants, .no_torture = "the test before it is tortured")
{
    struct world w = {.act = crowd, .seed = 4711, .tokens = 100, .keep = 2};
    CHECK_INT(play(&w), 0);
}
