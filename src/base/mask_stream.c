/* base/mask_stream.c — masks secrets in text that arrives in pieces, by an automaton of all forms of all secrets. */
#include "base/mask_stream.h"

#include "base/mask_forms.h"

enum { QUOTE = 6 /* of a character in JSON: the most bytes */ };

/* The next state after a byte. */
static uint32_t step(const struct wb_masks *m, uint32_t at, unsigned char c)
{
    for (;;) {
        uint32_t next = m->nodes[at].child;
        while (next && m->nodes[next].byte != c)
            next = m->nodes[next].sibling;
        if (next || !at)
            return next;
        at = m->nodes[at].fail;
    }
}

/* How many bytes the first n characters take. */
static size_t bytes_of(const struct wb_mask_stream *s, size_t n)
{
    size_t bytes = 0;
    if (!s->json)
        return n;
    for (size_t i = 0; i < n; i++)
        bytes += (unsigned char)s->sizes.p[i];
    return bytes;
}

static size_t characters(const struct wb_mask_stream *s)
{
    return s->json ? s->sizes.n : s->held.n;
}

static void drop(struct wb_mask_stream *s, size_t n)
{
    wb_buf_drop(&s->held, bytes_of(s, n));
    if (s->json)
        wb_buf_drop(&s->sizes, n);
}

/* The first n characters are no secret. */
static void release(struct wb_mask_stream *s, size_t n, struct wb_buf *out)
{
    wb_buf_add(out, wb_str_sub(wb_buf_str(&s->held), 0, bytes_of(s, n)));
    drop(s, n);
}

/* A number stays one. */
static bool is_number(struct upp_str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((text.p[i] < '0' || text.p[i] > '9') && text.p[i] != '.' && text.p[i] != '-')
            return false;
    return true;
}

/* The characters [from, to) are a secret, what is before them is none. */
static void mask(struct wb_mask_stream *s, size_t from, size_t to, struct wb_buf *out)
{
    release(s, from, out);
    struct upp_str text = wb_str_sub(wb_buf_str(&s->held), 0, bytes_of(s, to - from));
    if (s->json && !s->quoted && is_number(text))
        for (size_t i = 0; i < text.n; i++)
            wb_buf_addc(out, text.p[i] >= '0' && text.p[i] <= '9' ? '1' : text.p[i]);
    else
        wb_buf_add(out, UPP_STR("***"));
    drop(s, to - from);
    s->masked = true;
    s->found = false;
}

/* After each character: is a secret complete, and what may be the beginning of one? */
static void look(struct wb_mask_stream *s, struct wb_buf *out)
{
    const struct wb_mask_node *node = &s->masks->nodes[s->at];
    size_t n = characters(s);
    if (node->found) {
        size_t from = n - WB_MIN(n, (size_t)node->found);
        s->from = s->found ? WB_MIN(s->from, from) : from;
        s->to = n;
        s->found = true;
    }
    size_t held = WB_MIN(n, (size_t)node->depth);
    if (s->found && n - held <= s->from && (s->to < n || node->child)) /* it may be the beginning of a longer one */
        return;
    if (s->found)
        mask(s, s->from, s->to, out);
    n = characters(s);
    if (n > held)
        release(s, n - held, out);
}

static void take(struct wb_mask_stream *s, char c, struct upp_str bytes, struct wb_buf *out)
{
    wb_buf_add(&s->held, bytes);
    if (s->json)
        wb_buf_addc(&s->sizes, (char)bytes.n);
    s->at = step(s->masks, s->at, (unsigned char)c);
    look(s, out);
}

/* What is held is not continued. */
static void end_held(struct wb_mask_stream *s, struct wb_buf *out)
{
    const struct wb_mask_node *node = &s->masks->nodes[s->at];
    if (s->found)
        mask(s, s->from, s->to, out);
    size_t n = characters(s), held = WB_MIN(n, (size_t)node->depth);
    if (held && 2 * (uint64_t)node->depth >= node->least)
        mask(s, n - held, n, out);
    release(s, characters(s), out);
}

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
}

