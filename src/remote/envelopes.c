/* remote/envelopes.c — a peer that speaks envelopes over HTTP: POST /v1/envelopes, after it was asked for its
 * handshake.
 *
 * The router sends it the request envelope itself, and its answer is the reply. Any other agent's text is put into an
 * envelope of the user, and the text of the answer is what the agent says; the id of that answer is noted, so that the
 * next message continues the exchange there.
 *
 * A peer that announces what it takes is sent nothing else (ENV-8): content of another type becomes its text, and a
 * request for more tokens than it has fails here. A peer without a handshake is sent everything. The same envelope may
 * be sent again: a peer answers a repeated id with what it has recorded.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/utf8.h"
#include "dialects/core/convert.h"
#include "dialects/envelope/envelope.h"
#include "envelope/envelope.h"
#include "model/upp_json.h"
#include "remote/remote.h"
#include "upp/providers/body.h"

#define NAME "envelopes"

enum stage { HANDSHAKE = 0, POST };

struct exchange {
    bool ready;
    uint8_t stage;
    bool routed; /* the input is an envelope */
    bool known;  /* the peer has announced something */
    struct we_peer peer;
    struct rm_session session;
    struct upp_str text; /* the envelope */
};

/* All that the peer has not seen of what users said. */
static struct upp_str new_text(struct wb_arena *a, const struct upp_request *req, const struct rm_session *s)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(UPP__JSON);
    for (size_t i = s->from; i < req->n_messages; i++) {
        if (req->messages[i]->role != UPP_ROLE_USER)
            continue;
        struct upp_str one = wm_message_text(a, req->messages[i]);
        wb_buf_addf(&text, "%s%.*s", text.n ? "\n\n" : "", UPP_FMT(one));
    }
    return wb_arena_dup(a, wb_buf_str(&text));
}

/* An envelope of the user, the same on every attempt: a peer refuses another one with the same id. */
static int wrap(struct wb_arena *a, const struct upp_request *req, struct exchange *e, struct upp_err *err)
{
    struct upp_str text = new_text(a, req, &e->session);
    int64_t when = req->messages[req->n_messages - 1]->time_ms;
    struct upp_str parent = wj_text_at(e->session.note, "id");
    struct we_draft d = {.role = UPP_STR("user"),
                         .now_ms = when ? when : wb_wall_ms(),
                         .intent = UPP_STR("execute"),
                         .task =
                             wd_envelope_filled(wb_str_sub(text, 0, wb_utf16_cut(text, WD_ENVELOPE_TASK)), "(nothing)"),
                         .context = req->system,
                         .type = UPP_STR("text"),
                         .text = text,
                         .trace = {.parents = &parent, .n_parents = parent.n > 0}};
    d.trace.id = rm_message_id(a, &e->session, req->n_messages);
    int r = wb_arena_check(a, err);
    return r < 0 ? r : we_write(a, &d, &e->text, err);
}

static int begin_exchange(struct wb_arena *a, const struct upp_request *req, struct exchange *e, struct upp_err *err)
{
    const struct upp_message *last = req->n_messages ? req->messages[req->n_messages - 1] : NULL;
    if (!last || last->role != UPP_ROLE_USER)
        return upp_fail(err, UPP_EINVALID, "there is no message of a user for the remote agent");
    e->ready = true;
    e->text = wm_message_text(a, last);
    e->routed = wd_envelope_recorded(a, e->text) != NULL;
    int r = rm_session_find(a, NAME, req, &e->session, err);
    if (r >= 0 && !e->routed)
        r = wrap(a, req, e, err);
    return r < 0 ? r : wb_arena_check(a, err);
}

/* The envelope as the peer takes it. */
static int keep_to_handshake(struct wb_arena *a, struct exchange *e, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(UPP__JSON);
    struct we_envelope envelope, text;
    struct wj_writer w;
    const char *why = NULL;
    *ret = e->text;
    int r = e->known ? we_read_any(a, e->text, NULL, &envelope, err) : 0;
    if (r < 0 || !e->known || we_peer_takes(&e->peer, &envelope, &why))
        return r;
    wj_writer_init(&w, &out, err);
    wd_envelope_put_as_text(&w, a, envelope.root);
    r = wj_writer_text(&w, a, ret);
    if (r >= 0)
        r = we_read_any(a, *ret, NULL, &text, err);
    if (r >= 0 && !we_peer_takes(&e->peer, &text, &why))
        r = upp_fail(err, UPP_EINVALID, "the peer cannot be sent this envelope: %s", why);
    return r;
}

