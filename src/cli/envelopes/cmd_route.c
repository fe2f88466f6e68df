/* cli/envelopes/cmd_route.c — weft route: which agent an envelope goes to, and why. Nothing is run. */
#include "cli/cli.h"
#include "cli/documents/conversion.h"
#include "cli/input.h"
#include "cli/setup.h"
#include "json/write.h"

enum { EXPLANATION = 4 << 20 };

struct routing {
    const struct cli_command *self;
    const char *config;
    bool explain, json;
};

/* The model and the adapter of an agent; NULL: it has none. */
static const struct we_adapter *adapter_of(const struct wc_config *c, struct upp_str name, struct upp_str *model)
{
    const struct wc_agent *agent = wc_config_agent(c, name);
    *model = agent ? wc_agent_model(agent) : (struct upp_str){0};
    return model->p ? we_adapter_for(&c->envelopes.adapters, *model) : NULL;
}

static void add_adapter(const struct wc_config *c, const struct we_envelope *e, struct wb_arena *a, struct wb_buf *out)
{
    struct we_choice choice;
    struct upp_str model;
    if (we_route(a, &c->envelopes.routes, e, (struct upp_str){0}, &choice, NULL) < 0)
        return;
    const struct we_adapter *adapter = adapter_of(c, choice.agent, &model);
    if (adapter)
        wb_buf_addf(out, "model: %.*s, adapter: %.*s\n", UPP_FMT(model), UPP_FMT(adapter->name));
}

static void put_explanation(struct wj_writer *w, const struct wc_config *c, const struct we_envelope *e)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(EXPLANATION);
    struct upp_str rest, line;
    wj_put_open(w, "explanation", '[');
    if (we_explain(&c->envelopes.routes, e, &text, NULL) >= 0) /* it has found the route before */
        for (rest = wb_buf_str(&text); wb_str_split(&rest, '\n', &line) && line.n;)
            wj_write_str(w, line);
    wj_write_close(w, ']');
}

static int write_route(const struct routing *o, const struct wc_config *c, const struct we_envelope *e,
                       struct wb_arena *a, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(2u * EXPLANATION);
    struct wj_writer w;
    struct we_choice choice;
    struct upp_str model;
    int r = we_route(a, &c->envelopes.routes, e, (struct upp_str){0}, &choice, err);
    if (r < 0)
        return r;
    const struct we_adapter *adapter = adapter_of(c, choice.agent, &model);
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "agent", choice.agent);
    if (choice.rule)
        wj_put_u64(&w, "rule", choice.number + 1); /* as --explain counts them */
    else
        wj_put_null(&w, "rule");
    wj_put_str(&w, "why", choice.why);
    wj_put_str(&w, "model", model);
    wj_put_str(&w, "adapter", adapter ? adapter->name : (struct upp_str){0});
    if (o->explain)
        put_explanation(&w, c, e);
    wj_write_close(&w, '}');
    return cli_line_out(stdout, &w);
}

static int print_route(const struct routing *o, const struct wc_config *c, const struct we_envelope *e,
                       struct wb_arena *a, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(EXPLANATION);
    struct we_choice choice;
    int r;
    if (o->json)
        return write_route(o, c, e, a, err);
    if (o->explain) {
        r = we_explain(&c->envelopes.routes, e, &out, err);
        if (r >= 0)
            add_adapter(c, e, a, &out);
    } else {
        r = we_route(a, &c->envelopes.routes, e, (struct upp_str){0}, &choice, err);
        if (r >= 0)
            wb_buf_addf(&out, "%.*s\n", UPP_FMT(choice.agent));
    }
    if (wb_buf_check(&out, NULL) < 0)
        return wb_buf_check(&out, err);
    (void)fwrite(out.p ? out.p : "", 1, out.n, stdout);
    return r;
}

static int read_envelope(const char *file, const struct we_limits *limits, struct wb_arena *a, struct we_envelope *ret,
                         struct upp_err *err)
{
    WB_CLEANUP(cli_input_close) struct cli_input in;
    WB_CLEANUP(wd_problems_done) struct wd_problems problems = {0};
    struct cli_document_ref at = {.file = file};
    struct upp_str text;
    int r = cli_input_open(&in, file, WE_MAX_BYTES, err);
    if (r >= 0)
        r = cli_input_all(&in, &text, err);
    if (r >= 0)
        r = we_read_ingress(a, text, limits, &problems, ret, err);
    for (size_t i = 0; r < 0 && i < problems.list.n; i++)
        cli_problem_print(stderr, &at, &problems.list.p[i]);
    return r;
}

static int route(const struct routing *o, const char *file, struct upp_err *err)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WE_MEMORY);
    struct we_envelope e;
    int r = cli_config_load(o->config, CLI_NEEDS_TEXT, &c, err);
    if (r >= 0)
        r = read_envelope(file, &c->envelopes.limits, &a, &e, err);
    if (r >= 0 && c->envelopes.limits.doubtful_reflects && we_is_doubted(&e, c->envelopes.limits.doubt))
        e.intent = WE_REFLECT; /* as an exchange would send it, on another model if there is one */
    return r < 0 ? r : print_route(o, c, &e, &a, err);
}

static int run_route(const struct cli_command *self, int argc, char **argv)
{
    struct routing o = {.self = self};
    const char *file;
    struct upp_err err = {0};
    int code = cli_parse(self, argc, argv, &o, &file, 1, "an envelope's file, or -");
    if (code)
        return code;
    return route(&o, file, &err) < 0 ? cli_fail(self, &err) : CLI_GOOD;
}

static const struct cli_option route_options[] = {
    CLI_FLAG("--explain", struct routing, explain,
             "prints each rule and why it fits or not, then the agent, its model and its adapter"),
    CLI_FLAG("--json", struct routing, json,
             "one object: agent, rule (its number from 1; null: the envelope names the agent), why, model, adapter, "
             "and with "
             "--explain explanation, its lines"),
    CLI_CONFIG_OPTION(struct routing, config),
};

const struct cli_command cli_route = {
    .name = "route",
    .usage = "[--explain] [--json] [--config FILE] FILE|-",
    .summary = "says which agent an envelope goes to",
    .help =
        "Reads one envelope and prints the agent that the rules in `routes` of the configuration send it to. Nothing\n"
        "is run.\n"
        "Exits 1 if there is no route, or if the envelope has problems, which are printed.",
    .run = run_route,
    CLI_OPTIONS(route_options),
    .examples = "weft route envelope.json\n"
                "weft route --explain envelope.json\n",
    .takes = CLI_FILE,
};
