/* server/doors/ui/place.c — finds the branch and the position that a message of a chat continues. */
#include "server/doors/ui/ui.h"

#include "base/defs.h"
#include "json/pointer.h"
#include "log/log.h"
#include "model/id.h"
#include "server/http/server.h"
#include "thread/position.h"

enum { BATCH = 64, ASKED = 128 };

static bool is_question(const struct wl_line *line)
{
    return line->entry.kind == WM_ENTRY_MESSAGE && line->entry.message.role == UPP_ROLE_USER &&
           line->entry.audience == WM_AUDIENCE_ALL && !wm_is_prompt(&line->entry);
}

/* What a run wrote, and the position after its question and after itself. */
struct turn {
    struct wa_position input, end;
    bool last; /* in its node */
};

/* Goes on over a line of the turn; false: it is none. The question, if the run was given one, is its first line. */
static bool pass(struct turn *ret, const struct wl_line *line, struct wb_uuid *run)
{
    bool first = ret->input.length == ret->end.length && is_question(line);
    if (first && wb_uuid_is_nil(*run)) {
        ret->input.length = ++ret->end.length;
        return true;
    }
    if (wb_uuid_is_nil(*run))
        *run = line->run;
    bool over = wb_uuid_is_nil(line->run) || !wb_uuid_eq(line->run, *run) || is_question(line);
    ret->end.length += !over;
    return !over;
}

/* A turn by the id that its streams have: it names the node and the question there. 0: it is not of this tree. */
WEFT_SUSPENDS static int find_turn(struct sv_exchange *x, const struct wl_thread *t, struct upp_str id,
                                   struct turn *ret, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wb_uuid u, run = WB_UUID_NIL;
    struct wm_id turn;
    struct wl_node node;
    struct wl_path path;
    struct wl_line *lines;
    struct wl_end all;
    if (!wl_id_parse(id, UPP_STR("msg_"), &u) || !wm_id_parse(u, &turn) || turn.noun != WM_NOUN_TURN)
        return 0;
    int r = wl_get_node(s, &x->owner, turn.node, &node, err);
    if (r < 0 || !wb_uuid_eq(node.tree, t->tree))
        return r == -UPP_ENOTFOUND || r >= 0 ? 0 : r;
    r = wl_node_end(s, &x->owner, turn.node, &all, err);
    if (r >= 0)
        r = wl_path_open(s, &x->owner, turn.node, all.length, &x->arena, &path, err);
    if (r < 0 || turn.index >= all.length)
        return r < 0 ? r : 0;
    *ret = (struct turn){{turn.node, turn.index}, {turn.node, turn.index}, false};
    for (bool more = true; r >= 0 && more && ret->end.length < all.length;) {
        uint32_t left = all.length - ret->end.length, want = WB_MIN(left, (uint32_t)BATCH);
        size_t n = 0;
        r = wl_path_tail(s, &x->owner, &path, path.length - left + want, want, &x->arena, &lines, &n, err);
        more = n > 0;
        for (size_t i = 0; r >= 0 && i < n && more; i++)
            more = pass(ret, &lines[i], &run);
    }
    ret->last = ret->end.length == all.length;
    return r < 0 ? r : 1;
}

/* A message by the client's id, or by ours. */
static bool has_id(const struct wl_line *line, struct upp_str id)
{
    struct wb_uuid u;
    return line->entry.message.id.n ? wb_str_eq(line->entry.message.id, id)
                                    : wl_id_parse(id, UPP_STR("msg_"), &u) && wb_uuid_eq(u, line->id);
}

/* The position before the last message of the user on the thread's path, or the last one with an id. 0: there is none.
 */
WEFT_SUSPENDS static int find_question(struct sv_exchange *x, const struct wl_thread *t, struct upp_str id,
                                       struct wa_position *ret, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_path path;
    struct wl_line *lines;
    size_t n;
    int r = wl_thread_path(s, &x->owner, t, &x->arena, &path, err);
    for (uint32_t end = r < 0 ? 0 : path.length; r >= 0 && end;) {
        uint32_t want = WB_MIN(end, (uint32_t)BATCH);
        r = wl_path_tail(s, &x->owner, &path, end, want, &x->arena, &lines, &n, err);
        for (size_t i = n; r >= 0 && i-- > 0;)
            if (is_question(&lines[i]) && (!id.p || has_id(&lines[i], id))) {
                *ret = (struct wa_position){lines[i].node, lines[i].index};
                return 1;
            }
        end -= want;
    }
    return r < 0 ? r : 0;
}

static void begin_at(struct sv_start *s, const struct wa_position *to)
{
    s->run.node = to->node;
    s->run.length = to->length;
}

/* Is it the answer of a run that ends for the message, and writes its last entries behind it? Then the end is meant. */
static bool still_grows(const struct sv_start *s, const struct turn *turn)
{
    return !wb_uuid_is_nil(s->run.ends) && turn->last && turn->end.node == s->thread.head && !s->thread.at;
}

