/* cli/chat/threads.c — other conversations: /new, /threads, and /switch THREAD. */
#include "base/defs.h"
#include "base/iso8601.h"
#include "base/utf8.h"
#include "cli/chat/chat.h"
#include "json/value.h"

enum { WORDS = 60, LAST_WORDS = 300 };

static struct upp_str text_of(yyjson_val *message)
{
    return wj_text_at(yyjson_obj_get(yyjson_arr_get_first(yyjson_obj_get(message, "content")), "text"), "value");
}

static struct upp_str cut(struct upp_str text, size_t max)
{
    return wb_str_sub(text, 0, wb_utf8_cut(text, WB_MIN(text.n, max)));
}

/* The first or the last message of a thread; NULL: it has none. */
WEFT_SUSPENDS static int one_message(struct cli_chat *c, struct upp_str thread, const char *order, yyjson_val **ret,
                                     struct upp_err *err)
{
    yyjson_val *v;
    struct upp_str path =
        wb_arena_printf(&c->arena, "/v1/threads/%.*s/messages?limit=1&order=%s", UPP_FMT(thread), order);
    int r = wb_arena_check(&c->arena, err);
    if (r >= 0)
        r = cli_chat_call(c, "GET", path, NULL, &v, err);
    if (r >= 0)
        *ret = yyjson_arr_get_first(yyjson_obj_get(v, "data"));
    return r;
}

int cli_chat_new(struct cli_chat *c, struct upp_str rest, struct upp_err *err)
{
    (void)rest;
    if (!c->thread.n)
        return cli_chat_note(&c->view, CLI_STYLE_FAINT, err, "(this one is new: nothing was said yet)");
    int r = cli_chat_note(&c->view, CLI_STYLE_FAINT, err, "(a new conversation with %.*s; /switch %.*s goes back)",
                          UPP_FMT(wb_buf_str(&c->agent)), UPP_FMT(wb_buf_str(&c->thread)));
    wb_buf_clear(&c->thread);
    return r;
}

/* Whose thread it is, and how it ends: so one sees where one is. */
WEFT_SUSPENDS int cli_chat_enter(struct cli_chat *c, struct upp_str thread, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf path = WB_BUF(4096);
    yyjson_val *v, *last;
    wb_buf_add(&path, UPP_STR("/v1/threads/"));
    cli_path_add(&path, thread);
    int r = wb_buf_check(&path, err);
    if (r >= 0)
        r = cli_chat_call(c, "GET", wb_buf_str(&path), NULL, &v, err);
    if (r < 0)
        return r;
    wb_buf_clear(&c->thread);
    cli_path_add(&c->thread, wj_text_at(v, "id"));
    r = cli_chat_thread_agent(c, &c->agent, err);
    if (r >= 0)
        r = one_message(c, wb_buf_str(&c->thread), "desc", &last, err);
    if (r >= 0)
        r = cli_chat_note(&c->view, CLI_STYLE_FAINT, err, "in %.*s, with %.*s", UPP_FMT(wb_buf_str(&c->thread)),
                          UPP_FMT(wb_buf_str(&c->agent)));
    struct upp_str text = r < 0 ? UPP_STR("") : text_of(last);
    return text.n ? cli_chat_note(&c->view, CLI_STYLE_FAINT, err, "%.*s: %.*s", UPP_FMT(wj_text_at(last, "role")),
                                  UPP_FMT(cut(text, LAST_WORDS)))
                  : r;
}

/* A thread on one line: its title, or the first words that were said. Ids are for pipes: a terminal has numbers. */
WEFT_SUSPENDS static int show_thread(struct cli_chat *c, yyjson_val *t, size_t number, struct upp_err *err)
{
    struct upp_str words = wj_text_at(t, "title"), id = wj_text_at(t, "id");
    char time[WB_TIME_TEXT];
    struct wb_time at = wb_time_from_ms(cli_number_at(t, "created_at") * 1000);
    struct cli_note as = {.rows = 1};
    yyjson_val *first;
    int r = 0;
    if (!words.n) {
        r = one_message(c, id, "asc", &first, err);
        words = r < 0 ? words : text_of(first);
    }
    bool here = wb_str_eq(id, wb_buf_str(&c->thread));
    (void)wb_time_upp(&at, time);
    time[10] = ' ';
    return r < 0 ? r
                 : cli_chat_note_as(&c->view, &as, err, "%s [%zu] %.*s%s%.16s  %.*s", here ? "*" : " ", number,
                                    UPP_FMT(c->view.terminal ? UPP_STR("") : id), c->view.terminal ? "" : "  ", time,
                                    UPP_FMT(cut(words, c->view.terminal ? LAST_WORDS : WORDS)));
}

WEFT_SUSPENDS int cli_chat_threads(struct cli_chat *c, struct upp_str rest, struct upp_err *err)
{
    yyjson_val *v, *t;
    size_t i, max;
    uint64_t n;
    char id[64];
    if (rest.n && (!wb_str_u64(rest, &n) || n < 1 || n > c->n_listed))
        return upp_fail(err, UPP_EINVALID, "/threads lists the conversations; after that, /threads NUMBER goes to one");
    if (rest.n)
        return cli_chat_enter(c, wb_cstr(cli_id("thread_", c->listed[n - 1], id)), err);
    struct upp_str path = wb_arena_printf(&c->arena, "/v1/threads?limit=%d", CLI_CHAT_THREADS);
    int r = cli_chat_call(c, "GET", path, NULL, &v, err);
    c->n_listed = 0;
    yyjson_arr_foreach(r < 0 ? NULL : yyjson_obj_get(v, "data"), i, max, t)
    {
        if (r < 0 || c->n_listed == CLI_CHAT_THREADS)
            break;
        r = cli_follow_id(t, "id", "thread_", &c->listed[c->n_listed++], err);
        if (r >= 0)
            r = show_thread(c, t, c->n_listed, err);
    }
    if (r >= 0 && !c->n_listed)
        return cli_chat_note(&c->view, CLI_STYLE_FAINT, err, "there are no conversations yet");
    return r < 0 || !c->view.terminal ? r
                                      : cli_chat_note(&c->view, CLI_STYLE_FAINT, err, "/threads NUMBER goes to one");
}
