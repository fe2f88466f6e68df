/* cli/envelopes/cmd_replay.c — weft replay LOG: a log of envelopes, or an exchange of the store, through the rules once
 * more. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/words.h"
#include "cli/store_client.h"
#include "cli/cli.h"
#include "cli/documents/conversion.h"
#include "cli/input.h"
#include "cli/progress.h"
#include "cli/setup.h"
#include "cli/list.h"
#include "cli/terminal.h"
#include "cli/thread_word.h"
#include "envelope/replay.h"
#include "json/number.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"

enum { LINE_MAX_BYTES = 256 << 20 /* a list of envelopes is one line */, BODY = 32 << 20, SHOWN = 100 /* columns */ };

struct replaying {
    const struct cli_command *self;
    const char *log, *rules, *live;
    bool json, wrong;
    struct cli_source from;
    const struct wc_config *c;
    struct cli_client *change; /* the store, for a thread and for --live; NULL: neither */
    struct we_replay_opts opts;
    struct we_replay *replay;
    uint64_t shown; /* number of the exchange that was named last */
    struct cli_progress progress;
};

/* ---- Differences --------------------------------------------------------------------------------------------- */

static void print_side(char sign, struct upp_str text)
{
    bool coloured = cli_colours(stdout);
    for (struct upp_str rest = text; text.n;) {
        size_t end = wb_str_find(rest, UPP_STR("\n"), 0);
        cli_colour(stdout, coloured, sign == '-' ? CLI_RED : CLI_GREEN);
        (void)printf("    %c ", sign);
        (void)cli_print_line(stdout, wb_str_sub(rest, 0, end), 0);
        cli_colour(stdout, coloured, CLI_PLAIN);
        (void)fputc('\n', stdout);
        if (end == SIZE_MAX)
            break;
        rest = wb_str_sub(rest, end + 1, SIZE_MAX);
    }
}

static void print_text(struct replaying *p, const struct we_difference *d)
{
    if (p->shown != d->exchange) {
        (void)printf("exchange %llu, ", (unsigned long long)d->exchange);
        (void)cli_print_line(stdout, d->ingress, SHOWN);
        (void)fputc('\n', stdout);
    }
    p->shown = d->exchange;
    (void)printf("  %s", we_difference_name(d->kind).p);
    const struct upp_str words[] = {d->id, d->intent, d->task};
    for (size_t i = 0; i < WB_LEN(words); i++)
        if (words[i].n) {
            (void)fputc(' ', stdout);
            (void)cli_print_line(stdout, words[i], SHOWN);
        }
    (void)fputc('\n', stdout);
    print_side('-', d->recorded);
    print_side('+', d->replayed);
    if (d->why.n) {
        (void)printf("      ");
        (void)cli_print_line(stdout, d->why, 0);
        (void)fputc('\n', stdout);
    }
}

static int print_json(const struct we_difference *d, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(BODY);
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "kind", we_difference_name(d->kind));
    wj_put_u64(&w, "exchange", d->exchange);
    wj_put_str(&w, "ingress", d->ingress);
    const struct {
        const char *name;
        struct upp_str text;
    } rows[] = {
        {"id", d->id},  {"intent", d->intent}, {"task", d->task}, {"recorded", d->recorded}, {"replayed", d->replayed},
        {"why", d->why}};
    for (size_t i = 0; i < WB_LEN(rows); i++)
        if (rows[i].text.n)
            wj_put_str(&w, rows[i].name, rows[i].text);
    wj_write_close(&w, '}');
    return cli_line_out(stdout, &w);
}

static int differs(void *arg, const struct we_difference *d, struct upp_err *err)
{
    struct replaying *p = arg;
    cli_progress_hide(&p->progress);
    if (p->json)
        return print_json(d, err);
    print_text(p, d);
    return 0;
}

