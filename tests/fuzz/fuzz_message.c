/* fuzz/fuzz_message.c — any JSON as a UPP message: what reads is written as UPP, and reads the same again. */
#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "json/read.h"
#include "model/upp_json.h"
#include "support/rows.h"

static bool put(const struct upp_message *m, struct wb_buf *b)
{
    struct wj_writer w;
    struct upp_err err = {0};
    wj_writer_init(&w, b, &err);
    wm_message_write(&w, m);
    int r = wj_writer_check(&w);
    REQUIRE(r == 0 || r == -UPP_ELIMIT);
    REQUIRE_SHOWN(err.msg);
    return r == 0;
}

FUZZ(message)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64u << 20), again = WB_BUF(64u << 20);
    struct upp_err err = {0};
    struct upp_message m, back, copy;
    struct wm_thread_json t;
    yyjson_val *v;
    if (wj_read(&a, in, NULL, &v, &err) < 0)
        return;
    int r = wm_thread_read(&a, v, &t, &err);
    REQUIRE(r == 0 || r == -UPP_EINVALID || r == -UPP_ELIMIT);
    r = wm_message_read(&a, v, &m, &err);
    REQUIRE_SHOWN(err.msg);
    REQUIRE_SHOWN(err.where);
    if (r < 0) {
        REQUIRE((r == -UPP_EINVALID || r == -UPP_ELIMIT) && err.code == -r && err.msg[0]);
        return;
    }
    REQUIRE(wm_message_copy(&a, &m, &copy, &err) == 0);
    REQUIRE(!rows_message_differ(&m, &copy));
    REQUIRE(wm_message_text(&a, &m).p);
    if (!put(&m, &b))
        return;
    REQUIRE(wj_read(&a, wb_buf_str(&b), NULL, &v, &err) == 0);
    REQUIRE(wm_message_read(&a, v, &back, &err) == 0);
    REQUIRE(!rows_message_differ(&m, &back));
    REQUIRE(put(&back, &again));
    REQUIRE(wb_str_eq(wb_buf_str(&b), wb_buf_str(&again)));
}
