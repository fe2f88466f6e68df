/* upp/providers/vendors.c — every provider there is: who speaks which API, where, and with which habits. */
#include "upp/providers/vendors.h"

#include "base/defs.h"
#include "base/str.h"

enum { NO_MEDIA_BUT_IMAGES = UPP_CAN_DOCUMENTS | UPP_CAN_AUDIO | UPP_CAN_VIDEO };

/* Those of one name stand together; the first of them is the default. */
static const struct upp__provider providers[] = {
    {"anthropic", NULL, &upp__anthropic, "https://api.anthropic.com", "ANTHROPIC_API_KEY", 0, 0},
    {"openai", "responses", &upp__openai_responses, "https://api.openai.com/v1", "OPENAI_API_KEY", 0, 0},
    {"openai", "chat", &upp__openai_chat, "https://api.openai.com/v1", "OPENAI_API_KEY", UPP__DEVELOPER_ROLE, 0},
    {"google", NULL, &upp__google, "https://generativelanguage.googleapis.com", "GOOGLE_API_KEY", 0, 0},
    {"ollama", NULL, &upp__ollama, "http://127.0.0.1:11434", "OLLAMA_API_KEY", UPP__KEY_OPTIONAL, 0},
    {"openrouter", NULL, &upp__openai_chat, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY",
     UPP__REASONING_DETAILS, 0},
    {"xai", NULL, &upp__openai_chat, "https://api.x.ai/v1", "XAI_API_KEY", UPP__REASONING_APART, NO_MEDIA_BUT_IMAGES},
    {"moonshot", NULL, &upp__openai_chat, "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", UPP__REASONING_BACK,
     NO_MEDIA_BUT_IMAGES},
    {"groq", NULL, &upp__openai_chat, "https://api.groq.com/openai/v1", "GROQ_API_KEY", 0, NO_MEDIA_BUT_IMAGES},
    {"cerebras", NULL, &upp__openai_chat, "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", 0, NO_MEDIA_BUT_IMAGES},
    {"deepseek", NULL, &upp__openai_chat, "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", UPP__REASONING_BACK,
     NO_MEDIA_BUT_IMAGES},
    {"vllm", NULL, &upp__openai_chat, NULL, "VLLM_API_KEY", UPP__KEY_OPTIONAL, 0},
    {"llamacpp", NULL, &upp__openai_chat, "http://127.0.0.1:8080/v1", "LLAMACPP_API_KEY", UPP__KEY_OPTIONAL, 0},
    {0},
};

const char *upp_provider_name(size_t i)
{
    if (i == 0)
        return "scripted";
    for (size_t at = 0, seen = 0; providers[at].name; at++) {
        bool again = at && !strcmp(providers[at].name, providers[at - 1].name);
        if (!again && ++seen == i)
            return providers[at].name;
    }
    return NULL;
}

static int unknown(const char *name, const char *api, bool named, struct upp_err *err)
{
    struct wj_list list = {0};
    for (size_t i = 0; !named && upp_provider_name(i); i++)
        wj_list_add(&list, ", ", "'", wb_cstr(upp_provider_name(i)));
    for (size_t i = 0; named && providers[i].name; i++)
        if (!strcmp(providers[i].name, name) && providers[i].api)
            wj_list_add(&list, ", ", "'", wb_cstr(providers[i].api));
    if (!named)
        return upp_fail(err, UPP_EINVALID, "no provider '%s': there are %s", name, list.p);
    return upp_fail(err, UPP_EINVALID, "provider '%s' has no api '%s'%s%s", name, api, list.n ? ": there are " : "",
                    list.p);
}

int upp__provider_find(const char *name, const char *api, const struct upp__provider **ret, struct upp_err *err)
{
    bool named = false;
    for (size_t i = 0; providers[i].name; i++) {
        const struct upp__provider *p = &providers[i];
        if (strcmp(p->name, name))
            continue;
        named = true;
        if (!api || (p->api && !strcmp(p->api, api)))
            return *ret = p, 0;
    }
    return unknown(name, api ? api : "", named, err);
}
