/* fuzz/fuzz_uuid.c — what parses is what it is written as, but for case and dashes. */
#include "base/uuid.h"
#include "fuzz/fuzz.h"

FUZZ(uuid)
{
    struct wb_uuid u, again;
    char text[WB_UUID_TEXT + 1], hex[WB_UUID_HEX + 1];
    if (!wb_uuid_parse(in, &u))
        return;
    REQUIRE(in.n == WB_UUID_TEXT || in.n == WB_UUID_HEX);
    REQUIRE(wb_str_eq_nocase(in, in.n == WB_UUID_TEXT ? wb_uuid_text(u, text) : wb_uuid_hex(u, hex)));
    REQUIRE(wb_uuid_parse(wb_uuid_text(u, text), &again) && wb_uuid_eq(u, again));
    REQUIRE(wb_uuid_parse(wb_uuid_hex(u, hex), &again) && wb_uuid_eq(u, again));
    uint64_t high, low;
    if (wb_uuid_v8_bits(u, &high, &low))
        REQUIRE(wb_uuid_version(u) == 8 && wb_uuid_eq(u, wb_uuid_v8(high, low)));
}
