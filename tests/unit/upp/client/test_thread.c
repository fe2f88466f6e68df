#include <upp/upp.h>

#include "base/defs.h"
#include "base/uuid.h"
#include "support/llm.h"
#include "support/test.h"

static struct upp_str text_of(const struct upp_message *m)
{
    return m && m->n_parts ? m->parts[0].text : (struct upp_str){0};
}

/* covers: UPP-5/1 */
TEST(thread_takes_messages_and_gives_them_back)
{
    struct upp_err err = {0};
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *t = NULL, *tail = NULL, *slice = NULL;
    struct wb_uuid id;
    size_t n;
    CHECK(upp_thread_new(&t, &err) >= 0);
    CHECK(wb_uuid_parse(upp_thread_id(t), &id) && wb_uuid_version(id) == 4);
    char text[] = "one";
    CHECK(upp_thread_user(t, wb_cstr(text), &err) >= 0);
    text[0] = 'X'; /* it was copied */
    CHECK(upp_thread_assistant(t, UPP_STR("two"), &err) >= 0);
    CHECK(upp_thread_user(t, UPP_STR("three"), &err) >= 0);
    const struct upp_message *list = upp_thread_messages(t, &n);
    CHECK_INT(n, 3);
    CHECK_STR(text_of(&list[0]), UPP_STR("one"));
    CHECK(list[0].id.n == WB_UUID_TEXT && list[0].time_ms > 0 && list[1].time_ms >= list[0].time_ms);
    CHECK(upp_thread_created_ms(t) <= upp_thread_updated_ms(t));
    const struct upp_message *m = upp_thread_filter(t, NULL, UPP_ROLE_USER);
    CHECK(m == &list[0]);
    m = upp_thread_filter(t, m, UPP_ROLE_USER);
    CHECK(m == &list[2] && !upp_thread_filter(t, m, UPP_ROLE_USER));
    CHECK(upp_thread_tail(t, 2, &tail, &err) >= 0);
    CHECK(!wb_str_eq(upp_thread_id(tail), upp_thread_id(t)));
    list = upp_thread_messages(tail, &n);
    CHECK_INT(n, 2);
    CHECK_STR(text_of(&list[0]), UPP_STR("two"));
    upp_thread_clear(t);
    (void)upp_thread_messages(t, &n);
    CHECK_INT(n, 0);
    CHECK(upp_thread_append(t, &(struct upp_turn){.messages = list, .n_messages = 2}, &err) >= 0);
    CHECK(upp_thread_slice(t, 1, INT64_MAX, &slice, &err) >= 0);
    list = upp_thread_messages(slice, &n);
    CHECK_INT(n, 1);
    CHECK_STR(text_of(list), UPP_STR("three"));
}

/* thread.push(...thread.messages): what is pushed may be its own. */
/* covers: UPP-5/1 */
TEST(thread_takes_its_own_messages)
{
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *t = NULL;
    const struct upp_message *list;
    size_t n;
    CHECK_INT(upp_thread_new(&t, NULL), 0);
    CHECK_INT(upp_thread_user(t, UPP_STR("one"), NULL), 0);
    CHECK_INT(upp_thread_assistant(t, UPP_STR("two"), NULL), 0);
    for (size_t had = 2; had < 64; had *= 2) {
        list = upp_thread_messages(t, &n);
        CHECK_INT(n, had);
        CHECK_INT(upp_thread_push(t, list, n, NULL), 0);
    }
    list = upp_thread_messages(t, &n);
    for (size_t i = 0; i < n; i++)
        CHECK_STR(list[i].parts[0].text, i % 2 ? UPP_STR("two") : UPP_STR("one"));
}

/* covers: UPP-5/2 */
TEST(thread_slices_as_javascript_does)
{
    static const struct {
        int64_t start, end;
        const char *want;
    } rows[] = {{0, INT64_MAX, "abcde"},
                {1, 3, "bc"},
                {-2, INT64_MAX, "de"},
                {0, -1, "abcd"},
                {-3, -1, "cd"},
                {3, 1, ""},
                {9, 12, ""},
                {-9, 2, "ab"},
                {INT64_MIN, INT64_MIN, ""},
                {INT64_MIN, INT64_MAX, "abcde"}};
    struct upp_err err = {0};
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *t = NULL, *none = NULL;
    size_t n;
    CHECK(upp_thread_new(&t, &err) >= 0);
    for (size_t i = 0; i < 5; i++)
        CHECK(upp_thread_user(t, wb_str(&"abcde"[i], 1), &err) >= 0);
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        UPP_CLEANUP(upp_thread_freep) struct upp_thread *s = NULL;
        test_note("row %zu", i);
        CHECK(upp_thread_slice(t, rows[i].start, rows[i].end, &s, &err) >= 0);
        const struct upp_message *list = upp_thread_messages(s, &n);
        CHECK_INT(n, strlen(rows[i].want));
        for (size_t k = 0; k < n; k++)
            CHECK_STR(text_of(&list[k]), wb_str(rows[i].want + k, 1));
    }
    CHECK(upp_thread_tail(t, 0, &none, &err) >= 0);
    (void)upp_thread_messages(none, &n);
    CHECK_INT(n, 0);
}

