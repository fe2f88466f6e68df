/* upp/providers/scripted_fill.c — `fill` of a reply: words of the user's question, put into what is said
 * (docs/scripted.md). */
#include "base/buf.h"
#include "base/utf8.h"
#include "json/write.h"
#include "upp/providers/scripted.h"

enum { WORD_BYTES = 200 /* of a question, at most */ };

static const struct upp_message *question(const struct upp_request *req)
{
    for (size_t i = req->n_messages; i-- > 0;)
        if (req->messages[i]->role == UPP_ROLE_USER)
            return req->messages[i];
    return NULL;
}

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

static struct upp_str value_of(const struct upp__script_fill *f, const struct upp_message *asked)
{
    for (size_t i = 0; asked && i < asked->n_parts; i++) {
        struct upp_str found =
            asked->parts[i].kind == UPP_PART_TEXT ? words_after(asked->parts[i].text, f->after) : (struct upp_str){0};
        if (found.n)
            return found;
    }
    return f->otherwise;
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

static int fill_text(const struct upp__reply *reply, const struct upp_message *asked, struct upp__script_part *p,
                     struct wb_arena *a, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(16u * UPP__SCRIPT_BYTES);
    for (size_t at = 0; at < p->text.n;) {
        const struct upp__script_fill *f = NULL;
        for (size_t i = 0; i < reply->n_fills && !f; i++)
            if (wb_str_starts(wb_str_sub(p->text, at, SIZE_MAX), reply->fills[i].mark))
                f = &reply->fills[i];
        if (f)
            add_value(&out, value_of(f, asked), p->kind == UPP_PART_CALL, err);
        else
            wb_buf_addc(&out, p->text.p[at]);
        at += f ? f->mark.n : 1;
    }
    int r   = wb_buf_check(&out, err);
    p->text = wb_arena_dup(a, wb_buf_str(&out));
    return r < 0 ? r : wb_arena_check(a, err);
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
        int r    = fill_text(reply, question(req), &parts[i], a, err);
        if (r < 0)
            return r;
    }
    *ret = copy;
    return 0;
}
