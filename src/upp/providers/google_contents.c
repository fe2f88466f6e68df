/* upp/providers/google_contents.c — Google Gemini: messages as contents of a request.
 *
 * Text, media, calls and results as parts; what the model itself said as it said it.
 */
#include "base/str.h"
#include "upp/providers/body.h"
#include "upp/providers/google.h"
#include "upp/providers/call_id.h"

/* "skip_thought_signature_validator" in base64: what Google's documentation has for calls that it did not make itself.
 */
#define DUMMY_SIGNATURE "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="

/* The newest message of the model: results are results of its calls. */
struct said {
    const struct upp_message *message;
    yyjson_val *raw;     /* what went out; NULL: it was made of the message's parts */
    yyjson_val *own_ids; /* metadata.google.minted */
};

struct contents {
    struct upp__body *b;
    struct said said;
};

/* ---- Parts ----------------------------------------------------------------------------------- */

/* What we write ourselves; all else that metadata.google says of a part goes onto it: videoMetadata, mediaResolution.
 */
static const char *const part_members[] = {"text", "inlineData", "fileData", "functionCall", "functionResponse", NULL};

static void put_text_part(struct upp__body *b, struct upp_str text)
{
    wj_write_open(&b->w, '{');
    upp__put(b, "text", text);
    wj_write_close(&b->w, '}');
}

static void put_inline(struct upp__body *b, struct upp_str mime, struct upp_str data)
{
    wj_put_open(&b->w, "inlineData", '{');
    upp__put(b, "mimeType", mime);
    upp__put(b, "data", data);
    wj_write_close(&b->w, '}');
}

/* Files that Google itself keeps: uploaded ones, those of Cloud Storage, videos of YouTube. */
static bool is_google_file(struct upp_str url)
{
    static const char *const begins[] = {"https://generativelanguage.googleapis.com/", "gs://",
                                         "https://www.youtube.com/", "https://youtube.com/", "https://youtu.be/"};
    for (size_t i = 0; i < WB_LEN(begins); i++)
        if (wb_str_starts(url, wb_cstr(begins[i])))
            return true;
    return false;
}

/* Why Google does not take this; NULL: it does. */
static const char *media_refused(const struct upp_media *m)
{
    struct upp_str mime, data;
    if (!m)
        return "there is nothing in it";
    if (m->source == UPP_SOURCE_TEXT || upp__media_bytes(m, &mime, &data))
        return NULL;
    if (m->source != UPP_SOURCE_URL)
        return "Google wants to know the type of the data, and it has none";
    return is_google_file(m->data) ? NULL : "Google takes addresses of its own files only: send the data itself";
}

static void put_media_part(struct upp__body *b, const struct upp_part *p)
{
    const struct upp_media *m = p->media;
    struct upp_str mime, data;
    wj_write_open(&b->w, '{');
    if (m->source == UPP_SOURCE_TEXT)
        upp__put(b, "text", m->data);
    else if (upp__media_bytes(m, &mime, &data))
        put_inline(b, mime, data);
    else {
        wj_put_open(&b->w, "fileData", '{');
        if (m->mime.n)
            upp__put(b, "mimeType", m->mime);
        upp__put(b, "fileUri", m->data);
        wj_write_close(&b->w, '}');
    }
    upp__put_rest(b, upp__look_own(b, p->metadata), part_members);
    wj_write_close(&b->w, '}');
}

static void begin_content(struct upp__body *b, const char *role)
{
    wj_write_open(&b->w, '{');
    upp__put(b, "role", wb_cstr(role));
    wj_put_open(&b->w, "parts", '[');
}

static void end_content(struct upp__body *b)
{
    if (!b->w.comma) /* nothing in it */
        put_text_part(b, UPP_STR(""));
    wj_write_close(&b->w, ']');
    wj_write_close(&b->w, '}');
}

/* ---- The user -------------------------------------------------------------------------------- */

