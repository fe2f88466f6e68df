/* server/doors/assistants.h — assistants: the agents of the configuration, and those that clients have stored.
 *
 * A stored one is a value of its tenant: settings that become the options of every run it is asked for. A run keeps
 * those it was started with, so that changing or deleting an assistant disturbs no run.
 */
#pragma once

#include <yyjson.h>

#include "json/write.h"
#include "run/engine.h"
#include "server/http/route.h"

#define SV_ASSISTANTS    "assistants"     /* the space of the records, by the hex digits of their ids */
#define SV_ASSISTANT_IDS "assistants.ids" /* the same names alone, for lists */

enum { SV_ASSISTANTS_MAX = 1000 /* stored ones of a tenant */, SV_ASSISTANT_BYTES = 2 << 20 /* of a record */ };

struct sv_assistant {
    struct upp_str id;    /* "asst_" + 32 hex digits; of an agent its name */
    int64_t created_ms;   /* of an agent 0 */
    yyjson_val *record;   /* its settings as the client gave them; NULL: it is an agent */
    struct upp_str agent; /* the agent's name; empty: it is stored */
    struct upp_str user;  /* who made it, and may change it; empty: a client without a user, or nobody knows */
};

/* By id: a stored one, or an agent by its name or its own id (asst_ and hex digits). All of it is in the arena.
 * -UPP_ENOTFOUND: there is none, or it is another tenant's. */
WEFT_SUSPENDS int sv_assistant_find(struct sv_exchange *x, struct upp_str id, struct wb_arena *a,
                                    struct sv_assistant *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Sets the settings of one to those of a record that is to be stored. */
int sv_assistant_read(struct sv_exchange *x, struct upp_str record, struct sv_assistant *ret,
                      struct upp_err *err) UPP_MUST_CHECK;

/* Stores a new one with this record. -UPP_EREFUSED: the tenant has as many as it may. */
WEFT_SUSPENDS int sv_assistant_add(struct sv_exchange *x, struct upp_str record, struct sv_assistant *ret,
                                   struct upp_err *err) UPP_MUST_CHECK;

/* Replaces the record of a stored one, or drops it. */
WEFT_SUSPENDS int sv_assistant_set(struct sv_exchange *x, const struct sv_assistant *s, struct upp_str record,
                                   struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int sv_assistant_drop(struct sv_exchange *x, const struct sv_assistant *s,
                                    struct upp_err *err) UPP_MUST_CHECK;

/* The ids of all: agents in the order of the configuration, then stored ones in the order of their creation. */
WEFT_SUSPENDS int sv_assistant_ids(struct sv_exchange *x, struct upp_str **ret, size_t *n,
                                   struct upp_err *err) UPP_MUST_CHECK;

/* Resolves run->agent, an assistant's id: afterwards it is the name that the engine knows, and run->options, those of
 * the request, are completed by the settings of a stored one. An unknown id is left to the engine unless it has the
 * form of a stored one's: -UPP_ENOTFOUND. */
WEFT_SUSPENDS int sv_assistant_start(struct sv_exchange *x, struct wr_start *run, struct upp_err *err) UPP_MUST_CHECK;

/* The object of the API. */
void sv_assistant_write(struct wj_writer *w, const struct sv_exchange *x, const struct sv_assistant *s);
