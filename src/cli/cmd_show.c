/* cli/cmd_show.c — weft show THREAD: messages, calls and results on a thread's path. */
#include <stdio.h>

#include "base/defs.h"
#include "base/iso8601.h"
#include "cli/list.h"
#include "cli/terminal.h"
#include "cli/store_reader.h"
#include "cli/thread_word.h"
#include "cli/run_view.h"
#include "json/read.h"
#include "json/value.h"
#include "log/log.h"
#include "model/file_url.h"
#include "model/upp_json.h"

enum { LIMIT = 100, LIMIT_MAX = 100000, PAGE = 256, INDENT = 4 };

struct show_request {
    struct cli_source from;
    const char *id, *limit_text;
    bool json, coloured;
    uint64_t limit;
    struct wl_thread thread;
    struct wl_path path;
};

static const char *role_name(const struct wm_entry *e)
{
    static const char *const names[] = {
        [UPP_ROLE_USER] = "user", [UPP_ROLE_ASSISTANT] = "assistant", [UPP_ROLE_TOOL] = "tool"};
    return e->kind == WM_ENTRY_EVENT                                   ? "event"
           : e->kind == WM_ENTRY_TURN                                  ? "turn"
           : e->message.role < WB_LEN(names) && names[e->message.role] ? names[e->message.role]
                                                                       : "message";
}

static const char *kind_name(uint8_t kind)
{
    static const char *const names[] = {[WM_ENTRY_MESSAGE] = "message",
                                        [WM_ENTRY_EVENT] = "event",
                                        [WM_ENTRY_REPAIR] = "repair",
                                        [WM_ENTRY_TURN] = "turn"};
    return kind < WB_LEN(names) && names[kind] ? names[kind] : "unknown";
}

static const char *origin_name(uint8_t origin)
{
    static const char *const names[] = {
        [WM_ORIGIN_RUN] = "run", [WM_ORIGIN_CLIENT] = "client", [WM_ORIGIN_IMPORT] = "import"};
    return origin < WB_LEN(names) && names[origin] ? names[origin] : "unknown";
}

/* What is told of a medium: its file, its type, or where it is. */
static struct upp_str medium(const struct upp_part *p)
{
    struct upp_str id;
    if (!p->media)
        return UPP_STR("a medium");
    if (wm_part_file(p, &id))
        return id;
    return p->media->mime.n                                         ? p->media->mime
           : p->media->source == UPP_SOURCE_URL && p->media->data.n ? p->media->data
                                                                    : UPP_STR("a medium");
}

static void print_part(const struct upp_part *p, bool coloured)
{
    bool call = p->kind == UPP_PART_CALL, failed = p->kind == UPP_PART_RESULT && p->is_error;
    (void)printf("%*s", INDENT, "");
    switch (p->kind) {
    case UPP_PART_TEXT:
        cli_print_text(stdout, p->text, INDENT);
        break;
    case UPP_PART_REASONING:
        cli_colour(stdout, coloured, CLI_DIM);
        (void)printf("(");
        cli_print_text(stdout, p->text, INDENT);
        (void)printf(")");
        cli_colour(stdout, coloured, CLI_PLAIN);
        break;
    case UPP_PART_CALL:
    case UPP_PART_RESULT:
        cli_colour(stdout, coloured, failed ? CLI_RED : CLI_YELLOW);
        (void)printf("%s ", call ? "->" : failed ? "<- error:" : "<-");
        cli_print_text(stdout, p->name.n ? p->name : p->id, INDENT);
        cli_colour(stdout, coloured, CLI_PLAIN);
        (void)printf(" ");
        cli_print_text(stdout, p->text, INDENT);
        break;
    default:
        (void)printf("[");
        cli_print_text(stdout, medium(p), INDENT);
        (void)printf("]");
    }
    (void)printf("%s\n", p->cut ? " ..." : "");
}