static void put_user(struct upp__body *b, const struct upp_message *m)
{
    begin_content(b, "user");
    for (b->part = 0; b->part < m->n_parts; b->part++) {
        const struct upp_part *p = &m->parts[b->part];
        if (p->kind == UPP_PART_TEXT && p->text.n) {
            wj_write_open(&b->w, '{');
            upp__put(b, "text", p->text);
            upp__put_rest(b, upp__look_own(b, p->metadata), part_members);
            wj_write_close(&b->w, '}');
        } else if (p->kind >= UPP_PART_IMAGE && p->kind <= UPP_PART_BINARY) {
            if (media_refused(p->media))
                upp__refuse(b, media_refused(p->media));
            else
                put_media_part(b, p);
        } else if (p->kind != UPP_PART_TEXT)
            upp__lose(b, upp__kind_name(p->kind), "users do not say such things to Google");
    }
    end_content(b);
}

/* ---- The model ------------------------------------------------------------------------------- */

/* "gemini-3-pro-preview", "models/gemini-3.1-flash": models that want signatures. */
static bool wants_signatures(struct upp_str model)
{
    size_t at = wb_str_find(model, UPP_STR("gemini-"), 0);
    uint64_t n = 0;
    if (at == SIZE_MAX)
        return false;
    struct upp_str rest = wb_str_sub(model, at + 7, SIZE_MAX);
    size_t end = 0;
    while (end < rest.n && rest.p[end] >= '0' && rest.p[end] <= '9')
        end++;
    return wb_str_u64(wb_str_sub(rest, 0, end), &n) && n >= 3;
}

/* The next call among parts of the wire; NULL: none. */
static yyjson_val *next_call(yyjson_arr_iter *it)
{
    yyjson_val *part, *call = NULL;
    while (!call && (part = yyjson_arr_iter_next(it)))
        call = upp__get(part, "functionCall");
    return call;
}

/* Are the calls in raw those of the message? One that has no id there, or one that was taken, has one of ours here. */
static bool same_calls(struct upp__body *b, const struct said *s, yyjson_val *raw)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(raw);
    const struct upp_part *p = NULL;
    yyjson_val *call;
    while ((call = next_call(&it))) {
        p = upp_part_next(s->message, p, UPP_PARTS_CALLS);
        if (!p || !upp__is_kept_call(b, p, upp__get_str(call, "name"), upp__get(call, "args")))
            return false;
        if (!wb_str_eq(p->id, upp__get_str(call, "id")) && !upp__call_id_listed(s->own_ids, p->id) &&
            !upp__call_id_is_ours(p->id))
            return false;
    }
    return !upp_part_next(s->message, p, UPP_PARTS_CALLS);
}

/* Takes `text` off what the message says from *p, *rest on. */
static bool takes_text(const struct upp_message *m, const struct upp_part **p, struct upp_str *rest,
                       struct upp_str text)
{
    while (text.n) {
        while (!rest->n) {
            if (!(*p = upp_part_next(m, *p, 1u << UPP_PART_TEXT)))
                return false;
            *rest = (*p)->text;
        }
        size_t n = WB_MIN(text.n, rest->n);
        if (memcmp(text.p, rest->p, n) != 0)
            return false;
        text = wb_str_sub(text, n, SIZE_MAX);
        *rest = wb_str_sub(*rest, n, SIZE_MAX);
    }
    return true;
}

/* Are the texts in raw, one after the other, those of the message? Where one ends and the next begins is another
 * matter; but somebody may have taken something out, or a medium. */
static bool same_texts(const struct upp_message *m, yyjson_val *raw)
{
    const unsigned media = (1u << UPP_PART_CALL) - (1u << UPP_PART_IMAGE);
    const struct upp_part *p = NULL, *medium = NULL;
    struct upp_str rest = {0};
    yyjson_arr_iter it = yyjson_arr_iter_with(raw);
    yyjson_val *part;
    while ((part = yyjson_arr_iter_next(&it))) {
        if (upp__get_true(part, "thought"))
            continue;
        if (!takes_text(m, &p, &rest, upp__get_str(part, "text")))
            return false;
        if (upp__get_str(upp__get(part, "inlineData"), "data").n && !(medium = upp_part_next(m, medium, media)))
            return false;
    }
    while (!rest.n && (p = upp_part_next(m, p, 1u << UPP_PART_TEXT)))
        rest = p->text;
    return !rest.n && !upp_part_next(m, medium, media);
}

