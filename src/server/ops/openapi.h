/* server/ops/openapi.h — the OpenAPI 3.1 document of a server.
 *
 * The route tables say which routes there are; openapi.json, which is inside the program, says what each of them means.
 * A unit test (openapi_describes_every_route) fails if a route has no description, or a description no route.
 */
#pragma once

#include "server/http/route.h"

/* Writes the document for these doors (ends with NULL). keys: the server has API keys. -UPP_EBUG: a route has no
 * description; the message names it. */
int sv_openapi_write(const struct sv_door *const *doors, bool keys, struct wb_buf *out,
                     struct upp_err *err) UPP_MUST_CHECK;

/* -UPP_EBUG: a description has no route; the message names it. */
int sv_openapi_check(const struct sv_door *const *doors, struct upp_err *err) UPP_MUST_CHECK;
