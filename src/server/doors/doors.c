/* server/doors/doors.c — the table of all doors. */
#include "server/doors/doors.h"

#include "server/doors/aitp/routes.h"
#include "server/doors/chat/chat.h"
#include "server/doors/envelopes/routes.h"
#include "server/doors/process/process.h"
#include "server/doors/responses/responses.h"
#include "server/doors/ui/ui.h"
#include "server/doors/v1/routes.h"

const struct sv_door *const sv_doors[] = {&sv_door_chat,
                                          &sv_door_responses,
                                          &sv_door_conversations,
                                          &sv_door_ui,
                                          &sv_door_v1,
                                          &sv_door_aitp,
                                          &sv_door_agents,
                                          &sv_door_keys,
                                          &sv_door_audit,
                                          &sv_door_usage,
                                          &sv_door_process,
                                          &sv_door_envelopes,
                                          NULL};

sv_start_step *const sv_start_steps[] = {sv_envelope_index, NULL};
