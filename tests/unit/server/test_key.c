#include "server/keys/key.h"

#include <stdio.h>

#include "base/defs.h"
#include "base/str.h"
#include "support/test.h"

static void bufp(struct wb_buf *b)
{
    wb_buf_done(b);
}

TEST(key_text_has_an_id_and_a_secret)
{
    WB_CLEANUP(sv_key_freep) struct sv_key *k = NULL, *other = NULL;
    struct upp_err err = {0};
    char text[SV_KEY_TEXT + 1], again[SV_KEY_TEXT + 1];
    struct upp_str id, secret;
    CHECK_INT(sv_key_new(&k, &err), 0);
    CHECK_INT(sv_key_new(&other, &err), 0);
    CHECK_INT(sv_key_generate(k, text, &err), 0);
    CHECK_INT(sv_key_generate(other, again, &err), 0);
    CHECK(strcmp(text, again) != 0);
    CHECK_INT(strlen(text), SV_KEY_TEXT);
    CHECK(sv_key_split(wb_cstr(text), &id, &secret));
    CHECK_STR(id, wb_cstr(k->id));
    CHECK(sv_key_is(k, secret));
    CHECK(!sv_key_is(other, secret));
    CHECK(!sv_key_is(NULL, secret));
    CHECK(!sv_key_is(k, wb_str_sub(secret, 1, SIZE_MAX)));
    CHECK(!sv_key_is(k, UPP_STR("")));
    for (size_t i = 0; i < secret.n; i++) { /* every digit counts */
        char wrong[SV_KEY_TEXT + 1];
        size_t at = SV_KEY_TEXT - 1 - i;
        memcpy(wrong, text, sizeof wrong);
        wrong[at] = wrong[at] == '0' ? '1' : '0';
        CHECK(sv_key_split(wb_cstr(wrong), &id, &secret) && !sv_key_is(k, secret));
    }
    static const char *const none[] = {"", "weft_", "sk-123"};
    for (size_t i = 0; i < WB_LEN(none); i++)
        CHECK(!sv_key_split(wb_cstr(none[i]), &id, &secret));
    text[21] = '-';
    CHECK(!sv_key_split(wb_cstr(text), &id, &secret));
}

TEST(key_records_come_back)
{
    WB_CLEANUP(sv_key_freep) struct sv_key *k = NULL, *read = NULL;
    WB_CLEANUP(bufp) struct wb_buf out = WB_BUF(4096), use = WB_BUF(4096), twice = WB_BUF(4096);
    struct upp_err err = {0};
    char text[SV_KEY_TEXT + 1];
    CHECK_INT(sv_key_new(&k, &err), 0);
    CHECK_INT(sv_key_generate(k, text, &err), 0);
    k->name = UPP_STR("ci \"quoted\"");
    k->tenant = UPP_STR("acme");
    k->user = UPP_STR("zo\xc3\xab");
    k->scopes = SV_SCOPE_RUN | SV_SCOPE_INSTRUCTIONS;
    k->limits = (struct sv_limits){.runs = 3, .bytes = 1 << 20};
    k->created_ms = 1794900000123;
    k->revoked_ms = 1794900000999;
    k->day = 20773;
    k->tokens = 12345678901;
    k->used_ms = 1794900000777;
    CHECK_INT(sv_key_write(k, &out, &err), 0);
    CHECK_INT(sv_key_use_write(k, &use, &err), 0);
    CHECK(wb_str_find(wb_buf_str(&out), wb_cstr(text + 22), 0) == SIZE_MAX); /* the secret is not in it */
    CHECK_INT(sv_key_read(wb_buf_str(&out), &read, &err), 0);
    CHECK_INT(sv_key_use_read(read, wb_buf_str(&use), &err), 0);
    CHECK(read->tokens == k->tokens && read->day == k->day && read->used_ms == k->used_ms);
    CHECK(sv_key_is(read, wb_cstr(text + 22)));
    CHECK_INT(sv_key_write(read, &twice, &err), 0);
    CHECK_STR(wb_buf_str(&twice), wb_buf_str(&out));
    CHECK_STR(read->user, k->user);
}

TEST(key_records_that_are_damaged_are_refused)
{
    static const char *const cases[] = {
        "[]",
        "{}",
        "{\"id\":\"0123456789abcdef\",\"tenant\":\"t\",\"scopes\":\"run\",\"limits\":\"\",\"created_ms\":1}",
        "{\"id\":\"0123456789abcdef\",\"tenant\":\"t\",\"scopes\":\"run\",\"limits\":\"\",\"created_ms\":1,"
        "\"sha256\":\"00\"}",
        "{\"id\":\"0123456789abcdef\",\"tenant\":\"t\",\"scopes\":\"fly\",\"limits\":\"\",\"created_ms\":1,\"sha256\":"
        "\"0000000000000000000000000000000000000000000000000000000000000000\"}",
        "{\"id\":\"0123456789abcdef\",\"scopes\":\"run\",\"limits\":\"\",\"created_ms\":1,\"sha256\":"
        "\"0000000000000000000000000000000000000000000000000000000000000000\"}",
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_err err = {0};
        struct sv_key *k = NULL;
        test_note("%s", cases[i]);
        CHECK_INT(sv_key_read(wb_cstr(cases[i]), &k, &err), -UPP_ESTORE);
        CHECK(!k);
    }
}

