/* dialects/agentapi/decode.c — reading the stream of an Agent API response.
 *
 * Messages are built (build.c) and, at the end, read like a document.
 */
#include "dialects/agentapi/decode.h"

#include <inttypes.h>

#include "base/err.h"
#include "dialects/core/lift.h"
#include "dialects/core/writer.h"
#include "json/number.h"
#include "json/read.h"
#include "json/value.h"

void wd_aap_decoder_init(struct wd_aap_decoder *d, struct wb_arena *a)
{
    *d = (struct wd_aap_decoder){.a = a, .scratch = WB_ARENA(WD_DOC_MEMORY)};
}

void wd_aap_decoder_done(struct wd_aap_decoder *d)
{
    for (size_t i = 0; i < d->messages.n; i++)
        wd_aap_building_done(&d->messages.p[i]);
    wb_vec_done(&d->messages);
    wb_arena_done(&d->scratch);
}

/* ---- Values ---------------------------------------------------------------------------------------------- */

static void set_text(struct wd_aap_decoder *d, yyjson_val *v, const char *name, struct upp_str *to)
{
    struct upp_str text = wj_text_at(v, name);
    if (text.p)
        *to = wb_arena_dup(d->a, text);
}

static int set_object(struct wd_aap_decoder *d, yyjson_val *v, const char *name, struct upp_str *to,
                      struct upp_err *err)
{
    yyjson_val *o = yyjson_obj_get(v, name);
    return yyjson_is_obj(o) ? wj_value_text(d->a, o, to, err) : 0;
}

/* ---- Messages -------------------------------------------------------------------------------------------- */

static struct wd_aap_building *message_of(struct wd_aap_decoder *d, struct upp_str id)
{
    for (size_t i = d->messages.n; id.p && i-- > 0;)
        if (wb_str_eq(d->messages.p[i].id, id))
            return &d->messages.p[i];
    return NULL;
}

/* The message with this id, or a new one, which is then the open one. No id: the open message. NULL: failed, see
 * err. */
static struct wd_aap_building *message_at(struct wd_aap_decoder *d, struct upp_str id, struct upp_err *err)
{
    struct wd_aap_building *b = id.p ? message_of(d, id) : d->open ? &d->messages.p[d->open - 1] : NULL;
    struct wd_aap_building m = {.a = d->a, .status = WD_AAP_IN_PROGRESS};
    if (b) {
        d->last = (size_t)(b - d->messages.p) + 1;
        return b;
    }
    m.id = id.p ? wb_arena_dup(d->a, id) : (struct upp_str){0};
    if (wb_arena_check(d->a, err) < 0)
        return NULL;
    if (!wb_vec_push(&d->messages, m, (size_t)WD_AAP_MESSAGES)) {
        (void)(d->messages.n < WD_AAP_MESSAGES
                   ? upp_fail(err, UPP_ENOMEM, "no memory for a message")
                   : upp_fail(err, UPP_ELIMIT, "a stream of more than %d messages", WD_AAP_MESSAGES));
        return NULL;
    }
    d->open = d->last = d->messages.n;
    return &d->messages.p[d->messages.n - 1];
}

/* Applies a message frame. A message that has ended stays as it is. */
static int update(struct wd_aap_decoder *d, struct wd_aap_building *b, yyjson_val *v, struct upp_err *err)
{
    yyjson_val *content = yyjson_obj_get(v, "content");
    enum wd_aap_status now = wd_aap_status(wj_text_at(v, "status"));
    int r = 0;
    if (b->status >= WD_AAP_COMPLETED)
        return 0;
    set_text(d, v, "type", &b->type);
    set_text(d, v, "role", &b->role);
    set_text(d, v, "code", &b->code);
    set_text(d, v, "message", &b->message);
    r = set_object(d, v, "usage", &b->usage, err);
    if (r >= 0)
        r = set_object(d, v, "metadata", &b->metadata, err);
    if (r >= 0)
        r = set_object(d, v, "error", &b->error, err);
    if (r >= 0 && yyjson_is_arr(content) && yyjson_arr_size(content))
        r = wd_aap_set_contents(b, content, err);
    if (r < 0)
        return r;
    set_text(d, v, "status", &b->word);
    if (now != WD_AAP_UNKNOWN && now != WD_AAP_CREATED)
        wd_aap_building_end(b, now);
    else
        b->word = (struct upp_str){0};
    return wb_arena_check(d->a, err);
}

