/* Every talk file: tests/talk/PROVIDER/NAME.talk is the test talk_PROVIDER_NAME. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/defs.h"
#include "base/str.h"
#include "base/vec.h"
#include "support/talk.h"
#include "support/test.h"
#include "upp/http/frames.h"

enum { MAX_TALKS = 1024 };

static struct found {
    struct test test;
    char name[128], path[160];
} talks[MAX_TALKS];
static size_t n_talks;

static void expect(const char *path, size_t round, const char *what, struct upp_str want, const struct wb_buf *got)
{
    if (talk_same(want, wb_buf_str(got)))
        return;
    test_note("%s, round %zu: %s", path, round + 1, what);
    (void)test_expect_str(wb_buf_str(got), want, path, (int)round + 1, what);
}

static void compare(const char *path, const struct talk *t, size_t i, const struct talk_told *told)
{
    const struct talk_round *r = &t->rounds[i];
    expect(path, i, "sends", r->sends, &told->sends);
    expect(path, i, "events", r->events, &told->events);
    expect(path, i, "fails", r->fails, &told->fails);
    expect(path, i, "losses", r->losses, &told->losses);
}

static void rewrite(const char *path, const struct talk *t, const struct talk_told *told)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(16 << 20);
    talk_rewrite(t, told, &b);
    FILE *f = fopen(test_source(path), "w");
    if (!EXPECT(f && !b.failed))
        return;
    (void)EXPECT(fwrite(b.p, 1, b.n, f) == b.n);
    (void)EXPECT(fclose(f) == 0);
}

static void talk_file(const char *path)
{
    static struct talk t; /* frames are small; one test at a time */
    static struct talk_told told[TALK_ROUNDS];
    struct upp_err err = {0};
    bool done = EXPECT(talk_load(path, &t, &err) == 0);
    if (!done)
        fprintf(stderr, "# %s\n", err.msg);
    memset(told, 0, sizeof told);
    for (size_t i = 0; i < t.n && done; i++) {
        done = EXPECT(talk_have(&t, i, (struct talk_way){0}, &told[i], &err) == 0);
        if (done && !getenv("WEFT_TALK"))
            compare(path, &t, i, &told[i]);
    }
    if (done && getenv("WEFT_TALK"))
        rewrite(path, &t, told);
    for (size_t i = 0; i < TALK_ROUNDS; i++)
        talk_told_done(&told[i]);
    talk_done(&t);
}

static void talk_freep(struct talk **t)
{
    if (*t)
        talk_done(*t);
    free(*t);
}

static void talk_this(void)
{
    talk_file(test_running()->arg);
}

/* All of them, cut in every way. */

static bool same_told(const struct talk_told *a, const struct talk_told *b)
{
    return wb_str_eq(wb_buf_str(&a->events), wb_buf_str(&b->events)) &&
           wb_str_eq(wb_buf_str(&a->fails), wb_buf_str(&b->fails));
}

static bool streamed(const struct talk *t, const struct talk_round *r)
{
    return !t->whole && r->status == 200 && r->body.n;
}

/* Events of the framing, joined, with the bytes cut at one place. */
static bool frames_of(struct upp_str body, uint8_t kind, size_t cut, struct wb_buf *out)
{
    struct ww_frames f;
    struct ww_frame got;
    struct upp_err err;
    struct upp_str pieces[] = {wb_str_sub(body, 0, cut), wb_str_sub(body, cut, SIZE_MAX)};
    int r = 0;
    wb_buf_clear(out);
    ww_frames_init(&f, kind, 16 << 20);
    for (size_t i = 0; i < 2 && r >= 0; i++)
        while (r >= 0 && pieces[i].n) {
            struct upp_str now = wb_str_sub(pieces[i], 0, WW_PIECE);
            pieces[i] = wb_str_sub(pieces[i], now.n, SIZE_MAX);
            r = ww_frames_feed(&f, now, &err);
            while (r >= 0 && (r = ww_frames_next(&f, &got, &err)) > 0)
                wb_buf_addf(out, "%.*s|%.*s\n", UPP_FMT(got.name), UPP_FMT(got.data));
        }
    while (r >= 0 && (r = ww_frames_end(&f, &got, &err)) > 0)
        wb_buf_addf(out, "%.*s|%.*s\n", UPP_FMT(got.name), UPP_FMT(got.data));
    ww_frames_done(&f);
    return r == 0 && !out->failed;
}

/* Every cut, or where a sanitizer makes each as much slower, few of them. */
static size_t cut_stride(void)
{
    return test_share() / 2 + 1;
}

TEST_WITH(talk_frames_are_the_same_for_every_cut, .no_torture = "it is about bytes", .seconds = 300)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf whole = WB_BUF(16 << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf cut = WB_BUF(16 << 20);
    const size_t stride = cut_stride();
    for (size_t i = 0; i < n_talks; i++) {
        WB_CLEANUP(talk_freep) struct talk *t = calloc(1, sizeof *t); /* frames are small */
        struct upp_err err = {0};
        CHECK(t && talk_load(talks[i].path, t, &err) == 0);
        for (size_t k = 0; k < t->n; k++) {
            if (!streamed(t, &t->rounds[k]))
                continue;
            struct upp_str body = t->rounds[k].body;
            for (uint8_t kind = WW_SSE; kind <= WW_LINES; kind++) {
                CHECK(frames_of(body, kind, 0, &whole));
                for (size_t at = 1; at < body.n; at += stride) {
                    test_note("%s, round %zu, cut at %zu", talks[i].path, k + 1, at);
                    CHECK(frames_of(body, kind, at, &cut));
                    CHECK_STR(wb_buf_str(&cut), wb_buf_str(&whole));
                }
            }
        }
    }
}

