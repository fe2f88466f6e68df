/* upp/providers/adapter_read.c — for adapters: saying what came, and looking at JSON from outside. */
#include <stdlib.h>

#include "base/str.h"
#include "base/hooks.h"
#include "base/mask.h"
#include "base/utf8.h"
#include "model/id.h"
#include "upp/client/signature.h"
#include "upp/providers/adapter.h"

enum { MAX_QUEUE = 4 * WM_PARTS }; /* events that one event of the wire may mean */

static void fail(struct upp__reader *r, int code)
{
    if (!r->failed)
        r->failed = code;
}

static struct upp_step_event *say(struct upp__reader *r, uint8_t kind)
{
    if (r->ended || r->failed)
        return NULL;
    if (!wb_vec_push(&r->queue, ((struct upp_step_event){.kind = kind}), MAX_QUEUE)) {
        fail(r, r->queue.n >= MAX_QUEUE ? -UPP_ELIMIT : -UPP_ENOMEM);
        return NULL;
    }
    return &r->queue.p[r->queue.n - 1];
}

void upp__say_open(struct upp__reader *r, struct upp_str id)
{
    struct upp_step_event *ev = r->begun || r->parts ? NULL : say(r, UPP_STEP_OPEN);
    r->begun = true;
    if (ev)
        ev->text = id;
}

uint32_t upp__say_part(struct upp__reader *r, uint8_t kind, struct upp_str id, struct upp_str name)
{
    upp__end_text(r);
    struct upp_step_event *ev = say(r, UPP_STEP_PART_OPEN);
    uint32_t at = r->parts++;
    if (!ev)
        return at;
    ev->part = at;
    ev->part_kind = kind;
    ev->id = id;
    ev->name = name;
    r->calls |= kind == UPP_PART_CALL;
    if (kind == UPP_PART_TEXT && r->request->structure.p) {
        r->answer_part = at;
        wb_buf_clear(&r->answer);
    }
    return at;
}

uint32_t upp__say_media(struct upp__reader *r, uint8_t kind, const struct upp_media *media)
{
    uint32_t at = upp__say_part(r, kind, (struct upp_str){0}, (struct upp_str){0});
    if (!r->failed && !r->ended)
        r->queue.p[r->queue.n - 1].media = media;
    upp__say_close(r, at);
    return at;
}

void upp__say_delta(struct upp__reader *r, uint32_t part, struct upp_str text)
{
    struct upp_step_event *ev = text.n ? say(r, UPP_STEP_DELTA) : NULL;
    if (!ev)
        return;
    ev->part = part;
    ev->text = text;
    if (r->request->structure.p && part == r->answer_part)
        wb_buf_add(&r->answer, text);
}

void upp__say_close(struct upp__reader *r, uint32_t part)
{
    struct upp_step_event *ev = say(r, UPP_STEP_PART_CLOSE);
    if (ev)
        ev->part = part;
}

void upp__end_text(struct upp__reader *r)
{
    if (r->text_kind)
        upp__say_close(r, r->text_part);
    r->text_kind = 0;
}

void upp__say_text(struct upp__reader *r, uint8_t kind, struct upp_str text)
{
    if (!text.n)
        return;
    if (r->text_kind != kind) {
        r->text_part = upp__say_part(r, kind, (struct upp_str){0}, (struct upp_str){0});
        r->text_kind = kind;
    }
    upp__say_delta(r, r->text_part, text);
}

void upp__say_cut(struct upp__reader *r, uint32_t part, struct upp_str arguments)
{
    struct upp_str said = wb_str_trim(arguments);
    if (wb_str_ends(said, UPP_STR("}")))
        said.n--;
    upp__say_delta(r, part, said.n ? said : UPP_STR("{"));
}

