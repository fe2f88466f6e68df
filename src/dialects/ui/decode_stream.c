/* dialects/ui/decode_stream.c — a recorded UI message stream as a document. */
#include <inttypes.h>

#include "base/err.h"
#include "dialects/core/convert.h"
#include "dialects/ui/decode.h"
#include "dialects/ui/doc.h"
#include "json/read.h"
#include "json/value.h"

/* The chunk of a line; empty: another line of Server-Sent Events, or none at all. */
static struct upp_str chunk_of(struct upp_str line)
{
    line = wb_str_trim(line);
    if (wb_str_starts(line, UPP_STR("data:")))
        return wb_str_trim(wb_str_sub(line, 5, SIZE_MAX));
    return line.n && line.p[0] == '{' ? line : (struct upp_str){0};
}

bool wd_ui_is_stream(struct upp_str lines)
{
    static const char *const firsts[] = {"start", "start-step", "text-start", "reasoning-start"};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WD_DOC_MEMORY);
    struct upp_str line, first = {0};
    yyjson_val *v;
    while (!first.n && wb_str_split(&lines, '\n', &line))
        first = chunk_of(line);
    if (!first.n || wj_read(&a, first, UPP_OPTS(wj_read_opts, .max_bytes = WD_UI_CHUNK), &v, NULL) < 0)
        return false;
    struct upp_str type = wj_text_at(v, "type");
    for (size_t i = 0; i < WB_LEN(firsts); i++)
        if (wb_str_eq(type, wb_cstr(firsts[i])))
            return true;
    return false;
}

static int decode_lines(struct wd_ui_decoder *d, struct upp_str lines, int64_t now_ms, struct upp_err *err)
{
    struct upp_str line;
    for (uint64_t number = 1; wb_str_split(&lines, '\n', &line); number++) {
        struct upp_str chunk = chunk_of(line);
        int r = chunk.n ? wd_ui_decode(d, chunk, now_ms, err) : 0;
        if (r < 0)
            return upp_wrap(err, r, "line %" PRIu64, number);
    }
    return wd_ui_decode_end(d, err);
}

/* A stream says when its events were, and of nothing else: what came before an event is no later. */
static void order_times(struct wm_doc *doc)
{
    for (uint32_t i = doc->entries.n; i-- > 1;) {
        struct upp_message *before = &doc->entries.p[i - 1].e.message;
        before->time_ms = WB_MIN(before->time_ms, doc->entries.p[i].e.message.time_ms);
    }
}

int wd_ui_stream_document(struct upp_str lines, struct upp_str agent, int64_t now_ms, struct wb_buf *out,
                          size_t *skipped, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WD_DOC_MEMORY);
    WB_CLEANUP(wm_doc_done) struct wm_doc doc = {0};
    struct wd_ui_decoder d;
    wd_ui_decoder_init(&d, &doc, &a, agent);
    int r = decode_lines(&d, lines, now_ms, err);
    if (r >= 0 && !doc.entries.n)
        r = upp_fail(err, UPP_EINVALID, "there is no message in the stream");
    order_times(&doc);
    *skipped = d.skipped;
    wd_ui_decoder_done(&d);
    return r < 0 ? r : wd_doc_write(&doc, &wd_document_ui, NULL, out, NULL, err);
}
