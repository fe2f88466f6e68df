#include "server/http/multipart.h"

#include "base/defs.h"
#include "support/test.h"

#define TYPE "multipart/form-data; boundary=XX"

/* What was read: "[name|filename|type]content." for each part, then "$" or "!" and the error. */
static void read_all(struct sv_multipart *m, struct upp_str in, struct wb_buf *out)
{
    struct upp_str data;
    int r;
    while ((r = sv_multipart_next(m, &in, &data, NULL)) > 0)
        switch (r) {
        case SV_MULTI_PART:
            wb_buf_addf(out, "[%.*s|%s%.*s|%.*s]", UPP_FMT(m->name), m->filename.p ? "" : "-", UPP_FMT(m->filename),
                        UPP_FMT(m->type));
            break;
        case SV_MULTI_DATA:
            wb_buf_add(out, data);
            break;
        case SV_MULTI_PART_END:
            wb_buf_addc(out, '.');
            break;
        default:
            wb_buf_addc(out, '$');
        }
    if (r < 0 && (!out->n || out->p[out->n - 1] != '!'))
        wb_buf_addc(out, '!');
}

static const struct {
    const char *in, *want;
} cases[] = {
    {"--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nhello\r\n--XX--\r\n", "[a|-|]hello.$"},
    {"--XX\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n--XX--", "[a|-|].$"},
    {"preamble\r\n--XX \t\r\ncontent-disposition:form-data;name=\"a\";filename=\"b.txt\"\r\nContent-Type: "
     "text/plain\r\n\r\n"
     "1\r\n--X\r\n--Y\r\r\n\r\n--XX\r\nContent-Disposition: form-data; "
     "name=\"p\"\r\n\r\n\r\n\r\n--XX--\r\nepilogue\r\n--XX",
     "[a|b.txt|text/plain]1\r\n--X\r\n--Y\r\r\n.[p|-|]\r\n.$"},
    {"--XX\r\nContent-Disposition: form-data; name=\"a\\\"b\\\\\"; filename=\"%22c:\\d\"\r\nX-Y: 1\r\n\r\nx\r\n--XX--",
     "[a\"b\\|\"c:\\d|]x.$"},
    {"--XX\r\nContent-Disposition: form-data; name=\"a\"; filename=\"\"\r\n\r\n--XX\r\n--XX--", "[a||]--XX.$"},
    {"--XX--", "$"},
    {"--XX\r\nContent-Disposition: form-data; name=\"a\";\r\n\r\n-\r\n--XX--", "[a|-|]-.$"},
    {"--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nhello", "[a|-|]hello"},
    {"--XX\r\n\r\nhello\r\n--XX--", "!"},
    {"--XXY", "!"},
    {"--XX-\r\n", "!"},
    {"--XX \r-", "!"},
    {"--XX -", "!"},
    {"--XX\r\nContent-Disposition: form-data; name=\"\"\r\n\r\n", "!"},
    {"--XX\r\nContent-Disposition: attachment; name=\"a\"\r\n\r\n", "!"},
    {"--XX\r\nContent-Disposition: form-data; name=\"a\r\n\r\n", "!"},
    {"--XX\r\nContent-Disposition: form-data; name\r\n\r\n", "!"},
    {"--XX\r\nContent-Disposition: form-data; name=a; name=b\r\n\r\n", "!"},
    {"--XX\r\nContent-Disposition: form-data; name=a x\r\n\r\n", "!"},
    {"--XX\r\nContent-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=a\r\n\r\n", "!"},
    {"--XX\r\nnonsense\r\n\r\n", "!"},
    {"--XX\r\n: x\r\n\r\n", "!"},
    {"--XX\r\nA: b\r\n c: d\r\n\r\n", "!"},
    {"--XX\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64\r\n\r\n", "!"},
};