/* A structured answer is data where it is JSON; else the text is all there is, as UPP has it. */
static struct upp_str answer_data(struct upp__reader *r)
{
    struct upp_str text = wb_str_trim(wb_buf_str(&r->answer));
    yyjson_val *v;
    if (!r->request->structure.p || r->calls || !text.n || r->answer.failed)
        return (struct upp_str){0};
    return wj_read(&r->scratch, text, NULL, &v, NULL) < 0 ? (struct upp_str){0} : wb_arena_dup(&r->keep, text);
}

/* Under the provider's name, without what it repeats of our secrets, and without signatures of that. */
static struct upp_str said_metadata(struct upp__reader *r, struct upp_str metadata)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(2 * metadata.n + 4096);
    wb_buf_addf(&b, "{\"%s\":", r->vendor->provider);
    size_t from = b.n;
    if (wb_mask_add(&b, metadata, true) && !b.failed) {
        struct upp_str masked = wb_arena_dup(&r->scratch, wb_str_sub(wb_buf_str(&b), from, SIZE_MAX));
        b.n = from;
        if (upp__signatures_drop(&r->scratch, metadata, masked, &b, NULL) < 0)
            return (struct upp_str){0}; /* rather none than half */
    }
    wb_buf_addc(&b, '}');
    upp__note(r, b.failed);
    return wb_arena_dup(&r->keep, wb_buf_str(&b));
}

void upp__say_end(struct upp__reader *r, uint8_t stop, const struct upp_usage *usage, struct upp_str metadata)
{
    upp__end_text(r);
    struct upp_step_event *ev = say(r, UPP_STEP_END);
    if (!ev)
        return;
    ev->stop = r->calls && (stop == UPP_STOP_END || stop == UPP_STOP_TOOLS) ? UPP_STOP_TOOLS : stop;
    ev->usage = *usage;
    ev->data = answer_data(r);
    if (metadata.p)
        ev->metadata = said_metadata(r, metadata);
    r->ended = true;
}

int upp__check(struct upp__reader *r, struct upp_err *err)
{
    int a = r->keep.failed ? r->keep.failed : r->scratch.failed;
    if (r->failed == -UPP_ELIMIT || a == -UPP_ELIMIT)
        return upp_fail(err, UPP_ELIMIT, "the answer is larger than it may be");
    if (r->failed || a)
        return upp_fail(err, UPP_ENOMEM, "no memory for the answer of a model");
    return 0;
}

uint8_t upp__stop_of(const struct upp__stop *table, struct upp_str word, uint8_t otherwise)
{
    for (; table->word; table++)
        if (wb_str_eq(word, wb_cstr(table->word)))
            return table->stop;
    return otherwise;
}

int upp__eof(struct upp__reader *r, struct upp_err *err)
{
    const struct upp__adapter *adapter = r->vendor->adapter;
    if (adapter->eof)
        return adapter->eof(r, err);
    return r->ended ? 0 : upp_fail(err, UPP_ENET, "the stream ended before %s", adapter->last);
}

void upp__reader_done(struct upp__reader *r)
{
    if (r->vendor && r->vendor->adapter->done)
        r->vendor->adapter->done(r);
    wb_vec_done(&r->queue);
    wb_buf_done(&r->answer);
    wb_buf_done(&r->own_ids);
    wb_arena_done(&r->keep);
    wb_arena_done(&r->scratch);
}

/* ---- Metadata ------------------------------------------------------------------------------------------------- */

void upp__metadata_begin(struct upp__metadata *m)
{
    m->b = (struct wb_buf)WB_BUF(UPP__JSON);
    wj_writer_init(&m->w, &m->b, NULL);
    wj_write_open(&m->w, '{');
}

void upp__metadata_str(struct upp__metadata *m, const char *name, struct upp_str text)
{
    if (!text.p)
        return;
    wj_write_name(&m->w, wb_cstr(name));
    wj_write_str(&m->w, text);
}

void upp__metadata_json(struct upp__metadata *m, const char *name, struct upp_str json)
{
    if (!json.p)
        return;
    wj_write_name(&m->w, wb_cstr(name));
    wj_write_raw(&m->w, json.p, json.n);
}

