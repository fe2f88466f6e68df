/* server/doors/v1/run_create.c — POST /v1/threads/{t}/runs. */
#include <openssl/evp.h>
#include <stdio.h>

#include "base/defs.h"
#include "json/pointer.h"
#include "json/value.h"
#include "server/doors/agent.h"
#include "server/doors/aitp/members.h"
#include "server/doors/run_stream.h"
#include "server/doors/v1/routes.h"
#include "server/http/auth.h"
#include "server/http/body.h"
#include "server/http/error.h"
#include "server/http/server.h"

enum { KEY_MAX = 255 };

/* UAP 16.5: a request may set the run's system prompt, unless the configuration forbids it, on loopback or with a key
 * of the scope `instructions`. */
static int check_instructions(struct sv_exchange *x, const struct sv_body *b, struct upp_err *err)
{
    static const char *const names[] = {"instructions", "additional_instructions"};
    for (size_t i = 0; i < WB_LEN(names); i++) {
        struct upp_str text;
        int            r = sv_body_str(b, b->root, wb_cstr(names[i]), &text, err);
        if (r > 0 && x->server->opts.no_instructions) {
            r = upp_fail(err, UPP_EREFUSED,
                         "'%s' of a run is not taken: the configuration has server.instructions: false", names[i]);
            if (err)
                (void)snprintf(err->cause, sizeof err->cause, "%s", SV_INSTRUCTIONS);
        } else if (r > 0)
            r = sv_auth_need(x, SV_SCOPE_INSTRUCTIONS, err);
        if (r == -UPP_EREFUSED)
            wj_pointer_err(err, b->root, sv_member(b->root, wb_cstr(names[i])));
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- Options ----------------------------------------------------------------------------------------------------- */

/* The members of a request that configure the run and are stored with it: the engine reads them (run/run.c), and the
 * run object shows them. A member that is not honoured is not stored, so that no client takes it for effective. */
#define STORED "metadata", "model", "instructions", "additional_instructions"

/* `model` names a model of the configuration. */
static int check_model(struct sv_exchange *x, const struct sv_body *b, struct upp_err *err)
{
    struct upp_str name;
    int            r = sv_body_str(b, b->root, UPP_STR("model"), &name, err);
    if (r <= 0 || wr_has_model(x->core->engine, name))
        return r < 0 ? r : 0;
    r = upp_fail(err, UPP_ENOMODEL, "the configuration has no model '%.*s'", UPP_FMT(name));
    wj_pointer_err(err, b->root, sv_member(b->root, UPP_STR("model")));
    return r;
}

static int read_options(struct sv_exchange *x, const struct sv_body *b, struct upp_str *ret, struct upp_err *err)
{
    static const char *const              stored[] = {STORED};
    WB_CLEANUP(wb_buf_done) struct wb_buf out      = WB_BUF(SV_MAX_BODY + 4096);
    yyjson_val                           *metadata = NULL;
    struct wj_writer                      w;
    int                                   r   = sv_body_object(b, b->root, UPP_STR("metadata"), &metadata, err);
    bool                                  any = false;
    if (r < 0)
        return r;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    for (size_t i = 0; i < WB_LEN(stored); i++) {
        yyjson_val *v = sv_member(b->root, wb_cstr(stored[i]));
        if (!v)
            continue;
        any = true;
        wj_put_value(&w, stored[i], v);
    }
    wj_write_close(&w, '}');
    r    = wj_writer_check(&w);
    *ret = any ? wb_arena_dup(&x->arena, wb_buf_str(&out)) : (struct upp_str){NULL, 0};
    return r < 0 ? r : wb_arena_check(&x->arena, err);
}

static int read_on_busy(const struct sv_body *b, uint8_t *ret, struct upp_err *err)
{
    static const struct {
        struct upp_str word;
        uint8_t        busy;
    } words[] = {{UPP_STR_INIT("reject"), WR_REJECT},
                 {UPP_STR_INIT("enqueue"), WR_ENQUEUE},
                 {UPP_STR_INIT("interrupt"), WR_INTERRUPT},
                 {UPP_STR_INIT("rollback"), WR_ROLLBACK}};
    struct upp_str given;
    int            r = sv_body_str(b, b->root, UPP_STR("on_busy"), &given, err);
    if (r <= 0)
        return r;
    for (size_t i = 0; i < WB_LEN(words); i++)
        if (wb_str_eq(given, words[i].word)) {
            *ret = words[i].busy;
            return 0;
        }
    return sv_body_wrong(b, sv_member(b->root, UPP_STR("on_busy")), err,
                         "on_busy is reject, enqueue, interrupt or rollback");
}

/* The Idempotency-Key, for this thread, and a hash of the request. */
static int read_key(struct sv_exchange *x, const struct wl_thread *t, struct wr_start *start, unsigned char hash[32],
                    struct upp_err *err)
{
    size_t         n;
    unsigned       len  = 32;
    struct upp_str body = wb_buf_str(&x->request->body);
    char           hex[WB_UUID_HEX + 1];
    start->key = sv_http_header(x->request, UPP_STR("idempotency-key"), &n);
    if (!n)
        return 0;
    if (n > 1 || !start->key.n || start->key.n > KEY_MAX)
        return upp_fail(err, UPP_EINVALID, "an Idempotency-Key has 1 to %d bytes, and there is one of them", KEY_MAX);
    if (EVP_Digest(body.p, body.n, hash, &len, EVP_sha256(), NULL) != 1)
        return upp_fail(err, UPP_ENOMEM, "no memory for a digest");
    (void)wb_uuid_hex(t->id, hex);
    start->route = wb_arena_printf(&x->arena, "POST /v1/threads/%s/runs", hex);
    start->body  = hash;
    return wb_arena_check(&x->arena, err);
}

WEFT_SUSPENDS int sv_create_run(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const known[] = {"assistant_id", "stream", "on_busy", "additional_messages",
                                        "answers",      STORED,   NULL};
    struct sv_start          s       = {.run = {.owner = x->owner, .on_busy = x->server->opts.on_busy}};
    struct sv_run_stream     stream;
    bool                     streams = false;
    unsigned char            hash[32];
    struct sv_body           b;
    struct wb_uuid           run;
    int                      r = sv_find_thread(x, &s.thread, err);
    if (r >= 0)
        r = sv_body_read(x, known, &b, err);
    if (r >= 0)
        r = sv_agent_read(x, &b, "assistant_id", &s.run.agent, err);
    if (r >= 0)
        r = sv_body_bool(&b, b.root, UPP_STR("stream"), &streams, err);
    if (r >= 0 && streams)
        r = sv_run_stream_read(x, NULL, &stream, err); /* before anything is started */
    if (r >= 0)
        r = read_on_busy(&b, &s.run.on_busy, err);
    if (r >= 0)
        r = check_instructions(x, &b, err);
    if (r >= 0)
        r = check_model(x, &b, err);
    if (r >= 0)
        r = read_options(x, &b, &s.run.options, err);
    if (r >= 0)
        r = sv_read_messages(x, &b, UPP_STR("additional_messages"), wr_agent(x->core->engine, s.run.agent), &s.messages,
                             err);
    if (r >= 0)
        r = sv_aitp_receive(x, &b, sv_member(b.root, UPP_STR("additional_messages")), &s.thread, false, &s.messages,
                            err);
    if (r >= 0 && !s.run.agent.n)
        r = sv_aitp_answerer(x, &s.thread, &s.messages, &s.run.agent, err);
    if (r >= 0)
        r = read_key(x, &s.thread, &s.run, hash, err);
    if (r >= 0)
        r = sv_read_answers(x, &b, &s.answers, err);
    if (r >= 0 && !s.answers.n)
        r = sv_aitp_may_answer(x, &s.thread, &s.messages, s.run.agent, err);
    if (r >= 0)
        r = sv_start_run(x, &s, &run, err);
    if (r < 0)
        return r;
    stream.to_wait = true;
    return streams ? sv_run_stream(x, run, &stream, err) : sv_answer_run(x, run, err);
}
