/* server/http/sse_out.c — writes frames and their ids, and parses the id that a reader returns with. */
#include "server/http/sse_out.h"

enum { NAME_MAX_BYTES = 64 };

static bool is_word(const char *s)
{
    size_t n = 0;
    for (; s[n]; n++)
        if (n == NAME_MAX_BYTES || !((s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z') ||
                                     (s[n] >= '0' && s[n] <= '9') || s[n] == '.' || s[n] == '_' || s[n] == '-'))
            return false;
    return n > 0;
}

/* The index of the first byte that cannot be sent as it is: line ends, and U+2028 and U+2029 (E2 80 A8, A9). */
static size_t clean_length(struct upp_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '\n' || c == '\r')
            return i;
        if (c == 0xe2 && s.n - i > 2 && (unsigned char)s.p[i + 1] == 0x80 && ((unsigned char)s.p[i + 2] & 0xfe) == 0xa8)
            return i;
    }
    return s.n;
}

static void add_line(struct wb_buf *out, struct upp_str s)
{
    for (;;) {
        size_t n = clean_length(s);
        wb_buf_add(out, wb_str(s.p, n));
        if (n == s.n)
            return;
        if (s.p[n] == '\n' || s.p[n] == '\r') {
            wb_buf_addc(out, ' ');
            s = wb_str(s.p + n + 1, s.n - n - 1);
        } else {
            wb_buf_add(out, (unsigned char)s.p[n + 2] == 0xa8 ? UPP_STR("\\u2028") : UPP_STR("\\u2029"));
            s = wb_str(s.p + n + 3, s.n - n - 3);
        }
    }
}

static void add_number(struct wb_buf *out, uint64_t n)
{
    char text[20], *p = text + sizeof text;
    do
        *--p = (char)('0' + n % 10);
    while (n /= 10);
    wb_buf_add(out, wb_str(p, (size_t)(text + sizeof text - p)));
}

void sv_sse_frame(struct wb_buf *out, const char *name, struct upp_str data, const struct sv_sse_id *id)
{
    if (name && !is_word(name)) {
        if (!out->failed)
            out->failed = -UPP_EBUG;
        return;
    }
    if (id) {
        wb_buf_add(out, UPP_STR("id: "));
        add_number(out, id->epoch);
        wb_buf_addc(out, '-');
        add_number(out, id->number);
        if (id->part) {
            wb_buf_addc(out, '.');
            add_number(out, id->part);
        }
        wb_buf_addc(out, '\n');
    }
    if (name) {
        wb_buf_add(out, UPP_STR("event: "));
        wb_buf_add(out, wb_cstr(name));
        wb_buf_addc(out, '\n');
    }
    wb_buf_add(out, UPP_STR("data: "));
    add_line(out, data);
    wb_buf_add(out, UPP_STR("\n\n"));
}

void sv_sse_ping(struct wb_buf *out)
{
    wb_buf_add(out, UPP_STR(": ping\n\n"));
}

void sv_sse_goodbye(struct wb_buf *out)
{
    wb_buf_add(out, UPP_STR(": the server stops; come back with Last-Event-ID\n\n"));
}

void sv_sse_revoked(struct wb_buf *out)
{
    wb_buf_add(out, UPP_STR(": the key was revoked\n\n"));
}

/* As we write it: without leading zeros. */
static bool read_number(struct upp_str s, uint64_t *ret)
{
    return (s.n == 1 || (s.n && s.p[0] != '0')) && wb_str_u64(s, ret);
}

bool sv_sse_id_parse(struct upp_str text, struct sv_sse_id *ret)
{
    uint64_t epoch, number, part = 0;
    size_t dash = wb_str_find(text, UPP_STR("-"), 0), dot = wb_str_find(text, UPP_STR("."), 0);
    if (dash == SIZE_MAX || dot < dash || !read_number(wb_str_sub(text, 0, dash), &epoch) || epoch > UINT32_MAX ||
        !read_number(wb_str_sub(text, dash + 1, dot == SIZE_MAX ? SIZE_MAX : dot - dash - 1), &number))
        return false;
    if (dot != SIZE_MAX && (!read_number(wb_str_sub(text, dot + 1, SIZE_MAX), &part) || !part || part > UINT32_MAX))
        return false;
    *ret = (struct sv_sse_id){(uint32_t)epoch, number, (uint32_t)part};
    return true;
}
