/* cli/runs/start.c — writes and sends the request that starts a run. */
#include "cli/runs/start.h"

#include "json/write.h"

static int write_request(const struct cli_start *s, struct wb_buf *out, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "assistant_id", s->agent);
    if (s->model.n)
        wj_put_str(&w, "model", s->model);
    if (!s->thread.n && s->title.n) {
        wj_put_open(&w, "thread", '{');
        wj_put_str(&w, "title", s->title);
        wj_write_close(&w, '}');
    }
    wj_put_open(&w, "additional_messages", '[');
    wj_write_open(&w, '{');
    wj_put_str(&w, "role", UPP_STR("user"));
    wj_put_str(&w, "content", s->text);
    wj_write_close(&w, '}');
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

WEFT_SUSPENDS int cli_start_run(struct cli_follow *f, const struct cli_start *start, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(CLI_MAX_BODY);
    yyjson_val *v;
    struct cli_request q = {.method = "POST", .key = start->key};
    int r = write_request(start, &body, err);
    q.path = start->thread.n ? wb_arena_printf(&f->arena, "/v1/threads/%.*s/runs", UPP_FMT(start->thread))
                             : UPP_STR("/v1/threads/runs");
    q.body = wb_buf_str(&body);
    if (r >= 0)
        r = wb_arena_check(&f->arena, err);
    if (r >= 0)
        r = cli_owner_call(&f->door, &q, &f->arena, &v, err);
    if (r >= 0)
        r = cli_follow_id(v, "thread_id", "thread_", &f->thread, err);
    return r < 0 ? r : cli_follow_id(v, "id", "run_", &f->shown.run, err);
}
