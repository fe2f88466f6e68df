/* upp/providers/google_end.c — Google Gemini: how an answer ends, what it cost, and what of it is kept. */
#include "base/defs.h"
#include "base/str.h"
#include "upp/providers/google.h"

enum { MAX_METADATA = 2 * UPP__GOOGLE_MAX_RAW };

static const struct finish {
    const char *word;
    uint8_t     stop;
    uint8_t     code; /* it is no answer */
} finishes[] = {
    {"STOP", UPP_STOP_END, 0},
    {"MAX_TOKENS", UPP_STOP_LENGTH, 0},
    {"CONTINUATION", UPP_STOP_LENGTH, 0}, /* the same request with metadata.google.continuationToken goes on */
    {"SAFETY", UPP_STOP_FILTER, 0},
    {"RECITATION", UPP_STOP_FILTER, 0},
    {"BLOCKLIST", UPP_STOP_FILTER, 0},
    {"PROHIBITED_CONTENT", UPP_STOP_FILTER, 0},
    {"SPII", UPP_STOP_FILTER, 0},
    {"IMAGE_SAFETY", UPP_STOP_FILTER, 0},
    {"IMAGE_PROHIBITED_CONTENT", UPP_STOP_FILTER, 0},
    {"IMAGE_RECITATION", UPP_STOP_FILTER, 0},
    {"MALFORMED_FUNCTION_CALL", 0, UPP_EPROTO},
    {"UNEXPECTED_TOOL_CALL", 0, UPP_EPROTO},
    {"LANGUAGE", UPP_STOP_ERROR, 0},
    {"TOO_MANY_TOOL_CALLS", UPP_STOP_ERROR, 0},
    {"IMAGE_OTHER", UPP_STOP_ERROR, 0},
    {"NO_IMAGE", UPP_STOP_ERROR, 0},
    {"OTHER", UPP_STOP_ERROR, 0},
}; /* what is new: an error */

static struct finish find_finish(struct upp_str word)
{
    for (size_t i = 0; i < WB_LEN(finishes); i++)
        if (wb_str_eq(word, wb_cstr(finishes[i].word)))
            return finishes[i];
    return (struct finish){.stop = word.n ? UPP_STOP_ERROR : UPP_STOP_END};
}

static struct upp_usage count(yyjson_val *u)
{
    return (struct upp_usage){
        .input      = upp__sum(upp__get_u64(u, "promptTokenCount"), upp__get_u64(u, "toolUsePromptTokenCount")),
        .output     = upp__sum(upp__get_u64(u, "candidatesTokenCount"), upp__get_u64(u, "thoughtsTokenCount")),
        .cache_read = upp__get_u64(u, "cachedContentTokenCount"),
        .reasoning  = upp__get_u64(u, "thoughtsTokenCount"),
    };
}

static void put_array(struct wb_buf *b, const char *name, const struct wb_buf *items)
{
    wb_buf_addf(b, "%s\"%s\":[", b->n > 1 ? "," : "", name);
    wb_buf_add(b, wb_buf_str(items));
    wb_buf_addc(b, ']');
}

/* The object under metadata.google. */
static struct upp_str make_metadata(struct upp__reader *r, struct upp__google_own *g, yyjson_val *usage)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(MAX_METADATA);
    struct wj_writer                      w;
    wj_writer_init(&w, &b, NULL);
    wj_write_open(&w, '{');
    wj_put_text(&w, "model", g->model);
    wj_put_text(&w, "stopReason", g->finish);
    wj_put_value(&w, "usage", usage);
    for (size_t i = 0; i < UPP__GOOGLE_EXTRAS; i++)
        if (g->extras[i].p)
            wj_put_raw(&w, upp__google_extra_names[i], g->extras[i].p, g->extras[i].n);
    if (g->minted.n)
        put_array(&b, "minted", &g->minted);
    if (g->odd && g->raw.n)
        put_array(&b, "raw", &g->raw);
    wb_buf_addc(&b, '}');
    int e = wj_writer_check(&w);
    upp__note(r, e);
    return wb_arena_dup(&r->keep, wb_buf_str(&b));
}

int upp__google_finish(struct upp__reader *r, struct upp_err *err)
{
    struct upp__google_own *g     = r->own;
    struct finish           how   = find_finish(g->finish);
    yyjson_val             *usage = NULL;
    int                     e     = 0;
    if (how.code)
        return upp_fail(err, (enum upp_code)how.code, "Google ended with %.*s%s%.*s", UPP_FMT(g->finish),
                        g->extras[UPP__GOOGLE_MESSAGE].n ? ": " : "", UPP_FMT(g->extras[UPP__GOOGLE_MESSAGE]));
    if (g->args && how.stop == UPP_STOP_END) /* else it was cut off, and never was one */
        e = upp__google_end_pieces(r, g, err);
    if (e >= 0 && g->usage.n)
        e = upp__parse(r, wb_buf_str(&g->usage), &usage, err);
    if (e < 0)
        return e;
    if (how.stop == UPP_STOP_FILTER && !r->parts)
        return upp_fail(err, UPP_EFILTERED, "Google held the answer back: %.*s", UPP_FMT(g->finish));
    upp__google_close_part(r, g);
    upp__google_raw_text_ends(r, g);
    usage                  = upp__get(usage, "usageMetadata");
    struct upp_usage total = count(usage);
    upp__say_end(r, how.stop, &total, make_metadata(r, g, usage));
    return upp__check(r, err);
}
