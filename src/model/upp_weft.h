/* model/upp_weft.h — the members of metadata.weft, for the two who write and read them (model/upp_json.h says what they
 * mean). */
#ifndef WM_UPP_WEFT_H
#define WM_UPP_WEFT_H

#include <upp/message.h>

#include "json/value.h"
#include "json/write.h"

static const struct upp_str wm_weft_order = UPP_STR_INIT("order"), wm_weft_arguments = UPP_STR_INIT("arguments"),
                                                                       wm_weft_interrupted = UPP_STR_INIT("interrupted"),
                                                                           wm_weft_cut     = UPP_STR_INIT("cut");

static inline bool wm_weft_is_ours(struct upp_str name)
{
    return wb_str_eq(name, wm_weft_order) || wb_str_eq(name, wm_weft_arguments) ||
           wb_str_eq(name, wm_weft_interrupted) || wb_str_eq(name, wm_weft_cut);
}

/* What a part is called in `order`. */
static inline struct upp_str wm_weft_word(uint8_t kind)
{
    return kind == UPP_PART_CALL ? UPP_STR("call") : kind == UPP_PART_RESULT ? UPP_STR("result") : UPP_STR("content");
}

/* Is it our member of a metadata map? Ours is an object; what is none is somebody else's. */
static inline bool wm_weft_is_weft(yyjson_val *name)
{
    return wj_named(name, UPP_STR("weft")) && yyjson_is_obj(name + 1);
}

/* Ours in a metadata map; NULL: there is none. */
static inline yyjson_val *wm_weft_find(yyjson_val *map)
{
    yyjson_val *key = unsafe_yyjson_get_first(map);
    for (size_t n = unsafe_yyjson_get_len(map); n; n--, key = unsafe_yyjson_get_next(key + 1))
        if (wm_weft_is_weft(key))
            return key + 1;
    return NULL;
}

/* The members of the object that are not ours. */
static inline void wm_weft_put_others(struct wj_writer *w, yyjson_val *weft)
{
    yyjson_val *key = unsafe_yyjson_get_first(weft);
    for (size_t n = unsafe_yyjson_get_len(weft); n; n--, key = unsafe_yyjson_get_next(key + 1))
        if (!wm_weft_is_ours(wj_text(key)))
            wj_put_member(w, key);
}

static inline bool wm_weft_has_others(yyjson_val *weft)
{
    yyjson_val *key = unsafe_yyjson_get_first(weft);
    for (size_t n = unsafe_yyjson_get_len(weft); n; n--, key = unsafe_yyjson_get_next(key + 1))
        if (!wm_weft_is_ours(wj_text(key)))
            return true;
    return false;
}

#endif
