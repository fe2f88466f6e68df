/* support/decode/agentapi.c — see agentapi.h. */
#include "support/decode/agentapi.h"

#include "dialects/core/lift.h"
#include "dialects/core/writer.h"
#include "json/read.h"

static int list_of(struct wd_aap_decoder *d, yyjson_val **ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_DOC_BYTES);
    struct wj_writer                      w;
    wj_writer_init(&w, &b, err);
    wd_aap_decoded_write(&w, d);
    int r = wj_writer_check(&w);
    if (r < 0)
        return r;
    return wj_read(d->a, wb_buf_str(&b), UPP_OPTS(wj_read_opts, .max_bytes = WD_DOC_BYTES, .depth = WD_DOC_DEPTH), ret,
                   err);
}

static int turn_add(struct wd_aap_decoder *d, struct wm_doc *doc, struct upp_str agent, int64_t now_ms,
                    struct upp_err *err)
{
    size_t              at = doc->turns.n, first = doc->entries.n;
    struct wd_lifting   l    = {.a = d->a, .doc = doc, .agent = agent, .now_ms = now_ms};
    int                 r    = list_of(d, &l.root, err);
    struct wm_doc_turn *turn = r < 0 ? NULL : wm_doc_turn_add(doc, err);
    if (!turn)
        return r < 0 ? r : -err->code;
    r = wd_aap_lift(&l, l.root, err);
    wd_lifting_done(&l);
    turn = &doc->turns.p[at];
    if (r >= 0 && doc->entries.n > first) {
        turn->agent = doc->entries.p[first].agent;
        if (turn->agent == WM_NO_AGENT)
            r = wd_agent_of(&l, (struct upp_str){0}, (struct upp_str){0}, &turn->agent, err);
        turn->has_usage = d->has_usage;
        turn->usage     = d->usage;
        turn->reasoning = d->reasoning;
    } else
        doc->turns.n = at;
    return r;
}

int wd_aap_decode_end(struct wd_aap_decoder *d, struct wm_doc *doc, struct upp_str agent, int64_t now_ms,
                      struct upp_err *err)
{
    wd_aap_decoder_end(d);
    if (d->session.p && !doc->id.p)
        doc->id = d->session;
    return d->messages.n ? turn_add(d, doc, agent, now_ms, err) : 0;
}
