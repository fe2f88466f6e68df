/* agent/middleware/guardrails.c — UAP-10.4: rules for input, output and tool calls.
 *
 * Rules apply one after the other to each text of the input before the model receives it, and to each text and
 * reasoning part of the output before it is delivered. If a rule cannot decide (its callback or agent fails, its
 * pattern takes too long), the run fails: nothing passes unchecked. Rules for tools apply to the arguments of a call
 * before the tool runs; a call that is rejected, or cannot be decided, becomes an error result for the model.
 */
#include "agent/middleware/middleware.h"
#include "base/hooks.h"
#include "json/regex.h"
#include "json/write.h"
#include "model/upp_json.h"

enum { RULES = 256, TEXT_BYTES = 64 << 20, WORK = 20000000 };

struct rule {
    struct weft_guard_rule as;
    struct wj_regex regex; /* of a pattern */
};

struct guardrails {
    struct wb_arena memory;
    struct rule *in, *out, *tools;
    size_t n_in, n_out, n_tools;
};

static const char *name_of(const struct weft_guard_rule *rule)
{
    return rule->name ? rule->name : rule->pattern ? "a pattern" : "a rule";
}

/* Replaces every match of the pattern. */
static int replace(const struct rule *rule, struct upp_str text, struct wj_regex_memory *room, uint64_t *work,
                   struct wb_buf *out)
{
    struct upp_str instead = wb_cstr(rule->as.instead ? rule->as.instead : "[removed]");
    size_t at = 0, start, end;
    int r;
    while ((r = wj_regex_where(&rule->regex, text, at, room, work, &start, &end)) > 0) {
        wb_buf_add(out, wb_str_sub(text, at, start - at));
        wb_buf_add(out, instead);
        at = end;
    }
    wb_buf_add(out, wb_str_sub(text, at, SIZE_MAX));
    return r;
}

static int by_pattern(const struct rule *rule, struct wb_arena *a, struct upp_str text, struct upp_str *ret,
                      struct upp_err *err)
{
    struct wj_regex_memory room = {0};
    uint64_t work = WORK;
    struct wb_buf out = WB_BUF(TEXT_BYTES);
    int r = wj_regex_room_init(&room, rule->regex.n, err);
    if (r < 0)
        return r;
    r = wj_regex_find(&rule->regex, text, &room, &work);
    if (r > 0 && rule->as.action == WEFT_REWRITE) {
        r = replace(rule, text, &room, &work, &out);
        if (r >= 0) {
            *ret = wb_arena_dup(a, wb_buf_str(&out));
            r = out.failed ? out.failed : wb_arena_check(a, err);
        }
        r = r < 0 ? r : 1;
    }
    wj_regex_room_done(&room);
    wb_buf_done(&out);
    return r < 0 ? upp_fail(err, (enum upp_code) - r, "the text could not be searched") : r;
}

static WEFT_SUSPENDS int by_agent(const struct rule *rule, struct wb_arena *a, struct upp_str text, struct upp_str *ret,
                                  struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    int r = weft_agent_run(rule->as.agent, text, &turn, err);
    if (r < 0)
        return r;
    struct upp_str answer = wb_str_trim(wb_cstr(upp_turn_text(turn)));
    if (answer.n < 3 || !wb_str_eq_nocase(wb_str_sub(answer, 0, 3), UPP_STR("yes")))
        return 0;
    *ret = wb_arena_dup(a, wb_cstr(rule->as.instead ? rule->as.instead : "[removed]"));
    r = wb_arena_check(a, err);
    return r < 0 ? r : 1;
}

static WEFT_SUSPENDS int by_callback(const struct rule *rule, struct wb_arena *a, struct upp_str text,
                                     struct upp_str *ret, struct upp_err *err)
{
    struct upp_str now = {0};
    int r = rule->as.check(rule->as.arg, text, &now, err);
    if (r <= 0)
        return r;
    *ret = wb_arena_dup(a, now.p ? now : wb_cstr(rule->as.instead ? rule->as.instead : "[removed]"));
    r = wb_arena_check(a, err);
    return r < 0 ? r : 1;
}

static int write_flag(struct wb_buf *out, const char *name, const char *on, struct upp_str had, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, out, err);
    if (!on) { /* the list of names, with this one appended */
        wj_write_open(&w, '[');
        if (had.n > 2) {
            wj_write_raw(&w, had.p + 1, had.n - 2);
            w.comma = true;
        }
        wj_write_str(&w, wb_cstr(name));
        wj_write_close(&w, ']');
        return wj_writer_check(&w);
    }
    wj_write_open(&w, '{');
    wj_put_str(&w, "rule", wb_cstr(name));
    wj_put_str(&w, "on", wb_cstr(on));
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

/* Adds a system event, and the name to {"flagged": [names]} in the metadata of the request. */
static int flag(struct weft_context *c, const char *name, const char *on, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf data = WB_BUF(65536), list = WB_BUF(65536);
    int r = write_flag(&data, name, on, (struct upp_str){0}, err);
    if (r >= 0)
        r = write_flag(&list, name, NULL, weft_context_get(c, "flagged"), err);
    if (r >= 0)
        r = weft_context_set(c, "flagged", wb_buf_str(&list), err);
    struct weft_system_event ev = {
        .type = UPP_STR("guardrail.flagged"), .data = wb_buf_str(&data), .source = UPP_STR("guardrails")};
    return r < 0 ? r : weft_run_event(c->run, &ev, err);
}

