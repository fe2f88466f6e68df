/* fuzz/fuzz_iso8601.c — a time that is read means the same when it is written and read again. */
#include "base/iso8601.h"
#include "fuzz/fuzz.h"

FUZZ(iso8601)
{
    struct wb_time t, again;
    char out[WB_TIME_TEXT];
    int64_t ms = 0;
    bool usual = wb_time_parse_upp(in, &ms);
    if (wb_time_parse(in, &t, NULL) < 0) {
        REQUIRE(!usual);
        return;
    }
    REQUIRE(usual == wb_str_eq(wb_time_upp(&t, out), in) && (!usual || ms == wb_time_ms(&t)));
    REQUIRE(wb_str_eq(t.text, in) && t.nanos < 1000000000 && wb_time_cmp(&t, &t) == 0);

    struct upp_str text = wb_time_pydantic(&t, out);
    if (text.p) {
        REQUIRE(wb_time_parse(text, &again, NULL) == 0);
        REQUIRE(again.seconds == t.seconds && again.nanos == t.nanos / 1000 * 1000);
        REQUIRE(again.naive == t.naive && again.offset == t.offset);
        REQUIRE(wb_time_cmp(&again, &t) <= 0 && wb_time_cmp(&t, &again) >= 0);
    }
    text = wb_time_upp(&t, out);
    if (text.p) {
        REQUIRE(text.n == sizeof "2026-01-02T03:04:05.678Z" - 1);
        REQUIRE(wb_time_parse(text, &again, NULL) == 0 && wb_time_ms(&again) == wb_time_ms(&t));
    }
}
