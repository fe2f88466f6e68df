/* fuzz/fuzz_anthropic.c — answers of Anthropic Messages, and the way back: any bytes as a body, streamed or whole; what
 * was said then goes into the next request, which is JSON whatever came.
 *
 * Input: a body. One that begins with a brace is a whole answer.
 */
#include <upp/provider.h>

#include "base/arena.h"
#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "json/read.h"

enum { PARTS = 64 };

struct wire {
    struct upp_str body;
    bool           whole, given;
};

static int wire_send(void *arg, const struct upp_http_request *req, const struct upp_wait *wait,
                     struct upp_http_call **ret, struct upp_err *err)
{
    struct wb_arena a = WB_ARENA(256u << 20);
    yyjson_val     *v;
    (void)wait, (void)err;
    REQUIRE(wj_read(&a, req->body, NULL, &v, NULL) == 0 && wb_utf8_valid(req->body, NULL));
    wb_arena_done(&a);
    *ret = arg;
    return 0;
}

static int wire_head(struct upp_http_call *c, struct upp_http_head *ret, struct upp_err *err)
{
    static const struct upp_header stream = {UPP_STR_INIT("content-type"), UPP_STR_INIT("text/event-stream")};
    static const struct upp_header json   = {UPP_STR_INIT("content-type"), UPP_STR_INIT("application/json")};
    const struct wire             *w      = (const struct wire *)(const void *)c;
    (void)err;
    *ret = (struct upp_http_head){200, w->whole ? &json : &stream, 1};
    return 0;
}

static int wire_read(struct upp_http_call *c, struct upp_str *ret, struct upp_err *err)
{
    struct wire *w = (struct wire *)(void *)c;
    (void)err;
    *ret     = w->given ? UPP_STR("") : w->body;
    w->given = true;
    return ret->n > 0;
}

static void wire_close(struct upp_http_call *c)
{
    (void)c;
}

/* What a step says, as the message that goes back. */
struct said {
    struct wb_arena    arena;
    struct wb_buf      texts[PARTS];
    struct upp_part    parts[PARTS];
    struct upp_message message;
    bool               ended, open[PARTS];
};

static void take(struct said *s, const struct upp_step_event *ev)
{
    REQUIRE(!s->ended);
    if (ev->kind == UPP_STEP_PART_OPEN) {
        REQUIRE(ev->part == s->message.n_parts++);
        if (ev->part < PARTS) {
            s->open[ev->part]  = true;
            s->texts[ev->part] = (struct wb_buf)WB_BUF(16u << 20);
            s->parts[ev->part] = (struct upp_part){.kind = ev->part_kind,
                                                   .id   = wb_arena_dup(&s->arena, ev->id),
                                                   .name = wb_arena_dup(&s->arena, ev->name)};
        }
    } else if (ev->kind == UPP_STEP_DELTA && ev->part < PARTS) {
        REQUIRE(s->open[ev->part] && ev->text.n && wb_wtf8_valid(ev->text, NULL));
        wb_wtf8_add(&s->texts[ev->part], ev->text);
    } else if (ev->kind == UPP_STEP_PART_CLOSE && ev->part < PARTS) {
        REQUIRE(s->open[ev->part]);
        s->open[ev->part] = false;
    } else if (ev->kind == UPP_STEP_END) {
        s->ended            = true;
        s->message.metadata = wb_arena_dup(&s->arena, ev->metadata);
    }
}

static int ask(const struct upp_model *m, const struct upp_request *req, struct said *s)
{
    struct upp_step      *step = NULL;
    struct upp_step_event ev;
    struct upp_err        err = {0};
    int                   r   = upp_step_open(m, req, NULL, &step, &err);
    while (r >= 0 && (r = upp_step_next(step, &ev, &err)) > 0)
        take(s, &ev);
    REQUIRE(r >= 0 ? s->ended : r != -UPP_EBUG && err.code == -r);
    if (r < 0)
        REQUIRE_SHOWN(err.msg);
    upp_step_close(step);
    return r;
}

static void said_done(struct said *s)
{
    for (size_t i = 0; i < PARTS; i++)
        wb_buf_done(&s->texts[i]);
    wb_arena_done(&s->arena);
}

FUZZ(anthropic)
{
    struct wire          w   = {.body = in, .whole = in.n && in.p[0] == '{'};
    struct upp_transport via = {
        .size = sizeof via, .arg = &w, .send = wire_send, .head = wire_head, .read = wire_read, .close = wire_close};
    static struct said        s, more; /* frames are small */
    struct upp_part           hi     = {.kind = UPP_PART_TEXT, .text = UPP_STR("Hi")};
    struct upp_message        user   = {.role = UPP_ROLE_USER, .parts = &hi, .n_parts = 1};
    struct upp_model         *m      = NULL;
    const struct upp_message *list[] = {&user, &s.message};
    struct upp_request        req    = {.messages = list, .n_messages = 1, .attempt = 1, .whole = w.whole};
    struct upp_err            err;
    s = more = (struct said){.arena = WB_ARENA(256u << 20), .message = {.role = UPP_ROLE_ASSISTANT}};
    REQUIRE(upp_model_new(upp_anthropic("claude-x", .api_key = "KEY", .transport = &via), &m, &err) == 0);
    if (ask(m, &req, &s) == 0 && s.message.n_parts <= PARTS) {
        for (size_t i = 0; i < s.message.n_parts; i++)
            s.parts[i].text = wb_buf_str(&s.texts[i]);
        s.message.parts = s.parts;
        req.n_messages  = 2;
        w.given         = false;
        (void)ask(m, &req, &more);
    }
    upp_model_free(m);
    said_done(&s);
    said_done(&more);
}
