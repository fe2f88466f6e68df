/* Secrets in what models and tools say: nobody receives them, and nothing has them that is stored. */
#include <string.h>
#include <upp/upp.h>

#include "base/defs.h"
#include "base/mask.h"
#include "support/llm.h"
#include "support/round.h"
#include "support/scene.h"

WB_DEFINE_CLEANUP(struct wb_hidden, wb_unhide)

#define REST   "0123456789abcdef"
#define KEY    "sk-proj-" REST
#define CODED  "\\\\u0073k-proj-0123\\\\u0034567\\\\u00389abcdef"
#define SCRIPT ROUND_SCRIPT
#define REPLY  ROUND_REPLY
#define TEXT   ROUND_TEXT

#define TALKS                                                                                                          \
    "{\"delta_bytes\":3,\"replies\":[{\"parts\":[{\"reasoning\":\"I read " KEY "\"},{\"text\":\"It is " KEY            \
    ", or sk-pro\"},{\"tool_call\":{\"id\":\"c1\",\"name\":\"f\",\"arguments\":\"{\\\"k\\\":\\\"x " CODED              \
    "\\\"}\"}}]},{\"parts\":[{\"text\":\"done\"}]}]}"

static int says(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    struct wb_buf *out = call->arg;
    wb_buf_add(out, call->arguments);
    int r = wb_buf_check(out, err);
    return r < 0 ? r : upp_value_json(ret, UPP_STR("{\"said\":\"\\u0073k-proj-" REST "\",\"n\":1}"), err);
}

static WEFT_SUSPENDS int tells(struct round *round, struct upp_err *err)
{
    struct wb_buf *out = round->arg;
    TRY(round_turn(round, err));
    return round_story(round, out, err);
}

TEST(masked_in_what_models_and_tools_say)
{
    struct upp_err err = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf story = WB_BUF(1u << 20), got = WB_BUF(4096);
    WB_CLEANUP(wb_unhidep) struct wb_hidden *h = NULL;
    const struct wr_tool tools[] = {{.spec = ROUND_SPEC("f"), .base = {.name = "f", .run = says, .arg = &got}}};
    UPP_CLEANUP(round_done)
    struct round run = {.script = TALKS, .tools = tools, .n_tools = 1, .act = tells, .arg = &story};
    CHECK_INT(wb_hide(UPP_STR(KEY), &h, &err), 0);
    CHECK_INT(round_play(&run, &err), 0);
    CHECK_INT(run.result, 0);
    test_note("%.*s", UPP_FMT(wb_buf_str(&story)));
    CHECK_STR(wb_buf_str(&got), UPP_STR("{\"k\":\"x ***\"}"));
    CHECK(wb_str_find(wb_buf_str(&story), UPP_STR("89abcdef"), 0) == SIZE_MAX);
    CHECK_STR(run.turn->messages[1].parts[0].text, UPP_STR("I read ***"));
    CHECK_STR(run.turn->messages[1].parts[1].text, UPP_STR("It is ***, or sk-pro"));
    CHECK_STR(run.turn->messages[2].parts[0].text, UPP_STR("{\"said\":\"***\",\"n\":1}"));
}

/* A reader that is there while the model speaks: the text of its deltas, part by part. */
static WEFT_SUSPENDS int listen_live(struct round *round, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct wb_buf *out = round->arg;
    struct wr_started s;
    struct wm_event ev;
    int r;
    TRY(rig_start(&round->rig, "main", "hello", NULL, &s, err));
    TRY(wr_reader_open(round->rig.engine, &rig_owner, s.run, NULL, &rd, err));
    while ((r = wr_reader_next(rd, true, &ev, err)) > 0) {
        if (ev.kind == WM_PART_OPEN)
            wb_buf_addc(out, '|');
        if (ev.kind == WM_DELTA)
            wb_buf_add(out, ev.part.text);
    }
    return r < 0 ? r : wb_buf_check(out, err);
}

TEST(masked_in_deltas_as_they_leave)
{
    struct upp_err err = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf live = WB_BUF(4096), got = WB_BUF(4096);
    WB_CLEANUP(wb_unhidep) struct wb_hidden *h = NULL;
    const struct wr_tool tools[] = {{.spec = ROUND_SPEC("f"), .base = {.name = "f", .run = says, .arg = &got}}};
    UPP_CLEANUP(round_done)
    struct round run = {.script = TALKS, .tools = tools, .n_tools = 1, .act = listen_live, .arg = &live};
    CHECK_INT(wb_hide(UPP_STR(KEY), &h, &err), 0);
    CHECK_INT(round_play(&run, &err), 0);
    CHECK_STR(wb_buf_str(&live), UPP_STR("|I read ***|It is ***, or sk-pro|{\"k\":\"x ***\"}|done"));
}

TEST(masked_in_libupps_own_loop)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    WB_CLEANUP(wb_unhidep) struct wb_hidden *h = NULL;
    struct upp_err err = {0};
    struct scene sc = {.on_before = 1, .approval = 1};
    CHECK_INT(wb_hide(UPP_STR(KEY), &h, &err), 0);
    int r = scene_ask(&sc, NULL, TALKS, &turn, &err);
    WB_CLEANUP(wb_buf_done) struct wb_buf log = sc.log;
    CHECK_INT(r, 0);
    CHECK_STR(turn->messages[1].parts[1].text, UPP_STR("It is ***, or sk-pro"));
    CHECK_STR(turn->messages[1].parts[2].text, UPP_STR("{\"k\":\"x ***\"}"));
    CHECK_INT(turn->n_executions, 1);
    CHECK_STR(turn->executions[0].arguments, UPP_STR("{\"k\":\"x ***\"}"));
}

/* What might have become one, and did not because the answer broke off, is in the message. */
TEST(masked_text_is_not_lost_where_it_breaks_off)
{
    struct upp_err err = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf story = WB_BUF(1u << 20);
    WB_CLEANUP(wb_unhidep) struct wb_hidden *h = NULL;
    UPP_CLEANUP(round_done)
    struct round run = {
        .script = "{\"delta_bytes\":3,\"replies\":[{\"parts\":[{\"text\":\"It is sk-pro\"}],\"error\":{\"code\":"
                  "\"INVALID_REQUEST\",\"after\":4}}]}",
        .act = tells,
        .arg = &story};
    CHECK_INT(wb_hide(UPP_STR(KEY), &h, &err), 0);
    int r = round_play(&run, &err);
    test_note("%d %d %.*s", r, run.result, UPP_FMT(wb_buf_str(&story)));
    CHECK(r != -UPP_ENOMEM);
    CHECK_INT(run.result, -UPP_EINVALID);
    CHECK(wb_str_find(wb_buf_str(&story), UPP_STR("It is sk-pro"), 0) != SIZE_MAX);
}
