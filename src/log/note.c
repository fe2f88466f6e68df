/* log/note.c — stores the metadata of a message beside the log, and lays it over what the log has. */
#include "log/note.h"

#include "base/defs.h"
#include "json/edit.h"

/* Names sort by node and index (model/id.c): the notes about a range of a node's entries are neighbours. */
enum { PAGE = 16, SCRATCH = 80 << 20 };

static struct upp_str name_of(struct wm_id id, char out[WB_UUID_TEXT + 1])
{
    return wb_uuid_text(wm_id_uuid(id), out);
}

int wl_note_of(struct wb_arena *a, struct wm_id at, struct wl_value *ret, struct upp_err *err)
{
    char name[WB_UUID_TEXT + 1];
    *ret = (struct wl_value){.space = UPP_STR(WL_NOTES), .name = wb_arena_dup(a, name_of(at, name))};
    return wb_arena_check(a, err);
}

/* The entries of one node among the lines. */
struct range {
    uint64_t node;
    uint32_t first, last;
};

static struct range range_of(const struct wl_line *lines, size_t n, uint64_t node)
{
    struct range r = {.node = node, .first = UINT32_MAX};
    for (size_t i = 0; i < n; i++)
        if (lines[i].node == node) {
            r.first = WB_MIN(r.first, lines[i].index);
            r.last = WB_MAX(r.last, lines[i].index);
        }
    return r;
}

/* The next notes of a range after *after, which moves on. *n is 0 at the end. */
WEFT_SUSPENDS static int next_notes(struct wl_store *s, const struct wl_owner *o, const struct range *range,
                                    struct upp_str *after, char name[WB_UUID_TEXT + 1], struct wb_arena *a,
                                    struct wl_value **ret, size_t *n, struct upp_err *err)
{
    size_t got, in = 0;
    struct wm_id id;
    /* No entry has noun 0: this sorts before the first. */
    if (!after->p)
        *after = name_of((struct wm_id){.node = range->node, .index = range->first}, name);
    int r = wl_list_values(s, o, UPP_STR(WL_NOTES), *after, PAGE, a, ret, &got, err);
    if (r < 0)
        return r;
    for (; in < got; in++) {
        struct wb_uuid u;
        if (!wb_uuid_parse((*ret)[in].name, &u) || !wm_id_parse(u, &id) || id.node != range->node ||
            id.index > range->last)
            break;
    }
    if (in)
        *after = wb_uuid_text(wm_id_uuid(id), name);
    *n = in;
    return 0;
}

static int put_in(struct wl_line *lines, size_t n, const struct wl_value *note, struct wb_arena *a, struct upp_err *err)
{
    struct wb_uuid u;
    struct wm_id id;
    if (!wb_uuid_parse(note->name, &u) || !wm_id_parse(u, &id))
        return 0;
    size_t at = (size_t)id.index - lines[0].index; /* where it is in a whole path */
    if (at >= n || !wb_uuid_eq(lines[at].id, u))
        for (at = 0; at < n && !wb_uuid_eq(lines[at].id, u);)
            at++;
    if (at == n || wm_is_erased(&lines[at].entry))
        return 0;
    struct upp_str *metadata = &lines[at].entry.message.metadata;
    return wj_merge(a, *metadata, note->bytes, metadata, err); /* the note's members in place of its own */
}

WEFT_SUSPENDS static int read_node(struct wl_store *s, const struct wl_owner *o, const struct range *range,
                                   struct wl_line *lines, size_t n, struct wb_arena *a, struct upp_err *err)
{
    struct upp_str after = {NULL, 0};
    char name[WB_UUID_TEXT + 1];
    for (;;) {
        struct wl_value *notes;
        size_t got;
        int r = next_notes(s, o, range, &after, name, a, &notes, &got, err);
        for (size_t i = 0; r >= 0 && i < got; i++)
            r = put_in(lines, n, &notes[i], a, err);
        if (r < 0 || got < PAGE)
            return r;
    }
}

WEFT_SUSPENDS int wl_notes_read(struct wl_store *s, const struct wl_owner *o, struct wl_line *lines, size_t n,
                                struct wb_arena *a, struct upp_err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < n; i++) {
        bool seen = i && lines[i - 1].node == lines[i].node; /* lines of a path come node by node */
        if (!seen) {
            struct range range = range_of(lines + i, n - i, lines[i].node);
            r = read_node(s, o, &range, lines + i, n - i, a, err);
        }
    }
    return r;
}

WEFT_SUSPENDS static int commit(struct wl_store *s, const struct wl_owner *o, const struct wl_change *list, size_t n,
                                struct upp_err *err)
{
    struct wl_commit c = {.owner = *o, .changes = list, .n = n, .flags = WL_SYNCED};
    return wl_store_commit(s, &c, err);
}

/* Values have no versions. A deletion that commits between the caller's look and ours would leave a note about an
 * erased message: looked at again, and taken back. */
WEFT_SUSPENDS int wl_note_put(struct wl_store *s, const struct wl_owner *o, const struct wl_line *line,
                              struct upp_str members, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(SCRATCH);
    struct wl_line now;
    char name[WB_UUID_TEXT + 1];
    if (members.n > WL_NOTE_MAX)
        return upp_fail(err, UPP_EINVALID, "the metadata of a message has at most %d bytes", WL_NOTE_MAX);
    struct wl_value note = {.space = UPP_STR(WL_NOTES), .name = wb_uuid_text(line->id, name), .bytes = members};
    const struct wl_change put = {.kind = WL_PUT_VALUE, .value = &note};
    int r = commit(s, o, &put, 1, err);
    if (r < 0)
        return r;
    r = wl_entry_find(s, o, line->id, &a, &now, err);
    if (r >= 0 && wm_is_erased(&now.entry))
        r = upp_fail(err, UPP_ENOTFOUND, "there is no message %s any more", name);
    if (r == -UPP_ENOTFOUND) {
        const struct wl_change drop = {.kind = WL_DROP_VALUE, .value = &note};
        int back = commit(s, o, &drop, 1, NULL);
        r = back < 0 ? back : r;
    }
    return r;
}

WEFT_SUSPENDS int wl_notes_drop(struct wl_store *s, const struct wl_owner *o, uint64_t node, struct upp_err *err)
{
    const struct range range = {.node = node, .first = 0, .last = UINT32_MAX};
    struct upp_str after = {NULL, 0};
    char name[WB_UUID_TEXT + 1];
    for (;;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(SCRATCH);
        struct wl_change drops[PAGE];
        struct wl_value *notes;
        size_t n;
        int r = next_notes(s, o, &range, &after, name, &a, &notes, &n, err);
        for (size_t i = 0; r >= 0 && i < n; i++)
            drops[i] = (struct wl_change){.kind = WL_DROP_VALUE, .value = &notes[i]};
        if (r >= 0 && n)
            r = commit(s, o, drops, n, err);
        if (r < 0 || n < PAGE)
            return r;
    }
}
