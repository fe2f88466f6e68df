/* server/doors/aitp/routes.c — the table of what AITP adds to /v1, and the agents' cards. */
#include "server/doors/aitp/routes.h"

#include "base/defs.h"
#include "server/doors/objects/find.h"

static const struct sv_route rows[] = {
    {SV_GET, "/v1/threads/{t}/actors", sv_aitp_list_actors, 0, 0},
    {SV_POST, "/v1/threads/{t}/actors", sv_aitp_add_actor, 0, 0},
    {SV_DELETE, "/v1/threads/{t}/actors/{actor}", sv_aitp_remove_actor, 0, 0},
    {SV_GET, "/v1/threads/{t}/capabilities", sv_aitp_list_capabilities, 0, 0},
    {SV_GET, "/v1/threads/{t}/requests", sv_aitp_list_requests, 0, SV_ROUTE_LARGE},
    {SV_POST, "/v1/threads/{t}/subthread", sv_aitp_make_subthread, 0, 0},
    {SV_GET, "/v1/threads/{t}/audit", sv_aitp_audit, 0, SV_ROUTE_LARGE},
};
const struct sv_door sv_door_aitp = {.name = "aitp",
                                     .prefix = "/v1/",
                                     .routes = rows,
                                     .n_routes = WB_LEN(rows),
                                     .home = sv_home_of_path,
                                     .stream = "assistants",
                                     .agents = true};

static const struct sv_route cards[] = {{SV_GET, "/agents/{agent}", sv_aitp_card, 1, 0}};
const struct sv_door sv_door_agents = {
    .name = "agents", .prefix = "/agents/", .routes = cards, .n_routes = WB_LEN(cards)};
