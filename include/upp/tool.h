/* upp/tool.h — tools that the model may call, and what surrounds a call.
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
 * A function that fails (<0) gives the model an error result with err's message.
 */
#ifndef UPP_TOOL_H
#define UPP_TOOL_H

#include <upp/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A result: one JSON value. The last call wins; none at all is null. */
struct upp_value;
UPP_API int upp_value_text(struct upp_value *v, struct upp_str text, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_value_json(struct upp_value *v, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_value_printf(struct upp_value *v, struct upp_err *err, const char *fmt, ...)
    UPP_PRINTF(3, 4) UPP_MUST_CHECK;

/* What was written is an error that the model shall see. */
UPP_API void upp_value_error(struct upp_value *v);

/* What it is now, as JSON; borrowed until it is written again. For on_after. */
UPP_API struct upp_str upp_value_get(const struct upp_value *v);

struct upp_tool;

/* One call, for those who are asked about it. Borrowed for the time of the call. */
struct upp_call {
    const struct upp_tool *tool;
    struct upp_str         id, name;
    struct upp_str         arguments; /* JSON of an object; as on_before changed them, else as the model wrote them */
    void                  *arg;       /* of the tool */
    const struct upp_wait *wait;      /* waits by it end when the turn is cancelled */
};

/* Arguments by name: 0, or -UPP_EINVALID with a sentence that names what is missing or of another type. Texts are
 * borrowed for the call. upp_call_arg: any value as JSON; 1 when it is there, 0 when it is not. */
UPP_API int upp_call_arg_str(struct upp_call *c, const char *name, struct upp_str *ret,
                             struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_call_arg_i64(struct upp_call *c, const char *name, int64_t *ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_call_arg_f64(struct upp_call *c, const char *name, double *ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_call_arg_bool(struct upp_call *c, const char *name, bool *ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_call_arg(struct upp_call *c, const char *name, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

struct upp_tool {
    const char *name, *description;
    const char *parameters; /* JSON Schema of an object, or the short form "{city: string, days?: integer}" */
    const char *metadata;   /* JSON object by provider; NULL: none */
    bool        blocking;   /* takes a while: it runs beside the others of its round, in a thread of its own */
    int (*run)(struct upp_call *call, struct upp_value *ret, struct upp_err *err);
    int (*approval)(struct upp_call *call, struct upp_err *err); /* 1: yes, 0: no, <0: it failed. NULL: yes */
    void       *arg;
    const void *extra; /* of a layer above: libupp does not look at it */
};

#define UPP_TOOL(fn, about, params)                                                                                    \
    {                                                                                                                  \
        .name = #fn, .description = (about), .parameters = (params), .run = (fn)                                       \
    }

/* UPP's toolStrategy: what a program wants to hear of, or to change. Called in the order that docs/llm.md shows. */
struct upp_tool_strategy {
    int   max_iterations; /* rounds of tools; 0: 10; UPP_HAND_BACK: calls are handed back and never run */
    void *arg;
    int (*on_call)(void *arg, struct upp_call *call, struct upp_err *err);
    /* 1: go on; 0: skip it. May set call->arguments; its text is copied. */
    int (*on_before)(void *arg, struct upp_call *call, struct upp_err *err);
    /* May write another result. */
    int (*on_after)(void *arg, struct upp_call *call, struct upp_value *result, struct upp_err *err);
    int (*on_error)(void *arg, struct upp_call *call, const struct upp_err *why, struct upp_err *err);
    int (*on_max_iterations)(void *arg, int max, struct upp_err *err);
};
enum { UPP_HAND_BACK = -1 };

#ifdef __cplusplus
}
#endif
#endif
