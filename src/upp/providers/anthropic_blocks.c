/* upp/providers/anthropic_blocks.c — the blocks of an answer of Anthropic: said as they come, and kept for the way
 * back.
 *
 * The first form of a block is taken apart: members that deltas may add to, and the rest. metadata.raw is put together
 * from them at the end, and only where texts and calls alone would not say the same.
 */
#include "base/str.h"
#include "base/utf8.h"
#include "upp/providers/anthropic.h"
#include "upp/providers/call_id.h"

enum { MAX_BLOCKS = 4096 };

/* ---- What deltas add to a block --------------------------------------------------------------------------------- */

enum how { APPEND, ASSIGN, JSON, PUSH };

/* A delta's member `from` becomes the block's member `to`. Where the block is a part of kind `says` it is said, too. */
static const struct delta {
    struct upp_str type;
    const char *from;
    struct upp_str to;
    uint8_t how;
    uint8_t says;
} deltas[] = {
    {UPP_STR_INIT("text_delta"), "text", UPP_STR_INIT("text"), APPEND, UPP_PART_TEXT},
    {UPP_STR_INIT("input_json_delta"), "partial_json", UPP_STR_INIT("input"), JSON, UPP_PART_CALL},
    {UPP_STR_INIT("thinking_delta"), "thinking", UPP_STR_INIT("thinking"), APPEND, UPP_PART_REASONING},
    {UPP_STR_INIT("signature_delta"), "signature", UPP_STR_INIT("signature"), ASSIGN, 0},
    {UPP_STR_INIT("citations_delta"), "citation", UPP_STR_INIT("citations"), PUSH, 0},
    {UPP_STR_INIT("compaction_delta"), "content", UPP_STR_INIT("content"), APPEND, 0},
};
enum { MEMBERS = WB_LEN(deltas), INPUT = 1 };

struct member {
    struct upp_str start; /* its value in content_block_start, as JSON, in keep; empty: none */
    struct wb_buf bytes;  /* a text, JSON, or items of an array with commas between them */
    bool added;           /* deltas came: `bytes` counts, not `start` */
};

struct upp__anthropic_block {
    uint64_t index; /* on the wire */
    uint32_t part;
    uint8_t says; /* enum upp_part_kind; 0: no part */
    bool open;
    bool plain;          /* a text or a call and nothing more: it can be written again from its part */
    bool exact;          /* `head` is all of it */
    struct upp_str head; /* the members that are not in `members`, as JSON that lacks its last bracket; in keep */
    struct member *members[MEMBERS]; /* in keep; NULL: none */
};

static struct upp__anthropic_own *own_of(struct upp__reader *r)
{
    return r->own;
}

static struct member *member_of(struct upp__reader *r, struct upp__anthropic_block *b, size_t i)
{
    if (!b->members[i] && (b->members[i] = wb_new(&r->keep, struct member)))
        b->members[i]->bytes.max = UPP__ANTHROPIC_BYTES;
    return b->members[i];
}

/* A citation among the others. */
static void push(struct upp__reader *r, struct wb_buf *items, yyjson_val *item)
{
    struct upp_str json = upp__json_text(&r->keep, item);
    if (items->n)
        wb_buf_addc(items, ',');
    wb_buf_add(items, json);
}

/* Deltas begin: what the start said already comes first. */
static void begin_adding(struct member *m, const struct delta *d, struct upp_str said)
{
    m->added = true;
    if (d->how == APPEND)
        wb_wtf8_add(&m->bytes, said);
    else if (d->how == PUSH && m->start.n > 2 && m->start.p[0] == '[')
        wb_buf_add(&m->bytes, wb_str_sub(m->start, 1, m->start.n - 2));
}

static int add(struct upp__reader *r, struct upp__anthropic_block *b, const struct delta *d, yyjson_val *value,
               struct upp_err *err)
{
    struct upp_str text = upp__str(value);
    struct member *m = text.p || d->how == PUSH ? member_of(r, b, (size_t)(d - deltas)) : NULL;
    if (!m) /* nothing, or no memory for it */
        return upp__check(r, err);
    if (!m->added)
        begin_adding(m, d, (struct upp_str){0});
    if (d->how == PUSH && yyjson_is_obj(value)) {
        b->plain = false;
        push(r, &m->bytes, value);
    } else if (text.n) {
        if (d->how == ASSIGN)
            wb_buf_clear(&m->bytes);
        wb_wtf8_add(&m->bytes, text); /* half a pair may wait for the other half */
    }
    if (b->says && b->says == d->says)
        upp__say_delta(r, b->part, text);
    int e = wb_buf_check(&m->bytes, err);
    return e < 0 ? e : upp__check(r, err);
}

/* ---- Blocks ----------------------------------------------------------------------------------------------------- */

