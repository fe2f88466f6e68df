/* model/upp_weft.h — the members of metadata.weft, for the two who write and read them (model/upp_json.h says what they
 * mean). */
#ifndef WM_UPP_WEFT_H
#define WM_UPP_WEFT_H

#include <upp/message.h>

#include "base/str.h"

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

#endif