/* "agent.handoff {...} -> travel" */
static void print_event(struct upp_str json)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf data = WB_BUF(16u << 20);
    yyjson_val *v, *type, *target;
    size_t i, max;
    (void)printf("%*s", INDENT, "");
    if (wj_read(&a, json, NULL, &v, NULL) < 0 || !(type = yyjson_obj_get(v, "type")) || !yyjson_is_str(type) ||
        (yyjson_obj_get(v, "data") && wj_write(yyjson_obj_get(v, "data"), &data, NULL) < 0)) {
        cli_print_text(stdout, json, INDENT);
        (void)printf("\n");
        return;
    }
    cli_print_text(stdout, wj_text(type), INDENT);
    (void)printf(" ");
    cli_print_text(stdout, wb_buf_str(&data), INDENT);
    yyjson_arr_foreach(yyjson_obj_get(v, "targets"), i, max, target)
    {
        (void)printf("%s", i ? ", " : " -> ");
        cli_print_text(stdout, yyjson_is_str(target) ? wj_text(target) : UPP_STR("?"), INDENT);
    }
    (void)printf("\n");
}

static enum cli_colour role_colour(const struct wm_entry *e)
{
    static const uint8_t colours[] = {
        [UPP_ROLE_USER] = CLI_GREEN, [UPP_ROLE_ASSISTANT] = CLI_BOLD, [UPP_ROLE_TOOL] = CLI_YELLOW};
    bool said = e->kind != WM_ENTRY_EVENT && e->kind != WM_ENTRY_TURN && e->message.role < WB_LEN(colours);
    return said ? (enum cli_colour)colours[e->message.role] : CLI_DIM;
}

static void print_line(const struct wl_line *line, bool coloured)
{
    const struct wm_entry *e = &line->entry;
    char time[WB_TIME_TEXT], id[64];
    struct wb_time t = wb_time_from_ms(e->message.time_ms);
    (void)wb_time_upp(&t, time);
    cli_colour(stdout, coloured, role_colour(e));
    (void)printf("%s", role_name(e));
    if (e->who.n) {
        (void)printf(" ");
        cli_print_text(stdout, e->who, INDENT);
    }
    cli_colour(stdout, coloured, CLI_PLAIN);
    cli_colour(stdout, coloured, CLI_DIM);
    (void)printf("  %s  %s%s%s%s", cli_id("msg_", line->id, id), time, e->kind == WM_ENTRY_REPAIR ? "  repair" : "",
                 e->message.interrupted ? "  interrupted" : "", e->origin == WM_ORIGIN_IMPORT ? "  imported" : "");
    cli_colour(stdout, coloured, CLI_PLAIN);
    (void)putchar('\n');
    for (size_t i = 0; i < e->message.n_parts; i++)
        print_part(&e->message.parts[i], coloured);
    if (e->data.n)
        print_event(e->data);
}

static void print_head(const struct show_request *s)
{
    char id[64];
    cli_colour(stdout, s->coloured, CLI_CYAN);
    (void)printf("%s", cli_id("thread_", s->thread.id, id));
    cli_colour(stdout, s->coloured, CLI_PLAIN);
    (void)printf("  %u entr%s", s->path.length, s->path.length == 1 ? "y" : "ies");
    for (size_t i = 1; i < s->path.n; i++)
        (void)printf(", branched at %u", s->path.spans[i].before);
    (void)printf("\n");
    if (s->limit < s->path.length)
        (void)printf("(the last %u)\n", (unsigned)s->limit);
}

