/* upp/providers/scripted_fill.c — replies that depend on the request: `fill`, words of the user's question put into
 * what is said, and `request`, which shows what was sent (docs/scripted.md). */
#include "base/buf.h"
#include "base/defs.h"
#include "base/utf8.h"
#include "json/number.h"
#include "json/write.h"
#include "upp/providers/scripted.h"

enum { WORD_BYTES = 200 /* of a question, at most */ };

/* ---- Words ------------------------------------------------------------------------------------------------------- */

static size_t find(struct upp_str text, struct upp_str what, size_t from)
{
    for (size_t at = from; at + what.n <= text.n; at++)
        if (wb_str_eq_nocase(wb_str_sub(text, at, what.n), what))
            return at;
    return SIZE_MAX;
}

static bool is_one_of(const struct upp__script_words *words, struct upp_str text)
{
    bool found = false;
    for (size_t i = 0; i < words->n && !found; i++)
        found = wb_str_eq_nocase(words->p[i], text);
    return found;
}

static bool is_digit(struct upp_str text, size_t at)
{
    return at < text.n && text.p[at] >= '0' && text.p[at] <= '9';
}

/* Part of a word. Bytes of other alphabets are. */
static bool is_letter(struct upp_str text, size_t at)
{
    unsigned char c = at < text.n ? (unsigned char)text.p[at] : ' ';
    return c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool has_word(struct upp_str text, struct upp_str word)
{
    for (size_t at = 0; (at = find(text, word, at)) != SIZE_MAX; at++)
        if (!(at && is_letter(text, at - 1)) && !is_letter(text, at + word.n))
            return true;
    return false;
}

bool upp__script_has_word(const struct upp_message *m, const struct upp__script_words *words)
{
    bool found = false;
    for (size_t i = 0; i < m->n_parts; i++)
        for (size_t k = 0; m->parts[i].kind == UPP_PART_TEXT && k < words->n && !found; k++)
            found = has_word(m->parts[i].text, words->p[k]);
    return found;
}

static size_t digits(struct upp_str text, size_t at)
{
    size_t n = 0;
    while (is_digit(text, at + n))
        n++;
    return n;
}

/* As JSON has it: a comma before three digits is left out, another one is a point; no zeros in front. Returns how long
 * it is; 0: it is no number, as 1,2,3 is none, or too long. */
static size_t to_number(struct upp_str text, char out[WORD_BYTES])
{
    size_t at = text.n && text.p[0] == '-', n = 0;
    if (text.n > WORD_BYTES)
        return 0;
    if (at)
        out[n++] = '-';
    while (is_digit(text, at) && text.p[at] == '0' && is_digit(text, at + 1))
        at++;
    for (; at < text.n; at++) {
        if (text.p[at] != ',')
            out[n++] = text.p[at];
        else if (digits(text, at + 1) != 3)
            out[n++] = '.';
    }
    return wj_num_valid(wb_str(out, n)) ? n : 0;
}

/* The first number: 30, -5, 12.50, 12,50, 1,200. Digits of a word (B2B, 30k) are none. */
static struct upp_str number_in(struct upp_str text)
{
    char json[WORD_BYTES];
    for (size_t at = 0; at < text.n; at++) {
        if (!is_digit(text, at))
            continue;
        bool euro = at >= 3 && memcmp(text.p + at - 3, "\xe2\x82\xac", 3) == 0;
        bool minus = at && text.p[at - 1] == '-' && (at == 1 || text.p[at - 2] == ' ');
        size_t to = at + digits(text, at);
        while (to < text.n && (text.p[to] == ',' || text.p[to] == '.') && is_digit(text, to + 1))
            to += 1 + digits(text, to + 1);
        bool ends = !is_letter(text, to) || wb_str_starts(wb_str_sub(text, to, SIZE_MAX), UPP_STR("\xe2\x82\xac"));
        struct upp_str number = wb_str_sub(text, at - minus, to - at + minus);
        if (ends && (euro || !at || !is_letter(text, at - 1)) && to_number(number, json))
            return number;
        at = to;
    }
    return (struct upp_str){0};
}

/* ---- Where they are ---------------------------------------------------------------------------------------------- */

/* What stands behind `after`: in a question to the end of that part of the sentence, in a result of the line; and up to
 * one of `until`, which may begin with the blank that `after` ends with. */
static struct upp_str words_after(const struct upp__script_fill *f, struct upp_str text, struct upp_str after)
{
    size_t at = find(text, after, 0), n = 0;
    if (at == SIZE_MAX)
        return (struct upp_str){0};
    size_t from = at + after.n;
    struct upp_str rest = wb_str_sub(text, from, SIZE_MAX);
    if (f->number)
        return number_in(rest);
    while (n < rest.n && rest.p[n] != '\n' && (f->result || !memchr("?.!,;:", rest.p[n], 6)))
        n++;
    for (size_t i = 0; i < f->until.n; i++) {
        at = find(text, f->until.p[i], from - (after.p[after.n - 1] == ' '));
        if (at != SIZE_MAX)
            n = WB_MIN(n, at > from ? at - from : 0);
    }
    rest = wb_str_trim(wb_str_sub(rest, 0, n));
    return wb_str_sub(rest, 0, wb_utf8_cut(rest, WB_MIN(rest.n, (size_t)WORD_BYTES)));
}

static struct upp_str words_of(const struct upp_message *m, const struct upp__script_fill *f)
{
    struct upp_str found = {0};
    uint8_t kind = f->result ? UPP_PART_RESULT : UPP_PART_TEXT;
    for (size_t i = 0; i < m->n_parts && !found.n; i++) {
        if (m->parts[i].kind != kind)
            continue;
        if (!f->after.n)
            found = number_in(m->parts[i].text);
        for (size_t k = 0; k < f->after.n && !found.n; k++)
            found = words_after(f, m->parts[i].text, f->after.p[k]);
    }
    return found;
}

/* From the newest question or result; with `earlier`, from the newest one that has such words: the prompts of a
 * strategy and of a handoff are questions too. */
static struct upp_str value_of(const struct upp__script_fill *f, const struct upp_request *req)
{
    struct upp_str found = {0};
    for (size_t i = req->n_messages; i-- > 0 && !found.n;)
        if (req->messages[i]->role == (f->result ? UPP_ROLE_TOOL : UPP_ROLE_USER)) {
            found = words_of(req->messages[i], f);
            if (!f->earlier)
                break;
        }
    return found.n ? found : f->otherwise;
}

bool upp__script_fits(const struct upp__reply *reply, const struct upp_request *req)
{
    for (size_t i = 0; i < reply->n_fills; i++) {
        const struct upp__script_fill *f = &reply->fills[i];
        if (!f->needed && !f->is.n)
            continue;
        struct upp_str value = value_of(f, req);
        if ((f->needed && !value.n) || (f->is.n && !is_one_of(&f->is, value)))
            return false;
    }
    return true;
}

/* ---- What is put in ---------------------------------------------------------------------------------------------- */

static bool has_capital(struct upp_str text)
{
    bool found = false;
    for (size_t i = 0; i < text.n && !found; i++)
        found = text.p[i] >= 'A' && text.p[i] <= 'Z';
    return found;
}

static void add_capital(struct wb_buf *out, struct upp_str text)
{
    bool as_it_is = has_capital(text);
    for (size_t i = 0; i < text.n; i++) {
        bool first = !as_it_is && !(i && is_letter(text, i - 1)) && text.p[i] >= 'a' && text.p[i] <= 'z';
        wb_buf_addc(out, (char)(first ? text.p[i] - 'a' + 'A' : text.p[i]));
    }
}

/* The arguments of a call are JSON: a value stands in one of its strings. */
static void add_value(struct wb_buf *out, const struct upp__script_fill *f, struct upp_str value, bool json,
                      struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf quoted = WB_BUF(16u * WORD_BYTES + UPP__SCRIPT_BYTES);
    WB_CLEANUP(wb_buf_done) struct wb_buf plain = WB_BUF(WORD_BYTES + UPP__SCRIPT_BYTES);
    struct wj_writer w;
    char number[WORD_BYTES];
    size_t n = f->number ? to_number(value, number) : 0;
    if (n) /* not a default that is none */
        wb_buf_add(&plain, wb_str(number, n));
    else if (f->capital)
        add_capital(&plain, value);
    else
        wb_buf_add(&plain, value);
    if (plain.failed)
        out->failed = plain.failed;
    if (!json) {
        wb_buf_add(out, wb_buf_str(&plain));
        return;
    }
    wj_writer_init(&w, &quoted, err);
    wj_write_str(&w, wb_buf_str(&plain));
    int r = wj_writer_check(&w);
    if (r >= 0)
        wb_buf_add(out, wb_str_sub(wb_buf_str(&quoted), 1, quoted.n - 2));
    else
        out->failed = r;
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
            add_value(&out, f, value_of(f, req), p->kind == UPP_PART_CALL, err);
        else
            wb_buf_addc(&out, p->text.p[at]);
        at += f ? f->mark.n : 1;
    }
    int r = wb_buf_check(&out, err);
    p->text = wb_arena_dup(a, wb_buf_str(&out));
    return r < 0 ? r : wb_arena_check(a, err);
}

/* ---- The request as text ---------------------------------------------------------------------------------------- */

/* "user: Hello", "assistant: calls get_weather {}" ... */
static void put_message(struct wj_writer *w, const struct upp_message *m, struct upp_err *err)
{
    static const char *const roles[] = {"", "user", "assistant", "tool"};
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64u << 20);
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
    struct wj_writer w;
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
    struct upp__reply *copy = wb_new(a, struct upp__reply);
    struct upp__script_part *parts = wb_new_n(a, struct upp__script_part, reply->n_parts + 1);
    if (!copy || !parts)
        return wb_arena_check(a, err);
    *copy = *reply;
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
