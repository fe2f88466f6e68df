#include "upp/client/cover.h"

#include "base/mask.h"
#include "support/test.h"
#include "upp/client/signature.h"

WB_DEFINE_CLEANUP(struct wb_hidden, wb_unhide)
WB_DEFINE_CLEANUP(struct upp__cover, upp__cover_free)

#define KEY "sk-proj-0123456789abcdef"

/* What a vendor has signed was changed: of its metadata only the signature goes, and other secrets. */
TEST(cover_keeps_metadata_of_a_masked_part)
{
    WB_CLEANUP(wb_unhidep) struct wb_hidden *h = NULL;
    WB_CLEANUP(upp__cover_freep) struct upp__cover *v = NULL;
    struct upp_err err;
    struct upp_step_event open = {.kind = UPP_STEP_PART_OPEN, .part_kind = UPP_PART_REASONING};
    struct upp_step_event delta = {.kind = UPP_STEP_DELTA, .text = UPP_STR("I read " KEY " and")};
    struct upp_step_event close = {.kind = UPP_STEP_PART_CLOSE,
                                   .metadata = UPP_STR("{\"x\":{\"signature\":\"c2ln\",\"id\":\"r1\",\"of\":\"" KEY
                                                       "\",\"thoughtSignature\":\"Zz\",\"n\":1.50}}")};
    CHECK_INT(wb_hide(UPP_STR(KEY), &h, &err), 0);
    CHECK_INT(upp__cover_new(false, &v, &err), 0);
    CHECK(v && upp__cover_event(v, &open, &err) == 1);
    CHECK_INT(upp__cover_event(v, &delta, &err), 1);
    CHECK_STR(delta.text, UPP_STR("I read *** and"));
    CHECK_INT(upp__cover_event(v, &close, &err), 1);
    CHECK_STR(close.metadata, UPP_STR("{\"x\":{\"id\":\"r1\",\"of\":\"***\",\"n\":1.50}}"));
}

TEST(cover_keeps_the_signatures_of_what_it_does_not_mask)
{
    static const struct {
        const char *was, *is;
    } cases[] = {
        {"{\"a\":{\"raw\":[{\"thinking\":\"" KEY "\",\"signature\":\"1\"},{\"thinking\":\"b\",\"signature\":\"2\"}]}}",
         "{\"a\":{\"raw\":[{\"thinking\":\"***\"},{\"thinking\":\"b\",\"signature\":\"2\"}]}}"},
        {"{\"a\":{\"text\":\"b\",\"signature\":\"1\"}}", "{\"a\":{\"text\":\"b\",\"signature\":\"1\"}}"},
        {"{\"a\":{\"summary\":[{\"text\":\"" KEY "\"}],\"encrypted_content\":\"1\",\"signature\":\"2\"}}",
         "{\"a\":{\"summary\":[{\"text\":\"***\"}],\"encrypted_content\":\"1\"}}"},
        {"", ""},
    };
    WB_CLEANUP(wb_unhidep) struct wb_hidden *h = NULL;
    WB_CLEANUP(upp__cover_freep) struct upp__cover *v = NULL;
    struct upp_err err;
    CHECK_INT(wb_hide(UPP_STR(KEY), &h, &err), 0);
    CHECK_INT(upp__cover_new(false, &v, &err), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct upp_step_event end = {.kind = UPP_STEP_END, .metadata = wb_cstr(cases[i].was)};
        CHECK(v && upp__cover_event(v, &end, &err) == 1);
        CHECK_STR(end.metadata, wb_cstr(cases[i].is));
    }
}
