/* examples/mux.c — envelopes between functions: a planner that is unsure, and a reviewer that reflects on its answer.
 */
#include <stdio.h>
#include <weft/weft.h>

static int plan(void *arg, struct upp_str envelope, struct weft_mux_answer *reply, struct upp_err *err)
{
    (void)arg, (void)envelope;
    return weft_mux_reply(
        reply,
        UPP_STR("{\"protocol\":\"multiagent-1.0\",\"content\":{\"type\":\"text\",\"text\":\"Perhaps by "
                "bus.\"},\"confidence\":{\"score\":0.3}}"),
        err);
}

static int reflect(void *arg, struct upp_str envelope, struct weft_mux_answer *reply, struct upp_err *err)
{
    (void)arg;
    printf("to reflect on: %.*s\n", UPP_FMT(envelope));
    return weft_mux_reply(reply, UPP_STR("Take the train."), err);
}

int main(void)
{
    static const struct weft_mux_rule rules[]  = {{.intent = "plan", .fn = plan, .model = "small"},
                                                  {.intent = "reflect", .fn = reflect, .model = "large"}};
    static const struct upp_str       question = UPP_STR_INIT(
              "{\"protocol\":\"multiagent-1.0\",\"role\":\"user\",\"timestamp\":\"2026-01-02T03:04:05Z\",\"intent\":"
                    "\"plan\",\"task\":\"Get to Bonn\",\"content\":{\"type\":\"text\",\"text\":\"How do I get to Bonn?\"}}");
    struct upp_err   err    = {0};
    struct weft_mux *mux    = NULL;
    struct upp_str   answer = {0};
    int              r      = weft_mux_new(rules, 2, UPP_OPTS(weft_mux_opts, .doubt = 0.5), &mux, &err);
    if (r >= 0)
        r = weft_mux_route(mux, question, &answer, &err);
    if (r >= 0)
        printf("answer: %s\n", answer.p);
    else
        (void)fprintf(stderr, "%s: %s\n", upp_code_name(r), err.msg);
    upp_text_free(answer);
    weft_mux_free(mux);
    return r < 0;
}
