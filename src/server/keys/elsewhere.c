/* server/keys/elsewhere.c — passes starts and ends of runs on to the loop that counts them. */
#include "server/keys/elsewhere.h"

#include <stdio.h>

#include "base/hooks.h"
#include "base/log.h"
#include "server/keys/key.h"

struct message {
    const struct wr_quota *here;
    char id[SV_KEY_ID + 1];
    char tenant[SV_TENANT_NAME + 1]; /* of an end */
    bool used;                       /* there is a usage */
    struct upp_usage usage;
};

static struct message *message(const struct sv_elsewhere *e, struct upp_str id)
{
    struct message *m = id.n <= SV_KEY_ID ? wb_calloc(1, sizeof *m) : NULL;
    if (m) {
        m->here = e->here;
        if (id.n)
            memcpy(m->id, id.p, id.n);
    }
    return m;
}

WEFT_SUSPENDS static int admit_here(void *arg, struct upp_err *err)
{
    const struct message *m = arg;
    return m->here->admit(m->here->arg, wb_cstr(m->id), err);
}

WEFT_SUSPENDS static int admit(void *arg, struct upp_str id, struct upp_err *err)
{
    const struct sv_elsewhere *e = arg;
    struct message *m = message(e, id);
    int result = 0;
    if (!m)
        return upp_fail(err, UPP_ENOMEM, "no memory for a start");
    WEFT_SHIELD(WEFT_SHIELD_MAX_MS); /* a start that was counted must know it */
    int r = weft_loop_call(e->loop, "api key", admit_here, m, wb_free, &result, err);
    if (r < 0)
        return r;
    wb_free(m);
    return result;
}

static void leave_here(void *arg)
{
    struct message *m = arg;
    m->here->leave(m->here->arg, wb_cstr(m->tenant), wb_cstr(m->id), m->used ? &m->usage : NULL);
    wb_free(m);
}

static void leave(void *arg, struct upp_str tenant, struct upp_str id, const struct upp_usage *usage)
{
    const struct sv_elsewhere *e = arg;
    struct message *m = message(e, id);
    struct upp_err err = {.code = UPP_ENOMEM, .msg = "no memory"};
    if (m)
        (void)snprintf(m->tenant, sizeof m->tenant, "%.*s", UPP_FMT(tenant));
    if (m && usage) {
        m->used = true;
        m->usage = *usage;
    }
    if (m && weft_loop_post(e->loop, leave_here, m, &err) >= 0)
        return;
    wb_free(m);
    wb_log(WB_ERROR, "the end of a run is not counted for its API key", WB_LS("key", id), WB_LERR(&err));
}

void sv_elsewhere_init(struct sv_elsewhere *e, const struct wr_quota *here, struct weft_loop *loop)
{
    *e = (struct sv_elsewhere){.quota = {.arg = e, .admit = admit, .leave = leave}, .here = here, .loop = loop};
}
