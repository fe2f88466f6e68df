/* dialects/core/usage.c — writes, reads and sums the usage of replies. */
#include "dialects/core/usage.h"

#include "dialects/core/lift.h"
#include "model/event.h"

const struct wd_usage_member wd_usage_upp[] = {
    {.name = "inputTokens", .at = WD_USAGE_OF(input)},
    {.name = "outputTokens", .at = WD_USAGE_OF(output)},
    {.name = "cacheReadTokens", .at = WD_USAGE_OF(cache_read)},
    {.name = "cacheWriteTokens", .at = WD_USAGE_OF(cache_write)},
    {.name = "reasoningTokens", .at = WD_USAGE_OF(reasoning), .if_any = true},
    {0},
};

void wd_usage_write(struct wj_writer *w, const struct wd_usage_member *table, const struct upp_usage *u)
{
    wj_write_open(w, '{');
    for (const struct wd_usage_member *m = table; m->name; m++) {
        uint64_t n = u->input + u->output;
        if (m->at != WD_USAGE_TOTAL)
            memcpy(&n, (const char *)u + m->at, sizeof n);
        if (m->if_any && !n)
            continue;
        if (m->within)
            wj_put_open(w, m->within, '{');
        wj_put_u64(w, m->name, n);
        if (m->within)
            wj_write_close(w, '}');
    }
    wj_write_close(w, '}');
}

bool wd_usage_read(yyjson_val *v, const struct wd_usage_member *table, struct upp_usage *to)
{
    if (!yyjson_is_obj(v))
        return false;
    *to = (struct upp_usage){0};
    for (const struct wd_usage_member *m = table; m->name; m++) {
        uint64_t n = wd_number_at(m->within ? yyjson_obj_get(v, m->within) : v, m->name);
        if (!n && m->other)
            n = wd_number_at(v, m->other);
        if (m->at != WD_USAGE_TOTAL)
            memcpy((char *)to + m->at, &n, sizeof n);
    }
    return true;
}

bool wd_usage_of_replies(const struct wd_lowering *l, uint32_t first, uint32_t n, struct upp_usage *sum)
{
    bool has = false;
    *sum = (struct upp_usage){0};
    for (uint32_t i = first; i < first + n; i++) {
        const struct wm_reply_info *s = &wd_entry_at(l, i)->said;
        if (!s->has_usage)
            continue;
        has = true;
        wm_usage_add(sum, &s->usage);
    }
    return has;
}

bool wd_usage_of_turn(const struct wd_lowering *l, const struct wm_doc_turn *t, struct upp_usage *sum)
{
    if (!t->has_usage)
        return wd_usage_of_replies(l, t->first, t->n, sum);
    *sum = t->usage;
    return true;
}
