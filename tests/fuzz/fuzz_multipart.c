/* fuzz/fuzz_multipart.c — whatever the bytes, the reader of multipart bodies sees the same however they are cut, and no
 * more content than came in. The first byte says where the input is cut. */
#include "server/http/multipart.h"

#include "fuzz/fuzz.h"

struct seen {
    struct wb_buf content;
    unsigned parts, ends;
    bool over, failed;
};

static void feed(struct sv_multipart *m, struct upp_str in, struct seen *s)
{
    struct upp_str data;
    int r;
    while ((r = sv_multipart_next(m, &in, &data, NULL)) > 0) {
        REQUIRE(!s->over);
        if (r == SV_MULTI_PART) {
            REQUIRE(s->parts == s->ends && m->name.n);
            s->parts++;
            wb_buf_addc(&s->content, 0);
            wb_buf_add(&s->content, m->name);
            wb_buf_add(&s->content, m->filename);
        } else if (r == SV_MULTI_DATA) {
            REQUIRE(s->parts == s->ends + 1 && data.n);
            wb_buf_add(&s->content, data);
        } else if (r == SV_MULTI_PART_END)
            REQUIRE(++s->ends == s->parts);
        else {
            REQUIRE(s->ends == s->parts);
            s->over = true;
        }
    }
    REQUIRE(r < 0 || !in.n);
    s->failed |= r < 0;
}

FUZZ(multipart)
{
    struct sv_multipart one = {0}, two = {0};
    struct seen a = {.content = WB_BUF(64u << 20)}, b = {.content = WB_BUF(64u << 20)};
    if (in.n < 2)
        return;
    size_t step = 1 + (unsigned char)in.p[0];
    struct upp_str body = wb_str(in.p + 1, in.n - 1);
    REQUIRE(sv_multipart_init(&one, UPP_STR("multipart/form-data; boundary=b"), NULL) == 0);
    REQUIRE(sv_multipart_init(&two, UPP_STR("multipart/form-data; boundary=\"b\""), NULL) == 0);
    feed(&one, body, &a);
    for (size_t at = 0; at < body.n; at += step)
        feed(&two, wb_str_sub(body, at, step), &b);
    REQUIRE(a.parts == b.parts && a.ends == b.ends && a.over == b.over && a.failed == b.failed);
    REQUIRE(wb_str_eq(wb_buf_str(&a.content), wb_buf_str(&b.content)));
    REQUIRE(a.content.n <= body.n + a.parts);
    REQUIRE((sv_multipart_check_end(&one, NULL) == 0) == (a.over && !a.failed));
    wb_buf_done(&a.content);
    wb_buf_done(&b.content);
    sv_multipart_done(&one);
    sv_multipart_done(&two);

    struct sv_multipart any = {0}; /* the input as a Content-Type */
    if (sv_multipart_init(&any, body, NULL) == 0)
        REQUIRE(any.n_delimiter > 4);
    sv_multipart_done(&any);
}
