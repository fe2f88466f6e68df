/* upp/providers/scripted_fill.c — replies that depend on the request: `fill`, words of the user's question put into
 * what is said, and `request`, which shows what was sent (docs/scripted.md). */
#include "base/buf.h"
#include "base/defs.h"
#include "base/utf8.h"
#include "json/write.h"
#include "upp/providers/scripted.h"

enum { WORD_BYTES = 200 /* of a question, at most */ };

/* What stands behind `after`, to the end of that part of the sentence. */
static struct upp_str words_after(struct upp_str text, struct upp_str after)
{
    size_t at = wb_str_find(text, after, 0), n = 0;
    if (at == SIZE_MAX)
        return (struct upp_str){0};
    struct upp_str rest = wb_str_sub(text, at + after.n, SIZE_MAX);
    while (n < rest.n && !memchr("?.!,;:\n", rest.p[n], 7))
        n++;
    rest = wb_str_trim(wb_str_sub(rest, 0, n));
    return wb_str_sub(rest, 0, wb_utf8_cut(rest, WB_MIN(rest.n, (size_t)WORD_BYTES)));
}

static struct upp_str words_of(const struct upp_message *m, struct upp_str after)
{
    struct upp_str found = {0};
    for (size_t i = 0; i < m->n_parts && !found.n; i++)
        if (m->parts[i].kind == UPP_PART_TEXT)
            found = words_after(m->parts[i].text, after);
    return found;
}

/* From the newest question; with `earlier`, from the newest one that has such words: the prompts of a strategy and of a
 * handoff are questions too. */
static struct upp_str value_of(const struct upp__script_fill *f, const struct upp_request *req)
{
    struct upp_str found = {0};
    for (size_t i = req->n_messages; i-- > 0 && !found.n;)
        if (req->messages[i]->role == UPP_ROLE_USER) {
            found = words_of(req->messages[i], f->after);
            if (!f->earlier)
                break;
        }
    return found.n ? found : f->otherwise;
}

/* The arguments of a call are JSON: a value stands in one of its strings. */
static void add_value(struct wb_buf *out, struct upp_str value, bool json, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf quoted = WB_BUF(16u * WORD_BYTES + UPP__SCRIPT_BYTES);
    struct wj_writer                      w;
    if (!json) {
        wb_buf_add(out, value);
        return;
    }
    wj_writer_init(&w, &quoted, err);
    wj_write_str(&w, value);
    if (wj_writer_check(&w) >= 0)
        wb_buf_add(out, wb_str_sub(wb_buf_str(&quoted), 1, quoted.n - 2));
    else
        out->failed = true;
}

static int fill_text(const struct upp__reply *reply, const struct upp_request *req, struct upp__script_part *p,
                     struct wb_arena *a, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(16u * UPP__SCRIPT_BYTES);
    for (size_t at = 0; at < p->text.n;) {
        const struct upp__script_fill *f = NULL;
        for (size_t i = 0; i < reply->n_fills && !f; i++)
            if (wb_str_starts(wb_str_sub(p->text, at, SIZE_MAX), reply->fills[i].mark))
                f = &reply->fills[i];
        if (f)
            add_value(&out, value_of(f, req), p->kind == UPP_PART_CALL, err);
        else
            wb_buf_addc(&out, p->text.p[at]);
        at += f ? f->mark.n : 1;
    }
    int r   = wb_buf_check(&out, err);
    p->text = wb_arena_dup(a, wb_buf_str(&out));
    return r < 0 ? r : wb_arena_check(a, err);
}

/* ---- The request as text ---------------------------------------------------------------------------------------- */

/* "user: Hello", "assistant: calls get_weather {}" ... */
static void put_message(struct wj_writer *w, const struct upp_message *m, struct upp_err *err)
{
    static const char *const              roles[] = {"", "user", "assistant", "tool"};
    WB_CLEANUP(wb_buf_done) struct wb_buf b       = WB_BUF(64u << 20);
    wb_buf_addf(&b, "%s:", m->role < WB_LEN(roles) ? roles[m->role] : "");
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p = &m->parts[i];
        if (p->kind == UPP_PART_CALL)
            wb_buf_addf(&b, " calls %.*s %.*s", UPP_FMT(p->name), UPP_FMT(p->text));
        else
            wb_buf_addf(&b, " %.*s", UPP_FMT(p->text));
    }
    int r = wb_buf_check(&b, err);
    if (r < 0)
        wj_writer_fail(w, r);
    else
        wj_write_str(w, wb_buf_str(&b));
}

static void put_json(struct wj_writer *w, const char *name, struct upp_str json)
{
    wj_write_name(w, wb_cstr(name));
    if (json.n)
        wj_write_raw(w, json.p, json.n);
    else
        wj_write_null(w);
}

/* What a model receives besides the content of its messages' media: for tests of what is sent. */
static int show_request(const struct upp_request *req, struct wb_arena *a, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(64u << 20);
    struct wj_writer                      w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "system", req->system);
    put_json(&w, "params", req->params);
    put_json(&w, "structure", req->structure);
    wj_put_open(&w, "tools", '[');
    for (size_t i = 0; i < req->n_tools; i++)
        wj_write_str(&w, req->tools[i].name);
    wj_write_close(&w, ']');
    wj_put_open(&w, "messages", '[');
    for (size_t i = 0; i < req->n_messages; i++)
        put_message(&w, req->messages[i], err);
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    return wj_writer_text(&w, a, ret);
}

int upp__script_fill(const struct upp__reply *reply, const struct upp_request *req, struct wb_arena *a,
                     const struct upp__reply **ret, struct upp_err *err)
{
    struct upp__reply       *copy  = wb_new(a, struct upp__reply);
    struct upp__script_part *parts = wb_new_n(a, struct upp__script_part, reply->n_parts + 1);
    if (!copy || !parts)
        return wb_arena_check(a, err);
    *copy       = *reply;
    copy->parts = parts;
    for (size_t i = 0; i < reply->n_parts; i++) {
        parts[i] = reply->parts[i];
        int r = parts[i].shows ? show_request(req, a, &parts[i].text, err) : fill_text(reply, req, &parts[i], a, err);
        if (r < 0)
            return r;
    }
    *ret = copy;
    return 0;
}
