/* cli/store_client.c — connects a command to the store's owner, sends its requests and reads the answers. */
#include <stdio.h>
#include <unistd.h>

#include "cli/store_client.h"
#include "cli/setup.h"
#include "json/value.h"
#include "json/write.h"
#include "cli/store_owner.h"
#include "log/admin.h"

enum { PATH_MAX_BYTES = 32 << 10 };

WEFT_SUSPENDS static int run_connected(void *arg, struct upp_err *err)
{
    struct cli_client *p = arg;
    int r = cli_owner_open(&p->door, false, err);
    if (r >= 0)
        r = p->fn(p, err);
    cli_owner_close(&p->door);
    cli_owner_done(&p->door);
    return r;
}

int cli_client_run(const struct cli_command *self, const struct cli_source *from, bool must_exist,
                   int (*fn)(struct cli_client *p, struct upp_err *err), void *arg)
{
    return cli_client_run_with(self, false, from, must_exist, fn, arg);
}

int cli_client_run_with(const struct cli_command *self, bool agents, const struct cli_source *from, bool must_exist,
                        int (*fn)(struct cli_client *p, struct upp_err *err), void *arg)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    struct cli_client p = {.arena = WB_ARENA(1u << 30), .path = WB_BUF(PATH_MAX_BYTES), .fn = fn, .arg = arg};
    struct wrt_location place;
    struct upp_err err = {0};
    int r = agents ? cli_config_load(from->config, CLI_NEEDS_ALL, &config, &err)
                   : cli_store_find(from, &config, &place, &err);
    if (r >= 0 && agents)
        r = wrt_location_of(config, from->store, &place, &err);
    if (r >= 0)
        r = cli_store_lasts(&place, &err);
    if (r >= 0 && must_exist && access(place.path, F_OK) != 0)
        r = upp_fail(&err, UPP_ENOTFOUND, "there is no database %s", place.path);
    if (r >= 0) {
        p.door = (struct cli_owner){.config = config, .place = &place, .as = from->as};
        r = cli_on_loop(run_connected, &p, &err);
    }
    wb_buf_done(&p.path);
    wb_arena_done(&p.arena);
    if (r < 0)
        cli_error_print(self, &(struct cli_error){.code = upp_code_name(err.code),
                                                  .file = p.file,
                                                  .where = err.where,
                                                  .message = wb_cstr(err.msg)});
    return r < 0 ? CLI_FAILED : CLI_GOOD;
}

int cli_thread_path(struct cli_client *p, const char *thread, const char *rest, struct upp_err *err)
{
    wb_buf_clear(&p->path);
    wb_buf_add(&p->path, UPP_STR("/v1/threads/"));
    cli_path_add(&p->path, wb_cstr(thread));
    wb_buf_add(&p->path, wb_cstr(rest));
    return wb_buf_check(&p->path, err);
}

WEFT_SUSPENDS int cli_client_post(struct cli_client *p, const char *member, const char *value, yyjson_val **ret,
                                  struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(CLI_MAX_BODY);
    struct wj_writer w;
    wj_writer_init(&w, &body, err);
    wj_write_open(&w, '{');
    if (value)
        wj_put_str(&w, member, wb_cstr(value));
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r < 0)
        return r;
    struct cli_request q = {.method = "POST", .path = wb_buf_str(&p->path), .body = wb_buf_str(&body)};
    return cli_owner_call(&p->door, &q, &p->arena, ret, err);
}

int cli_print_thread(yyjson_val *answer, bool json, struct upp_err *err)
{
    struct upp_str id = {0};
    int r = cli_answer_text(answer, "id", &id, err);
    if (r >= 0) /* digits and letters: nothing to escape */
        (void)printf(json ? "{\"thread\":\"%.*s\"}\n" : "%.*s\n", UPP_FMT(id));
    return r;
}

int cli_answer_text(yyjson_val *answer, const char *name, struct upp_str *ret, struct upp_err *err)
{
    yyjson_val *v = yyjson_obj_get(answer, name);
    if (!v || !yyjson_is_str(v))
        return upp_fail(err, UPP_EPROTO, "the owner of the store answers without '%s'", name);
    *ret = wj_text(v);
    return 0;
}

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