static const char *many(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static int print_sum(const struct replaying *p, const struct we_replayed *s, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(BODY);
    struct wj_writer w;
    if (!p->json) {
        (void)printf("%llu envelope%s, %llu exchange%s, %llu request%s: %llu difference%s\n",
                     (unsigned long long)s->envelopes, many(s->envelopes), (unsigned long long)s->exchanges,
                     many(s->exchanges), (unsigned long long)s->requests, many(s->requests),
                     (unsigned long long)s->differences, many(s->differences));
        if (s->unanswered)
            (void)printf("%llu request%s no reply in the log\n", (unsigned long long)s->unanswered,
                         s->unanswered == 1 ? " has" : "s have");
        return 0;
    }
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "kind", UPP_STR("summary"));
    wj_put_u64(&w, "envelopes", s->envelopes);
    wj_put_u64(&w, "exchanges", s->exchanges);
    wj_put_u64(&w, "requests", s->requests);
    wj_put_u64(&w, "differences", s->differences);
    wj_put_u64(&w, "repeated", s->repeated);
    wj_put_u64(&w, "unanswered", s->unanswered);
    wj_put_u64(&w, "recorded_tokens", s->recorded_tokens);
    wj_put_u64(&w, "replayed_tokens", s->replayed_tokens);
    wj_write_close(&w, '}');
    return cli_line_out(stdout, &w);
}

/* ---- An agent that runs anew ----------------------------------------------------------------------------------- */

static struct upp_str model_of(void *arg, struct upp_str agent)
{
    const struct replaying *p = arg;
    const struct wc_agent *a = wc_config_agent(p->c, agent);
    return a ? wc_agent_model(a) : (struct upp_str){0};
}

/* The parameters that the chat API has, by the same names. */
static void put_parameters(struct wj_writer *w, yyjson_val *parameters)
{
    static const char *const names[] = {"temperature", "top_p", "max_tokens", "stop", "seed", "reasoning_effort"};
    for (size_t i = 0; i < WB_LEN(names); i++) {
        yyjson_val *v = yyjson_obj_get(parameters, names[i]);
        if (v)
            wj_put_value(w, names[i], v);
    }
}

static void put_message(struct wj_writer *w, const char *role, struct upp_str text)
{
    wj_write_open(w, '{');
    wj_put_str(w, "role", wb_cstr(role));
    wj_put_str(w, "content", text);
    wj_write_close(w, '}');
}

static int write_call(const struct replaying *p, const struct we_envelope *request, const struct we_prompt *prompt,
                      struct wb_buf *out, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "model", p->opts.live);
    if (prompt->system.n) /* as the router asks an agent (envelope/run/child.c) */
        wj_put_str(&w, "additional_instructions", prompt->system);
    wj_put_open(&w, "messages", '[');
    put_message(&w, "user", prompt->user);
    wj_write_close(&w, ']');
    put_parameters(&w, request->parameters);
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

static uint64_t tokens_at(yyjson_val *usage, const char *name)
{
    yyjson_val *v = yyjson_obj_get(usage, name);
    uint64_t ret = 0;
    return yyjson_is_raw(v) && wj_num_u64(wj_text(v), &ret) ? ret : 0;
}

/* As a chat completion of the agent: one request, whoever owns the store. */
static WEFT_SUSPENDS int ask_live(void *arg, const struct we_envelope *request, const struct we_envelope *recorded,
                                  struct wb_arena *a, struct upp_str *ret, struct upp_err *err)
{
    struct replaying *p = arg;
    WB_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(BODY);
    struct upp_str model = model_of(p, p->opts.live);
    const struct we_adapter *adapter = we_adapter_for(p->opts.adapters, model);
    struct we_prompt prompt = {.user = request->task};
    struct cli_request q = {.method = "POST", .path = UPP_STR("/v1/chat/completions")};
    yyjson_val *v, *usage;
    int r = adapter ? we_prompt(a, adapter, request, p->opts.limits->strict, &prompt, err) : 0;
    if (r >= 0)
        r = write_call(p, request, &prompt, &body, err);
    q.body = wb_buf_str(&body);
    if (r >= 0)
        r = cli_owner_call(&p->change->door, &q, a, &v, err);
    if (r < 0)
        return r;
    usage = yyjson_obj_get(v, "usage");
    struct we_replied reply = {
        .request = request,
        .text = wj_text_at(yyjson_obj_get(yyjson_arr_get_first(yyjson_obj_get(v, "choices")), "message"), "content"),
        .agent_id = p->opts.live,
        .agent_name = p->opts.live,
        .model = model,
        .has_cost = true,
        .input_tokens = tokens_at(usage, "prompt_tokens"),
        .output_tokens = tokens_at(usage, "completion_tokens"),
        .direct = p->opts.limits->direct_parents,
        .id = recorded->id, /* so that what followed in the recording still follows */
        .now_ms = wb_wall_ms()};
    return we_take_reply(a, adapter, &reply, ret, err);
}

