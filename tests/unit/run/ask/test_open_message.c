/* The open message: deltas that end inside of a character's pair of surrogates. */
#include <string.h>

#include "base/defs.h"
#include "run/engine_state.h"
#include "run/ask/open_message.h"
#include "support/test.h"

#define HIGH "\xed\xa0\xbd" /* U+D83D */
#define LOW  "\xed\xb8\x80" /* U+DE00 */
#define BOTH "\xf0\x9f\x98\x80"

static int say(struct wr_open *o, const char *const *deltas, size_t n, struct upp_err *err)
{
    struct upp_step_event ev = {.kind = UPP_STEP_PART_OPEN, .part_kind = UPP_PART_TEXT};
    int r = wr_open_part(o, &ev, err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = wr_open_delta(o, 0, wb_cstr(deltas[i]), err);
    return r < 0 ? r : wr_open_close(o, 0, (struct upp_str){0}, err);
}

TEST(run_open_joins_halves_of_a_pair)
{
    static const struct {
        const char *deltas[4];
        const char *text;
        uint64_t events; /* with opening and closing */
    } cases[] = {
        {{"a" HIGH, LOW "b"}, "a" BOTH "b", 5},
        {{HIGH, LOW}, BOTH, 3},
        {{HIGH, "b"}, HIGH "b", 4}, /* a half alone stays one */
        {{"a", HIGH}, "a" HIGH, 4},
        {{HIGH, HIGH, LOW}, HIGH BOTH, 4},
        {{LOW, HIGH}, LOW HIGH, 4},
        {{"a" HIGH, "", LOW}, "a" BOTH, 4},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        static struct wr_engine e; /* too large for a frame */
        struct wb_arena a = WB_ARENA(1u << 16);
        struct upp_err err = {0};
        struct wr_open *o = NULL;
        size_t n = 0;
        memset(&e, 0, sizeof e);
        e.opts.max_message = 1000;
        while (n < WB_LEN(cases[i].deltas) && cases[i].deltas[n])
            n++;
        int r = wr_open_new(&e, &a, &o, &err);
        if (r >= 0)
            r = say(o, cases[i].deltas, n, &err);
        test_note("case %zu", i);
        if (EXPECT(r == 0)) {
            (void)test_expect_str(o->entry.message.parts[0].text, wb_cstr(cases[i].text), __FILE__, __LINE__, "text");
            (void)EXPECT(o->tape.events == cases[i].events);
        }
        wr_open_free(&e, o);
        wr_pools_done(&e.pools);
        wb_arena_done(&a);
    }
}
