/* fuzz/fuzz_sse.c — whatever the data, a reader written from the standard sees as many events as frames were written.
 *
 * The input is cut at 0x01 bytes: each piece is the data of a frame. */
#include "server/http/stream.h"

#include "fuzz/fuzz.h"
#include "server/sse_parse.h"

struct seen {
    struct upp_str rest; /* of the input */
    size_t n;
};

/* The data as they must be read: blanks for line ends, and escapes for two characters. */
static bool same(struct upp_str sent, struct upp_str got)
{
    size_t k = 0;
    for (size_t i = 0; i < sent.n; i++) {
        struct upp_str left = wb_str_sub(sent, i, SIZE_MAX);
        bool ls = wb_str_starts(left, UPP_STR("\xe2\x80\xa8"));
        if (ls || wb_str_starts(left, UPP_STR("\xe2\x80\xa9"))) {
            if (!wb_str_starts(wb_str_sub(got, k, SIZE_MAX), ls ? UPP_STR("\\u2028") : UPP_STR("\\u2029")))
                return false;
            k += 6;
            i += 2;
        } else {
            char want = sent.p[i] == '\r' || sent.p[i] == '\n' ? ' ' : sent.p[i];
            if (k == got.n || got.p[k++] != want)
                return false;
        }
    }
    return k == got.n;
}

static void sees(void *arg, const struct sse_event *ev)
{
    struct seen *s = arg;
    struct upp_str sent;
    char id[24] = {'7', '-'};
    size_t n = 2, number = s->n++;
    char digits[20];
    size_t d = 0;
    do
        digits[d++] = (char)('0' + number % 10);
    while (number /= 10);
    while (d)
        id[n++] = digits[--d];
    id[n++] = '.';
    id[n++] = '1';
    REQUIRE(wb_str_split(&s->rest, 1, &sent));
    REQUIRE(same(sent, ev->data));
    REQUIRE(wb_str_eq(ev->name, UPP_STR("delta")) && wb_str_eq(ev->id, wb_str(id, n)));
}

FUZZ(sse)
{
    struct wb_buf out = WB_BUF(64u << 20);
    struct upp_str rest = wb_str(in.p, in.n), piece;
    struct seen s = {wb_str(in.p, in.n), 0};
    struct sse_parser p;
    size_t n = 0;
    for (; wb_str_split(&rest, 1, &piece); n++) {
        sv_sse_frame(&out, "delta", piece, &(struct sv_sse_id){7, n, 1});
        if (n % 3 == 0)
            sv_sse_ping(&out);
    }
    REQUIRE(wb_buf_check(&out, NULL) == 0);
    REQUIRE(sse_parse(wb_buf_str(&out), &p, sees, &s));
    REQUIRE(p.events == n && s.n == n);
    wb_buf_done(&out);

    struct sv_sse_id id;
    if (sv_sse_id_parse(in, &id))
        REQUIRE(in.n <= 42 && memchr(in.p, '-', in.n));
}
