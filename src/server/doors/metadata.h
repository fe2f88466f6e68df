/* server/doors/metadata.h — the metadata and the tool_resources of a request, within OpenAI's limits. */
#pragma once

#include "server/http/body.h"

/* The member `metadata` of an object as text in the arena: 1; 0: absent, *ret is unchanged. Within the limits of
 * sv_metadata_check (server/doors/options.h). */
int sv_metadata_read(const struct sv_body *b, yyjson_val *object, struct wb_arena *a, struct upp_str *ret,
                     struct upp_err *err) UPP_MUST_CHECK;

/* The member `tool_resources` likewise: an object of objects. It is stored and shown; no tool of the server reads it.
 */
enum { SV_RESOURCES_MAX = 64 << 10 };
int sv_resources_read(const struct sv_body *b, yyjson_val *object, struct wb_arena *a, struct upp_str *ret,
                      struct upp_err *err) UPP_MUST_CHECK;