static int write_line(const struct wl_line *line, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(256u << 20);
    const struct wm_entry *e = &line->entry;
    struct upp_message m = e->message;
    struct wj_writer w;
    char id[64], run[64];
    if (!m.id.n)
        m.id = wb_cstr(cli_id("msg_", line->id, id));
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "id", wb_cstr(cli_id("msg_", line->id, id)));
    wj_put_str(&w, "kind", wb_cstr(kind_name(e->kind)));
    wj_put_str(&w, "origin", wb_cstr(origin_name(e->origin)));
    wj_put_str(&w, "who", e->who);
    wj_put_str(&w, "run",
               wb_uuid_is_nil(line->run) ? (struct upp_str){NULL, 0} : wb_cstr(cli_id("run_", line->run, run)));
    wj_put_u64(&w, "step", e->step);
    wj_write_name(&w, UPP_STR("message"));
    if (e->kind == WM_ENTRY_MESSAGE || e->kind == WM_ENTRY_REPAIR)
        wm_message_write(&w, &m);
    else
        wj_write_null(&w);
    wj_write_name(&w, UPP_STR("event"));
    if (e->kind == WM_ENTRY_EVENT && e->data.n)
        wj_write_raw(&w, e->data.p, e->data.n);
    else
        wj_write_null(&w);
    wj_write_close(&w, '}');
    return cli_line_out(stdout, &w);
}

WEFT_SUSPENDS static int show_entries(struct cli_reader *rd, struct upp_err *err)
{
    struct show_request *s = rd->arg;
    uint32_t at = s->path.length > s->limit ? s->path.length - (uint32_t)s->limit : 0;
    while (at < s->path.length) {
        uint32_t n = WB_MIN(s->path.length - at, (uint32_t)PAGE);
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(512u << 20);
        struct wl_line *lines;
        size_t got;
        int r = wl_path_tail(rd->store, &rd->owner, &s->path, at + n, n, &a, &lines, &got, err);
        for (size_t i = 0; r >= 0 && i < got; i++)
            if (lines[i].entry.audience == WM_AUDIENCE_RUN || wm_is_erased(&lines[i].entry))
                continue; /* scaffolding, or deleted */
            else if (s->json)
                r = write_line(&lines[i], err);
            else
                print_line(&lines[i], s->coloured);
        if (r < 0)
            return r;
        at += n;
    }
    return 0;
}

WEFT_SUSPENDS static int show_thread(struct cli_reader *rd, struct upp_err *err)
{
    struct show_request *s = rd->arg;
    int r = cli_thread_find(rd, s->id, &s->thread, err);
    if (r >= 0)
        r = wl_thread_path(rd->store, &rd->owner, &s->thread, &rd->arena, &s->path, err);
    if (r < 0)
        return r;
    if (!s->json)
        print_head(s);
    return show_entries(rd, err);
}

static int run_show(const struct cli_command *self, int argc, char **argv)
{
    struct show_request s = {.limit = LIMIT, .coloured = cli_colours(stdout)};
    int bad = cli_parse(self, argc, argv, &s, &s.id, 1, "the id of a thread");
    if (bad)
        return bad;
    if (s.limit_text && (!wb_str_u64(wb_cstr(s.limit_text), &s.limit) || s.limit < 1 || s.limit > LIMIT_MAX))
        return cli_misuse(self, "--limit is 1 to %d", LIMIT_MAX);
    return cli_read_store(self, &s.from, false, show_thread, &s);
}

static const struct cli_option show_options[] = {
    CLI_VALUE("--limit", "N", "a number", struct show_request, limit_text, "the last N entries (default: 100)"),
    CLI_FLAG("--json", struct show_request, json,
             "one object per entry and line: id, kind (message, repair, event, turn), origin (run, client, import), "
             "who, run, "
             "step, the message in UPP's JSON, the event"),
    CLI_SOURCE_OPTIONS(struct show_request, from),
};

const struct cli_command cli_show = {
    .name = "show",
    .usage = "THREAD [--json] [--limit N] [--tenant T] [--user U] [--config FILE] [--store URL]",
    .summary = "prints a thread",
    .help = "Prints the last entries of a thread: author, time, texts, -> calls and <- results, system events and "
            "turns, and\n"
            "where its path branched off. Internal messages of agents are left out.\n"
            "The database can be read while a server uses it.",
    .run = run_show,
    CLI_OPTIONS(show_options),
    .examples = "weft show THREAD\n"
                "weft show THREAD --limit 10 --json\n",
};
