/* dialects/aitp/aitp.c — AITP threads: where their members are, which state follows which, and the dialect's table of
 * functions. */
#include "dialects/aitp/aitp.h"

#include "dialects/aitp/capabilities.h"
#include "json/value.h"

struct upp_str wd_aitp_actor(yyjson_val *message)
{
    struct upp_str actor = wj_text_at(yyjson_obj_get(message, "metadata"), "actor");
    return actor.p ? actor : wj_text_at(message, "actor");
}

yyjson_val *wd_aitp_actors(yyjson_val *thread)
{
    yyjson_val *list = yyjson_obj_get(yyjson_obj_get(thread, "metadata"), "actors");
    if (!yyjson_is_arr(list))
        list = yyjson_obj_get(thread, "actors");
    return yyjson_is_arr(list) ? list : NULL;
}

struct upp_str wd_aitp_parent(yyjson_val *thread)
{
    struct upp_str parent = wj_text_at(yyjson_obj_get(thread, "metadata"), "parent_id");
    return parent.p ? parent : wj_text_at(thread, "parent_id");
}

struct upp_str wd_aitp_creator(yyjson_val *thread)
{
    yyjson_val *m;
    size_t i, n;
    yyjson_arr_foreach(wd_last_at(thread, "messages"), i, n, m)
    {
        struct upp_str actor = wd_aitp_actor(m);
        if (actor.p && wb_str_eq(wj_text_at(m, "role"), UPP_STR("user")))
            return actor;
    }
    return (struct upp_str){0};
}

struct upp_str wd_aitp_text(yyjson_val *item)
{
    struct upp_str none = {0};
    if (item && yyjson_is_str(item))
        return wj_text(item);
    if (!wb_str_eq(wj_text_at(item, "type"), UPP_STR("text")))
        return none;
    struct upp_str text = wj_text_at(item, "text");
    return text.p ? text : wj_text_at(yyjson_obj_get(item, "text"), "value");
}

/* By the actors; else by the first message: OpenAI's messages have a member `object`, AITP's do not. */
static int detect(yyjson_val *root)
{
    yyjson_val *messages = wd_last_at(root, "messages"), *first = yyjson_arr_get_first(messages);
    yyjson_val *metadata = yyjson_obj_get(root, "metadata");
    if (!yyjson_is_arr(messages) || yyjson_obj_get(root, "object"))
        return 0;
    /* A thread of the server with members has them in its metadata in every dialect. */
    bool own = !first || yyjson_obj_get(first, "created_at") || yyjson_obj_get(first, "thread_id") ||
               wd_aitp_actor(first).p || wj_text_at(first, "role").p;
    if (own && yyjson_is_arr(yyjson_obj_get(metadata, "actors")))
        return 3;
    if (!wj_text_at(first, "role").p || !yyjson_obj_get(first, "content") || yyjson_obj_get(first, "object"))
        return wd_aitp_actors(root) || yyjson_obj_get(metadata, "parent_id") ? 2 : 0;
    return wd_aitp_actors(root) || wd_aitp_actor(first).p || wj_text_at(first, "thread_id").p ? 2 : 0;
}

const struct wd_document_ops wd_document_aitp = {.name = "aitp",
                                                 .title = "AITP thread",
                                                 .detect = detect,
                                                 .validate = wd_aitp_validate,
                                                 .half = WD_ERROR,
                                                 .half_rule = "AITP-2",
                                                 .lift = wd_aitp_lift,
                                                 .lower = wd_aitp_lower};

/* The state after a move. What is not in the table is not allowed, and changes nothing. */
static const uint8_t after[WD_AITP_STATES][WD_AITP_MOVES] = {
    [WD_AITP_OPEN] = {[WD_AITP_ASKED_AGAIN] = WD_AITP_SUPERSEDED,
                      [WD_AITP_DECIDES] = WD_AITP_DECIDED,
                      [WD_AITP_ANSWERS] = WD_AITP_ANSWERED},
    [WD_AITP_QUOTED] = {[WD_AITP_IS_PAID] = WD_AITP_PAID, [WD_AITP_EXPIRES] = WD_AITP_EXPIRED},
    [WD_AITP_PAID] =
        {[WD_AITP_PENDS] = WD_AITP_PENDING, [WD_AITP_SUCCEEDS] = WD_AITP_SUCCESS, [WD_AITP_FAILS] = WD_AITP_FAILURE},
    [WD_AITP_PENDING] =
        {[WD_AITP_PENDS] = WD_AITP_PENDING, [WD_AITP_SUCCEEDS] = WD_AITP_SUCCESS, [WD_AITP_FAILS] = WD_AITP_FAILURE},
    [WD_AITP_EXPIRED] = {[WD_AITP_FAILS] = WD_AITP_FAILURE}, /* the merchant says that the late payment failed */
};

uint8_t wd_aitp_after(uint8_t state, enum wd_aitp_move move)
{
    return state < WD_AITP_STATES && move < WD_AITP_MOVES ? after[state][move] : 0;
}

const char *wd_aitp_state_name(uint8_t state)
{
    static const char *const names[WD_AITP_STATES] = {
        "", "open", "decided", "answered", "superseded", "quoted", "paid", "pending", "success", "failure", "expired",
    };
    return state < WD_AITP_STATES ? names[state] : "";
}