void upp__metadata_value(struct upp__metadata *m, const char *name, yyjson_val *v)
{
    if (!v)
        return;
    wj_write_name(&m->w, wb_cstr(name));
    wj_write_value(&m->w, v);
}

void upp__metadata_list(struct upp__metadata *m, const char *name, const struct wb_buf *items)
{
    if (!items->n)
        return;
    wj_write_name(&m->w, wb_cstr(name));
    wj_write_open(&m->w, '[');
    wb_buf_add(&m->b, wb_buf_str(items));
    wj_write_close(&m->w, ']');
}

struct upp_str upp__metadata_end(struct upp__metadata *m, struct upp__reader *r)
{
    wj_write_close(&m->w, '}');
    int e = wj_writer_check(&m->w);
    struct upp_str ret = e < 0 ? (struct upp_str){0} : wb_arena_dup(&r->keep, wb_buf_str(&m->b));
    upp__note(r, e);
    wb_buf_done(&m->b);
    return ret;
}

/* ---- JSON from outside ---------------------------------------------------------------------------------------- */

static int not_json(struct upp_err *err)
{
    struct upp_err why = {0};
    if (err)
        why = *err;
    return upp_fail(err, UPP_EPROTO, "the answer is not JSON: %s", why.msg);
}

int upp__parse(struct upp__reader *r, struct upp_str text, yyjson_val **ret, struct upp_err *err)
{
    static const struct wj_read_opts opts = {.size = sizeof opts, .max_bytes = UPP__JSON};
    int e = wj_read(&r->scratch, text, &opts, ret, err);
    return WB_UNLIKELY(e == -UPP_EINVALID) ? not_json(err) : e;
}

yyjson_val *upp__member(yyjson_val *object, struct upp_str name)
{
    yyjson_val *found = NULL, *key;
    yyjson_obj_iter it = yyjson_obj_iter_with(object);
    while ((key = yyjson_obj_iter_next(&it)))
        if (wj_named(key, name))
            found = yyjson_obj_iter_get_val(key);
    return found;
}

/* What FastAPI says: {"detail": "text"}, or a list of {"msg": "text"}. */
static struct upp_str get_detail(yyjson_val *v)
{
    yyjson_val *detail = upp__get(v, "detail");
    return yyjson_is_str(detail) ? wj_text(detail) : upp__get_str(yyjson_arr_get_first(detail), "msg");
}

void upp__provider_error_read(const struct upp__adapter *adapter, struct wb_arena *a, struct upp_str body,
                              struct upp__provider_error *t)
{
    struct upp_str text = wb_str_trim(body);
    yyjson_val *v = NULL;
    if (wj_read(a, body, NULL, &v, NULL) < 0) {
        if (text.n && text.n <= 200 && text.p[0] != '<' &&
            wb_utf8_valid(text, NULL)) /* pages of proxies say nothing to anybody */
            t->message = wb_arena_dup(a, text);
        return;
    }
    if (yyjson_is_arr(v))
        v = yyjson_arr_get_first(v); /* Google */
    t->message = yyjson_is_str(v) ? wj_text(v) : upp__get_str(v, "message");
    if (!t->message.n)
        t->message = get_detail(v);
    adapter->error(v, t);
}

int upp__fail_inside(struct upp__reader *r, yyjson_val *v, struct upp_err *err)
{
    struct upp__provider_error t = {0};
    r->vendor->adapter->error(v, &t);
    return upp__provider_fail(&t, (struct upp_str){0}, err);
}

uint64_t upp__u64(yyjson_val *v)
{
    uint64_t n;
    if (!yyjson_is_raw(v))
        return 0;
    if (wb_str_u64(wj_text(v), &n))
        return n;
    double d = strtod(wj_text(v).p, NULL); /* 12.0, 1.2e3; the text of a document is followed by something else */
    return d >= 1 && d < 1e18 ? (uint64_t)d : 0;
}
