/* cli/cmd_cancel.c — weft cancel RUN.
 *
 * Where nobody owns the store nobody works on the run either: it is ended as it lies, and no other run is taken up.
 */
#include <stdio.h>

#include "base/defs.h"
#include "cli/args.h"
#include "cli/store_owner.h"
#include "cli/setup.h"
#include "cli/run_view.h"
#include "json/value.h"

struct canceling {
    struct cli_door door;
    const char     *run;
    bool            json;
    struct wb_arena arena;
};

WEFT_SUSPENDS static int cancel(struct canceling *c, struct upp_err *err)
{
    yyjson_val    *v, *status;
    struct wb_uuid id;
    char           text[64];
    if (!wl_id_parse(wb_cstr(c->run), UPP_STR("run_"), &id))
        return upp_fail(err, UPP_EINVALID, "'%s' is no id of a run", c->run);
    struct upp_str path = wb_arena_printf(&c->arena, "/v1/runs/%s/cancel", cli_id("run_", id, text));
    int            r    = wb_arena_check(&c->arena, err);
    if (r >= 0)
        r = cli_door_open(&c->door, false, err);
    if (r >= 0)
        r = cli_door_call(&c->door, &(struct cli_request){.method = "POST", .path = path}, &c->arena, &v, err);
    if (r < 0)
        return r;
    status              = yyjson_obj_get(v, "status");
    struct upp_str word = status && yyjson_is_str(status) ? wj_text(status) : UPP_STR("cancelling");
    (void)printf(c->json ? "{\"run\":\"%s\",\"status\":\"%.*s\"}\n" : "%s %.*s\n", text, UPP_FMT(word));
    return 0;
}

WEFT_SUSPENDS static int command(void *arg, struct upp_err *err)
{
    struct canceling *c = arg;
    int               r = cancel(c, err);
    cli_door_close(&c->door);
    return r;
}

static int run(const struct cli_command *self, int argc, char **argv)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    struct canceling                              c      = {.arena = WB_ARENA(64u << 20)};
    struct wrt_place                              place;
    struct upp_err                                err  = {0};
    const char                                   *file = NULL, *store = NULL;
    size_t                                        n;
    const struct cli_option                       options[] = {
                              {"--config", "a file", &file, NULL}, {"--store", "sqlite:PATH", &store, NULL}, {"--json", NULL, NULL, &c.json}};
    int bad = cli_parse(self, argc, argv, options, WB_LEN(options), &c.run, 1, &n);
    if (bad)
        return bad;
    if (n < 1)
        return cli_misuse(self, "wants the id of a run");
    int r = cli_config_load(file, true, &config, &err);
    if (r >= 0)
        r = wrt_place_of(config, store, &place, &err);
    if (r >= 0) {
        (void)cli_log_setup(config, NULL, WB_WARN);
        c.door = (struct cli_door){.config = config, .place = &place};
        r      = cli_on_loop(command, &c, &err);
    }
    wb_arena_done(&c.arena);
    return r < 0 ? cli_fail(self, &err) : CLI_GOOD;
}

const struct cli_command cli_cancel = {
    .name    = "cancel",
    .usage   = "RUN [--json] [--config FILE] [--store URL]",
    .summary = "ends a run",
    .help = "Asks that a run be cancelled and prints its status: cancelling while its owner unwinds it, or cancelled.\n"
            "A run that has ended is refused.",
    .run  = run,
};
