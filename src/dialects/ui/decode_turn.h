/* dialects/ui/decode_turn.h — inside of the decoder: the message that was gathered becomes a turn. */
#pragma once

#include "dialects/ui/decode.h"

int wd_ui_decode_turn(struct wd_ui_decoder *d, struct upp_err *err) UPP_MUST_CHECK;
