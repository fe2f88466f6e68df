/* Configurations of a document's agents: whose prompts they are, which are listed, and how many. */
#include "dialects/core/configuration.h"

#include "base/buf.h"
#include "support/test.h"

static struct wm_residue residue_of(struct upp_str json)
{
    return (struct wm_residue){.dialect = UPP_STR("pydantic"), .slot = UPP_STR("message"), .entries = 1, .json = json};
}

/* A turn of one entry with residue. */
static int add_turn(struct wm_doc *d, uint32_t agent, struct wm_residue *residue, struct upp_err *err)
{
    struct wm_doc_turn *turn = wm_doc_turn_add(d, err);
    struct wm_doc_entry *e = wm_doc_entry_add(d, err);
    if (!turn || !e)
        return err->code ? -err->code : -UPP_ENOMEM;
    turn->agent = agent;
    turn->n = 1;
    e->residue = residue;
    return 0;
}

static int listed(const struct wd_configuration *c, struct wb_buf *out)
{
    out->n = 0;
    for (const struct wd_prompt *p = c->first; p; p = p->next)
        wb_buf_addf(out, "%.*s;", UPP_FMT(p->text));
    return wb_buf_check(out, NULL);
}

TEST(configuration_has_the_prompts_of_the_agent_that_answers)
{
    WB_CLEANUP(wm_doc_done) struct wm_doc d = {0};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 10);
    struct wm_residue r[] = {
        residue_of(UPP_STR("{\"parts\":[\"a\",[\"l\",{\"part_kind\":\"system-prompt\",\"content\":\"One\"}]]}")),
        residue_of(UPP_STR("[\"o\",{\"kind\":0,\"instructions\":[\"k\",\"Two\",7]},{}]")),
        residue_of(UPP_STR("{\"parts\":[\"a\",[\"l\",{\"part_kind\":\"system-prompt\",\"content\":\"Three\"}]]}")),
        residue_of(UPP_STR("{\"instructions\":\"no message\",\"part_kind\":\"text\",\"content\":\"no\"}"))};
    struct wd_configuration *list;
    struct upp_err err = {0};
    uint32_t index;
    CHECK(wm_doc_agent_add(&d, &(struct wm_doc_agent){.id = UPP_STR("a")}, &index, &err) >= 0);
    CHECK(wm_doc_agent_add(&d, &(struct wm_doc_agent){.id = UPP_STR("b"), .prompt = UPP_STR("Own")}, &index, &err) >=
          0);
    CHECK(wm_doc_agent_add(&d, &(struct wm_doc_agent){.id = UPP_STR("c")}, &index, &err) >= 0);
    CHECK(add_turn(&d, WM_NO_AGENT, &r[0], &err) >= 0);
    CHECK(add_turn(&d, WM_NO_AGENT, &r[1], &err) >= 0);
    CHECK(add_turn(&d, 1, &r[1], &err) >= 0);
    CHECK(add_turn(&d, 0, &r[3], &err) >= 0);
    CHECK(add_turn(&d, WM_NO_AGENT, &r[2], &err) >= 0); /* nobody answers: of the last one that did */
    CHECK(wd_configurations_read(&d, &a, &list, &err) >= 0);
    CHECK(listed(&list[0], &out) >= 0);
    CHECK_STR(wb_buf_str(&out), UPP_STR("Three;"));
    CHECK(listed(&list[1], &out) >= 0);
    CHECK_STR(wb_buf_str(&out), UPP_STR("Own;One;Two;")); /* "Two" once */
    CHECK(!list[2].first);
    CHECK(wd_configurations_mark(&d, &err) >= 0);
    CHECK(d.agents.p[0].prompted && d.agents.p[1].prompted && !d.agents.p[2].prompted);
}

TEST(configuration_has_a_limit_of_prompts)
{
    WB_CLEANUP(wm_doc_done) struct wm_doc d = {0};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64 << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(16 << 20);
    struct wd_configuration *list;
    struct upp_err err = {0};
    uint32_t index;
    wb_buf_add(&text, UPP_STR("[0"));
    for (int i = 0; i <= WD_PROMPTS; i++)
        wb_buf_addf(&text, ",{\"part_kind\":\"system-prompt\",\"content\":\"%d\"}", i);
    wb_buf_add(&text, UPP_STR("]"));
    CHECK(wb_buf_check(&text, &err) >= 0);
    struct wm_residue r = residue_of(wb_buf_str(&text));
    CHECK(wm_doc_agent_add(&d, &(struct wm_doc_agent){.id = UPP_STR("a")}, &index, &err) >= 0);
    CHECK(add_turn(&d, 0, &r, &err) >= 0);
    CHECK_INT(wd_configurations_read(&d, &a, &list, &err), -UPP_ELIMIT);
    CHECK(strstr(err.msg, "more than 65536 system prompts"));
}