static const struct {
    struct upp_str type;
    uint8_t says;
} kinds[] = {
    {UPP_STR_INIT("text"), UPP_PART_TEXT},
    {UPP_STR_INIT("thinking"), UPP_PART_REASONING},
    {UPP_STR_INIT("redacted_thinking"), UPP_PART_REASONING},
    {UPP_STR_INIT("tool_use"), UPP_PART_CALL},
};

static uint8_t kind_of(yyjson_val *block)
{
    struct upp_str type = upp__get_str(block, "type");
    for (size_t i = 0; i < WB_LEN(kinds); i++)
        if (wb_str_eq(type, kinds[i].type))
            return kinds[i].says;
    return 0;
}

/* Does the message's part say all that this member says? */
static bool is_plain_member(uint8_t says, yyjson_val *name, yyjson_val *value)
{
    struct upp_str n = wj_text(name);
    if (yyjson_is_null(value) || wb_str_eq(n, UPP_STR("type")))
        return true;
    if (says == UPP_PART_TEXT)
        return wb_str_eq(n, UPP_STR("text")) || (wb_str_eq(n, UPP_STR("citations")) && !yyjson_arr_size(value));
    return wb_str_eq(n, UPP_STR("id")) || wb_str_eq(n, UPP_STR("name")) || wb_str_eq(n, UPP_STR("input"));
}

static bool is_plain(uint8_t says, yyjson_val *block)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(block);
    yyjson_val *name;
    if (says != UPP_PART_TEXT && says != UPP_PART_CALL)
        return false;
    while ((name = yyjson_obj_iter_next(&it)))
        if (!is_plain_member(says, name, yyjson_obj_iter_get_val(name)))
            return false;
    return true;
}

/* Takes a block apart: what deltas may add to, and the rest. */
static void take_apart(struct upp__reader *r, struct upp__anthropic_block *b, yyjson_val *block)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf head = WB_BUF(UPP__ANTHROPIC_BYTES);
    struct wj_writer w;
    yyjson_obj_iter it = yyjson_obj_iter_with(block);
    yyjson_val *name;
    wj_writer_init(&w, &head, NULL);
    wj_write_open(&w, '{');
    while ((name = yyjson_obj_iter_next(&it))) {
        yyjson_val *value = yyjson_obj_iter_get_val(name);
        size_t i = 0;
        while (i < MEMBERS && !wj_named(name, deltas[i].to))
            i++;
        struct member *m = i < MEMBERS ? member_of(r, b, i) : NULL;
        if (m)
            m->start = upp__json_text(&r->keep, value);
        if (i == MEMBERS || b->exact) {
            wj_write_name(&w, wj_text(name));
            wj_write_value(&w, value);
        }
    }
    int e = wj_writer_check(&w);
    upp__note(r, e);
    b->head = wb_arena_dup(&r->keep, wb_buf_str(&head));
}

/* A text that stands in the start of a block; deltas go on from it. */
static void say_start(struct upp__reader *r, struct upp__anthropic_block *b, yyjson_val *block)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        const struct delta *d = &deltas[i];
        struct upp_str said = upp__get_str(block, d->to.p);
        if (d->how != APPEND || !said.n || !b->members[i])
            continue;
        begin_adding(b->members[i], d, said);
        if (b->says && b->says == d->says)
            upp__say_delta(r, b->part, said);
    }
}

static struct upp__anthropic_block *find_block(struct upp__anthropic_own *own, uint64_t index)
{
    for (size_t i = own->blocks.n; i-- > 0;)
        if (own->blocks.p[i].index == index && own->blocks.p[i].open)
            return &own->blocks.p[i];
    return NULL;
}

static void say_held(struct upp__reader *r, bool cut)
{
    struct upp__anthropic_own *own = own_of(r);
    if (!own->held)
        return;
    struct upp__anthropic_block *b = &own->blocks.p[own->held - 1];
    struct member *input = b->members[INPUT];
    struct upp_str args = input ? input->start : (struct upp_str){0};
    own->held = 0;
    if (!wb_str_starts(args, UPP_STR("{")))
        args = UPP_STR("{}");
    if (cut)
        upp__say_cut(r, b->part, args);
    else
        upp__say_delta(r, b->part, args);
    upp__say_close(r, b->part);
}

