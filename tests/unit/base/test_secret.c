#include "base/secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "support/test.h"

TEST(secret_is_revealed_and_compared)
{
    WB_CLEANUP(wb_secret_freep) struct wb_secret *s = NULL, *none = NULL;
    struct upp_err err;
    CHECK(wb_secret_new(UPP_STR("sk-abc\0def"), &s, &err) == 0);
    CHECK_STR(wb_secret_reveal(s), UPP_STR("sk-abc\0def"));
    CHECK(wb_secret_reveal(s).p[10] == 0);
    CHECK(wb_secret_is(s, UPP_STR("sk-abc\0def")));
    static const struct upp_str others[] = {
        UPP_STR_INIT(""),
        UPP_STR_INIT("sk-abc"),
        UPP_STR_INIT("sk-abc\0deg"),
        UPP_STR_INIT("tk-abc\0def"),
        UPP_STR_INIT("sk-abc\0de"),
        UPP_STR_INIT("sk-abc\0defs"),
        UPP_STR_INIT("sk-abc\0def\0"),
    };
    for (size_t i = 0; i < WB_LEN(others); i++)
        CHECK(!wb_secret_is(s, others[i]));
    CHECK(wb_secret_new(UPP_STR(""), &none, &err) == 0);
    CHECK(wb_secret_is(none, (struct upp_str){0}) && !wb_secret_is(none, UPP_STR("\0")));
    CHECK(!wb_secret_free(NULL));
}

/* The flags of the mapping that p lies in, as the kernel tells them; "" where it does not. */
static void flags_of(const void *p, char *ret, size_t size)
{
    char text[512];
    bool inside = false;
    unsigned long from, to;
    FILE *f = fopen("/proc/self/smaps", "r");
    ret[0] = 0;
    while (f && fgets(text, sizeof text, f)) {
        if (sscanf(text, "%lx-%lx ", &from, &to) == 2)
            inside = (unsigned long)p >= from && (unsigned long)p < to;
        else if (inside && strncmp(text, "VmFlags:", 8) == 0)
            (void)snprintf(ret, size, "%s", text);
    }
    if (f)
        (void)fclose(f);
}

TEST(secret_has_pages_of_its_own)
{
    WB_CLEANUP(wb_secret_freep) struct wb_secret *s = NULL;
    char flags[512];
    CHECK(wb_secret_new(UPP_STR("sk-abc"), &s, NULL) == 0);
    flags_of(s, flags, sizeof flags);
    CHECK(!flags[0] || strstr(flags, " dd")); /* not dumped */
    bool told = flags[0];
    CHECK(((uintptr_t)s & 4095) == 0);
    const void *page = s;
    s = wb_secret_free(s);
    flags_of(page, flags, sizeof flags);
    CHECK(!s && (!told || !flags[0] || !strstr(flags, " dd"))); /* gone, or something else by now */
}

TEST(secret_from_the_environment)
{
    WB_CLEANUP(wb_secret_freep) struct wb_secret *s = NULL, *kept = NULL;
    struct upp_err err;
    CHECK(setenv("WEFT_TEST_SECRET", "sk-env\n", 1) == 0);
    int r = wb_secret_env("WEFT_TEST_SECRET", &s, &err);
    CHECK(r == 0);
    CHECK_STR(wb_secret_reveal(s), UPP_STR("sk-env\n")); /* as it is */
    CHECK(setenv("WEFT_TEST_SECRET", "", 1) == 0);
    CHECK_INT(wb_secret_env("WEFT_TEST_SECRET", &kept, &err), -UPP_EINVALID);
    CHECK(unsetenv("WEFT_TEST_SECRET") == 0);
    CHECK_INT(wb_secret_env("WEFT_TEST_SECRET", &kept, &err), -UPP_ENOTFOUND);
    CHECK_STR(wb_cstr(err.where), UPP_STR("WEFT_TEST_SECRET"));
    ALWAYS(!kept);
}

static const char *put_file(const void *bytes, size_t n)
{
    static char path[512];
    (void)snprintf(path, sizeof path, "%s/key", test_folder());
    FILE *f = fopen(path, "wb");
    if (!EXPECT(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0 && chmod(path, 0600) == 0))
        path[0] = 0;
    return path;
}

