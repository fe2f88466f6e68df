/* examples/uap/session_persistence.c — saves a session as JSON and continues it later (UAP 6.3). */
#include "stand_ins.h"
#include <weft/session.h>

static const char script[] =
    JSON({
    "replies": [
        {"when": {"contains": "Begin"}, "parts": [{"text": "Begun."}]},
        {"when": {"contains": "Continue"}, "parts": [{"text": "Gone on."}]}
    ]
});

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *sess = NULL, *restored = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn          *began = NULL, *turn = NULL;
    struct weft_agent                                    *coder;
    struct upp_str                                        saved = {0};

    int r = weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .model = stand_in(script)), &coder, err);
    if (r < 0 || (r = weft_session_new(coder, NULL, &sess, err)) < 0 ||
        (r = weft_session_run(sess, UPP_STR("Begin"), &began, err)) < 0)
        return r;

    /* Save the JSON anywhere. */
    r = weft_session_to_json(sess, &saved, err);
    if (r < 0)
        return r;

    /* Later. */
    r = weft_session_from_json(coder, saved, NULL, &restored, err);
    upp_text_free(saved);
    if (r < 0 || (r = weft_session_run(restored, UPP_STR("Continue from before"), &turn, err)) < 0)
        return r;
    printf("%s %s\n", upp_turn_text(began), upp_turn_text(turn));
    return 0;
}

int main(void)
{
    return run_example(example);
}
