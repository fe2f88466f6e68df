/* envelope/adapter.c — adapters of model families: which one, the prompt of an envelope, the envelope of an input. */
#include "base/err.h"
#include "base/utf8.h"
#include "dialects/envelope/write.h"
#include "envelope/template.h"
#include "json/value.h"

const struct we_adapter *we_adapter_for(const struct we_adapters *set, struct upp_str model)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct we_adapter *one = &set->list[i];
        for (size_t k = 0; k < one->n_match; k++)
            if (we_glob(one->match[k], model))
                return one;
        if (!one->n_match)
            return one;
    }
    return NULL;
}

const struct we_adapter *we_adapter_named(const struct we_adapters *set, struct upp_str name)
{
    for (size_t i = 0; i < set->n; i++)
        if (wb_str_eq(set->list[i].name, name))
            return &set->list[i];
    return NULL;
}

int we_template_check(struct upp_str template, struct upp_err *err)
{
    if (template.n > WE_MAX_TEMPLATE)
        return upp_fail(err, UPP_ELIMIT, "a template has more than %d bytes", WE_MAX_TEMPLATE);
    return we_template_write(template, NULL, false, NULL, err);
}

static int fill(struct wb_arena *a, struct upp_str template, const struct we_envelope *e, bool strict,
                struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(WE_MAX_PROMPT);
    int r = we_template_write(template, e, strict, &out, err);
    if (r < 0)
        return r;
    *ret = wb_arena_dup(a, wb_buf_str(&out));
    return wb_arena_check(a, err);
}

int we_prompt(struct wb_arena *a, const struct we_adapter *adapter, const struct we_envelope *e, bool strict,
              struct we_prompt *ret, struct upp_err *err)
{
    struct we_prompt p = {.system = UPP_STR("")};
    int r = adapter->system.n ? fill(a, adapter->system, e, strict, &p.system, err) : 0;
    if (r >= 0)
        r = fill(a, adapter->user, e, strict, &p.user, err);
    if (r >= 0)
        *ret = p;
    return r;
}

static void give_input(const struct we_adapter *adapter, const struct we_raw *raw, struct we_draft *d)
{
    struct upp_str user = raw->user.p ? raw->user : UPP_STR("");
    if (adapter->input == WE_INPUT_DATA) {
        d->task = user;
        d->type = UPP_STR("json");
        d->data = raw->data && !yyjson_is_null(raw->data) ? raw->data : NULL;
        d->data_json = d->data ? (struct upp_str){0} : UPP_STR("{}");
        d->text = raw->strict || d->data ? (struct upp_str){0} : UPP_STR("object");
        return;
    }
    d->task = wb_str_sub(user, 0, wb_utf16_cut(user, WD_ENVELOPE_TASK));
    d->type = UPP_STR("text");
    d->text = user;
    if (adapter->input == WE_INPUT_SYSTEM)
        d->context = raw->system.p ? raw->system : UPP_STR("");
}

int we_to_envelope(struct wb_arena *a, const struct we_adapter *adapter, const struct we_raw *raw, struct upp_str *ret,
                   struct upp_err *err)
{
    struct we_draft d = {.role = UPP_STR("agent"),
                         .agent_id = adapter->agent_id,
                         .agent_name = adapter->agent_name,
                         .model = adapter->model.n ? adapter->model : raw->model,
                         .now_ms = raw->now_ms,
                         .intent = we_intent_name(adapter->intent),
                         .trace = raw->trace,
                         .bare = raw->strict};
    give_input(adapter, raw, &d);
    if (!raw->strict)
        d.task = wd_envelope_filled(d.task, "(nothing)");
    return we_write(a, &d, ret, err);
}