static int message_frame(struct wd_aap_decoder *d, yyjson_val *v, struct upp_err *err)
{
    struct upp_str type = wj_text_at(v, "type"), id = wj_text_at(v, "id");
    if (wb_str_eq(type, UPP_STR("heartbeat")))
        return 0;
    struct wd_aap_building *b = message_at(d, id, err);
    int r = b ? update(d, b, v, err) : wd_error_of(err);
    if (r >= 0 && b->status >= WD_AAP_COMPLETED && d->open && b == &d->messages.p[d->open - 1])
        d->open = 0;
    return r;
}

static int content_frame(struct wd_aap_decoder *d, yyjson_val *v, struct upp_err *err)
{
    struct upp_str id = wj_text_at(v, "msg_id");
    enum wd_aap_status now = wd_aap_status(wj_text_at(v, "status"));
    yyjson_val *at = yyjson_obj_get(v, "index");
    uint64_t index = 0;
    if (!wj_text_at(v, "type").n)
        return upp_fail(err, UPP_EINVALID, "a content has a type");
    struct wd_aap_building *b = message_at(d, id, err);
    if (!b)
        return wd_error_of(err);
    if (at && yyjson_is_raw(at) ? !wj_num_u64(wj_text(at), &index) : at && !yyjson_is_null(at))
        return upp_fail(err, UPP_EINVALID, "'index' is a whole number");
    if (!at || yyjson_is_null(at))
        index = b->contents.n && !b->contents.p[b->contents.n - 1].over ? b->contents.n - 1 : b->contents.n;
    if (yyjson_is_true(yyjson_obj_get(v, "delta")))
        return wd_aap_add_delta_content(b, (size_t)index, v, err);
    return now >= WD_AAP_COMPLETED ? wd_aap_content_completed(b, (size_t)index, v, err)
                                   : wd_aap_replace_content(b, (size_t)index, v, err);
}

/* ---- Responses ------------------------------------------------------------------------------------------- */

static bool is_listed(yyjson_val *output, struct upp_str id)
{
    yyjson_val *m;
    size_t i, n;
    yyjson_arr_foreach(output, i, n, m) if (id.p && wb_str_eq(wj_text_at(m, "id"), id)) return true;
    return false;
}

/* A final response lists its messages: ended messages that are not listed were voided and are removed; listed
 * messages that were not seen are added. */
static int apply_output(struct wd_aap_decoder *d, yyjson_val *output, struct upp_err *err)
{
    size_t n_left = 0, i, n;
    yyjson_val *m;
    int r = 0;
    if (!yyjson_is_arr(output) || !yyjson_arr_size(output))
        return 0;
    for (i = 0; i < d->messages.n; i++) {
        struct wd_aap_building b = d->messages.p[i];
        if (i >= d->first && b.status >= WD_AAP_COMPLETED && !is_listed(output, b.id))
            wd_aap_building_done(&b);
        else
            d->messages.p[n_left++] = b;
    }
    d->messages.n = n_left;
    d->open = 0;
    yyjson_arr_foreach(output, i, n, m)
    {
        if (r >= 0 && yyjson_is_obj(m) && wj_text_at(m, "id").p)
            r = message_frame(d, m, err);
    }
    return r;
}

static int response_frame(struct wd_aap_decoder *d, yyjson_val *v, struct upp_err *err)
{
    enum wd_aap_status now = wd_aap_status(wj_text_at(v, "status"));
    yyjson_val *error = yyjson_obj_get(v, "error");
    int r = now >= WD_AAP_COMPLETED ? apply_output(d, yyjson_obj_get(v, "output"), err) : 0;
    if (r < 0)
        return r;
    for (size_t i = d->first; now == WD_AAP_COMPLETED && i < d->messages.n; i++)
        if (d->messages.p[i].status < WD_AAP_COMPLETED) {
            wd_aap_building_end(&d->messages.p[i], now); /* some writers send no final frame for their messages */
            d->messages.p[i].word = (struct upp_str){0};
        }
    set_text(d, v, "id", &d->id);
    set_text(d, v, "session_id", &d->session);
    set_text(d, error, "code", &d->code);
    set_text(d, error, "message", &d->message);
    uint64_t created = wd_number_at(v, "created_at"), completed = wd_number_at(v, "completed_at");
    d->created_at = created ? created : d->created_at;
    d->completed_at = completed ? completed : d->completed_at;
    d->has_usage |= wd_usage_read(yyjson_obj_get(v, "usage"), wd_aap_usage, &d->usage);
    d->begun = true;
    if (now != WD_AAP_UNKNOWN)
        d->status = now;
    return wb_arena_check(d->a, err);
}

