/* cli/doctor/ready.c — weft doctor --ready: is the server of the store ready?
 *
 * It asks over the Unix socket next to the database, so it works whatever the server listens on, and needs neither a
 * key nor a certificate.
 */
#include <stdio.h>

#include "base/err.h"
#include "cli/doctor/doctor.h"
#include "cli/setup.h"
#include "cli/store_owner.h"

enum { READY_MS = 5000 };

WEFT_SUSPENDS static int ask_ready(void *arg, struct upp_err *err)
{
    static const struct cli_request q = {.method = "GET", .path = UPP_STR_INIT("/readyz")};
    WB_CLEANUP(cli_answer_done) struct cli_answer a;
    struct cli_owner *owner = arg;
    cli_answer_init(&a);
    WEFT_DEADLINE(READY_MS);
    int r = cli_owner_find(owner, err);
    if (r >= 0)
        r = cli_owner_ask(owner, &q, &a, err);
    if (r >= 0)
        r = cli_read_body(&a, err);
    if (r < 0)
        return r;
    (void)printf("%.*s\n", UPP_FMT(wb_buf_str(&a.raw)));
    return a.status == 200 ? 0 : upp_fail(err, UPP_EBUSY, "the server is not ready");
}

int cli_doctor_ready(const struct cli_command *self, const struct cli_source *from)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *config = NULL;
    struct wrt_location place;
    struct cli_owner owner = {.place = &place};
    struct upp_err err = {0};
    int r = cli_store_find(from, &config, &place, &err);
    if (r >= 0 && !place.driver->owner)
        r = upp_fail(&err, UPP_EINVALID, "a server with a store in memory has no local socket to ask");
    owner.config = config;
    if (r >= 0)
        r = cli_on_loop(ask_ready, &owner, &err);
    cli_owner_done(&owner);
    return r < 0 ? cli_fail(self, &err) : CLI_GOOD;
}
