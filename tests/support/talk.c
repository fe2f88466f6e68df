/* support/talk.c — reading talk files, and having the conversation. */
#include "support/talk.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "base/str.h"
#include "base/vec.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "model/upp_json.h"
#include "support/test.h"

/* ---- Reading a file ------------------------------------------------------------------------------------------ */

struct lines {
    const char *path;
    struct upp_str rest;
    unsigned n;
};

static int wrong(const struct lines *l, const char *what, struct upp_str line, struct upp_err *err)
{
    return upp_fail(err, UPP_EINVALID, "%s:%u: %s: '%.*s'", l->path, l->n, what, UPP_FMT(line));
}

static bool next_line(struct lines *l, struct upp_str *ret)
{
    if (!l->rest.n || !wb_str_split(&l->rest, '\n', ret))
        return false;
    l->n++;
    return true;
}

static bool is_section(struct upp_str line)
{
    return wb_str_starts(line, UPP_STR(">> "));
}

/* All lines up to the next section. */
static struct upp_str take_section(struct lines *l)
{
    const char *from = l->rest.p;
    size_t n = 0;
    while (l->rest.n && !is_section(l->rest)) {
        struct upp_str line;
        (void)next_line(l, &line);
        n = (size_t)(line.p + line.n - from) + (l->rest.p ? 1 : 0);
    }
    return wb_str(from ? from : "", n);
}

/* "a\r\n\x00": one C string a line, without its quotes. */
static struct upp_str unescape(struct wb_arena *a, struct upp_str text)
{
    char *to = wb_arena_alloc(a, text.n + 1, 1), *p = to;
    for (size_t i = 0; to && i < text.n; i++) {
        char c = text.p[i], next = i + 1 < text.n ? text.p[i + 1] : 0;
        if (c == '\n')
            continue;
        if (c != '\\') {
            *p++ = c;
            continue;
        }
        i++;
        if (next == 'x' && i + 2 < text.n) {
            char hex[3] = {text.p[i + 1], text.p[i + 2], 0};
            *p++ = (char)strtoul(hex, NULL, 16);
            i += 2;
        } else
            *p++ = next == 'n' ? '\n' : next == 'r' ? '\r' : next == 't' ? '\t' : next;
    }
    return wb_str(to, to ? (size_t)(p - to) : 0);
}

static int read_answer(struct lines *l, struct talk *t, struct talk_round *r, struct upp_str line, bool escaped,
                       struct upp_err *err)
{
    uint64_t status;
    if (!wb_str_u64(wb_str_trim(line), &status) || status > 999)
        return wrong(l, "no status", line, err);
    r->status = (int)status;
    while (next_line(l, &line) && line.n) {
        struct upp_str value = line, name;
        if (!wb_str_split(&value, ':', &name) || !value.p || r->n_headers == TALK_HEADERS)
            return wrong(l, "no header", line, err);
        r->headers[r->n_headers++] = (struct upp_header){name, wb_str_trim(value)};
    }
    r->body = take_section(l);
    if (escaped)
        r->body = unescape(&t->arena, r->body);
    return 0;
}

static int read_section(struct lines *l, struct talk *t, struct upp_str line, struct upp_err *err)
{
    struct upp_str rest = wb_str_sub(line, 3, SIZE_MAX), word;
    (void)wb_str_split(&rest, ' ', &word);
    if (wb_str_eq(word, UPP_STR("request")) && t->n < TALK_ROUNDS) {
        t->rounds[t->n++].request = take_section(l);
        return 0;
    }
    if (!t->n)
        return wrong(l, "a request comes first", line, err);
    struct talk_round *r = &t->rounds[t->n - 1];
    if (wb_str_starts(word, UPP_STR("answers")))
        return read_answer(l, t, r, rest, word.n > 7, err);
    if (wb_str_eq(word, UPP_STR("fails")))
        r->fails = (take_section(l), rest);
    else if (wb_str_eq(word, UPP_STR("sends")))
        r->sends = take_section(l);
    else if (wb_str_eq(word, UPP_STR("events")))
        r->events = take_section(l);
    else if (wb_str_eq(word, UPP_STR("losses")))
        r->losses = take_section(l);
    else
        return wrong(l, "no such section", line, err);
    return 0;
}

