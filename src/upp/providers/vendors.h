/* upp/providers/vendors.h — the table of providers. */
#pragma once

#include "upp/providers/adapter.h"

struct upp__provider {
    const char *name; /* "groq" */
    const char *api;  /* NULL: the only one */
    const struct upp__adapter *adapter;
    const char *base_url, *env; /* NULL: must be given; needs no key */
    unsigned habits;
    uint32_t cannot; /* of what its adapter can */
};

WB_EXPORT_BEGIN

/* By name and api (NULL: the first of the name). -UPP_EINVALID says what there is. */
int upp__provider_find(const char *name, const char *api, const struct upp__provider **ret,
                       struct upp_err *err) UPP_MUST_CHECK;

/* A model of a provider that need not be in the table: upp_model_new once it has found the row. */
int upp__model_new(const struct upp__provider *p, struct upp_model_ref ref, struct upp_model **ret,
                   struct upp_err *err) UPP_MUST_CHECK;

/* What the adapter of this model finds in upp__vendor.own; it is copied. Before the first call. */
int upp__model_set_own(struct upp_model *m, struct upp_str own, struct upp_err *err) UPP_MUST_CHECK;

/* Where its requests go; empty: a scripted one, or one of the program's own. */
struct upp_str upp__base_url_of(const struct upp_model *m);

WB_EXPORT_END

/* The adapter of a vendor's model; NULL: a scripted one, or one of the program's own. */
const struct upp__adapter *upp__adapter_of(const struct upp_model *m);
