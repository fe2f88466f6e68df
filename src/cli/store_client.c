/* cli/store_client.c — connects a command to the store's owner, sends its requests and reads the answers. */
#include "cli/store_client.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/setup.h"
#include "json/value.h"
#include "json/write.h"

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