TEST(secret_from_a_file)
{
    static const struct {
        struct upp_str file, secret;
    } cases[] = {
        {UPP_STR_INIT("sk-file"), UPP_STR_INIT("sk-file")},
        {UPP_STR_INIT("sk-file\n"), UPP_STR_INIT("sk-file")},
        {UPP_STR_INIT("sk-file\r\n"), UPP_STR_INIT("sk-file")},
        {UPP_STR_INIT("sk-file\n\n"), UPP_STR_INIT("sk-file\n")},
        {UPP_STR_INIT(" a\nb \r"), UPP_STR_INIT(" a\nb \r")},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_secret_freep) struct wb_secret *s = NULL;
        struct upp_err err;
        test_note("case %zu", i);
        int r = wb_secret_file(put_file(cases[i].file.p, cases[i].file.n), &s, &err);
        ALWAYS(r == 0 || !s);
        CHECK(r == 0);
        CHECK_STR(wb_secret_reveal(s), cases[i].secret);
    }
}

TEST(secret_from_a_file_that_others_can_read_is_refused)
{
    static const mode_t modes[] = {0644, 0640, 0604, 0602, 0666};
    WB_CLEANUP(wb_secret_freep) struct wb_secret *s = NULL;
    struct upp_err err;
    const char *path = put_file("sk-file", 7);
    for (size_t i = 0; i < WB_LEN(modes); i++) {
        CHECK(chmod(path, modes[i]) == 0);
        CHECK_INT(wb_secret_file(path, &s, &err), -UPP_EREFUSED);
        CHECK_STR(wb_cstr(err.where), wb_cstr(path));
        CHECK(!s);
    }
    CHECK(chmod(path, 0400) == 0);
    CHECK_INT(wb_secret_file(path, &s, &err), 0);
}

TEST(secret_from_a_file_has_limits)
{
    static char large[WB_SECRET_MAX + 8];
    struct upp_err err;
    memset(large, 'k', sizeof large);
    static const struct {
        size_t n;
        const char *end;
        int r;
    } cases[] = {{0, "", -UPP_EINVALID},
                 {0, "\n", -UPP_EINVALID},
                 {WB_SECRET_MAX, "", 0},
                 {WB_SECRET_MAX, "\r\n", 0},
                 {WB_SECRET_MAX + 1, "", -UPP_ELIMIT},
                 {WB_SECRET_MAX + 1, "\r\n", -UPP_ELIMIT},
                 {WB_SECRET_MAX + 5, "\n", -UPP_ELIMIT}};
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_secret_freep) struct wb_secret *s = NULL;
        test_note("case %zu", i);
        size_t end = strlen(cases[i].end);
        memset(large, 'k', sizeof large);
        memcpy(large + cases[i].n, cases[i].end, end);
        CHECK_INT(wb_secret_file(put_file(large, cases[i].n + end), &s, &err), cases[i].r);
        CHECK(cases[i].r < 0 ? !s && wb_str_ends(wb_cstr(err.where), UPP_STR("/key"))
                             : wb_secret_reveal(s).n == cases[i].n);
        CHECK(!strstr(err.msg, "kk"));
    }
    WB_CLEANUP(wb_secret_freep) struct wb_secret *s = NULL;
    CHECK_INT(wb_secret_file("/nonexistent/key", &s, &err), -UPP_ENOTFOUND);
    CHECK_STR(wb_cstr(err.where), UPP_STR("/nonexistent/key"));
}

TEST(secret_that_others_write)
{
    WB_CLEANUP(wb_secret_freep) struct wb_secret *s = NULL, *none = NULL;
    char *into;
    CHECK(wb_secret_room(16, &s, &into, NULL) == 0);
    CHECK_STR(wb_secret_reveal(s), UPP_STR(""));
    memset(into, 'k', 16);
    wb_secret_end(s, 5);
    CHECK_STR(wb_secret_reveal(s), UPP_STR("kkkkk"));
    CHECK(wb_secret_reveal(s).p[5] == 0);
    wb_secret_end(s, 16);
    CHECK(wb_secret_reveal(s).n == 16 && wb_secret_reveal(s).p[16] == 0);
    CHECK_INT(wb_secret_room(WB_SECRET_MAX + 1, &none, &into, NULL), -UPP_ELIMIT);
    ALWAYS(!none);
}
