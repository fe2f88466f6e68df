/* fuzz/fuzz_script.c — scripts and what they make of a short talk: every call ends, within the step's invariants, whole
 * characters at a time, and the same question gets the same answer. */
#include <stdlib.h>
#include <upp/model.h>

#include "base/utf8.h"
#include "fuzz/fuzz.h"

enum { CALLS = 6, EVENTS = 1 << 16 };

/* Waits cost nothing. */
static int no_sleep(void *arg, uint64_t ms, struct upp_err *err)
{
    (void)arg, (void)err;
    REQUIRE(ms <= 3600000);
    return 0;
}

static uint64_t mix(uint64_t hash, struct upp_str s)
{
    for (size_t i = 0; i < s.n; i++)
        hash = (hash ^ (unsigned char)s.p[i]) * 0x100000001b3;
    return hash * 31 + s.n;
}

/* A hash of all that one call says; its metadata comes out too. */
static uint64_t ask(const struct upp_model *m, const struct upp_request *req, struct upp_str *metadata)
{
    static const struct upp_wait wait = {.size = sizeof wait, .sleep_ms = no_sleep};
    struct upp_step *step = NULL;
    struct upp_step_event ev;
    struct upp_err err = {0};
    uint64_t hash = 0;
    int r = upp_step_open(m, req, &wait, &step, &err);
    for (unsigned n = 0; r >= 0 && n < EVENTS && (r = upp_step_next(step, &ev, &err)) > 0; n++) {
        hash = hash * 31 + ev.kind * 7 + ev.part;
        if (ev.kind == UPP_STEP_DELTA)
            REQUIRE(ev.text.n > 0 && wb_wtf8_valid(ev.text, NULL));
        if (ev.kind == UPP_STEP_END)
            *metadata = ev.metadata; /* of the model, not of the step */
        hash = mix(mix(mix(hash, ev.text), ev.name), ev.data);
    }
    REQUIRE(r >= 0 || (r != -UPP_EBUG && err.code == -r));
    if (r < 0 && req->attempt)
        REQUIRE_SHOWN(err.msg);
    upp_step_close(step);
    return r < 0 ? hash + (unsigned)-r : hash;
}

FUZZ(script)
{
    struct upp_model *m = NULL;
    struct upp_err err;
    struct upp_message messages[CALLS + 1];
    const struct upp_message *list[CALLS + 1];
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("the weather in Tokyo")};
    if (upp_scripted_new(in, &m, &err) < 0) {
        REQUIRE(!m);
        REQUIRE_SHOWN(err.msg);
        REQUIRE_SHOWN(err.where);
        return;
    }
    messages[0] = (struct upp_message){.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    for (unsigned i = 0; i < CALLS; i++) {
        struct upp_str metadata = {0};
        struct upp_request req = {.messages = list, .n_messages = i + 1, .attempt = i % 3};
        list[i] = &messages[i];
        uint64_t first = ask(m, &req, &metadata);
        REQUIRE(ask(m, &req, &metadata) == first);
        messages[i + 1] = (struct upp_message){.role = UPP_ROLE_ASSISTANT, .metadata = metadata};
    }
    upp_model_free(m);
}