static int read_setting(struct lines *l, struct talk *t, struct upp_str line, struct upp_err *err)
{
    struct upp_str rest = line, word;
    (void)wb_str_split(&rest, ' ', &word);
    if (wb_str_eq(word, UPP_STR("provider")))
        t->provider = wb_arena_dup(&t->arena, wb_str_trim(rest));
    else if (wb_str_eq(word, UPP_STR("model")))
        t->model = wb_arena_dup(&t->arena, wb_str_trim(rest));
    else if (wb_str_eq(word, UPP_STR("options")))
        t->options = rest;
    else if (wb_str_eq(word, UPP_STR("shows")))
        t->shows = rest;
    else if (wb_str_eq(word, UPP_STR("whole")))
        t->whole = true;
    else
        return wrong(l, "no such setting", line, err);
    return 0;
}

int talk_load(const char *path, struct talk *ret, struct upp_err *err)
{
    size_t n;
    char *bytes = test_read(path, &n);
    struct upp_str line;
    int r = 0;
    *ret = (struct talk){.arena = WB_ARENA(64 << 20)};
    if (!bytes)
        return upp_fail(err, UPP_ENOTFOUND, "cannot read %s", path);
    ret->text = wb_arena_dup(&ret->arena, wb_str(bytes, n));
    free(bytes);
    struct lines l = {.path = path, .rest = ret->text};
    while (r == 0 && next_line(&l, &line))
        if (is_section(line))
            r = read_section(&l, ret, line, err);
        else if (line.n && line.p[0] != '#')
            r = read_setting(&l, ret, line, err);
    if (r == 0)
        r = wb_arena_check(&ret->arena, err);
    if (r == 0 && (!ret->provider.n || !ret->model.n || !ret->n))
        r = upp_fail(err, UPP_EINVALID, "%s: it takes a provider, a model and a request", path);
    return r;
}

void talk_done(struct talk *t)
{
    wb_arena_done(&t->arena);
}

/* ---- A transport of memory ------------------------------------------------------------------------------------- */

struct memo {
    const struct talk_round *round;
    struct talk_way way;
    struct wb_buf *sends;
    size_t at;
    char one; /* the byte that is given out: a reader that looks beyond it is caught */
};

static int memo_send(void *arg, const struct upp_http_request *req, const struct upp_wait *wait,
                     struct upp_http_call **ret, struct upp_err *err)
{
    struct memo *m = arg;
    (void)wait;
    wb_buf_addf(m->sends, "POST %.*s\n", UPP_FMT(req->url));
    for (size_t i = 0; i < req->n_headers; i++)
        wb_buf_addf(m->sends, "%.*s: %.*s\n", UPP_FMT(req->headers[i].name), UPP_FMT(req->headers[i].value));
    wb_buf_addf(m->sends, "\n%.*s\n", UPP_FMT(req->body));
    if (!m->round->status)
        return upp_fail(err, UPP_EBUG, "a request was sent that is not in the file");
    *ret = (struct upp_http_call *)(void *)m;
    return wb_buf_check(m->sends, err);
}

static int memo_head(struct upp_http_call *c, struct upp_http_head *ret, struct upp_err *err)
{
    const struct memo *m = (const struct memo *)(const void *)c;
    (void)err;
    *ret = (struct upp_http_head){m->round->status, m->round->headers, m->round->n_headers};
    return 0;
}

static int memo_read(struct upp_http_call *c, struct upp_str *ret, struct upp_err *err)
{
    struct memo *m = (struct memo *)(void *)c;
    struct upp_str left = wb_str_sub(m->round->body, m->at, SIZE_MAX);
    (void)err;
    if (m->way.mode == TALK_ENDED)
        left = wb_str_sub(m->round->body, m->at, m->at < m->way.cut ? m->way.cut - m->at : 0);
    if (m->way.mode == TALK_IN_TWO && m->at < m->way.cut)
        left.n = m->way.cut - m->at;
    if (m->way.mode == TALK_BYTES && left.n) {
        m->one = left.p[0];
        left = wb_str(&m->one, 1);
    }
    m->at += left.n;
    *ret = left;
    return left.n > 0;
}

static void memo_close(struct upp_http_call *c)
{
    (void)c;
}

/* ---- The request ----------------------------------------------------------------------------- */

struct asked {
    struct wb_arena arena;
    struct upp_request request;
    const struct upp_message **messages;
    struct upp_tool_spec *tools;
    struct wb_buf *losses;
};

static yyjson_val *member(yyjson_val *object, const char *name)
{
    return yyjson_obj_get(object, name);
}