/* What it said, as it said it. */
static void put_raw(struct upp__body *b, yyjson_val *raw)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(raw);
    bool wanted = wants_signatures(b->vendor->model);
    yyjson_val *part;
    while ((part = yyjson_arr_iter_next(&it))) {
        bool call = upp__get(part, "functionCall");
        if (call && wanted && !upp__get(part, "thoughtSignature")) { /* an older model said it */
            wj_write_open(&b->w, '{');
            upp__put_all(b, part);
            upp__put(b, "thoughtSignature", UPP_STR(DUMMY_SIGNATURE));
            wj_write_close(&b->w, '}');
        } else
            wj_write_value(&b->w, part);
        wanted = wanted && !call;
    }
}

static void put_call(struct upp__body *b, const struct upp_part *p, bool own_id, bool sign)
{
    wj_write_open(&b->w, '{');
    wj_put_open(&b->w, "functionCall", '{');
    if (p->id.n && !own_id)
        upp__put(b, "id", p->id);
    upp__put(b, "name", p->name);
    wj_write_name(&b->w, UPP_STR("args"));
    upp__write_arguments(&b->w, b->arena, p->text);
    wj_write_close(&b->w, '}');
    if (sign)
        upp__put(b, "thoughtSignature", UPP_STR(DUMMY_SIGNATURE));
    wj_write_close(&b->w, '}');
}

/* What somebody else said, or it itself in plain texts and calls. */
static void put_parts(struct upp__body *b, const struct said *s)
{
    bool sign = wants_signatures(b->vendor->model);
    for (b->part = 0; b->part < s->message->n_parts; b->part++) {
        const struct upp_part *p = &s->message->parts[b->part];
        if (p->kind == UPP_PART_TEXT && p->text.n)
            put_text_part(b, p->text);
        else if (p->kind == UPP_PART_REASONING)
            upp__lose(b, "reasoning", "Google takes back thoughts only as it has signed them");
        else if (p->kind == UPP_PART_CALL && !upp__is_said_call(b, p))
            upp__lose_call(b);
        else if (p->kind == UPP_PART_CALL) {
            put_call(b, p, upp__call_id_listed(s->own_ids, p->id), sign);
            sign = false;
        } else if (p->kind >= UPP_PART_IMAGE && p->kind <= UPP_PART_BINARY) {
            if (media_refused(p->media)) /* of the past: nobody can say it otherwise any more */
                upp__lose(b, upp__kind_name(p->kind), media_refused(p->media));
            else
                put_media_part(b, p);
        }
    }
}

static void put_model(struct contents *o, const struct upp_message *m)
{
    yyjson_val *own = upp__look_own(o->b, m->metadata), *raw = upp__get(own, "raw");
    o->said = (struct said){.message = m, .own_ids = upp__get(own, "minted")};
    if (yyjson_arr_size(raw) && same_calls(o->b, &o->said, raw) && same_texts(m, raw))
        o->said.raw = raw;
    begin_content(o->b, "model");
    if (o->said.raw)
        put_raw(o->b, o->said.raw);
    else
        put_parts(o->b, &o->said);
    end_content(o->b);
}

/* ---- Results --------------------------------------------------------------------------------- */

/* A result among the messages in a row that hold them. */
struct result {
    size_t message, index;
    const struct upp_part *part;
    bool written;
};

/* The id under which Google knows a call; empty: none. */
static struct upp_str id_at_google(const struct said *s, struct upp_str id)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(s->raw);
    const struct upp_part *p = NULL;
    yyjson_val *call;
    while ((call = next_call(&it)) && (p = upp_part_next(s->message, p, UPP_PARTS_CALLS)))
        if (wb_str_eq(p->id, id))
            return upp__get_str(call, "id");
    return upp__call_id_listed(s->own_ids, id) ? (struct upp_str){0} : id;
}

static const char *result_refused(const struct upp__block *block)
{
    struct upp_str mime, data;
    return upp__media_bytes(&block->media, &mime, &data) ? NULL
                                                         : "results for Google hold data of a known type, no addresses";
}

