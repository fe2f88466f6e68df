/* upp/client/cover.c — holds back the end of a text while it may begin a secret, and masks the events of a model. */
#include "upp/client/cover.h"

#include "base/hooks.h"
#include "base/arena.h"
#include "base/mask_stream.h"
#include "upp/client/signature.h"

enum { METADATA_ROOM = 512 << 20 };

struct upp__cover {
    struct wb_masks *masks;
    bool structure;               /* texts are JSON */
    struct wb_mask_stream *parts; /* of each opened part */
    uint8_t *kinds;
    uint32_t n, room;
    uint32_t last[UPP_PART_REASONING + 1];    /* the state at the end of the last text, and reasoning */
    struct wb_buf text, data, metadata, rest; /* of the event that was given */
    struct wb_buf id, name;
    struct upp_step_event close; /* comes after what was held back of its part */
    bool has_close;
};

void upp__cover_free(struct upp__cover *v)
{
    if (!v)
        return;
    for (uint32_t i = 0; i < v->n; i++)
        wb_mask_stream_done(&v->parts[i]);
    wb_free(v->parts);
    wb_free(v->kinds);
    wb_buf_done(&v->text);
    wb_buf_done(&v->data);
    wb_buf_done(&v->metadata);
    wb_buf_done(&v->rest);
    wb_buf_done(&v->id);
    wb_buf_done(&v->name);
    wb_masks_give(v->masks);
    wb_free(v);
}

int upp__cover_new(bool structure, struct upp__cover **ret, struct upp_err *err)
{
    struct wb_masks *masks;
    int r = wb_masks_take(&masks, err);
    *ret = NULL;
    if (r < 0 || WB_LIKELY(!masks))
        return r;
    struct upp__cover *v = wb_calloc(1, sizeof *v);
    if (!v) {
        wb_masks_give(masks);
        return upp_fail(err, UPP_ENOMEM, "no memory to mask secrets");
    }
    v->masks = masks;
    v->structure = structure;
    v->text.max = v->data.max = v->metadata.max = v->rest.max = v->id.max = v->name.max =
        SIZE_MAX / 2; /* what they mask has limits */
    *ret = v;
    return 0;
}

static int no_memory(struct upp_err *err)
{
    return upp_fail(err, UPP_ENOMEM, "no memory to mask secrets");
}

/* A whole text of an event. */
static int cover_text(const struct upp__cover *v, struct upp_str *text, bool json, struct wb_buf *out,
                      struct upp_err *err)
{
    wb_buf_clear(out);
    if (!text->n)
        return 0;
    if (wb_masks_add(v->masks, *text, json, out))
        *text = wb_buf_str(out);
    return out->failed ? no_memory(err) : 0;
}

/* Metadata, without signatures of what was masked. is_masked: so was the text that it is about. */
static int cover_metadata(struct upp__cover *v, struct upp_str *metadata, bool is_masked, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena scratch = WB_ARENA(METADATA_ROOM);
    struct upp_str was = *metadata;
    int r = cover_text(v, metadata, true, &v->metadata, err);
    if (r < 0 || !metadata->n || (!is_masked && metadata->p == was.p))
        return r;
    wb_buf_clear(&v->rest);
    r = upp__signatures_drop(&scratch, is_masked ? (struct upp_str){0} : was, *metadata, &v->rest, err);
    *metadata = r < 0 ? (struct upp_str){0} : wb_buf_str(&v->rest);
    return r == -UPP_EINVALID ? 0 : r; /* rather none than half */
}

static bool cover_grow(struct upp__cover *v)
{
    if (v->n < v->room)
        return true;
    uint32_t room = v->room ? 2 * v->room : 8;
    struct wb_mask_stream *parts = wb_realloc(v->parts, room * sizeof *parts);
    if (!parts)
        return false;
    v->parts = parts;
    uint8_t *kinds = wb_realloc(v->kinds, room);
    if (!kinds)
        return false;
    v->kinds = kinds;
    v->room = room;
    return true;
}

/* A text that follows another one continues it, for readers. */
static bool is_text(uint8_t kind)
{
    return kind == UPP_PART_TEXT || kind == UPP_PART_REASONING;
}

static int cover_open(struct upp__cover *v, struct upp_step_event *ev, struct upp_err *err)
{
    if (!cover_grow(v))
        return no_memory(err);
    bool json = ev->part_kind == UPP_PART_CALL || (ev->part_kind == UPP_PART_TEXT && v->structure);
    v->kinds[v->n] = ev->part_kind;
    v->parts[v->n++] = (struct wb_mask_stream){
        .masks = v->masks, .json = json, .at = is_text(ev->part_kind) && !json ? v->last[ev->part_kind] : 0};
    int r = cover_text(v, &ev->id, false, &v->id, err);
    if (r >= 0)
        r = cover_text(v, &ev->name, false, &v->name, err);
    return r < 0 ? r : cover_metadata(v, &ev->metadata, false, err);
}

static int cover_close(struct upp__cover *v, struct upp_step_event *ev, struct upp_err *err)
{
    struct wb_mask_stream *part = &v->parts[ev->part];
    wb_buf_clear(&v->text);
    wb_mask_stream_end(part, &v->text);
    if (is_text(v->kinds[ev->part]))
        v->last[v->kinds[ev->part]] = part->json ? 0 : part->at;
    if (v->text.failed)
        return no_memory(err);
    int r = cover_metadata(v, &ev->metadata, part->masked, err);
    if (r < 0 || !v->text.n)
        return r;
    v->close = *ev;
    v->has_close = true;
    *ev = (struct upp_step_event){.kind = UPP_STEP_DELTA, .part = ev->part, .text = wb_buf_str(&v->text)};
    return 0;
}

static int cover_end(struct upp__cover *v, struct upp_step_event *ev, struct upp_err *err)
{
    int r = cover_metadata(v, &ev->metadata, false, err);
    return r < 0 ? r : cover_text(v, &ev->data, true, &v->data, err);
}

int upp__cover_event(struct upp__cover *v, struct upp_step_event *ev, struct upp_err *err)
{
    int r = 0;
    switch (ev->kind) {
    case UPP_STEP_OPEN:
        r = cover_text(v, &ev->text, false, &v->text, err);
        break;
    case UPP_STEP_PART_OPEN:
        r = cover_open(v, ev, err);
        break;
    case UPP_STEP_DELTA:
        wb_buf_clear(&v->text);
        wb_mask_stream_add(&v->parts[ev->part], ev->text, &v->text);
        ev->text = wb_buf_str(&v->text);
        if (v->text.failed)
            r = no_memory(err);
        else if (!ev->text.n)
            return 0;
        break;
    case UPP_STEP_PART_CLOSE:
        r = cover_close(v, ev, err);
        break;
    default:
        r = cover_end(v, ev, err);
        break;
    }
    return r < 0 ? r : 1;
}

bool upp__cover_take_close(struct upp__cover *v, struct upp_step_event *ret)
{
    if (!v->has_close)
        return false;
    *ret = v->close;
    v->has_close = false;
    return true;
}

bool upp__cover_rest(struct upp__cover *v, uint32_t part, struct upp_step_event *ret)
{
    if (part >= v->n) /* there was no memory for it */
        return false;
    wb_buf_clear(&v->text);
    wb_mask_stream_end(&v->parts[part], &v->text);
    if (!v->text.n || v->text.failed)
        return false;
    *ret = (struct upp_step_event){.kind = UPP_STEP_DELTA, .part = part, .text = wb_buf_str(&v->text)};
    return true;
}
