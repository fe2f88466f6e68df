/* weft/agentapi.h: a message of the Agent API under construction, as a C program builds it. */
#include <weft/weft.h>

#include "base/defs.h"
#include "base/str.h"
#include "support/test.h"

static void free_text(struct upp_str *s)
{
    upp_text_free(*s);
}

#define TEXT(t) UPP_STR("{\"object\":\"content\",\"type\":\"text\",\"text\":\"" t "\",\"delta\":true}")
#define DATA(d) UPP_STR("{\"type\":\"data\",\"data\":" d "}")

/* covers: AAP-16/1 */
TEST(agentapi_message_is_built_of_deltas_and_contents)
{
    UPP_CLEANUP(weft_agentapi_message_freep) struct weft_agentapi_message *m = NULL;
    WB_CLEANUP(free_text) struct upp_str out = {0};
    struct upp_err err;
    CHECK(weft_agentapi_message_new(UPP_OPTS(weft_agentapi_message_opts, .id = "msg_1"), &m, &err) == 0);
    CHECK(weft_agentapi_message_add_delta_content(m, 0, TEXT("Hel"), &err) == 0);
    CHECK(weft_agentapi_message_add_delta_content(m, 0, TEXT("lo"), &err) == 0);
    CHECK(weft_agentapi_message_content_completed(m, 0, &err) == 0);
    CHECK(weft_agentapi_message_add_content(m, DATA("{\"n\":1}"), &err) == 0);
    CHECK(weft_agentapi_message_add_delta_content(m, 2, DATA("{\"l\":[1],\"n\":1}"), &err) == 0);
    CHECK(weft_agentapi_message_add_delta_content(m, 2, DATA("{\"l\":[2],\"n\":2}"), &err) == 0);
    CHECK(weft_agentapi_message_end(m, "completed", &err) == 0);
    CHECK(weft_agentapi_message_json(m, &out, &err) == 0);
    CHECK_STR(out, UPP_STR("{\"object\":\"message\",\"status\":\"completed\",\"id\":\"msg_1\",\"type\":\"message\","
                           "\"role\":\"assistant\",\"content\":["
                           "{\"object\":\"content\",\"status\":\"completed\",\"type\":\"text\",\"text\":\"Hello\"},"
                           "{\"object\":\"content\",\"status\":\"completed\",\"type\":\"data\",\"data\":{\"n\":1}},"
                           "{\"object\":\"content\",\"status\":\"completed\",\"type\":\"data\","
                           "\"data\":{\"l\":[1,2],\"n\":3}}]}"));
}

/* covers: AAP-16/2 */
TEST(agentapi_message_refuses_what_cannot_be)
{
    UPP_CLEANUP(weft_agentapi_message_freep) struct weft_agentapi_message *m = NULL;
    WB_CLEANUP(free_text) struct upp_str was = {0}, is = {0};
    struct upp_err err;
    CHECK(weft_agentapi_message_new(NULL, &m, &err) == 0);
    CHECK_INT(weft_agentapi_message_add_delta_content(m, 1, TEXT("x"), &err), -UPP_EINVALID); /* not the next one */
    CHECK_INT(weft_agentapi_message_content_completed(m, 0, &err), -UPP_EINVALID);            /* never begun */
    CHECK_INT(weft_agentapi_message_add_content(m, UPP_STR("[]"), &err), -UPP_EINVALID);
    CHECK_INT(weft_agentapi_message_add_content(m, UPP_STR("{\"text\":\"x\"}"), &err), -UPP_EINVALID);
    CHECK_INT(weft_agentapi_message_end(m, "in_progress", &err), -UPP_EINVALID);
    CHECK_INT(weft_agentapi_message_end(m, NULL, &err), -UPP_EINVALID);
    CHECK(weft_agentapi_message_add_delta_content(m, 0, TEXT("x"), &err) == 0);
    CHECK_INT(weft_agentapi_message_add_delta_content(m, 0, DATA("{}"), &err), -UPP_EINVALID); /* of another type */
    CHECK(weft_agentapi_message_content_completed(m, 0, &err) == 0);
    CHECK(weft_agentapi_message_json(m, &was, &err) == 0 &&
          wb_str_find(was, UPP_STR("\"in_progress\""), 0) != SIZE_MAX);
    CHECK_INT(weft_agentapi_message_add_delta_content(m, 0, TEXT("y"), &err), -UPP_EINVALID); /* after its end */
    CHECK_INT(weft_agentapi_message_content_completed(m, 0, &err), -UPP_EINVALID);
    CHECK(weft_agentapi_message_json(m, &is, &err) == 0);
    CHECK_STR(is, was); /* what is refused changes nothing */
    CHECK(weft_agentapi_message_end(m, "canceled", &err) == 0);
    CHECK_INT(weft_agentapi_message_add_content(m, TEXT("y"), &err), -UPP_EINVALID);
    CHECK_INT(weft_agentapi_message_end(m, "completed", &err), -UPP_EINVALID);
    weft_agentapi_message_free(NULL);
}

/* covers: AAP-16/2 */
TEST_WITH(agentapi_message_has_limits, .no_torture = "thousands of contents")
{
    UPP_CLEANUP(weft_agentapi_message_freep) struct weft_agentapi_message *m = NULL;
    struct upp_err err;
    int r = 0;
    CHECK(weft_agentapi_message_new(NULL, &m, &err) == 0);
    for (size_t i = 0; r == 0 && i < WEFT_AGENTAPI_CONTENTS; i++)
        r = weft_agentapi_message_add_content(m, TEXT(""), &err);
    CHECK_INT(r, 0);
    CHECK_INT(weft_agentapi_message_add_content(m, TEXT(""), &err), -UPP_ELIMIT);
}
