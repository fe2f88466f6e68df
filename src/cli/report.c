/* cli/report.c — tells the store's owner of an administrator's action, or writes its row of the audit itself. */
#include "cli/report.h"

#include <unistd.h>

#include "cli/setup.h"
#include "cli/store_owner.h"
#include "json/write.h"
#include "log/admin.h"

struct telling {
    struct cli_owner door;
    const struct cli_report *report;
    const struct upp_err *why; /* NULL: it succeeded */
};

WEFT_SUSPENDS static int post(struct telling *t, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(1u << 16);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    const struct cli_report *q = t->report;
    struct wj_writer w;
    yyjson_val *row;
    wj_writer_init(&w, &body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "action", wb_cstr(q->action));
    wj_put_str(&w, "target", wb_cstr(q->target));
    if (q->detail.n)
        wj_put_str(&w, "detail", q->detail);
    if (t->why)
        wj_put_str(&w, "error", wb_arena_printf(&a, "%s: %s", upp_code_name(t->why->code), t->why->msg));
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r < 0)
        return r;
    struct cli_request ask = {.method = "POST",
                              .path = UPP_STR("/v1/audit"),
                              .body = wb_buf_str(&body),
                              .tenant = wb_cstr(q->tenant),
                              .user = wb_cstr(q->user)};
    return cli_owner_call(&t->door, &ask, &a, &row, err);
}

WEFT_SUSPENDS static int tell(void *arg, struct upp_err *err)
{
    struct telling *t = arg;
    int r = cli_owner_open(&t->door, false, err);
    if (r >= 0)
        r = post(t, err);
    cli_owner_close(&t->door);
    cli_owner_done(&t->door);
    return r;
}

void cli_report_admin(const struct cli_command *self, const struct wc_config *config, const struct wrt_location *place,
                      const struct cli_report *report, int r, const struct upp_err *why)
{
    struct telling t = {.door = {.config = config, .place = place}, .report = report, .why = r < 0 ? why : NULL};
    struct upp_err err = {0};
    if (access(place->path, F_OK) != 0)
        return; /* there is no store, and none is made for this */
    if (cli_on_loop(tell, &t, &err) < 0)
        cli_note(self, "the audit of the store does not have this: %s", err.msg);
}

struct wl_admin cli_admin_row(const char *action, struct upp_str target)
{
    return (struct wl_admin){
        .actor = WL_ADMIN_LOCAL, .uid = (int64_t)getuid(), .action = wb_cstr(action), .target = target};
}