static struct upp_str json_of(struct asked *a, yyjson_val *v)
{
    struct wb_buf b = WB_BUF(16 << 20);
    if (!v || wj_write(v, &b, NULL) < 0) {
        wb_buf_done(&b);
        return (struct upp_str){0};
    }
    struct upp_str s = wb_arena_dup(&a->arena, wb_buf_str(&b));
    wb_buf_done(&b);
    return s;
}

static void note_loss(void *arg, const struct upp_loss *l)
{
    wb_buf_addf(arg, "%zu %zu %s\n", l->message, l->part, l->what);
}

static int read_messages(struct asked *a, yyjson_val *list, struct upp_err *err)
{
    size_t at, n;
    yyjson_val *v;
    a->messages = wb_new_n(&a->arena, const struct upp_message *, yyjson_arr_size(list) + 1);
    yyjson_arr_foreach(list, at, n, v)
    {
        struct upp_message *m = wb_new_n(&a->arena, struct upp_message, 1);
        if (!m || !a->messages)
            return upp_fail(err, UPP_ENOMEM, "no memory");
        int r = wm_message_read(&a->arena, v, m, err);
        if (r < 0)
            return r;
        a->messages[at] = m;
    }
    a->request.messages = a->messages;
    a->request.n_messages = yyjson_arr_size(list);
    return 0;
}

static int read_request(struct asked *a, struct upp_str text, struct upp_err *err)
{
    yyjson_val *root, *v;
    size_t at, n;
    int r = wj_read(&a->arena, text, NULL, &root, err);
    if (r < 0 || (r = read_messages(a, member(root, "messages"), err)) < 0)
        return r;
    yyjson_val *tools = member(root, "tools");
    a->tools = wb_new_n(&a->arena, struct upp_tool_spec, yyjson_arr_size(tools) + 1);
    if (!a->tools)
        return upp_fail(err, UPP_ENOMEM, "no memory");
    yyjson_arr_foreach(tools, at, n, v)
    {
        yyjson_val *about = member(v, "description");
        a->tools[at] = (struct upp_tool_spec){.name = wj_text(member(v, "name")),
                                              .description = about ? wj_text(about) : (struct upp_str){0},
                                              .parameters = json_of(a, member(v, "parameters")),
                                              .metadata = json_of(a, member(v, "metadata"))};
    }
    v = member(root, "system");
    a->request.system = v ? wj_text(v) : (struct upp_str){0};
    a->request.params = json_of(a, member(root, "params"));
    a->request.structure = json_of(a, member(root, "structure"));
    a->request.tools = a->tools;
    a->request.n_tools = yyjson_arr_size(tools);
    a->request.attempt = 1;
    return wb_arena_check(&a->arena, err);
}

static const char *text_or_null(struct asked *a, yyjson_val *options, const char *name)
{
    yyjson_val *v = member(options, name);
    return v ? wb_arena_dup(&a->arena, wj_text(v)).p : NULL;
}

static int make_model(const struct talk *t, struct asked *a, const struct upp_transport *via, struct upp_model **ret,
                      struct upp_err *err)
{
    struct upp_provider_opts o = {.size = sizeof o, .transport = via};
    yyjson_val *options = NULL;
    int r = t->options.n ? wj_read(&a->arena, t->options, NULL, &options, err) : 0;
    if (r < 0)
        return r;
    o.base_url = text_or_null(a, options, "base_url");
    o.api = text_or_null(a, options, "api");
    o.api_version = text_or_null(a, options, "api_version");
    o.auth = text_or_null(a, options, "auth");
    o.api_key = text_or_null(a, options, "api_key");
    o.no_stream_usage = yyjson_is_true(member(options, "no_stream_usage"));
    o.api_key = o.api_key ? o.api_key : "KEY";
    return upp_model_new((struct upp_model_ref){t->provider.p, t->model.p, &o}, ret, err);
}

/* ---- What happened --------------------------------------------------------------------------- */

struct teller {
    struct wj_writer w;
    struct wb_buf *out;
    struct upp_str body;
    WB_VEC(char *) minted; /* ids of calls that are not in the answer: shown as "*1", "*2" */
};

static void tell_text(struct teller *t, struct upp_str s)
{
    wb_buf_addc(t->out, ' ');
    t->w.comma = false;
    wj_write_str(&t->w, s);
}

static void tell_id(struct teller *t, struct upp_str id)
{
    if (!id.n || wb_str_find(t->body, id, 0) != SIZE_MAX) {
        tell_text(t, id);
        return;
    }
    char *copy = strndup(id.p, id.n);
    if (!copy || !wb_vec_push(&t->minted, copy, 64)) {
        free(copy);
        return;
    }
    wb_buf_addf(t->out, " \"*%zu\"", t->minted.n);
}

