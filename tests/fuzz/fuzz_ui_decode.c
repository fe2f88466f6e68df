/* fuzz/fuzz_ui_decode.c — any lines as the chunks of a UI message stream: what reads is written as UI messages, which
 * read again as the same.
 */
#include "dialects/core/convert.h"
#include "dialects/ui/decode.h"
#include "fuzz/fuzz.h"

static bool decode(struct upp_str lines, struct wd_document *d)
{
    struct wd_ui_decoder decoder;
    struct upp_str line;
    struct upp_err err = {0};
    int r = 0;
    wd_ui_decoder_init(&decoder, &d->doc, &d->a, (struct upp_str){0});
    while (wb_str_split(&lines, '\n', &line)) {
        r = wd_ui_decode(&decoder, line, 0, &err); /* what is refused changes nothing */
        REQUIRE(r == 0 || r == -UPP_EINVALID || r == -UPP_ELIMIT);
    }
    r = wd_ui_decode_end(&decoder, &err);
    wd_ui_decoder_done(&decoder);
    return r == 0;
}

FUZZ(ui_decode)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {.ops = &wd_document_ui, .a = WB_ARENA(256u << 20)};
    WB_CLEANUP(wd_document_done) struct wd_document again = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(64u << 20), same = WB_BUF(64u << 20);
    struct upp_err err = {0};
    if (!decode(in, &d))
        return;
    int r = wd_document_write(&d, &wd_document_ui, NULL, &out, NULL, &err);
    REQUIRE(r >= 0 || r == -UPP_ELIMIT);
    if (r < 0 || wd_document_read(&again, &wd_document_ui, wb_buf_str(&out), NULL, &err) < 0)
        return;
    REQUIRE(wd_document_write(&again, &wd_document_ui, NULL, &same, NULL, &err) == 0);
    REQUIRE(wb_str_eq(wb_buf_str(&same), wb_buf_str(&out)));
}