TEST(key_use_that_is_damaged_changes_nothing)
{
    WB_CLEANUP(sv_key_freep) struct sv_key *k = NULL;
    struct upp_err err = {0};
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"day\":1,\"tokens\":-1,\"used_ms\":1}",
        "{\"day\":1,\"tokens\":99999999999999999999,\"used_ms\":1}",
        "{\"day\":1,\"tokens\":\"1\",\"used_ms\":1}",
        "{\"day\":1,\"tokens\":1}",
    };
    CHECK_INT(sv_key_new(&k, &err), 0);
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        test_note("%s", bad[i]);
        CHECK(sv_key_use_read(k, wb_cstr(bad[i]), &err) < 0);
        CHECK(!k->day && !k->tokens && !k->used_ms);
    }
    CHECK_INT(sv_key_use_read(k, UPP_STR("{\"day\":1,\"tokens\":18446744073709551615,\"used_ms\":1}"), &err), 0);
    CHECK(k->tokens == SV_LIMIT_MAX); /* as an earlier version has written it */
}

TEST(scopes_are_words)
{
    WB_CLEANUP(bufp) struct wb_buf out = WB_BUF(256);
    struct upp_err err = {0};
    uint8_t s = 0;
    CHECK_INT(sv_scopes_parse(UPP_STR("instructions,read,act-as,admin,run"), &s, &err), 0);
    CHECK_INT(s, SV_SCOPE_ALL);
    sv_scopes_write(s, &out);
    CHECK_STR(wb_buf_str(&out), UPP_STR("read,run,admin,act-as,instructions"));
    CHECK_INT(sv_scopes_all(SV_SCOPE_RUN), SV_SCOPE_RUN | SV_SCOPE_READ);
    CHECK_INT(sv_scopes_all(SV_SCOPE_ADMIN), SV_SCOPE_ADMIN);
    static const char *const wrong[] = {"", "read,", "Read", "all", "read run"};
    for (size_t i = 0; i < WB_LEN(wrong); i++)
        CHECK_INT(sv_scopes_parse(wb_cstr(wrong[i]), &s, &err), -UPP_EINVALID);
}

TEST(key_names_are_checked)
{
    static char longest[SV_USER_NAME + 2];
    struct upp_err err = {0};
    memset(longest, 'a', sizeof longest - 1);
    CHECK_INT(sv_tenant_check(UPP_STR("acme.org:eu_1@x-9"), &err), 0);
    CHECK_INT(sv_tenant_check(wb_str(longest, SV_TENANT_NAME), &err), 0);
    CHECK_INT(sv_tenant_check(wb_str(longest, SV_TENANT_NAME + 1), &err), -UPP_EINVALID);
    CHECK_INT(sv_tenant_check(UPP_STR(""), &err), -UPP_EINVALID);
    CHECK_INT(sv_tenant_check(UPP_STR("a b"), &err), -UPP_EINVALID);
    CHECK_INT(sv_tenant_check(wb_str("a\0b", 3), &err), -UPP_EINVALID);
    CHECK_INT(sv_tenant_check(UPP_STR("weft"), &err), -UPP_EINVALID);
    CHECK_INT(sv_key_name_check(UPP_STR("ci"), &err), 0);
    CHECK_INT(sv_key_name_check(UPP_STR("-ci"), &err), -UPP_EINVALID);
    CHECK_INT(sv_key_name_check(wb_str(longest, SV_KEY_NAME + 1), &err), -UPP_EINVALID);
    CHECK_INT(sv_user_check(UPP_STR("Zo\xc3\xab B."), &err), 0);
    CHECK_INT(sv_key_name_check(UPP_STR("0123456789abcdef"), &err), -UPP_EINVALID); /* an id */
    CHECK_INT(sv_key_name_check(UPP_STR("0123456789ABCDEF"), &err), -UPP_EINVALID);
    CHECK_INT(sv_key_name_check(UPP_STR("0123456789abcdeg"), &err), 0);
    CHECK_INT(sv_key_name_check(UPP_STR("0123456789abcde"), &err), 0);
    CHECK_INT(sv_user_check(UPP_STR("a\nb"), &err), -UPP_EINVALID);
    CHECK_INT(sv_user_check(UPP_STR("a\xff"), &err), -UPP_EINVALID);
    CHECK_INT(sv_user_check(UPP_STR("a\xc3"), &err), -UPP_EINVALID);
    CHECK_INT(sv_user_check(UPP_STR("\xed\xa0\x80"), &err), -UPP_EINVALID); /* a surrogate */
    CHECK_INT(sv_user_check(wb_str(longest, SV_USER_NAME + 1), &err), -UPP_EINVALID);
}
