/* server/http/body.h — the JSON body of a request: members by name, and errors that point to them.
 *
 * A member that is null counts as absent. Members that the route does not know are accepted, because clients send more
 * than we have, and named in the header `weft-ignored` of the response.
 */
#pragma once

#include <yyjson.h>

#include "server/http/route.h"

struct sv_body {
    yyjson_val *root; /* an object; NULL: there was no body */
};

/* `known`: the members that the route reads; ends with NULL. Duplicate members are an error. -UPP_EINVALID: not JSON,
 * not an object, too deep or too long. */
int sv_body_read(struct sv_exchange *x, const char *const *known, struct sv_body *ret,
                 struct upp_err *err) UPP_MUST_CHECK;

/* A member of an object (NULL: it has none), or NULL. */
yyjson_val *sv_member(yyjson_val *object, struct upp_str name);

/* Fails and points to `at`. */
int sv_body_wrong(const struct sv_body *b, const yyjson_val *at, struct upp_err *err, const char *fmt, ...)
    UPP_PRINTF(4, 5);

/* 1: present; 0: absent; -UPP_EINVALID: of another type, with its pointer in the error. */
int sv_body_str(const struct sv_body *b, yyjson_val *object, struct upp_str name, struct upp_str *ret,
                struct upp_err *err) UPP_MUST_CHECK;
int sv_body_bool(const struct sv_body *b, yyjson_val *object, struct upp_str name, bool *ret,
                 struct upp_err *err) UPP_MUST_CHECK;
int sv_body_object(const struct sv_body *b, yyjson_val *object, struct upp_str name, yyjson_val **ret,
                   struct upp_err *err) UPP_MUST_CHECK;
int sv_body_array(const struct sv_body *b, yyjson_val *object, struct upp_str name, yyjson_val **ret,
                  struct upp_err *err) UPP_MUST_CHECK;

/* A value as text, in the arena. NULL: empty. */
int sv_body_text(struct wb_arena *a, yyjson_val *v, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;