/* covers: AITP-10/1 */
TEST(multipart_is_the_same_however_it_is_cut)
{
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_str in = wb_cstr(cases[i].in);
        test_note("case %zu", i);
        for (size_t cut = 0; cut <= in.n; cut++) {
            WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(4096);
            WB_CLEANUP(sv_multipart_done) struct sv_multipart m = {0};
            CHECK(sv_multipart_init(&m, UPP_STR(TYPE), NULL) == 0);
            read_all(&m, wb_str_sub(in, 0, cut), &out);
            read_all(&m, wb_str_sub(in, cut, SIZE_MAX), &out);
            CHECK_STR(wb_buf_str(&out), wb_cstr(cases[i].want));
            bool whole = out.n && out.p[out.n - 1] == '$';
            CHECK((sv_multipart_check_end(&m, NULL) == 0) == whole);
        }
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(4096);
        WB_CLEANUP(sv_multipart_done) struct sv_multipart m = {0};
        CHECK(sv_multipart_init(&m, UPP_STR(TYPE), NULL) == 0);
        for (size_t k = 0; k < in.n; k++)
            read_all(&m, wb_str_sub(in, k, 1), &out);
        CHECK_STR(wb_buf_str(&out), wb_cstr(cases[i].want));
    }
}

TEST(multipart_knows_its_content_type)
{
    static const struct {
        const char *type;
        bool good;
    } types[] = {
        {"multipart/form-data; boundary=a", true},
        {"Multipart/Form-Data;charset=utf-8; BOUNDARY=\"a b\"", true},
        {"multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW", true},
        {"multipart/form-data; boundary=1234567890123456789012345678901234567890123456789012345678901234567890", true},
        {"multipart/form-data; boundary=12345678901234567890123456789012345678901234567890123456789012345678901",
         false},
        {"multipart/form-data", false},
        {"multipart/form-data; boundary=", false},
        {"multipart/form-data; boundary=\"a ", false},
        {"multipart/form-data; boundary=\"a \"", false},
        {"multipart/form-data; boundary=a\x01", false},
        {"multipart/mixed; boundary=a", false},
        {"", false},
    };
    for (size_t i = 0; i < WB_LEN(types); i++) {
        WB_CLEANUP(sv_multipart_done) struct sv_multipart m = {0};
        test_note("%s", types[i].type);
        CHECK((sv_multipart_init(&m, wb_cstr(types[i].type), NULL) == 0) == types[i].good);
    }
}

TEST(multipart_has_limits)
{
    static char long_head[SV_MULTI_HEAD + 64] = "--XX\r\nA: ";
    WB_CLEANUP(wb_buf_done) struct wb_buf many = WB_BUF(64 << 10), out = WB_BUF(64 << 10);
    WB_CLEANUP(sv_multipart_done) struct sv_multipart m = {0}, n = {0};
    struct upp_err err = {0};
    struct upp_str data, in;
    memset(long_head + 9, 'x', sizeof long_head - 9);
    CHECK(sv_multipart_init(&m, UPP_STR(TYPE), NULL) == 0);
    in = wb_str(long_head, sizeof long_head);
    CHECK(sv_multipart_next(&m, &in, &data, &err) == -UPP_EINVALID);
    CHECK(strstr(err.msg, "in part 1: its headers are longer than 8 KiB"));
    CHECK(sv_multipart_next(&m, &in, &data, &err) == -UPP_EINVALID); /* failed once is failed */
    CHECK(sv_multipart_check_end(&m, &err) == -UPP_EINVALID);

    for (int i = 0; i <= SV_MULTI_PARTS; i++)
        wb_buf_add(&many, UPP_STR("--XX\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n"));
    CHECK(sv_multipart_init(&n, UPP_STR(TYPE), NULL) == 0);
    read_all(&n, wb_buf_str(&many), &out);
    CHECK(!many.failed && !out.failed && out.n);
    CHECK(n.parts == SV_MULTI_PARTS && out.p[out.n - 1] == '!');
}