static void tell_event(struct teller *t, const struct upp_step_event *ev)
{
    static const char *const kinds[] = {"?",     "text",  "reasoning", "image", "document",
                                        "audio", "video", "binary",    "call",  "result"};
    static const char *const stops[] = {"?", "end_turn", "max_tokens", "tool_use", "content_filter", "error"};
    switch (ev->kind) {
    case UPP_STEP_OPEN:
        wb_buf_addf(t->out, "open");
        tell_text(t, ev->text);
        break;
    case UPP_STEP_PART_OPEN:
        wb_buf_addf(t->out, "part %u %s", ev->part, kinds[ev->part_kind]);
        if (ev->part_kind == UPP_PART_CALL) {
            tell_id(t, ev->id);
            tell_text(t, ev->name);
        }
        if (ev->media) {
            tell_text(t, ev->media->mime);
            tell_text(t, ev->media->data);
        }
        break;
    case UPP_STEP_DELTA:
        wb_buf_addf(t->out, "delta %u", ev->part);
        tell_text(t, ev->text);
        break;
    case UPP_STEP_PART_CLOSE:
        wb_buf_addf(t->out, "close %u", ev->part);
        break;
    default:
        wb_buf_addf(t->out, "end %s {\"input\":%llu,\"output\":%llu,\"cache_read\":%llu,\"cache_write\":%llu}",
                    stops[ev->stop], (unsigned long long)ev->usage.input, (unsigned long long)ev->usage.output,
                    (unsigned long long)ev->usage.cache_read, (unsigned long long)ev->usage.cache_write);
        if (ev->metadata.p || ev->data.p)
            wb_buf_addf(t->out, " %.*s", UPP_FMT(ev->metadata.p ? ev->metadata : UPP_STR("-")));
        if (ev->data.p)
            wb_buf_addf(t->out, " %.*s", UPP_FMT(ev->data));
    }
    wb_buf_addc(t->out, '\n');
}

/* Ids that were made by chance, in what was told: by their numbers. */
static void hide_minted(struct teller *t)
{
    for (size_t i = 0; i < t->minted.n; i++) {
        struct upp_str id = wb_cstr(t->minted.p[i]);
        struct wb_buf b = WB_BUF(16 << 20);
        size_t at = 0, found;
        struct upp_str s = wb_buf_str(t->out);
        while ((found = wb_str_find(s, id, at)) != SIZE_MAX) {
            wb_buf_add(&b, wb_str_sub(s, at, found - at));
            wb_buf_addf(&b, "*%zu", i + 1);
            at = found + id.n;
        }
        wb_buf_add(&b, wb_str_sub(s, at, SIZE_MAX));
        wb_buf_done(t->out);
        *t->out = b;
        free(t->minted.p[i]);
    }
    wb_vec_done(&t->minted);
}

static void tell_failure(struct talk_told *ret, int r, const struct upp_err *e)
{
    struct wj_writer w;
    wb_buf_addf(&ret->fails, "%s", upp_code_name(r));
    if (e->http)
        wb_buf_addf(&ret->fails, " %d", e->http);
    if (e->retry_after_ms == UINT64_MAX)
        wb_buf_addf(&ret->fails, " retry never");
    else if (e->retry_after_ms)
        wb_buf_addf(&ret->fails, " retry %llu", (unsigned long long)e->retry_after_ms);
    wb_buf_addc(&ret->fails, ' ');
    wj_writer_init(&w, &ret->fails, NULL);
    wj_write_str(&w, wb_cstr(e->msg));
}

static int have_it(const struct upp_model *m, struct asked *a, struct talk_told *ret, struct upp_str body,
                   struct upp_err *err)
{
    struct teller t = {.out = &ret->events, .body = body};
    struct upp_step *step = NULL;
    struct upp_step_event ev;
    struct upp_err why = {0};
    wj_writer_init(&t.w, &ret->events, NULL);
    int r = upp_step_open(m, &a->request, NULL, &step, &why);
    while (r >= 0 && (r = upp_step_next(step, &ev, &why)) > 0)
        tell_event(&t, &ev);
    upp_step_close(step);
    hide_minted(&t);
    ret->result = r;
    if (r < 0)
        tell_failure(ret, r, &why);
    if (r == -UPP_ENOMEM && err)
        *err = why;
    return r == -UPP_ENOMEM ? r : 0;
}