int upp__anthropic_block_start(struct upp__reader *r, uint64_t index, yyjson_val *block, bool exact,
                               struct upp_err *err)
{
    struct upp__anthropic_own *own = own_of(r);
    struct upp__anthropic_block b = {.index = index, .open = true, .exact = exact, .says = kind_of(block)};
    if (find_block(own, index))
        return upp_fail(err, UPP_EPROTO, "block %llu begins twice", (unsigned long long)index);
    if (!yyjson_is_obj(block))
        return upp_fail(err, UPP_EPROTO, "block %zu of the answer is no object", own->blocks.n);
    if (!wb_vec_room(&own->blocks, MAX_BLOCKS))
        return own->blocks.n >= MAX_BLOCKS ? upp_fail(err, UPP_ELIMIT, "an answer of more than %d blocks", MAX_BLOCKS)
                                           : upp_fail(err, UPP_ENOMEM, "no memory for a block of the answer");
    b.plain = is_plain(b.says, block);
    say_held(r, false);
    take_apart(r, &b, block);
    if (b.says) {
        bool call = b.says == UPP_PART_CALL;
        struct upp_str id = call ? upp__get_str(block, "id") : (struct upp_str){0};
        if (call && !id.n) /* of a server that speaks this API, and not all of it */
            id = upp__call_id_sent(r, own->blocks.n);
        b.part = upp__say_part(r, b.says, id, call ? upp__get_str(block, "name") : (struct upp_str){0});
    }
    say_start(r, &b, block);
    own->blocks.p[own->blocks.n++] = b;
    return upp__check(r, err);
}

/* A call without deltas has no arguments, or all of them in its start; or it was cut before them, which nobody knows
 * before another block begins or the message ends. */
static void end_block(struct upp__reader *r, struct upp__anthropic_block *b)
{
    struct upp__anthropic_own *own = own_of(r);
    struct member *input = b->members[INPUT];
    b->open = false;
    if (b->says == UPP_PART_CALL && !(input && input->bytes.n)) {
        say_held(r, false);
        own->held = 1 + (size_t)(b - own->blocks.p);
    } else if (b->says)
        upp__say_close(r, b->part);
}

int upp__anthropic_block_delta(struct upp__reader *r, uint64_t index, yyjson_val *delta, struct upp_err *err)
{
    struct upp__anthropic_block *b = find_block(own_of(r), index);
    struct upp_str type = upp__get_str(delta, "type");
    if (!b)
        return upp_fail(err, UPP_EPROTO, "a delta for block %llu, which is not open", (unsigned long long)index);
    for (size_t i = 0; i < MEMBERS; i++)
        if (wb_str_eq(type, deltas[i].type))
            return add(r, b, &deltas[i], upp__get(delta, deltas[i].from), err);
    return 0; /* of a kind that is not known yet */
}

void upp__anthropic_block_stop(struct upp__reader *r, uint64_t index)
{
    struct upp__anthropic_block *b = find_block(own_of(r), index);
    if (b)
        end_block(r, b);
}

void upp__anthropic_blocks_stop(struct upp__reader *r, bool cut)
{
    struct upp__anthropic_own *own = own_of(r);
    for (size_t i = 0; i < own->blocks.n; i++)
        if (own->blocks.p[i].open)
            end_block(r, &own->blocks.p[i]);
    say_held(r, cut);
}

/* ---- The way back ----------------------------------------------------------------------------------------------- */

static void write_member(struct upp__reader *r, struct wj_writer *w, const struct delta *d, const struct member *m)
{
    struct upp_str bytes = wb_buf_str(&m->bytes);
    wj_write_name(w, d->to);
    if (!m->added || (d->how == JSON && !bytes.n))
        wj_write_raw(w, m->start.n ? m->start.p : "{}", m->start.n ? m->start.n : 2);
    else if (d->how == JSON)
        upp__write_arguments(w, &r->keep, bytes);
    else if (d->how == PUSH) {
        wj_write_open(w, '[');
        wb_buf_add(w->out, bytes);
        wj_write_close(w, ']');
    } else
        wj_write_str(w, bytes);
}

static void write_block(struct upp__reader *r, struct wj_writer *w, const struct upp__anthropic_block *b)
{
    if (w->comma)
        wb_buf_addc(w->out, ',');
    wb_buf_add(w->out, b->head);
    w->comma = b->head.n > 1;
    for (size_t i = 0; i < MEMBERS && !b->exact; i++)
        if (b->members[i])
            write_member(r, w, &deltas[i], b->members[i]);
    wj_write_close(w, '}');
}

void upp__anthropic_blocks_write(struct upp__reader *r, struct wj_writer *w)
{
    struct upp__anthropic_own *own = own_of(r);
    bool plain = true;
    for (size_t i = 0; i < own->blocks.n; i++)
        plain &= own->blocks.p[i].plain;
    if (plain)
        return;
    wj_put_open(w, "raw", '[');
    for (size_t i = 0; i < own->blocks.n; i++)
        write_block(r, w, &own->blocks.p[i]);
    wj_write_close(w, ']');
}

void upp__anthropic_blocks_free(struct upp__reader *r)
{
    struct upp__anthropic_own *own = own_of(r);
    for (size_t i = 0; i < own->blocks.n; i++)
        for (size_t k = 0; k < MEMBERS; k++)
            if (own->blocks.p[i].members[k])
                wb_buf_done(&own->blocks.p[i].members[k]->bytes);
    wb_vec_done(&own->blocks);
    own->held = 0;
}