/* ---- Frames ---------------------------------------------------------------------------------------------- */

/* A number, or a string that holds one; each is one more than the last. A new response starts counting again. */
static int check_sequence(struct wd_aap_decoder *d, yyjson_val *v, bool begins, struct upp_err *err)
{
    yyjson_val *s = yyjson_obj_get(v, "sequence_number");
    uint64_t n;
    if (!s || yyjson_is_null(s))
        return 0;
    if (!(yyjson_is_raw(s) ? wj_num_u64(wj_text(s), &n) : yyjson_is_str(s) && wb_str_u64(wj_text(s), &n)))
        return upp_fail(err, UPP_EINVALID, "'sequence_number' is a whole number");
    if (d->numbered && !begins && n != d->sequence + 1)
        return upp_fail(err, UPP_EINVALID, "frame %" PRIu64 " comes after frame %" PRIu64, n, d->sequence);
    d->numbered = true;
    d->sequence = n;
    return 0;
}

/* {"error": text} instead of a response. */
static int take_refusal(struct wd_aap_decoder *d, yyjson_val *v, struct upp_err *err)
{
    set_text(d, v, "error", &d->message);
    d->status = WD_AAP_FAILED;
    d->begun = true;
    return wb_arena_check(d->a, err);
}

static int frame(struct wd_aap_decoder *d, yyjson_val *v, struct upp_err *err)
{
    struct upp_str object = wj_text_at(v, "object");
    bool is_response = wb_str_eq(object, UPP_STR("response"));
    bool begins = is_response && wd_aap_status(wj_text_at(v, "status")) == WD_AAP_CREATED;
    if (!yyjson_is_obj(v))
        return upp_fail(err, UPP_EINVALID, "a frame is an object");
    if (!object.p && wj_text_at(v, "error").p)
        return take_refusal(d, v, err);
    if (d->status >= WD_AAP_COMPLETED && !begins)
        return upp_fail(err, UPP_EINVALID, "a frame comes after the response was over");
    int r = check_sequence(d, v, begins && d->status >= WD_AAP_COMPLETED, err);
    if (r < 0)
        return r;
    if (begins && d->status >= WD_AAP_COMPLETED) {
        d->status = WD_AAP_CREATED;
        d->first = d->messages.n;
        d->open = 0;
    }
    if (is_response)
        return response_frame(d, v, err);
    if (wb_str_eq(object, UPP_STR("message")))
        return message_frame(d, v, err);
    if (wb_str_eq(object, UPP_STR("content")))
        return content_frame(d, v, err);
    d->skipped++;
    return 0;
}

int wd_aap_decode(struct wd_aap_decoder *d, struct upp_str line, struct upp_err *err)
{
    struct upp_err why = {0};
    struct upp_str data = wb_str_trim(line);
    yyjson_val *v = NULL;
    if (wb_str_starts(data, UPP_STR("data:")))
        data = wb_str_trim(wb_str_sub(data, 5, SIZE_MAX));
    else if (data.n && data.p[0] != '{')
        return data.p[0] == ':' || wb_str_starts(data, UPP_STR("event:")) || wb_str_starts(data, UPP_STR("id:")) ||
                       wb_str_starts(data, UPP_STR("retry:")) || wb_str_eq(data, UPP_STR("[DONE]"))
                   ? 0
                   : upp_fail(err, UPP_EINVALID, "a line that is neither an event nor an object");
    if (!data.n || wb_str_eq(data, UPP_STR("[DONE]")))
        return 0;
    wb_arena_reset(&d->scratch);
    d->last = 0;
    int r = wj_read(&d->scratch, data, UPP_OPTS(wj_read_opts, .max_bytes = WD_AAP_LINE), &v, &why);
    if (r >= 0)
        r = frame(d, v, &why);
    if (r >= 0)
        d->frames++;
    else if (err)
        *err = why;
    return r;
}

/* ---- The end --------------------------------------------------------------------------------------------- */

/* The stream has ended: a response without an end has failed. */
static void decoder_end(struct wd_aap_decoder *d)
{
    if (d->status >= WD_AAP_COMPLETED)
        return;
    d->status = WD_AAP_FAILED;
    d->message = d->message.p ? d->message : UPP_STR("the stream ended before the response did");
}

/* As a list. */
static void write_messages(struct wj_writer *w, struct wd_aap_decoder *d)
{
    wj_write_open(w, '[');
    for (size_t i = 0; i < d->messages.n; i++) {
        struct wd_aap_building *m = &d->messages.p[i];
        if (!m->role.p)
            m->role = UPP_STR("assistant");
        wd_aap_built_write(w, m);
    }
    wj_write_close(w, ']');
}