int talk_have(const struct talk *t, size_t round, struct talk_way way, struct talk_told *ret, struct upp_err *err)
{
    static const size_t max = 64 << 20;
    struct upp_model *m = NULL;
    struct asked a = {.arena = WB_ARENA(64 << 20)};
    struct memo memo = {.round = &t->rounds[round], .way = way, .sends = &ret->sends};
    struct upp_transport via = {
        .size = sizeof via, .arg = &memo, .send = memo_send, .head = memo_head, .read = memo_read, .close = memo_close};
    *ret = (struct talk_told){.sends = WB_BUF(max), .events = WB_BUF(max), .fails = WB_BUF(max), .losses = WB_BUF(max)};
    int r = read_request(&a, t->rounds[round].request, err);
    if (r == 0)
        r = make_model(t, &a, &via, &m, err);
    a.request.whole = t->whole;
    a.request.on_loss = note_loss;
    a.request.on_loss_arg = &ret->losses;
    if (r == 0)
        r = have_it(m, &a, ret, t->rounds[round].body, err);
    upp_model_free(m);
    wb_arena_done(&a.arena);
    const struct wb_buf *said[] = {&ret->sends, &ret->events, &ret->fails, &ret->losses};
    for (size_t i = 0; i < WB_LEN(said) && r == 0; i++)
        r = wb_buf_check(said[i], err);
    return r;
}

void talk_told_done(struct talk_told *t)
{
    wb_buf_done(&t->sends);
    wb_buf_done(&t->events);
    wb_buf_done(&t->fails);
    wb_buf_done(&t->losses);
}

/* ---- Comparing ------------------------------------------------------------------------------- */

struct tokens {
    struct upp_str s;
    size_t at;
    bool quoted;
};

/* The next byte that counts, or -1. Line ends count, but only one in a row. */
static int next_token(struct tokens *t)
{
    while (t->at < t->s.n) {
        char c = t->s.p[t->at++];
        if (t->quoted && c == '\\' && t->at < t->s.n)
            t->at++; /* what follows is no end of the string; escapes are compared by their letters below */
        else if (c == '"')
            t->quoted = !t->quoted;
        else if (!t->quoted && (c == ' ' || c == '\t' || c == '\n'))
            continue;
        return c == '\\' && t->quoted ? 256 + (unsigned char)t->s.p[t->at - 1] : (unsigned char)c;
    }
    return -1;
}

bool talk_same(struct upp_str a, struct upp_str b)
{
    struct tokens x = {.s = a}, y = {.s = b};
    int c;
    do {
        c = next_token(&x);
        if (c != next_token(&y))
            return false;
    } while (c >= 0);
    return true;
}

static void put(struct wb_buf *out, const char *name, const struct wb_buf *told)
{
    if (told->n)
        wb_buf_addf(out, ">> %s\n%.*s", name, UPP_FMT(wb_buf_str(told)));
}

void talk_rewrite(const struct talk *t, const struct talk_told *told, struct wb_buf *out)
{
    size_t round = 0;
    bool skip = false;
    struct upp_str rest = t->text, line;
    while (rest.n && wb_str_split(&rest, '\n', &line)) {
        if (is_section(line)) {
            struct upp_str head = wb_str_sub(line, 3, SIZE_MAX);
            bool first = wb_str_starts(head, UPP_STR("request"));
            if (first && round++) /* the round before it ends here */
                put(out, "events", &told[round - 2].events);
            skip = wb_str_starts(head, UPP_STR("sends")) || wb_str_starts(head, UPP_STR("events")) ||
                   wb_str_starts(head, UPP_STR("fails")) || wb_str_starts(head, UPP_STR("losses"));
            if (first && round > 1) {
                if (told[round - 2].fails.n)
                    wb_buf_addf(out, ">> fails %.*s\n", UPP_FMT(wb_buf_str(&told[round - 2].fails)));
                put(out, "losses", &told[round - 2].losses);
            }
            if (wb_str_starts(head, UPP_STR("answers")))
                put(out, "sends", &told[round - 1].sends);
        }
        if (!skip)
            wb_buf_addf(out, "%.*s\n", UPP_FMT(line));
    }
    put(out, "events", &told[round - 1].events);
    if (told[round - 1].fails.n)
        wb_buf_addf(out, ">> fails %.*s\n", UPP_FMT(wb_buf_str(&told[round - 1].fails)));
    put(out, "losses", &told[round - 1].losses);
}
