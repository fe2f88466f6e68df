/* bench/bench_upp.c — what the step interface costs: one streamed delta beside a loop over the raw text. */
#include <stdlib.h>
#include <string.h>
#include <upp/model.h>

#include "base/buf.h"
#include "bench.h"

enum { TEXT = 64 * 1024, DELTA = 16 };

static struct upp_model *model;
static char text[TEXT];
static struct upp_request request;

/* The least that hands out slices of a text: a place and a length, seen by somebody. */
static void raw_slices(unsigned n)
{
    struct upp_str s;
    for (size_t i = 0, at = 0; i < n; i++, at = at + DELTA == TEXT ? 0 : at + DELTA) {
        s = (struct upp_str){text + at, DELTA};
        bench_keep(&s);
    }
}

static void streamed_deltas(unsigned n)
{
    struct upp_step_event ev;
    struct upp_err err;
    while (n > 0) {
        struct upp_step *step;
        int r = upp_step_open(model, &request, NULL, &step, &err);
        if (r < 0)
            abort();
        while (n > 0 && (r = upp_step_next(step, &ev, &err)) > 0) {
            n -= ev.kind == UPP_STEP_DELTA;
            bench_keep(&ev);
        }
        if (r < 0)
            abort();
        upp_step_close(step);
    }
}

/* A whole call with one short answer: open, four events, close. */
static void short_calls(unsigned n)
{
    static const struct upp_part part = {.kind = UPP_PART_TEXT, .text = {"hello", 5}};
    struct upp_part parts[] = {part};
    const struct upp_message m = {.role = UPP_ROLE_USER, .parts = parts, .n_parts = 1};
    const struct upp_message *const list[] = {&m};
    const struct upp_request req = {.messages = list, .n_messages = 1};
    UPP_CLEANUP(upp_model_freep) struct upp_model *echo = NULL;
    struct upp_step_event ev;
    if (upp_scripted_new((struct upp_str){0}, &echo, NULL) < 0)
        abort();
    for (unsigned i = 0; i < n; i++) {
        UPP_CLEANUP(upp_step_closep) struct upp_step *step = NULL;
        if (upp_step_open(echo, &req, NULL, &step, NULL) < 0)
            abort();
        while (upp_step_next(step, &ev, NULL) > 0)
            bench_keep(&ev);
    }
}

int main(void)
{
    struct wb_buf script = WB_BUF(1u << 20);
    struct upp_err err;
    memset(text, 'x', sizeof text);
    wb_buf_addf(&script, "{\"delta_bytes\":%d,\"replies\":[{\"parts\":[{\"text\":\"%.*s\"}]}]}", DELTA, TEXT, text);
    if (wb_buf_check(&script, &err) < 0 || upp_scripted_new(wb_buf_str(&script), &model, &err) < 0)
        return fprintf(stderr, "bench_upp: %s\n", err.msg), 1;
    BENCH(.name = "streamed delta", .product = streamed_deltas, .floor = raw_slices, .times = 200000, .goal_ns = 50);
    BENCH(.name = "short call of a model", .product = short_calls, .times = 20000);
    upp_model_free(model);
    wb_buf_done(&script);
    return 0;
}
