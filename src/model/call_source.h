/* model/call_source.h — where the tool of a call comes from: metadata.weft of the call's part.
 *
 * {"weft": {"source": "mcp", "server": "library"}}. A call without it is one of an ordinary tool of the server. The
 * engine adds it when a call begins. Dialects that tell such calls apart read it, live and in exports; the others carry
 * it like the metadata of a provider.
 */
#pragma once

#include <upp/message.h>

#include <yyjson.h>

#include "base/arena.h"

enum wm_tool_source {
    WM_TOOL_PLUGIN,    /* an ordinary tool of the server */
    WM_TOOL_CLIENT,    /* the client runs it */
    WM_TOOL_MCP,       /* of an MCP server */
    WM_TOOL_COMPONENT, /* of a component */
};

struct wm_call_source {
    uint8_t source;        /* enum wm_tool_source */
    struct upp_str server; /* MCP: the label of the server; NULL: none */
};

WB_EXPORT_BEGIN

/* Writes it as metadata; *ret is empty for a PLUGIN. */
int wm_call_source_write(struct wb_arena *a, struct wm_call_source source, struct upp_str *ret,
                         struct upp_err *err) UPP_MUST_CHECK;

/* Reads it; metadata without a known source, or NULL, is a PLUGIN. `server` is in the metadata, or in the arena. */
struct wm_call_source wm_call_source_of(yyjson_val *metadata);

/* The same, of its member `weft`. */
struct wm_call_source wm_call_source_in(yyjson_val *weft);

int wm_call_source_read(struct wb_arena *a, struct upp_str metadata, struct wm_call_source *ret,
                        struct upp_err *err) UPP_MUST_CHECK;

/* Adds the metadata `source`, written as above, to that of a provider; each may be empty. A source in `provider` is
 * dropped. */
int wm_call_source_join(struct wb_arena *a, struct upp_str provider, struct upp_str source, struct upp_str *ret,
                        struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END