static void put_response_media(struct upp__body *b, yyjson_val *blocks)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(blocks);
    yyjson_val *item;
    struct upp__block block;
    struct upp_str mime, data;
    bool any = false;
    while ((item = yyjson_arr_iter_next(&it))) {
        if (!upp__block_read(item, &block) || block.kind == UPP_PART_TEXT)
            continue;
        if (!upp__media_bytes(&block.media, &mime, &data))
            continue; /* the text says so */
        if (!any)
            wj_put_open(&b->w, "parts", '[');
        any = true;
        wj_write_open(&b->w, '{');
        put_inline(b, mime, data);
        wj_write_close(&b->w, '}');
    }
    if (any)
        wj_write_close(&b->w, ']');
}

static void put_response(struct upp__body *b, const struct upp_part *p)
{
    yyjson_val *value = upp__look(b, p->text);
    bool blocks = upp__is_blocks(value), object = yyjson_is_obj(value) && !p->is_error;
    wj_write_name(&b->w, UPP_STR("response"));
    if (object)
        wj_write_value(&b->w, value);
    else {
        const char *name = p->is_error ? "error" : "output";
        wj_write_open(&b->w, '{');
        if (value && !blocks)
            wj_put_value(&b->w, name, value);
        else
            upp__put(b, name, blocks ? upp__blocks_text(b, value, result_refused) : p->text);
        wj_write_close(&b->w, '}');
    }
    if (blocks)
        put_response_media(b, value);
}

static void put_result(struct contents *o, struct result *r)
{
    struct upp__body *b = o->b;
    struct upp_str id = id_at_google(&o->said, r->part->id);
    b->message = r->message;
    b->part = r->index;
    r->written = true;
    wj_write_open(&b->w, '{');
    wj_put_open(&b->w, "functionResponse", '{');
    if (id.n)
        upp__put(b, "id", id);
    upp__put(b, "name", upp__tool_name(b->req, r->message, r->part));
    put_response(b, r->part);
    wj_write_close(&b->w, '}');
    wj_write_close(&b->w, '}');
}

/* The result of a call; looked for from `at` on, where it is when all came in order. */
static struct result *find_result(struct result *list, size_t n, size_t at, struct upp_str id)
{
    for (size_t i = 0; i < n; i++) {
        struct result *r = &list[(at + i) % n];
        if (!r->written && wb_str_eq(r->part->id, id))
            return r;
    }
    return NULL;
}

/* Results of messages [from, to) in one content, in the order of their calls: those that have no id here are told apart
 * by nothing else. */
static void put_results(struct contents *o, size_t from, size_t to)
{
    const struct upp_message *const *messages = o->b->req->messages;
    size_t n = 0, at = 0;
    for (size_t i = from; i < to; i++)
        n += messages[i]->n_parts;
    struct result *list = wb_new_n(o->b->arena, struct result, n ? n : 1), *r;
    if (!list)
        return;
    n = 0;
    for (size_t i = from; i < to; i++)
        for (size_t k = 0; k < messages[i]->n_parts; k++)
            if (messages[i]->parts[k].kind == UPP_PART_RESULT)
                list[n++] = (struct result){i, k, &messages[i]->parts[k], false};
    begin_content(o->b, "user");
    for (const struct upp_part *call = NULL; o->said.message && n;) {
        call = upp_part_next(o->said.message, call, UPP_PARTS_CALLS);
        if (!call)
            break;
        if ((r = find_result(list, n, at++, call->id)))
            put_result(o, r);
    }
    for (size_t i = 0; i < n; i++)
        if (!list[i].written)
            put_result(o, &list[i]);
    end_content(o->b);
}

void upp__google_contents(struct upp__body *body)
{
    struct contents all = {.b = body}, *o = &all;
    const struct upp_request *req = body->req;
    wj_put_open(&o->b->w, "contents", '[');
    for (size_t i = 0, to; i < req->n_messages; i = to) {
        const struct upp_message *m = req->messages[i];
        to = i + 1;
        o->b->message = i;
        if (m->role == UPP_ROLE_USER)
            put_user(o->b, m);
        else if (m->role == UPP_ROLE_ASSISTANT)
            put_model(o, m);
        else {
            while (to < req->n_messages && req->messages[to]->role == UPP_ROLE_TOOL)
                to++;
            put_results(o, i, to);
        }
    }
    wj_write_close(&o->b->w, ']');
}
