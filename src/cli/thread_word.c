/* cli/thread_word.c — finds a thread by its id, and suggests one whose id begins alike or has nearly the same
 * digits. */
#include "cli/thread_word.h"

#include <ctype.h>
#include <stdio.h>

#include "cli/run_view.h"
#include "json/value.h"

enum { PAGE = 100, LEAST = 4 /* digits that may be the beginning of an id */, SLIPS = 2 };

struct guess {
    char digits[WB_UUID_HEX + 1]; /* of the word; empty: it has too few, or others */
    char one[64];                 /* the first thread that begins so */
    size_t n;                     /* how many do */
    char near[64];                /* a thread whose id differs in a digit or two */
    bool exact;                   /* it is there: something else was not found */
};

/* The hexadecimal digits of an id in any spelling. */
static void take_digits(const char *word, char out[WB_UUID_HEX + 1])
{
    size_t n = 0;
    out[0] = 0;
    if (strncmp(word, "thread_", 7) == 0)
        word += 7;
    for (; *word; word++) {
        if (*word == '-')
            continue;
        if (!isxdigit((unsigned char)*word) || n == WB_UUID_HEX)
            return;
        out[n++] = (char)tolower((unsigned char)*word);
        out[n] = 0;
    }
}

static void begin_guess(struct guess *g, const char *word)
{
    *g = (struct guess){0};
    take_digits(word, g->digits);
    if (strlen(g->digits) < LEAST)
        g->digits[0] = 0;
}

static unsigned differ(const char *a, const char *b)
{
    unsigned n = 0;
    for (; *a && *b; a++, b++)
        n += *a != *b;
    return n;
}

static void try_one(struct guess *g, struct upp_str id)
{
    char digits[WB_UUID_HEX + 1], text[64];
    (void)snprintf(text, sizeof text, "%.*s", UPP_FMT(id));
    take_digits(text, digits);
    g->exact = g->exact || strcmp(g->digits, digits) == 0;
    if (g->digits[0] && strncmp(g->digits, digits, strlen(g->digits)) == 0 && !g->n++)
        (void)snprintf(g->one, sizeof g->one, "%s", text);
    if (strlen(g->digits) == strlen(digits) && differ(g->digits, digits) <= SLIPS)
        (void)snprintf(g->near, sizeof g->near, "%s", text);
}

static int end(const struct guess *g, int r, struct upp_err *err)
{
    size_t n = err ? strlen(err->msg) : 0;
    if (!err || g->exact)
        return r;
    if (g->n > 1)
        (void)snprintf(err->msg + n, sizeof err->msg - n, "; %zu begin so, `weft threads` lists them", g->n);
    else if (g->n || g->near[0])
        (void)snprintf(err->msg + n, sizeof err->msg - n, "; did you mean '%s'?", g->n ? g->one : g->near);
    return r;
}

WEFT_SUSPENDS int cli_thread_find(struct cli_reader *rd, const char *word, struct wl_thread *ret, struct upp_err *err)
{
    struct wb_uuid after = {{0}};
    struct guess g;
    int r = wl_thread_find(rd->store, &rd->owner, wb_cstr(word), &rd->arena, ret, err);
    if (r != -UPP_ENOTFOUND)
        return r;
    begin_guess(&g, word);
    for (size_t n = PAGE, all = 0; n == PAGE && all < CLI_THREADS_TRIED; all += n) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
        struct wl_thread *t;
        char id[64];
        if (wl_list_threads(rd->store, &rd->owner, after, PAGE, &a, &t, &n, NULL) < 0)
            break; /* that there is none is the message */
        for (size_t i = 0; i < n; i++) {
            after = t[i].id;
            if (t[i].kind == WL_MAIN)
                try_one(&g, wb_cstr(cli_id("thread_", t[i].id, id)));
        }
    }
    return end(&g, r, err);
}

WEFT_SUSPENDS int cli_thread_guess(struct cli_owner *d, const char *word, int r, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct upp_str last = {NULL, 0};
    yyjson_val *v = NULL, *one;
    struct guess g;
    size_t i, n, all = 0;
    if (r != -UPP_ENOTFOUND)
        return r;
    begin_guess(&g, word);
    do {
        struct cli_request q = {
            .method = "GET",
            .path = wb_arena_printf(&a, "/v1/threads?limit=%d%s%.*s", PAGE, last.n ? "&after=" : "", UPP_FMT(last))};
        if (wb_arena_check(&a, NULL) < 0 || cli_owner_call(d, &q, &a, &v, NULL) < 0)
            break; /* that there is none is the message */
        yyjson_arr_foreach(yyjson_obj_get(v, "data"), i, n, one)
        {
            try_one(&g, wj_text_at(one, "id"));
            all++;
        }
        last = wj_text_at(v, "last_id");
    } while (last.n && all < CLI_THREADS_TRIED && yyjson_is_true(yyjson_obj_get(v, "has_more")));
    return end(&g, r, err);
}