static int put_request(const struct upp__vendor *v, const struct upp_request *req, struct exchange *e,
                       struct upp_str key, struct upp__outgoing *out, struct upp_err *err)
{
    struct upp__body b;
    struct upp_str text;
    int r = upp__body_init(&b, v, req, out, "messages", err);
    upp__header(out, "accept", UPP_STR("application/json"));
    if (r >= 0)
        r = upp__put_key(out, v, key.n ? key : (struct upp_str){0}, "bearer", NULL, err);
    if (r < 0)
        return r;
    if (e->stage == HANDSHAKE) {
        out->method = UPP_STR("GET");
        out->url = upp__endpoint(out->arena, v->base_url, UPP_STR("/v1/envelopes/handshake"));
        return upp__body_check(&b);
    }
    upp__header(out, "content-type", UPP_STR("application/json"));
    out->url = upp__endpoint(out->arena, v->base_url, UPP_STR("/v1/envelopes"));
    r = keep_to_handshake(out->arena, e, &text, err);
    if (r < 0)
        return r;
    wj_write_raw(&b.w, text.p, text.n);
    return upp__body_check(&b);
}

static int write_request(const struct upp__vendor *v, const struct upp_request *req, struct upp_str key,
                         struct upp__outgoing *out, struct upp_err *err)
{
    struct exchange e = {0};
    return put_request(v, req, &e, key, out, err);
}

static int write_more(struct upp__reader *r, struct upp_str key, struct upp__outgoing *out, uint64_t *wait_ms,
                      struct upp_err *err)
{
    struct exchange *e = r->own;
    int x = e->ready ? 0 : begin_exchange(&r->keep, r->request, e, err);
    *wait_ms = 0;
    return x < 0 ? x : put_request(r->vendor, r->request, e, key, out, err);
}

/* A peer without a handshake takes everything. */
static bool refused(struct upp__reader *r, int status)
{
    struct exchange *e = r->own;
    if (e->stage != HANDSHAKE || (status != 404 && status != 405 && status != 501))
        return false;
    e->stage = POST;
    return true;
}

static int take_handshake(struct upp__reader *r, struct exchange *e, struct upp_str body, struct upp_err *err)
{
    struct we_envelope h;
    int x = we_read(&r->scratch, body, NULL, &h, err);
    if (x < 0)
        return x == -UPP_ENOMEM ? x : upp_wrap(err, -UPP_EPROTO, "the handshake of the peer");
    e->known = we_is_handshake(&h) && we_peer_read(&h, &e->peer);
    e->stage = POST;
    return 0;
}

static struct upp_str metadata_of(struct upp__reader *r, const struct exchange *e, const struct we_envelope *answer)
{
    struct upp__metadata m;
    char digits[RM_SEEN + 1];
    upp__metadata_begin(&m);
    if (e->session.id.n) {
        upp__metadata_str(&m, "session", e->session.id);
        upp__metadata_str(&m, "seen", rm_seen_text(e->session.seen, digits));
    }
    upp__metadata_str(&m, "id", answer->id);
    return upp__metadata_end(&m, r);
}

/* What the agent says: the envelope, if it was asked with one; else what is in it. */
static int said(struct upp__reader *r, const struct exchange *e, const struct we_envelope *answer, struct upp_str *ret,
                struct upp_err *err)
{
    *ret = answer->json;
    if (e->routed)
        return 0;
    if (we_is_error(answer))
        return upp_fail(err, UPP_EPROVIDER, "%.*s", UPP_FMT(answer->text));
    *ret = answer->text;
    return answer->data && !wb_str_eq(answer->type, UPP_STR("text")) ? wj_value_text(&r->keep, answer->data, ret, err)
                                                                     : 0;
}

static int take_answer(struct upp__reader *r, struct exchange *e, struct upp_str body, struct upp_err *err)
{
    struct we_envelope answer;
    struct upp_str text;
    int x = we_read_any(&r->keep, wb_str_trim(body), NULL, &answer, err);
    if (x < 0)
        return x == -UPP_ENOMEM ? x : upp_wrap(err, -UPP_EPROTO, "the answer of the peer");
    x = said(r, e, &answer, &text, err);
    if (x < 0)
        return x;
    const struct upp_usage usage = {.input = answer.input_tokens, .output = answer.output_tokens};
    uint32_t part = upp__say_part(r, UPP_PART_TEXT, (struct upp_str){0}, (struct upp_str){0});
    upp__say_delta(r, part, text);
    upp__say_close(r, part);
    upp__say_end(r, UPP_STOP_END, &usage, metadata_of(r, e, &answer));
    return upp__check(r, err);
}

static int whole(struct upp__reader *r, struct upp_str body, struct upp_err *err)
{
    struct exchange *e = r->own;
    return e->stage == HANDSHAKE ? take_handshake(r, e, body, err) : take_answer(r, e, body, err);
}

/* An error envelope. */
static void error(yyjson_val *v, struct upp__provider_error *t)
{
    yyjson_val *content = upp__get(v, "content");
    t->message = upp__get_str(content, "text");
    t->code = upp__get_str(upp__get(content, "data"), "code");
}

const struct upp__adapter rm_envelopes = {
    .name = NAME,
    .can = UPP_CAN_ALL & ~(UPP_CAN_STRUCTURE | UPP_CAN_TOOLS),
    .framing = WW_LINES,
    .own_size = sizeof(struct exchange),
    .write = write_request,
    .whole = whole,
    .last = "the reply",
    .more = write_more,
    .refused = refused,
    .error = error,
};