/* ---- Into the model --------------------------------------------------------------------------------------- */

static int list_of(struct wd_aap_decoder *d, yyjson_val **ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_DOC_BYTES);
    struct wj_writer w;
    wj_writer_init(&w, &b, err);
    write_messages(&w, d);
    int r = wj_writer_check(&w);
    if (r < 0)
        return r;
    return wj_read(d->a, wb_buf_str(&b), UPP_OPTS(wj_read_opts, .max_bytes = WD_DOC_BYTES, .depth = WD_DOC_DEPTH), ret,
                   err);
}

static int turn_add(struct wd_aap_decoder *d, struct wm_doc *doc, struct upp_str agent, int64_t now_ms,
                    struct upp_err *err)
{
    size_t at = doc->turns.n, first = doc->entries.n;
    struct wd_lifting l = {.a = d->a, .doc = doc, .agent = agent, .now_ms = now_ms};
    int r = list_of(d, &l.root, err);
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
        turn->usage = d->usage;
    } else
        doc->turns.n = at;
    return r;
}

int wd_aap_decode_end(struct wd_aap_decoder *d, struct wm_doc *doc, struct upp_str agent, int64_t now_ms,
                      struct upp_err *err)
{
    decoder_end(d);
    if (d->session.p && !doc->id.p)
        doc->id = d->session;
    return d->messages.n ? turn_add(d, doc, agent, now_ms, err) : 0;
}

/* ---- Whole streams --------------------------------------------------------------------------------------- */

/* The frame in a line; empty: none. */
static struct upp_str frame_of(struct upp_str line)
{
    line = wb_str_trim(line);
    if (wb_str_starts(line, UPP_STR("data:")))
        line = wb_str_trim(wb_str_sub(line, 5, SIZE_MAX));
    return line.n && line.p[0] == '{' ? line : (struct upp_str){0};
}

bool wd_aap_is_stream(struct upp_str lines)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WD_DOC_MEMORY);
    struct upp_str line, first = {0}, object;
    yyjson_val *v;
    while (!first.n && wb_str_split(&lines, '\n', &line))
        first = frame_of(line);
    if (!first.n || wj_read(&a, first, UPP_OPTS(wj_read_opts, .max_bytes = WD_AAP_LINE), &v, NULL) < 0)
        return false;
    object = wj_text_at(v, "object");
    return wb_str_eq(object, UPP_STR("content")) ||
           (wb_str_eq(object, UPP_STR("response")) && !yyjson_is_arr(yyjson_obj_get(v, "output")));
}

static void put_response(struct wd_aap_decoder *d, struct wj_writer *w)
{
    wj_write_open(w, '{');
    wj_put_text(w, "object", UPP_STR("response"));
    wj_put_text(w, "status", wb_cstr(wd_aap_status_word(d->status)));
    if (d->message.p || d->code.p) {
        wj_put_open(w, "error", '{');
        wj_put_text(w, "code", d->code);
        wj_put_text(w, "message", d->message);
        wj_write_close(w, '}');
    }
    wj_put_text(w, "id", d->id);
    if (d->created_at)
        wj_put_u64(w, "created_at", d->created_at);
    if (d->completed_at)
        wj_put_u64(w, "completed_at", d->completed_at);
    wj_write_name(w, UPP_STR("output"));
    write_messages(w, d);
    if (d->has_usage) {
        wj_write_name(w, UPP_STR("usage"));
        wd_usage_write(w, wd_aap_usage, &d->usage);
    }
    wj_put_text(w, "session_id", d->session);
    wj_write_close(w, '}');
}

int wd_aap_stream_document(struct upp_str lines, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WD_DOC_MEMORY);
    struct wd_aap_decoder d;
    struct wj_writer w;
    struct upp_str line;
    uint64_t number = 0;
    int r = 0;
    wd_aap_decoder_init(&d, &a);
    while (r >= 0 && wb_str_split(&lines, '\n', &line)) {
        number++;
        r = wd_aap_decode(&d, line, err);
    }
    if (r < 0)
        r = upp_wrap(err, r, "line %" PRIu64, number);
    if (r >= 0) {
        decoder_end(&d);
        wj_writer_init(&w, out, err);
        put_response(&d, &w);
        r = wj_writer_check(&w);
    }
    wd_aap_decoder_done(&d);
    return r;
}
