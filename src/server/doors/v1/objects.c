/* server/doors/v1/objects.c — writes and reads threads, messages and runs of the Assistants API. */
#include "server/doors/v1/objects.h"

#include "dialects/assistants/objects.h"
#include "json/value.h"
#include "server/doors/objects/message.h"

int sv_write_message(struct wj_writer *w, struct wb_arena *a, struct wb_uuid thread, const struct wl_line *line,
                     const char *why, struct upp_err *err)
{
    const struct upp_message *m = &line->entry.message;
    bool assistant = m->role == UPP_ROLE_ASSISTANT;
    yyjson_val *metadata;
    int r = asst_stored(a, m->metadata, &metadata, err);
    if (r < 0)
        return r;
    const struct asst_message shown = {
        .id = line->id,
        .thread = thread,
        .run = line->run,
        .assistant = line->entry.who,
        .from_assistant = assistant,
        .created_ms = m->time_ms,
        .completed_ms = m->interrupted ? 0 : m->time_ms,
        .incomplete_ms = m->interrupted ? m->time_ms : 0,
        .status = m->interrupted ? "incomplete" : "completed",
        .reason = m->interrupted ? why : NULL,
        .content = m,
        .metadata = sv_member(metadata, UPP_STR(SV_MESSAGE_METADATA)),
    };
    asst_message_write(w, &shown);
    return 0;
}

const char *sv_run_status(const struct wr_run_info *look)
{
    return asst_status(&look->run, look->n_pending);
}

int sv_write_run(struct wj_writer *w, struct wb_arena *a, const struct wr_run_info *look, struct upp_err *err)
{
    return asst_run_write(w, a, &look->run, look->pending, look->n_pending, err);
}
