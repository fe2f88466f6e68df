/* cli/log_view.c — writes the entries of a thread's log as JSON lines. */
#include "cli/log_view.h"

#include "cli/run_view.h"
#include "json/write.h"
#include "model/upp_json.h"

enum { PAGE = 256 };

static struct upp_str word(const char *const *words, size_t n, uint8_t i)
{
    return wb_cstr(i < n && words[i] ? words[i] : "unknown");
}

static void put_words(struct wj_writer *w, const struct wm_entry *e)
{
    static const char *const kinds[] = {[WM_ENTRY_MESSAGE] = "message",
                                        [WM_ENTRY_EVENT] = "event",
                                        [WM_ENTRY_REPAIR] = "repair",
                                        [WM_ENTRY_TURN] = "turn"};
    static const char *const origins[] = {
        [WM_ORIGIN_RUN] = "run", [WM_ORIGIN_CLIENT] = "client", [WM_ORIGIN_IMPORT] = "import"};
    static const char *const audiences[] = {
        [WM_AUDIENCE_ALL] = "all", [WM_AUDIENCE_RUN] = "run", [WM_AUDIENCE_MODEL] = "model"};
    wj_put_str(w, "kind", word(kinds, WB_LEN(kinds), e->kind));
    wj_put_str(w, "origin", word(origins, WB_LEN(origins), e->origin));
    wj_put_str(w, "audience", word(audiences, WB_LEN(audiences), e->audience));
}

static void put_erased(struct wj_writer *w, const struct wm_erased *erased)
{
    wj_write_name(w, UPP_STR("erased"));
    if (!erased->time_ms) {
        wj_write_null(w);
        return;
    }
    wj_write_open(w, '{');
    wj_write_name(w, UPP_STR("time"));
    wm_time_write(w, erased->time_ms);
    wj_put_str(w, "why", erased->why);
    wj_write_close(w, '}');
}

static void put_said(struct wj_writer *w, const struct wm_entry *e, struct upp_str id)
{
    struct upp_message m = e->message;
    bool message = (e->kind == WM_ENTRY_MESSAGE || e->kind == WM_ENTRY_REPAIR) && !wm_is_hidden(e);
    m.id = m.id.n ? m.id : id;
    wj_write_name(w, UPP_STR("message"));
    if (message)
        wm_message_write(w, &m);
    else
        wj_write_null(w);
    wj_write_name(w, UPP_STR("event"));
    if (e->kind == WM_ENTRY_EVENT && e->data.n)
        wj_write_raw(w, e->data.p, e->data.n);
    else
        wj_write_null(w);
}

static int put_line(const struct wl_line *line, uint32_t at, struct wb_buf *out, struct upp_err *err)
{
    const struct wm_entry *e = &line->entry;
    struct wj_writer w;
    char id[64], run[64];
    struct upp_str own = wb_cstr(cli_id("msg_", line->id, id));
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    wj_put_u64(&w, "at", at);
    wj_put_str(&w, "id", own);
    wj_write_name(&w, UPP_STR("time"));
    wm_time_write(&w, e->message.time_ms);
    wj_put_str(&w, "who", e->who);
    put_words(&w, e);
    wj_put_str(&w, "run",
               wb_uuid_is_nil(line->run) ? (struct upp_str){NULL, 0} : wb_cstr(cli_id("run_", line->run, run)));
    wj_put_u64(&w, "step", e->step);
    wj_put_str(&w, "phase", e->phase);
    put_erased(&w, &e->erased);
    put_said(&w, e, own);
    wj_write_close(&w, '}');
    wb_buf_addc(out, '\n');
    return wj_writer_check(&w);
}

int cli_log_write(struct cli_reader *rd, const struct wl_thread *t, struct cli_progress *progress, struct wb_buf *out,
                  struct upp_err *err)
{
    struct wl_path path;
    int r = wl_thread_path(rd->store, &rd->owner, t, &rd->arena, &path, err);
    if (r >= 0)
        cli_progress_begin(progress, rd->self, "entries", path.length);
    for (uint32_t at = 0; r >= 0 && at < path.length; at += PAGE) {
        uint32_t n = WB_MIN(path.length - at, (uint32_t)PAGE);
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(512u << 20);
        struct wl_line *lines;
        size_t got = 0;
        r = wl_path_tail(rd->store, &rd->owner, &path, at + n, n, &a, &lines, &got, err);
        for (size_t i = 0; r >= 0 && i < got; i++)
            r = put_line(&lines[i], at + (uint32_t)i, out, err);
        cli_progress_to(progress, at + n);
    }
    cli_progress_end(progress);
    return r;
}
