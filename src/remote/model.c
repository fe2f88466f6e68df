/* remote/model.c — makes the model of a remote agent, by its protocol. */
#include <string.h>

#include "base/defs.h"
#include "base/err.h"
#include "remote/remote.h"
#include "upp/providers/vendors.h"

const char *const rm_protocols[] = {"agentapi", "aitp", "envelopes", NULL};

/* In the same order. */
static const struct upp__provider providers[] = {
    {"agentapi", NULL, &rm_agentapi, NULL, NULL, UPP__KEY_OPTIONAL, 0},
    {"aitp", NULL, &rm_aitp, NULL, NULL, UPP__KEY_OPTIONAL, 0},
    {"envelopes", NULL, &rm_envelopes, NULL, NULL, UPP__KEY_OPTIONAL, 0},
};

int rm_model_new(const char *protocol, const char *name, const struct upp_provider_opts *opts, struct upp_str actor,
                 struct upp_model **ret, struct upp_err *err)
{
    size_t i = 0;
    while (i < WB_LEN(providers) && strcmp(providers[i].name, protocol) != 0)
        i++;
    if (i == WB_LEN(providers))
        return upp_fail(err, UPP_EINVALID, "no protocol '%s'", protocol);
    int r = upp__model_new(&providers[i], (struct upp_model_ref){protocol, name, opts}, ret, err);
    if (r < 0)
        return r;
    (*ret)->once = true;
    r = upp__model_set_own(*ret, actor, err);
    if (r < 0)
        upp_model_free(WB_TAKE(*ret));
    return r;
}
