/* dialects/core/streams.c — the stream encoders by name. */
#include "dialects/core/dialect.h"

/* clang-format off */
static const struct wd_stream_ops *const streams[] = {
    &wd_stream_uap,
    &wd_stream_weft,
    &wd_stream_ui,
    &wd_stream_agentapi,
    &wd_stream_assistants,
    &wd_stream_upp,
    &wd_stream_chat,
    &wd_stream_responses,
    &wd_stream_envelope,
};
/* clang-format on */

const struct wd_stream_ops *wd_stream_at(size_t i)
{
    return i < WB_LEN(streams) ? streams[i] : NULL;
}

const struct wd_stream_ops *wd_stream_find(struct upp_str name)
{
    for (size_t i = 0; i < WB_LEN(streams); i++)
        if (wb_str_eq(name, wb_cstr(streams[i]->name)))
            return streams[i];
    return NULL;
}
