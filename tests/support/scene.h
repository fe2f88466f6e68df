/* support/scene.h — a tool and hooks that do as they are told, and write down that they were called. */
#pragma once

#include <upp/upp.h>

#include "base/buf.h"

struct scene {
    int on_call, on_before, approval, run, on_after, on_error; /* what they return; < 0: a failure */
    const char *arguments;                                     /* that on_before puts in */
    const char *after;                                         /* that on_after puts in */
    char room[16];                                             /* of arguments that on_before puts in */
    struct wb_buf log;
};

/* The tool `f`, and the hooks; they are its as long as `sc` is. The log is empty then. */
struct upp_tool scene_tool(struct scene *sc, const char *parameters);
struct upp_tool_strategy scene_hooks(struct scene *sc);

/* A turn of libupp's own loop, "go", with a scripted model. */
int scene_ask(struct scene *sc, const char *parameters, const char *script, struct upp_turn **ret, struct upp_err *err);