/* A message goes after the answer that the client had before it, or in the place of the one that it edits. */
WEFT_SUSPENDS static int place_message(struct sv_exchange *x, const struct sv_ui_request *q, struct sv_start *s,
                                       struct upp_err *err)
{
    const struct wl_thread *t = &s->thread;
    struct turn before;
    struct wa_position to, any;
    bool edit = q->message_id.p && !q->regenerate;
    int r = edit ? find_question(x, t, q->message_id, &to, err) : 0;
    if (r > 0) {
        begin_at(s, &to);
        return 1;
    }
    if (r == 0 && q->before.p)
        r = find_turn(x, t, q->before, &before, err);
    if (r > 0 && !still_grows(s, &before))
        begin_at(s, &before.end);
    if (r == 0 && edit && (r = find_question(x, t, (struct upp_str){NULL, 0}, &any, err)) > 0) {
        r = upp_fail(err, UPP_ENOTFOUND, "the chat has no message '%.*s'", UPP_FMT(q->message_id));
        wj_pointer_err(err, q->body.root, sv_member(q->body.root, UPP_STR("messageId")));
    }
    return r < 0 ? r : 1;
}

/* An answer is made anew: the thread goes back to its question. One that never arrived is submitted. */
WEFT_SUSPENDS static int place_again(struct sv_exchange *x, const struct sv_ui_request *q, struct sv_start *s,
                                     struct upp_err *err)
{
    const struct wl_thread *t = &s->thread;
    struct turn old;
    struct wa_position to;
    int r = q->message_id.p ? find_turn(x, t, q->message_id, &old, err) : 0;
    if (r > 0) {
        begin_at(s, &old.input);
        return 0;
    }
    struct upp_str id = q->question ? q->last_id : (struct upp_str){NULL, 0};
    if (r == 0 && (!q->question || id.p))
        r = find_question(x, t, id, &to, err);
    if (r == 0 && q->question)
        return place_message(x, q, s, err);
    if (r == 0)
        return upp_fail(err, UPP_EINVALID, "the chat has no question to answer again");
    if (r < 0)
        return r;
    to.length++;
    begin_at(s, &to);
    return 0;
}

int sv_ui_place(struct sv_exchange *x, const struct sv_ui_request *q, struct sv_start *s, struct upp_err *err)
{
    if (s->new_thread)
        return 1;
    return q->regenerate ? place_again(x, q, s, err) : place_message(x, q, s, err);
}

static bool is_same_part(const struct upp_part *a, const struct upp_part *b)
{
    if (a->kind != b->kind || !wb_str_eq(a->text, b->text) || !a->media != !b->media)
        return false;
    return !a->media || (a->media->source == b->media->source && wb_str_eq(a->media->data, b->media->data));
}

static bool is_same(const struct upp_message *a, const struct upp_message *b)
{
    bool same = a->n_parts == b->n_parts;
    for (size_t i = 0; same && i < a->n_parts; i++)
        same = is_same_part(&a->parts[i], &b->parts[i]);
    return same;
}

int sv_ui_asked(struct sv_exchange *x, const struct sv_ui_request *q, const struct upp_message *m,
                const struct wl_thread *t, struct wb_uuid *run, struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_path path;
    struct wl_line *lines;
    size_t n = 0;
    if (!q->question || q->regenerate || q->message_id.p || !q->last_id.n)
        return 0;
    int r = wl_thread_path(s, &x->owner, t, &x->arena, &path, err);
    if (r >= 0)
        r = wl_path_tail(s, &x->owner, &path, path.length, ASKED, &x->arena, &lines, &n, err);
    for (size_t i = r < 0 ? 0 : n; i-- > 0;)
        if (is_question(&lines[i])) { /* only the last one: what went on since was not repeated */
            *run = lines[i].run;
            return has_id(&lines[i], q->last_id) && is_same(&lines[i].entry.message, m) && !wb_uuid_is_nil(*run);
        }
    return r < 0 ? r : 0;
}

int sv_ui_newer(struct sv_exchange *x, const struct wl_thread *t, struct upp_str message, struct wb_uuid *run,
                struct upp_err *err)
{
    struct wl_store *s = x->server->opts.store;
    struct wl_path path;
    struct wl_line *lines;
    struct wm_run row;
    struct wa_position at;
    struct turn old;
    size_t n = 0;
    int r = message.n ? wl_thread_path(s, &x->owner, t, &x->arena, &path, err) : 0;
    if (r >= 0 && message.n)
        r = wl_path_tail(s, &x->owner, &path, path.length, 1, &x->arena, &lines, &n, err);
    if (r < 0 || !n || wb_uuid_is_nil(lines[0].run))
        return r < 0 ? r : 0;
    r = wl_get_run(s, &x->owner, lines[0].run, &x->arena, &row, err);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? 0 : r;
    if (row.swept ||
        !wb_uuid_eq(row.thread, t->id)) /* its events are gone, or of the chat that this one is a fork of */
        return 0;
    *run = row.id;
    if (sv_ui_is_answer(message, &row))
        return 0;
    r = find_turn(x, t, message, &old, err);
    return r != 0 ? r : find_question(x, t, message, &at, err);
}