/* A complete escape: its bytes count with the first of the character's. */
static void take_escape(struct wb_mask_stream *s, struct wb_buf *out)
{
    static const char names[] = "bfnrt", controls[] = "\b\f\n\r\t";
    struct upp_str bytes = wb_str(s->escape, s->n_escape);
    unsigned c = (unsigned char)s->escape[1];
    const char *named = c ? strchr(names, (int)c) : NULL;
    if (named)
        c = (unsigned char)controls[named - names];
    if (s->n_escape == QUOTE) {
        c = 0;
        for (int i = 2; i < QUOTE; i++)
            c = c << 4 | (unsigned)hex(s->escape[i]);
    }
    s->n_escape = 0;
    if (c < 0x80) {
        take(s, (char)c, bytes, out);
        return;
    }
    take(s, (char)(c < 0x800 ? 0xc0 | c >> 6 : 0xe0 | c >> 12), bytes, out);
    if (c >= 0x800)
        take(s, (char)(0x80 | (c >> 6 & 0x3f)), (struct upp_str){"", 0}, out);
    take(s, (char)(0x80 | (c & 0x3f)), (struct upp_str){"", 0}, out);
}

static void end_escape(struct wb_mask_stream *s, struct wb_buf *out)
{
    for (uint8_t i = 0; i < s->n_escape; i++)
        take(s, s->escape[i], wb_str(&s->escape[i], 1), out);
    s->n_escape = 0;
}

static void json_byte(struct wb_mask_stream *s, char c, struct wb_buf *out)
{
    if (s->n_escape) {
        bool code = s->n_escape > 1;
        if (code && hex(c) < 0) { /* it is no JSON */
            end_escape(s, out);
            json_byte(s, c, out);
            return;
        }
        s->escape[s->n_escape++] = c;
        if (s->n_escape == QUOTE || (!code && c != 'u'))
            take_escape(s, out);
    } else if (c == '\\' && s->quoted)
        s->escape[s->n_escape++] = c;
    else if (c == '"') { /* secrets are in one string, or outside of all */
        end_held(s, out);
        s->at = 0;
        s->quoted = !s->quoted;
        wb_buf_addc(out, c);
    } else
        take(s, c, wb_str(&c, 1), out);
}

/* The length of a beginning with which no secret begins. */
static size_t clean(const struct wb_mask_stream *s, struct upp_str text, size_t from)
{
    size_t i = from;
    if (s->at || s->held.n || s->n_escape)
        return 0;
    while (i < text.n && !s->masks->first[(unsigned char)text.p[i]] &&
           !(s->json && (text.p[i] == '"' || text.p[i] == '\\')))
        i++;
    return i - from;
}

void wb_mask_stream_add(struct wb_mask_stream *s, struct upp_str text, struct wb_buf *out)
{
    s->held.max = s->sizes.max = SIZE_MAX / 2; /* never more than the longest secret takes */
    for (size_t i = 0; i < text.n;) {
        size_t n = clean(s, text, i);
        wb_buf_add(out, wb_str_sub(text, i, n));
        i += n;
        if (i == text.n)
            break;
        if (s->json)
            json_byte(s, text.p[i], out);
        else
            take(s, text.p[i], wb_str(text.p + i, 1), out);
        i++;
    }
    if ((s->held.failed || s->sizes.failed) && !out->failed)
        out->failed = -UPP_ENOMEM;
}

void wb_mask_stream_end(struct wb_mask_stream *s, struct wb_buf *out)
{
    end_escape(s, out);
    end_held(s, out);
    if ((s->held.failed || s->sizes.failed) && !out->failed)
        out->failed = -UPP_ENOMEM;
}

void wb_mask_stream_done(struct wb_mask_stream *s)
{
    wb_buf_done(&s->held);
    wb_buf_done(&s->sizes);
}

bool wb_masks_add(const struct wb_masks *m, struct upp_str text, bool json, struct wb_buf *out)
{
    struct wb_mask_stream s = {.masks = m, .json = json};
    wb_mask_stream_add(&s, text, out);
    wb_mask_stream_end(&s, out);
    wb_mask_stream_done(&s);
    return s.masked;
}

int wb_masks_value(struct wb_arena *a, struct upp_str *json, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(SIZE_MAX / 2); /* not longer than the value, or by little */
    struct wb_masks *m;
    int r = wb_masks_take(&m, err);
    if (r < 0 || WB_LIKELY(!m))
        return r;
    bool masked = wb_masks_add(m, *json, true, &out);
    wb_masks_give(m);
    r = wb_buf_check(&out, err);
    if (r < 0 || !masked)
        return r;
    *json = wb_arena_dup(a, wb_buf_str(&out));
    return wb_arena_check(a, err);
}
