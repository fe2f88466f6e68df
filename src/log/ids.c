/* log/ids.c — creates and parses ids, and finds entries by id. */
#include "log/lines.h"

bool wl_id_parse(struct upp_str text, struct upp_str prefix, struct wb_uuid *ret)
{
    if (prefix.n && wb_str_starts(text, prefix))
        text = wb_str_sub(text, prefix.n, SIZE_MAX);
    return wb_uuid_parse(text, ret);
}

int wl_id_new(uint32_t family, struct wb_uuid *ret, struct upp_err *err)
{
    struct wb_uuid id;
    int r = wb_uuid_new(&id, err);
    if (r < 0)
        return r;
    for (int i = 0; i < 4; i++)
        id.b[i] = (unsigned char)(family >> (24 - 8 * i));
    *ret = id;
    return 0;
}

WEFT_SUSPENDS int wl_id_new_node(struct wl_store *s, const struct wl_owner *o, uint32_t family, struct wb_uuid *ret,
                                 struct upp_err *err)
{
    for (unsigned i = 0; i < WL_ID_TRIES; i++) {
        struct wl_node taken;
        int r = wl_id_new(family, ret, err);
        if (r >= 0)
            r = wl_get_node(s, o, wm_key(*ret), &taken, err);
        if (r < 0)
            return r == -UPP_ENOTFOUND ? 0 : r;
    }
    return upp_fail(err, UPP_ELIMIT, "%d ids in a row were taken", WL_ID_TRIES);
}

static int no_entry(struct wb_uuid id, struct upp_err *err)
{
    char text[WB_UUID_TEXT + 1];
    return upp_fail(err, UPP_ENOTFOUND, "there is no entry %s", wb_uuid_text(id, text).p);
}

WEFT_SUSPENDS int wl_entry_find(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
                                struct wl_line *ret, struct upp_err *err)
{
    struct wm_id at;
    struct wl_line line;
    if (!wm_id_parse(id, &at) || at.noun != WM_NOUN_ENTRY || at.part != 0 || at.index == UINT32_MAX)
        return no_entry(id, err);
    int r = wl__lines(s, o, at.node, at.index, at.index + 1, a, &line, NULL, err);
    if (r == -UPP_ENOTFOUND || (r >= 0 && line.entry.attempt != at.attempt))
        return no_entry(id, err);
    if (r < 0)
        return r;
    *ret = line;
    return 0;
}
