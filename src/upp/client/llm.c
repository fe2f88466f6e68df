/* upp/client/llm.c — a model bound to its options: copied once, checked once. */
#include "base/err.h"
#include "base/opts.h"
#include "json/read.h"
#include "upp/client/talk.h"

enum { LLM_BYTES = 64 << 20, TOOLS = 4096 };

int upp__llm_refuse(const struct upp_llm *llm, struct upp_err *err, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int r = wb_vfail(err, UPP_EINVALID, fmt, args);
    va_end(args);
    if (err && llm->model) {
        size_t n = WB_MIN(strlen(llm->model->ops->provider), sizeof err->provider - 1);
        memcpy(err->provider, llm->model->ops->provider, n);
        err->provider[n] = 0;
    }
    return r;
}

static bool can(const struct upp_llm *llm, uint32_t what)
{
    return !llm->model->can || llm->model->can & what;
}

static int lacks(const struct upp_llm *llm, const char *what, struct upp_err *err)
{
    return upp__llm_refuse(llm, err, "model '%.*s' does not support %s", UPP_FMT(llm->model->name), what);
}

int upp__llm_may(const struct upp_llm *llm, bool stream, struct upp_err *err)
{
    if (stream && !can(llm, UPP_CAN_STREAM))
        return lacks(llm, "streaming", err);
    if (llm->n_tools && !can(llm, UPP_CAN_TOOLS))
        return lacks(llm, "tools", err);
    if (llm->structure.p && !can(llm, UPP_CAN_STRUCTURE))
        return lacks(llm, "structured output", err);
    return 0;
}

/* Checks only messages of users, as UPP does. */
int upp__llm_may_send(const struct upp_llm *llm, const struct upp_message *m, struct upp_err *err)
{
    static const struct {
        uint32_t can;
        const char *what;
    } media[] = {[UPP_PART_IMAGE] = {UPP_CAN_IMAGES, "image input"},
                 [UPP_PART_DOCUMENT] = {UPP_CAN_DOCUMENTS, "document input"},
                 [UPP_PART_AUDIO] = {UPP_CAN_AUDIO, "audio input"},
                 [UPP_PART_VIDEO] = {UPP_CAN_VIDEO, "video input"}};
    const uint32_t all = UPP_CAN_IMAGES | UPP_CAN_DOCUMENTS | UPP_CAN_AUDIO | UPP_CAN_VIDEO;
    if (m->role != UPP_ROLE_USER || !llm->model->can || (llm->model->can & all) == all)
        return 0;
    for (size_t i = 0; i < m->n_parts; i++) {
        uint8_t kind = m->parts[i].kind;
        if (kind < WB_LEN(media) && media[kind].what && !can(llm, media[kind].can))
            return lacks(llm, media[kind].what, err);
    }
    return 0;
}

/* Copies the JSON of an object; NULL: empty. */
static int copy_object(struct upp_llm *llm, const char *what, const char *json, struct upp_str *ret,
                       struct upp_err *err)
{
    struct wj_syntax seen;
    struct upp_str text = wb_str_trim(wb_cstr(json));
    if (!json)
        return 0;
    int r = wj_syntax(text, WJ_MAX_DEPTH, &seen, err);
    if (r < 0)
        return upp_wrap(err, r, "%s", what);
    if (text.p[0] != '{')
        return upp__llm_refuse(llm, err, "%s: expected an object", what);
    *ret = wb_arena_dup(&llm->arena, text);
    return wb_arena_check(&llm->arena, err);
}

static const char *copy_text(struct upp_llm *llm, const char *text)
{
    return wb_arena_dup(&llm->arena, wb_cstr(text)).p;
}

static int copy_tool(struct upp_llm *llm, const struct upp_tool *from, struct upp_err *err)
{
    struct upp_tool *to = &llm->tools[llm->n_tools];
    struct upp_tool_spec *spec = &llm->specs[llm->n_tools];
    if (!from->name || !from->name[0])
        return upp__llm_refuse(llm, err, "tool %zu has no name", llm->n_tools);
    if (!from->run)
        return upp__llm_refuse(llm, err, "tool '%s' has nothing to run", from->name);
    for (size_t i = 0; i < llm->n_tools; i++)
        if (strcmp(llm->tools[i].name, from->name) == 0)
            return upp__llm_refuse(llm, err, "there are two tools called '%s'", from->name);
    int r = upp__parameters(&llm->arena, wb_cstr(from->parameters), &spec->parameters, err);
    if (r >= 0)
        r = copy_object(llm, "metadata", from->metadata, &spec->metadata, err);
    if (r < 0)
        return upp_wrap(err, r, "tool '%s'", from->name);
    *to = *from;
    to->name = copy_text(llm, from->name);
    to->description = from->description ? copy_text(llm, from->description) : NULL;
    to->parameters = spec->parameters.p;
    to->metadata = spec->metadata.p;
    spec->name = wb_cstr(to->name);
    spec->description = to->description ? wb_cstr(to->description) : UPP_STR("");
    llm->n_tools++;
    return wb_arena_check(&llm->arena, err);
}

static int copy_opts(struct upp_llm *llm, const struct upp_llm_opts *o, struct upp_err *err)
{
    if (o->n_tools > TOOLS)
        return upp_fail(err, UPP_ELIMIT, "more than %d tools", TOOLS);
    llm->strategy = o->strategy;
    llm->system = wb_arena_dup(&llm->arena, wb_cstr(o->system));
    llm->tools = wb_new_n(&llm->arena, struct upp_tool, o->n_tools ? o->n_tools : 1);
    llm->specs = wb_new_n(&llm->arena, struct upp_tool_spec, o->n_tools ? o->n_tools : 1);
    int r = wb_arena_check(&llm->arena, err);
    if (r >= 0)
        r = copy_object(llm, "params", o->params, &llm->params, err);
    if (r >= 0)
        r = copy_object(llm, "structure", o->structure, &llm->structure, err);
    for (size_t i = 0; r >= 0 && i < o->n_tools; i++)
        r = copy_tool(llm, &o->tools[i], err);
    return r < 0 ? r : upp__llm_may(llm, false, err);
}

int upp_llm_new(const struct upp_llm_opts *given, struct upp_llm **ret, struct upp_err *err)
{
    struct upp_llm_opts opts;
    struct wb_arena a = WB_ARENA(LLM_BYTES);
    wb_opts(&opts, sizeof opts, given);
    if (!opts.use && !opts.model.provider)
        return upp_fail(err, UPP_EINVALID, "an llm needs a model");
    struct upp_llm *llm = wb_new(&a, struct upp_llm);
    if (!llm)
        return wb_arena_check(&a, err);
    llm->arena = a;
    llm->model = opts.use;
    llm->owned = !opts.use;
    int r = opts.use ? 0 : upp_model_new(opts.model, &llm->model, err);
    if (r >= 0)
        r = copy_opts(llm, &opts, err);
    if (r < 0) {
        upp_llm_free(llm);
        return r;
    }
    *ret = llm;
    return 0;
}

void upp_llm_free(struct upp_llm *llm)
{
    if (!llm)
        return;
    if (llm->owned)
        upp_model_free(llm->model);
    struct wb_arena a = llm->arena; /* contains the llm itself */
    wb_arena_done(&a);
}

void upp_llm_freep(struct upp_llm **llm)
{
    upp_llm_free(*llm);
}

const struct upp_model *upp_llm_model(const struct upp_llm *llm)
{
    return llm->model;
}
