/* remote/model.c — see remote.h. */
#include "base/opts.h"
#include "remote/remote.h"
#include "upp/providers/vendors.h"

const char *const rm_protocols[] = {"agentapi", NULL};

static const struct upp__provider providers[] = {
    {"agentapi", NULL, &rm_agentapi, NULL, NULL, UPP__KEY_OPTIONAL, 0},
};

int rm_model_new(const char *protocol, const char *name, const struct upp_provider_opts *opts, struct upp_model **ret,
                 struct upp_err *err)
{
    (void)protocol;
    int r = upp__model_new(&providers[0], (struct upp_model_ref){protocol, name, opts}, ret, err);
    if (r == 0)
        (*ret)->once = true;
    return r;
}