/* ---- The log --------------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int add(struct replaying *p, const struct cli_document_ref *at, struct upp_str text,
                             struct upp_err *err)
{
    int r = we_replay_add(p->replay, text, err);
    if (r != -UPP_EINVALID && r != -UPP_ELIMIT)
        return r;
    cli_progress_hide(&p->progress);
    cli_report(p->self, at, err);
    p->wrong = true;
    return 0;
}

static WEFT_SUSPENDS int add_list(struct replaying *p, yyjson_val *list, struct upp_err *err)
{
    struct cli_document_ref at = {.file = p->log};
    yyjson_val *v;
    size_t i, n;
    int r = 0;
    cli_progress_begin(&p->progress, p->self, "envelopes", yyjson_arr_size(list));
    yyjson_arr_foreach(list, i, n, v)
    {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(BODY);
        struct upp_str text;
        at.line = i + 1;
        r = wj_value_text(&a, v, &text, err);
        if (r >= 0)
            r = add(p, &at, text, err);
        if (r < 0)
            break;
        cli_progress_add(&p->progress, 1);
    }
    return r;
}

static WEFT_SUSPENDS int add_line(struct replaying *p, uint64_t number, struct upp_str line, struct upp_err *err)
{
    struct upp_str text = wb_str_trim(line);
    if (number == 1 && wb_str_starts(text, UPP_STR("["))) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 * (size_t)LINE_MAX_BYTES);
        yyjson_val *list;
        int r = wj_read(&a, text, UPP_OPTS(wj_read_opts, .max_bytes = LINE_MAX_BYTES), &list, err);
        return r < 0 ? r : add_list(p, list, err);
    }
    struct cli_document_ref at = {p->log, number};
    return text.n ? add(p, &at, text, err) : 0;
}

static WEFT_SUSPENDS int replay_file(struct replaying *p, struct upp_err *err)
{
    WB_CLEANUP(cli_input_close) struct cli_input in;
    struct upp_str line;
    int r = cli_input_open(&in, p->log, LINE_MAX_BYTES, err);
    if (r >= 0)
        cli_progress_begin(&p->progress, p->self, NULL, in.size);
    while (r >= 0 && (r = cli_input_line(&in, &line, err)) > 0) {
        r = add_line(p, in.lines, line, err);
        if (!p->progress.what) /* a list has a bar of its own */
            cli_progress_to(&p->progress, in.bytes);
    }
    return r;
}

static WEFT_SUSPENDS int replay_thread(struct replaying *p, struct upp_err *err)
{
    yyjson_val *list;
    int r = cli_thread_path(p->change, p->log, "/export?as=envelope", err);
    if (r < 0)
        return r;
    struct cli_request q = {.method = "GET", .path = wb_buf_str(&p->change->path)};
    r = cli_owner_call(&p->change->door, &q, &p->change->arena, &list, err);
    return r < 0 ? cli_thread_guess(&p->change->door, p->log, r, err) : add_list(p, list, err);
}

/* ---- The command --------------------------------------------------------------------------------------------- */

static bool is_file(const char *name)
{
    return strcmp(name, "-") == 0 || access(name, F_OK) == 0;
}

static int no_agent(const struct replaying *p, struct upp_err *err)
{
    struct wb_guess guess = {0};
    for (size_t i = 0; i < p->c->n_agents; i++)
        wb_guess(&guess, p->opts.live, p->c->agents[i].def.name);
    return upp_fail(err, UPP_ENOTFOUND, "there is no agent '%s'%s", p->live, wb_guessed(&guess));
}

