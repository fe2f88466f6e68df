/* fuzz/fuzz_json_read.c — reading, writing, and reading again.
 *
 * The two parsers must agree on every text; what was written must read as the same tokens, and be written so again;
 * and whoever looks at a text alone must know whether it will be.
 */
#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "fuzz/tokens.h"
#include "json/compact.h"
#include "json/compare.h"
#include "json/read.h"
#include "json/write.h"

FUZZ(json_read)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64u << 20), again = WB_BUF(64u << 20);
    struct upp_err err = {0}, other = {0};
    struct wj_syntax seen;
    yyjson_val *v, *w;

    int r = wj_read(&a, in, NULL, &v, &err);
    REQUIRE(r == wj_syntax(in, WJ_MAX_DEPTH, &seen, &other));
    if (r < 0) {
        REQUIRE(r == -UPP_EINVALID || r == -UPP_ELIMIT);
        REQUIRE(err.msg[0] && err.where[0] && err.code == -r);
        REQUIRE_SHOWN(err.msg);
        REQUIRE_SHOWN(err.where);
        REQUIRE(!wj_is_compact(in, NULL));
        return;
    }
    REQUIRE(wj_write(v, &b, &err) == 0);
    REQUIRE(wj_is_compact(in, NULL) == (wb_str_eq(wb_buf_str(&b), in) && !seen.lone));
    REQUIRE(wj_is_compact(wb_buf_str(&b), NULL) == !seen.lone);
    REQUIRE(wj_read(&a, wb_buf_str(&b), NULL, &w, &err) == 0);
    REQUIRE(same_tokens(v, w));
    REQUIRE(wj_equal(v, w, &err) == 1);
    REQUIRE(wj_write(w, &again, &err) == 0);
    REQUIRE(wb_str_eq(wb_buf_str(&b), wb_buf_str(&again)));
    r = wj_read(&a, in, UPP_OPTS(wj_read_opts, .flags = WJ_UNIQUE, .depth = 1 + seen.depth), &v, &err);
    REQUIRE(r == 0 || r == -UPP_EINVALID);
    REQUIRE_SHOWN(err.msg);
    REQUIRE_SHOWN(err.where);
    if (seen.depth > 1)
        REQUIRE(wj_read(&a, in, UPP_OPTS(wj_read_opts, .depth = seen.depth - 1), &v, &err) == -UPP_ELIMIT);
    REQUIRE(wj_read(&a, in, UPP_OPTS(wj_read_opts, .depth = seen.depth ? seen.depth : 1), &v, &err) == 0);
}