/* covers: UPP-5/3 */
TEST(thread_json_keeps_ids_and_times_exactly)
{
    static const char json[] =
        "{\"id\":\"not-a-uuid\",\"messages\":[{\"id\":\"a\",\"type\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
        "\"hi\"}],\"timestamp\":\"2026-02-03T04:05:06Z\"},{\"id\":\"b\",\"type\":\"assistant\",\"content\":[],"
        "\"timestamp\":"
        "\"2026-02-03T04:05:06.007Z\"}],\"createdAt\":\"2026-02-03T04:05:06Z\",\"updatedAt\":\"2026-02-03T04:05:06."
        "123456Z\"}";
    struct upp_err err = {0};
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *t = NULL;
    struct upp_str text = {0};
    CHECK(upp_thread_from_json(wb_cstr(json), &t, &err) >= 0);
    int r = upp_thread_to_json(t, &text, &err);
    bool same = r >= 0 && wb_str_eq(text, wb_cstr(json));
    test_note("%.*s", UPP_FMT(text));
    upp_text_free(text);
    CHECK(same);
    CHECK_INT(upp_thread_updated_ms(t), INT64_C(1770091506123));
    CHECK(upp_thread_user(t, UPP_STR("more"), &err) >= 0);
    CHECK(upp_thread_updated_ms(t) > INT64_C(1770091506123));
    text = (struct upp_str){0};
    r = upp_thread_to_json(t, &text, &err);
    same = r >= 0 && wb_str_find(text, UPP_STR(".123456Z"), 0) == SIZE_MAX &&
           wb_str_find(text, UPP_STR("\"createdAt\":\"2026-02-03T04:05:06Z\""), 0) != SIZE_MAX;
    upp_text_free(text);
    CHECK(same);
}

TEST(thread_json_refuses)
{
    static const char *const bad[] = {
        "[]",
        "{}",
        "{\"id\":1}",
        "{\"id\":\"x\",\"messages\":[]}",
        "{\"id\":\"x\",\"messages\":[],\"createdAt\":\"yesterday\",\"updatedAt\":\"2026-02-03T04:05:06Z\"}",
        "{\"id\":\"x\",\"createdAt\":\"2026-02-03T04:05:06Z\",\"updatedAt\":\"2026-02-03T04:05:06Z\"}",
        "{\"id\":\"x\",\"messages\":[{\"id\":\"a\",\"type\":\"b\",\"content\":[]}],\"createdAt\":\"2026-02-03T04:05:"
        "06Z\","
        "\"updatedAt\":\"2026-02-03T04:05:06Z\"}",
    };
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        struct upp_thread *t = NULL;
        test_note("case %zu", i);
        int r = upp_thread_from_json(wb_cstr(bad[i]), &t, NULL);
        ALWAYS(r < 0 && !t);
        CHECK_INT(r, -UPP_EINVALID);
    }
}

/* covers: UPP-1/1, UPP-5/1 */
TEST(thread_goes_on_turn_after_turn)
{
    struct upp_err err = {0};
    UPP_CLEANUP(upp_model_freep)
    struct upp_model *model =
        llm_script("{\"replies\":[{\"parts\":[{\"text\":\"first\"}]},{\"parts\":[{\"text\":\"second\"}]}]}");
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *t = NULL;
    size_t n;
    CHECK(model && upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model), &llm, &err) >= 0);
    CHECK(upp_thread_new(&t, &err) >= 0);
    for (int i = 0; i < 2; i++) {
        UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
        CHECK(upp_generate(llm, UPP_OPTS(upp_input, .thread = t, .text = UPP_STR("go on")), &turn, &err) >= 0);
        CHECK(upp_thread_append(t, turn, &err) >= 0);
    }
    const struct upp_message *list = upp_thread_messages(t, &n);
    CHECK_INT(n, 4);
    CHECK_STR(text_of(&list[1]), UPP_STR("first"));
    CHECK_STR(text_of(&list[3]), UPP_STR("second"));
}
