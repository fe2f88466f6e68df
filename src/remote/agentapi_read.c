/* remote/agentapi_read.c — an agent behind an Agent API server: responses.
 *
 * The stream is read by the dialect's one decoder; what its messages have more than was passed on becomes deltas. Texts
 * and reasoning are passed on as they grow. Calls come at the end, because only then is it known who runs them: a
 * function_call without an output is ours; what the server ran itself stays in metadata.agentapi.output.
 */
#include "remote/remote.h"

#include <stdio.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/hooks.h"
#include "json/read.h"

enum {
    OUTPUT_BYTES = 1 << 20, /* of metadata.agentapi.output; more of it is dropped, and counted */
};

static const uint64_t HASH = 0xcbf29ce484222325;

static uint64_t hash_more(uint64_t h, struct upp_str s)
{
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (uint8_t)s.p[i]) * 0x100000001b3;
    return h;
}

void rm_agentapi_done(struct upp__reader *r)
{
    struct rm_response *own = r->own;
    for (size_t i = 0; i < own->messages.n; i++)
        wb_vec_done(&own->messages.p[i].contents);
    wb_vec_done(&own->messages);
    if (own->ready)
        wd_aap_decoder_done(&own->decoder);
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

void rm_agentapi_error(yyjson_val *v, struct upp__provider_error *t)
{
    yyjson_val *error = upp__get(v, "error");
    if (yyjson_is_str(error))
        t->message = wj_text(error);
    if (upp__get_str(error, "message").n)
        t->message = upp__get_str(error, "message");
    t->code = upp__get_str(error, "code");
    if (t->status == 409)
        t->type = UPP_STR("session_busy");
}

/* Codes of agentscope-runtime; those of Weft servers are UPP's. Anything else is a failure of the agent. */
static const struct {
    const char *word;
    uint8_t code;
} codes[] = {
    {"AUTH_FAILED", UPP_EAUTH},
    {"TOKEN_EXPIRED", UPP_EAUTH},
    {"INVALID_TOKEN", UPP_EAUTH},
    {"PERMISSION_DENIED", UPP_EAUTH},
    {"ACCESS_DENIED", UPP_EAUTH},
    {"MODEL_UNAUTHORIZED_ACCESS", UPP_EAUTH},
    {"INVALID_PARAMETER", UPP_EINVALID},
    {"MISSING_PARAMETER", UPP_EINVALID},
    {"PARAMETER_VALIDATION", UPP_EINVALID},
    {"RATE_LIMIT_EXCEEDED", UPP_ERATE},
    {"MODEL_NOT_FOUND", UPP_ENOMODEL},
    {"MODEL_QUOTA_EXCEEDED", UPP_EQUOTA},
    {"MODEL_CONTEXT_LENGTH_EXCEEDED", UPP_ECONTEXT},
};
static const uint8_t own_codes[] = {UPP_EAUTH,    UPP_ERATE,     UPP_ECONTEXT, UPP_ENOMODEL,
                                    UPP_EINVALID, UPP_EFILTERED, UPP_EQUOTA,   UPP_ELIMIT};

static enum upp_code code_of(struct upp_str word)
{
    for (size_t i = 0; i < WB_LEN(codes); i++)
        if (wb_str_eq(word, wb_cstr(codes[i].word)))
            return (enum upp_code)codes[i].code;
    for (size_t i = 0; i < WB_LEN(own_codes); i++)
        if (wb_str_eq(word, wb_cstr(upp_code_name(own_codes[i]))))
            return (enum upp_code)own_codes[i];
    return UPP_EPROVIDER;
}

/* The response says that it failed. One that never began, {"error": text} with status 200, is how agentscope-runtime
 * says that the session is busy: as with HTTP 409, that is worth another attempt. */
static int fail_response(const struct wd_aap_decoder *d, struct upp_err *err)
{
    enum upp_code code = code_of(d->code);
    struct upp_str word = d->code, why = d->message;
    struct upp_err e = {0};
    int r;
    if (d->status == WD_AAP_REJECTED)
        r = upp_fail(err, UPP_EREFUSED, "the remote agent rejected the request%s%.*s", why.n ? ": " : "", UPP_FMT(why));
    else if (d->status == WD_AAP_CANCELED)
        r = upp_fail(err, UPP_EPROVIDER, "the remote run was cancelled there");
    else
        r = upp_fail(err, code, "the remote agent failed%s%.*s%s%s%.*s", word.n ? " (" : "", UPP_FMT(word),
                     word.n ? ")" : "", why.n ? ": " : "", UPP_FMT(why));
    if (!err)
        return r;
    (void)upp_fail(&e, code, "%.*s", UPP_FMT(d->code)); /* makes any bytes fit to be shown */
    (void)snprintf(err->cause, sizeof err->cause, "%.100s", d->code.n ? e.msg : "");
    if (d->status == WD_AAP_FAILED && !d->id.n && !d->code.n)
        err->http = 409;
    return r;
}

/* ---- Passing on -------------------------------------------------------------------------------------------------- */

static struct rm_passing *passing_of(struct rm_response *own, struct wd_aap_building *b)
{
    if (!b->tag) {
        if (!wb_vec_push(&own->messages, (struct rm_passing){0}, (size_t)WD_AAP_MESSAGES))
            return NULL;
        b->tag = own->messages.n;
    }
    return &own->messages.p[b->tag - 1];
}

static int pass_text(struct upp__reader *r, struct rm_passed *p, const struct wd_aap_built *c, struct upp_err *err)
{
    struct upp_str text = wb_buf_str(&c->content), more = wb_str_sub(text, p->n, SIZE_MAX);
    bool same = text.n >= p->n && (!c->over || hash_more(HASH, wb_str_sub(text, 0, p->n)) == p->hash);
    if (p->n && !same)
        return upp_fail(err, UPP_EPROTO, "the remote agent changed a text that it had sent");
    if (more.n && !p->part)
        p->part = upp__say_part(r, p->kind, (struct upp_str){0}, (struct upp_str){0}) + 1;
    if (more.n)
        upp__say_delta(r, p->part - 1, more);
    p->hash = hash_more(p->n ? p->hash : HASH, more);
    p->n = text.n;
    if (c->over && p->part)
        upp__say_close(r, p->part - 1);
    p->closed = c->over;
    return 0;
}

/* The kind of part that a content's text becomes; 0: none. */
static uint8_t kind_of(const struct wd_aap_building *b, const struct wd_aap_built *c)
{
    bool by_agent = !b->role.n || wb_str_eq(b->role, UPP_STR("assistant"));
    if (!c->text || !by_agent)
        return 0;
    enum wd_aap_kind kind = wd_aap_kind(b->type);
    return kind == WD_AAP_REASONING                                             ? UPP_PART_REASONING
           : kind == WD_AAP_MESSAGE || wb_str_eq(b->type, UPP_STR("assistant")) ? UPP_PART_TEXT
                                                                                : 0;
}

static int pass_message(struct upp__reader *r, struct wd_aap_building *b, struct upp_err *err)
{
    struct rm_passing *m = passing_of(r->own, b);
    int e = 0;
    while (m && m->contents.n < b->contents.n)
        if (!wb_vec_push(&m->contents, (struct rm_passed){0}, (size_t)WD_AAP_CONTENTS))
            m = NULL;
    if (!m)
        return upp_fail(err, UPP_ENOMEM, "no memory for a response");
    for (size_t i = 0; e == 0 && i < b->contents.n; i++) {
        const struct wd_aap_built *c = &b->contents.p[i];
        struct rm_passed *p = &m->contents.p[i];
        uint8_t kind = kind_of(b, c);
        if (p->part && p->kind != kind)
            return upp_fail(err, UPP_EPROTO, "the remote agent changed the role or type of a message that it had sent");
        if (!kind || p->closed)
            continue;
        p->kind = kind;
        e = pass_text(r, p, c, err);
        m->any |= p->part != 0;
    }
    for (size_t i = b->contents.n; e == 0 && i < m->contents.n; i++)
        if (m->contents.p[i].part)
            e = upp_fail(err, UPP_EPROTO, "the remote agent withdrew a text that it had sent");
    return e;
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

/* The payload of a call or an output; NULL: it has none. */
static yyjson_val *data_of(struct upp__reader *r, const struct wd_aap_building *b)
{
    yyjson_val *v = NULL;
    for (size_t i = b->contents.n; i-- > 0;) {
        const struct wd_aap_built *c = &b->contents.p[i];
        if (c->text || wj_read(&r->scratch, wb_buf_str(&c->content), NULL, &v, NULL) < 0)
            continue;
        if (yyjson_is_obj(upp__get(v, "data")))
            return upp__get(v, "data");
    }
    return NULL;
}

static bool has_output(struct upp__reader *r, struct upp_str call)
{
    const struct wd_aap_decoder *d = &((struct rm_response *)r->own)->decoder;
    for (size_t i = 0; i < d->messages.n; i++)
        if (wd_aap_kind(d->messages.p[i].type) == WD_AAP_OUTPUT &&
            wb_str_eq(upp__get_str(data_of(r, &d->messages.p[i]), "call_id"), call))
            return true;
    return false;
}

/* A call for us: of a tool that we have offered, which the server did not run. */
static yyjson_val *our_call(struct upp__reader *r, const struct wd_aap_building *b)
{
    yyjson_val *data = wb_str_eq(b->type, UPP_STR("function_call")) ? data_of(r, b) : NULL;
    return upp__get_str(data, "name").n && upp__get_str(data, "call_id").n &&
                   !has_output(r, upp__get_str(data, "call_id"))
               ? data
               : NULL;
}

static void pass_call(struct upp__reader *r, yyjson_val *data)
{
    yyjson_val *given = upp__get(data, "arguments");
    struct upp_str arguments = upp__str(given);
    if (yyjson_is_obj(given) && wj_value_text(&r->scratch, given, &arguments, NULL) < 0)
        upp__note(r, -UPP_ENOMEM);
    uint32_t part = upp__say_part(r, UPP_PART_CALL, upp__get_str(data, "call_id"), upp__get_str(data, "name"));
    upp__say_delta(r, part, arguments.n ? arguments : UPP_STR("{}"));
    upp__say_close(r, part);
}

static bool has_media(const struct wd_aap_decoder *d)
{
    for (size_t i = 0; i < d->messages.n; i++)
        for (size_t k = 0; k < d->messages.p[i].contents.n; k++)
            if (wd_aap_kind(d->messages.p[i].type) == WD_AAP_MESSAGE && !d->messages.p[i].contents.p[k].text)
                return true;
    return false;
}

/* Media of the answer, as the dialect reads them. Nothing is fetched: an address stays one. */
static int pass_media(struct upp__reader *r, struct upp_err *err)
{
    struct rm_response *own = r->own;
    struct wm_doc doc = {0};
    int e = wd_aap_decode_end(&own->decoder, &doc, (struct upp_str){0}, 0, err);
    for (size_t i = 0; e >= 0 && i < doc.entries.n; i++) {
        const struct upp_message *m = &doc.entries.p[i].e.message;
        for (size_t k = 0; m->role == UPP_ROLE_ASSISTANT && k < m->n_parts; k++)
            if (m->parts[k].media)
                (void)upp__say_media(r, m->parts[k].kind, m->parts[k].media);
    }
    wm_doc_done(&doc);
    return e < 0 ? e : 0;
}

/* Messages that became neither parts nor calls of ours. */
static void put_output(struct upp__metadata *m, struct upp__reader *r, struct wd_aap_decoder *d)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf list = WB_BUF(OUTPUT_BYTES);
    uint64_t dropped = 0;
    for (size_t i = 0; i < d->messages.n; i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf one = WB_BUF(OUTPUT_BYTES);
        struct wd_aap_building *b = &d->messages.p[i];
        struct wj_writer w;
        if (wd_aap_kind(b->type) == WD_AAP_MESSAGE || wd_aap_kind(b->type) == WD_AAP_REASONING || our_call(r, b))
            continue;
        wj_writer_init(&w, &one, NULL);
        wd_aap_built_write(&w, b);
        if (wj_writer_check(&w) < 0 || list.n + one.n + 2 > OUTPUT_BYTES) {
            dropped++;
            continue;
        }
        if (list.n)
            wb_buf_addc(&list, ',');
        wb_buf_add(&list, wb_buf_str(&one));
    }
    upp__metadata_list(m, "output", &list);
    if (dropped)
        wj_put_u64(&m->w, "dropped", dropped);
}

static int make_metadata(struct upp__reader *r, struct wd_aap_decoder *d, struct upp_str *ret, struct upp_err *err)
{
    struct rm_session s;
    struct upp__metadata m;
    char digits[RM_SEEN + 1];
    int e = rm_session_find(&r->scratch, RM_AGENTAPI, r->request, &s, err);
    if (e < 0)
        return e;
    upp__metadata_begin(&m);
    if (s.id.n) {
        upp__metadata_str(&m, "session", s.id);
        upp__metadata_str(&m, "seen", rm_seen_text(s.seen, digits));
    }
    upp__metadata_str(&m, "response", d->id);
    if (d->created_at)
        wj_put_u64(&m.w, "created_at", d->created_at);
    if (d->completed_at)
        wj_put_u64(&m.w, "completed_at", d->completed_at);
    if (d->created_at && d->completed_at >= d->created_at)
        wj_put_u64(&m.w, "latency_seconds", d->completed_at - d->created_at);
    put_output(&m, r, d);
    *ret = upp__metadata_end(&m, r);
    return 0;
}

/* What was passed on of a message that the final response does not list was withdrawn. */
static bool is_withdrawn(struct rm_response *own)
{
    for (size_t i = 0; i < own->decoder.messages.n; i++)
        if (own->decoder.messages.p[i].tag)
            own->messages.p[own->decoder.messages.p[i].tag - 1].found = true;
    for (size_t i = 0; i < own->messages.n; i++)
        if (own->messages.p[i].any && !own->messages.p[i].found)
            return true;
    return false;
}

static int finish_answer(struct upp__reader *r, struct upp_err *err)
{
    struct rm_response *own = r->own;
    struct wd_aap_decoder *d = &own->decoder;
    struct upp_str metadata = {0};
    struct upp_usage usage = d->usage;
    int e = 0;
    if (d->status != WD_AAP_COMPLETED && d->status != WD_AAP_INCOMPLETE)
        return fail_response(d, err);
    if (is_withdrawn(own))
        return upp_fail(err, UPP_EPROTO, "the remote agent withdrew a message that it had sent");
    for (size_t i = 0; e == 0 && i < d->messages.n; i++) {
        for (size_t k = 0; k < d->messages.p[i].contents.n; k++)
            d->messages.p[i].contents.p[k].over = true; /* also of an incomplete one: nothing more comes */
        e = pass_message(r, &d->messages.p[i], err);
    }
    if (e == 0 && has_media(d))
        e = pass_media(r, err);
    for (size_t i = 0; e == 0 && i < d->messages.n; i++) {
        yyjson_val *call = our_call(r, &d->messages.p[i]);
        if (call)
            pass_call(r, call);
    }
    if (e == 0)
        e = make_metadata(r, d, &metadata, err);
    if (e < 0)
        return e;
    upp__say_end(r, d->status == WD_AAP_INCOMPLETE ? UPP_STOP_LENGTH : UPP_STOP_END, &usage, metadata);
    return upp__check(r, err);
}

/* ---- Frames ------------------------------------------------------------------------------------------------------ */

/* `now`: what it adds is passed on at once. If not, it is passed on at the end, because more lines come before the
 * events are read, and the events point into texts that grow. */
static int take_line(struct upp__reader *r, struct upp_str line, bool now, struct upp_err *err)
{
    struct rm_response *own = r->own;
    struct wd_aap_decoder *d = &own->decoder;
    struct upp_err why = {0};
    if (!own->ready)
        wd_aap_decoder_init(d, &r->keep);
    own->ready = true;
    int e = wd_aap_decode(d, line, &why);
    if (e == -UPP_EINVALID)
        return upp_fail(err, UPP_EPROTO, "the remote server's stream is wrong: %s", why.msg);
    if (e < 0) {
        if (err)
            *err = why;
        return e;
    }
    if (d->begun)
        upp__say_open(r, d->id);
    if (d->status >= WD_AAP_COMPLETED)
        return finish_answer(r, err);
    e = now && d->last ? pass_message(r, &d->messages.p[d->last - 1], err) : 0;
    return e < 0 ? e : upp__check(r, err);
}

int rm_agentapi_event(struct upp__reader *r, const struct ww_frame *f, struct upp_err *err)
{
    return r->ended || !wb_str_trim(f->data).n ? 0 : take_line(r, f->data, true, err);
}

int rm_agentapi_whole(struct upp__reader *r, struct upp_str body, struct upp_err *err)
{
    struct upp_str line;
    bool one = wb_str_starts(wb_str_trim(body), UPP_STR("{"));
    int e = one ? take_line(r, body, false, err) : 0;
    while (!one && e == 0 && !r->ended && wb_str_split(&body, '\n', &line))
        e = take_line(r, line, false, err); /* some servers stream, whatever was asked for */
    return e == 0 && !r->ended ? upp_fail(err, UPP_EPROTO, "the answer is not a response that is over") : e;
}