/* Applies all rules to one text, which they may replace. */
static WEFT_SUSPENDS int check(const struct rule *rules, size_t n, struct weft_context *c, const char *on,
                               struct upp_str *text, struct upp_err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct rule *rule = &rules[i];
        struct upp_str now = *text;
        int r = rule->as.pattern ? by_pattern(rule, wa_context_memory(c), *text, &now, err)
                : rule->as.check ? by_callback(rule, wa_context_memory(c), *text, &now, err)
                                 : by_agent(rule, wa_context_memory(c), *text, &now, err);
        if (r < 0)
            return upp_wrap(err, r, "guardrail '%s'", name_of(&rule->as));
        if (r == 0)
            continue;
        if (rule->as.action == WEFT_REJECT)
            return upp_fail(err, UPP_EFILTERED, "the %s was rejected by guardrail '%s'", on, name_of(&rule->as));
        if (rule->as.action == WEFT_REWRITE)
            *text = now;
        else if ((r = flag(c, name_of(&rule->as), on, err)) < 0)
            return r;
    }
    return 0;
}

static WEFT_SUSPENDS int before(void *own, struct weft_context *c, struct upp_err *err)
{
    struct guardrails *g = own;
    if (!c->input || !g->n_in)
        return 0;
    struct upp_message *m = wb_new(wa_context_memory(c), struct upp_message);
    int r = m ? wm_message_copy(wa_context_memory(c), c->input, m, err) : wb_arena_check(wa_context_memory(c), err);
    bool changed = false;
    for (size_t i = 0; r >= 0 && i < m->n_parts; i++) {
        struct upp_str was = m->parts[i].text;
        if (m->parts[i].kind != UPP_PART_TEXT)
            continue;
        r = check(g->in, g->n_in, c, "input", &m->parts[i].text, err);
        changed |= r >= 0 && !wb_str_eq(was, m->parts[i].text);
    }
    if (r >= 0 && changed)
        c->input = m;
    return r;
}

static WEFT_SUSPENDS int screen(void *own, struct weft_context *c, struct upp_message *message, struct upp_err *err)
{
    struct guardrails *g = own;
    int r = 0;
    for (size_t i = 0; r >= 0 && i < message->n_parts; i++)
        if (message->parts[i].kind == UPP_PART_TEXT || message->parts[i].kind == UPP_PART_REASONING)
            r = check(g->out, g->n_out, c, "output", &message->parts[i].text, err);
    return r;
}

static bool screens(const void *own)
{
    return ((const struct guardrails *)own)->n_out > 0;
}

static WEFT_SUSPENDS int call(void *own, struct weft_context *c, struct upp_call *requested, struct upp_err *err)
{
    struct guardrails *g = own;
    return check(g->tools, g->n_tools, c, "call", &requested->arguments, err);
}

static bool calls(const void *own)
{
    return ((const struct guardrails *)own)->n_tools > 0;
}

static int make_rules(struct guardrails *g, const struct weft_guard_rule *list, size_t n, struct rule **ret,
                      struct upp_err *err)
{
    if (n > RULES)
        return upp_fail(err, UPP_ELIMIT, "there are more than %d rules", RULES);
    struct rule *rules = wb_new_n(&g->memory, struct rule, n + 1);
    if (!rules)
        return wb_arena_check(&g->memory, err);
    for (size_t i = 0; i < n; i++) {
        rules[i].as = list[i];
        if ((list[i].pattern != NULL) + (list[i].check != NULL) + (list[i].agent != NULL) != 1)
            return upp_fail(err, UPP_EINVALID, "rule %zu has not one of pattern, check and agent", i);
        if (list[i].action < WEFT_REJECT || list[i].action > WEFT_FLAG)
            return upp_fail(err, UPP_EINVALID, "rule %zu has no action", i);
        int r = list[i].pattern ? wj_regex_new(&g->memory, wb_cstr(list[i].pattern), &rules[i].regex, err) : 0;
        if (r < 0)
            return upp_wrap(err, r, "rule %zu", i);
    }
    *ret = rules;
    return 0;
}

static void drop(void *own)
{
    struct guardrails *g = own;
    if (g)
        wb_arena_done(&g->memory);
    wb_free(g);
}

static int make(const void *opts, void **own, struct upp_err *err)
{
    void *copy = NULL;
    int r = wa_opts_copy(opts, sizeof(struct weft_guardrails_opts), &copy, err);
    if (r < 0)
        return r;
    const struct weft_guardrails_opts *o = copy;
    struct guardrails *g = wb_calloc(1, sizeof *g);
    if (g) {
        g->memory.max = 16u << 20;
        r = make_rules(g, o->input, o->n_input, &g->in, err);
        if (r >= 0)
            r = make_rules(g, o->output, o->n_output, &g->out, err);
        if (r >= 0)
            r = make_rules(g, o->tools, o->n_tools, &g->tools, err);
        g->n_in = o->n_input;
        g->n_out = o->n_output;
        g->n_tools = o->n_tools;
    } else
        r = upp_fail(err, UPP_ENOMEM, "no memory for guardrails");
    wb_free(copy);
    if (r < 0)
        return drop(g), r;
    *own = g;
    return 0;
}

const struct weft_middleware_kind wa_guardrails = {.name = "guardrails",
                                                   .make = make,
                                                   .free = drop,
                                                   .before = before,
                                                   .screen = screen,
                                                   .screens = screens,
                                                   .call = call,
                                                   .calls = calls};

struct weft_middleware weft_guardrails_with(const struct weft_guardrails_opts *opts)
{
    return (struct weft_middleware){.name = "guardrails", .kind = &wa_guardrails, .opts = opts};
}
