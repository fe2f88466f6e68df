/* upp/tool.h — tools that a model may call, and hooks around a call.
 *
 *     static int get_weather(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
 *     {
 *         struct upp_str city;
 *         int r = upp_call_arg_str(call, "city", &city, err);
 *         return r < 0 ? r : upp_value_printf(ret, err, "18 degrees in %.*s", UPP_FMT(city));
 *     }
 *     ...
 *     struct upp_tool tools[] = {UPP_TOOL(get_weather, "The weather of a city", "{city: string}")};
 *
 * If the function fails (<0), the model receives an error result with err's message.
 */
#pragma once

#include <upp/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a tool: one JSON value. The last write wins; without any it is null. */
struct upp_value;
UPP_API int upp_value_text(struct upp_value *v, struct upp_str text, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_value_json(struct upp_value *v, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_value_printf(struct upp_value *v, struct upp_err *err, const char *fmt, ...)
    UPP_PRINTF(3, 4) UPP_MUST_CHECK;

/* Marks the value as an error result; the model receives it. */
UPP_API void upp_value_error(struct upp_value *v);

/* The current value as JSON; borrowed until the next write. For on_after. */
UPP_API struct upp_str upp_value_get(const struct upp_value *v);

struct upp_tool;

/* One tool call, as tools and hooks see it. Valid during the call. */
struct upp_call {
    const struct upp_tool *tool;
    struct upp_str id, name;
    struct upp_str arguments;    /* JSON object; as the model wrote it unless on_before changed it */
    void *arg;                   /* of the tool */
    const struct upp_wait *wait; /* waits through it end when the turn is cancelled */
};

/* Arguments by name: 0, or -UPP_EINVALID with a message that names the missing argument or the wrong type. Strings are
 * borrowed during the call. upp_call_arg: any value as JSON; returns 1 if it is present, 0 if not. */
UPP_API int upp_call_arg_str(struct upp_call *c, const char *name, struct upp_str *ret,
                             struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_call_arg_i64(struct upp_call *c, const char *name, int64_t *ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_call_arg_f64(struct upp_call *c, const char *name, double *ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_call_arg_bool(struct upp_call *c, const char *name, bool *ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_call_arg(struct upp_call *c, const char *name, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

struct upp_tool {
    const char *name, *description;
    const char *parameters; /* JSON Schema of an object, or the short form "{city: string, days?: integer}" */
    const char *metadata;   /* JSON object keyed by provider; NULL: none */
    bool blocking;          /* blocks: runs on a thread of its own, concurrently with the other calls of its round */
    int (*run)(struct upp_call *call, struct upp_value *ret, struct upp_err *err);
    int (*approval)(struct upp_call *call, struct upp_err *err); /* 1: yes, 0: no, <0: failed. NULL: yes */
    void *arg;
    const void *extra; /* for a layer above libupp, which ignores it */
};

#define UPP_TOOL(fn, about, params)                                                                                    \
    {                                                                                                                  \
        .name = #fn, .description = (about), .parameters = (params), .run = (fn)                                       \
    }

/* UPP's toolStrategy: hooks around tool calls, all optional. docs/llm.md shows the order of the calls. */
struct upp_tool_strategy {
    int max_iterations; /* rounds of tools; 0: 10; UPP_HAND_BACK: calls are returned to the caller and never run */
    void *arg;
    int (*on_call)(void *arg, struct upp_call *call, struct upp_err *err);
    /* 1: continue; 0: skip the call. May set call->arguments; the string is copied. */
    int (*on_before)(void *arg, struct upp_call *call, struct upp_err *err);
    /* May replace the result. */
    int (*on_after)(void *arg, struct upp_call *call, struct upp_value *result, struct upp_err *err);
    int (*on_error)(void *arg, struct upp_call *call, const struct upp_err *why, struct upp_err *err);
    int (*on_max_iterations)(void *arg, int max, struct upp_err *err);
};
enum { UPP_HAND_BACK = -1 };

#ifdef __cplusplus
}
#endif
