/* upp/providers/openai_read.c — answers: errors in all their shapes. */
#include "base/str.h"
#include "upp/providers/openai.h"

/* A code may be a text or a number; null is none. */
static struct upp_str get_word(yyjson_val *object, const char *name)
{
    yyjson_val *v = upp__get(object, name);
    return yyjson_is_str(v) || yyjson_is_raw(v) ? wj_text(v) : (struct upp_str){0};
}

static void take(struct upp_str *to, struct upp_str word)
{
    if (word.n)
        *to = word;
}

static void read_error(yyjson_val *e, struct upp__provider_error *t)
{
    take(&t->type, get_word(e, "type"));
    take(&t->code, get_word(e, "code"));
    take(&t->message, upp__get_str(e, "message"));
    take(&t->request_id, upp__get_str(e, "request_id"));
    /* OpenRouter: why a text was refused, and what the provider behind it said. */
    yyjson_val *more = upp__get(e, "metadata");
    if (yyjson_is_arr(upp__get(more, "reasons")))
        t->reason = UPP_STR("moderation");
}

bool upp__openai_error(yyjson_val *v, struct upp__provider_error *ret)
{
    yyjson_val *e = upp__get(v, "error");
    if (yyjson_is_str(e)) {
        take(&ret->message, wj_text(e));
        take(&ret->code, get_word(v, "code"));
        return true;
    }
    if (yyjson_is_obj(e)) {
        read_error(e, ret);
        return true;
    }
    if (wb_str_eq(upp__get_str(v, "object"), UPP_STR("error")) ||
        wb_str_eq(upp__get_str(v, "type"), UPP_STR("error"))) {
        read_error(v, ret);
        if (wb_str_eq(ret->type, UPP_STR("error")))
            ret->type = (struct upp_str){0};
        return true;
    }
    return false;
}

void upp__openai_error_body(yyjson_val *v, struct upp__provider_error *t)
{
    if (!upp__openai_error(v, t))
        read_error(v, t);
}

int upp__openai_fail(const struct upp__provider_error *t, struct upp_err *err)
{
    return upp__provider_fail(t, (struct upp_str){0}, err);
}