static WEFT_SUSPENDS int replay(void *arg, struct upp_err *err)
{
    struct replaying *p = arg;
    struct we_replayed sum;
    p->opts = (struct we_replay_opts){.routes = &p->c->envelopes.routes,
                                      .adapters = &p->c->envelopes.adapters,
                                      .limits = &p->c->envelopes.limits,
                                      .model_of = model_of,
                                      .differs = differs,
                                      .live = p->live ? wb_cstr(p->live) : (struct upp_str){0},
                                      .ask = ask_live,
                                      .arg = p};
    if (p->live && !wc_config_agent(p->c, p->opts.live))
        return no_agent(p, err);
    int r = we_replay_new(&p->opts, &p->replay, err);
    if (r >= 0)
        r = is_file(p->log) ? replay_file(p, err) : replay_thread(p, err);
    if (r >= 0)
        r = we_replay_end(p->replay, &sum, err);
    cli_progress_end(&p->progress);
    we_replay_free(p->replay);
    p->replay = NULL;
    if (r >= 0 && !sum.envelopes)
        r = upp_fail(err, UPP_EINVALID, "%s: there are no envelopes", p->log);
    if (r >= 0)
        r = print_sum(p, &sum, err);
    p->wrong = p->wrong || (r >= 0 && sum.differences);
    return r;
}

static WEFT_SUSPENDS int with_store(struct cli_client *change, struct upp_err *err)
{
    struct replaying *p = change->arg;
    p->change = change;
    return replay(p, err);
}

static int run_replay(const struct cli_command *self, int argc, char **argv)
{
    struct replaying p = {.self = self};
    struct upp_err err = {0};
    int code = cli_parse(self, argc, argv, &p, &p.log, 1, "a log of envelopes, or a thread");
    if (code)
        return code;
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    if (cli_config_load(p.rules ? p.rules : p.from.config, CLI_NEEDS_TEXT, &c, &err) < 0)
        return cli_fail(self, &err);
    p.c = c;
    if (p.live || !is_file(p.log)) /* an agent that runs needs its model, and a file no database that is there */
        code = cli_client_run_with(self, p.live, &p.from, !is_file(p.log), with_store, &p);
    else if (cli_on_loop(replay, &p, &err) < 0)
        code = cli_fail(self, &err);
    return code != CLI_GOOD ? code : p.wrong ? CLI_FAILED : CLI_GOOD;
}

static const struct cli_option replay_options[] = {
    CLI_VALUE_OF("--rules", "FILE", "a file", struct replaying, rules, CLI_FILE, NULL,
                 "a configuration with other routes, envelopes or adapters: what would these have done?"),
    CLI_VALUE_OF("--live", "AGENT", "an agent", struct replaying, live, CLI_AGENT, NULL,
                 "runs this agent anew; its replies are compared with the recorded ones and take their place"),
    CLI_FLAG("--json", struct replaying, json, "one object per difference, and a summary at the end"),
    CLI_SOURCE_OPTIONS(struct replaying, from),
};

const struct cli_command cli_replay = {
    .name = "replay",
    .usage =
        "LOG|THREAD|- [--rules FILE] [--live AGENT] [--json] [--tenant T] [--user U] [--config FILE] [--store URL]",
    .summary = "sends a log of envelopes through the rules again",
    .help =
        "Reads envelopes (JSON lines, or one list; or an exchange of the store by its thread) and gives them to the\n"
        "rules once more, with the recorded replies. Nothing is run. Prints what the rules would do differently: "
        "route\n"
        "(another agent), new and unsent (requests), order, prompt, cost. Exits 1 if there is a difference.\n"
        "With --live the agent runs (in the server, if one owns the store), and each of its requests stays in the "
        "store\n"
        "as a thread of its own.",
    .run = run_replay,
    CLI_OPTIONS(replay_options),
    .examples = "weft replay log.jsonl\n"
                "weft replay --rules new.yaml log.jsonl   # what would the new rules have done?\n"
                "weft replay THREAD --live planner\n",
    .takes = CLI_FILE,
};