static void try_cuts(const char *path, const struct talk *t, size_t round, const struct talk_told *whole)
{
    const size_t n = t->rounds[round].body.n;
    const size_t step = n > 1024 ? n / 64 : cut_stride();
    struct upp_err err = {0};
    for (size_t at = 0; at < n && !test_failed(); at += step) { /* 0: byte by byte */
        struct talk_told told;
        struct talk_way way = {at ? TALK_IN_TWO : TALK_BYTES, at};
        test_note("%s, round %zu, cut at %zu", path, round + 1, at);
        if (EXPECT(talk_have(t, round, way, &told, &err) == 0))
            (void)EXPECT(same_told(&told, whole));
        talk_told_done(&told);
    }
}

TEST_WITH(talk_events_are_the_same_for_every_cut, .no_torture = "each file has its own torture", .seconds = 600)
{
    for (size_t i = 0; i < n_talks && !test_failed(); i++) {
        WB_CLEANUP(talk_freep) struct talk *t = calloc(1, sizeof *t); /* frames are small */
        struct upp_err err = {0};
        CHECK(t && talk_load(talks[i].path, t, &err) == 0);
        for (size_t k = 0; k < t->n; k++) {
            struct talk_told whole;
            if (!streamed(t, &t->rounds[k]))
                continue;
            if (EXPECT(talk_have(t, k, (struct talk_way){0}, &whole, &err) == 0))
                try_cuts(talks[i].path, t, k, &whole);
            talk_told_done(&whole);
        }
    }
}

/* Where the last event that says something begins: what ends before it is not complete. */
static size_t last_event(struct upp_str body, size_t *ends, size_t max)
{
    size_t n = 0;
    for (size_t i = 1; i < body.n && n < max; i++)
        if (body.p[i] == '\n' && body.p[i - 1] == '\n')
            ends[n++] = i + 1;
    return n;
}

/* A stream may be whole before its last event: [DONE] and usage follow an end. So: once it fails for an early end, it
 * failed for all earlier ones, and it fails at least when it ends before half of its events. */
TEST_WITH(talk_an_end_before_the_end_is_an_error, .no_torture = "each file has its own torture", .seconds = 300)
{
    for (size_t i = 0; i < n_talks && !test_failed(); i++) {
        WB_CLEANUP(talk_freep) struct talk *t = calloc(1, sizeof *t); /* frames are small */
        struct upp_err err = {0};
        static size_t ends[4096];
        CHECK(t && talk_load(talks[i].path, t, &err) == 0);
        for (size_t k = 0; k < t->n; k++) {
            if (!streamed(t, &t->rounds[k]) || t->rounds[k].fails.n)
                continue;
            size_t n = last_event(t->rounds[k].body, ends, WB_LEN(ends));
            bool failed = false;
            for (size_t e = n; e-- > 0 && !test_failed();) {
                struct talk_told told;
                test_note("%s, round %zu, ended after event %zu of %zu", talks[i].path, k + 1, e, n);
                if (EXPECT(talk_have(t, k, (struct talk_way){TALK_ENDED, e ? ends[e - 1] : 0}, &told, &err) == 0)) {
                    (void)EXPECT(!failed || told.result < 0);
                    (void)EXPECT(e * 2 >= n || told.result < 0);
                    failed = told.result < 0;
                }
                talk_told_done(&told);
            }
        }
    }
}

static void add_file(const char *folder, const char *file)
{
    size_t n = strlen(file);
    if (n < 6 || strcmp(file + n - 5, ".talk") || n_talks == MAX_TALKS)
        return;
    struct found *f = &talks[n_talks++];
    (void)snprintf(f->name, sizeof f->name, "talk_%.40s_%.*s", folder, (int)WB_MIN(n - 5, (size_t)70), file);
    (void)snprintf(f->path, sizeof f->path, "talk/%.40s/%.80s", folder, file);
    f->test = (struct test){.name = f->name, .file = __FILE__, .body = talk_this, .arg = f->path};
    test_register(&f->test);
}

static void each_file(const char *path, const char *folder, void (*fn)(const char *, const char *))
{
    struct dirent **list;
    int n = scandir(path, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (list[i]->d_name[0] != '.')
            fn(folder, list[i]->d_name);
        free(list[i]);
    }
    if (n >= 0)
        free(list);
}

static void add_folder(const char *above, const char *folder)
{
    static char path[4096];
    (void)above;
    (void)snprintf(path, sizeof path, "%s/%s", test_source("talk"), folder);
    each_file(path, folder, add_file);
}

__attribute__((constructor)) static void find_talks(void)
{
    each_file(test_source("talk"), "", add_folder);
}
