/* fuzz/fuzz_uap_decode.c — any lines as AgentStreamEvents: what reads is written as a session, which reads again as the
 * same.
 */
#include "dialects/core/convert.h"
#include "support/decode/uap.h"
#include "fuzz/fuzz.h"

static bool decode(struct upp_str lines, struct wd_document *d)
{
    struct wd_uap_decoder decoder;
    struct upp_str line;
    struct upp_err err = {0};
    uint64_t number = 0;
    int r = 0;
    wd_uap_decoder_init(&decoder, &d->doc, &d->a, (struct upp_str){0});
    while (wb_str_split(&lines, '\n', &line)) {
        r = wd_uap_decode(&decoder, line, ++number, 0, &err); /* what is refused changes nothing */
        REQUIRE(r == 0 || r == -UPP_EINVALID || r == -UPP_ELIMIT);
    }
    r = wd_uap_decode_end(&decoder, &err);
    wd_uap_decoder_done(&decoder);
    return r == 0;
}

FUZZ(uap_decode)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {.ops = &wd_document_uap, .a = WB_ARENA(256u << 20)};
    WB_CLEANUP(wd_document_done) struct wd_document again = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(64u << 20), same = WB_BUF(64u << 20);
    struct upp_err err = {0};
    if (!decode(in, &d))
        return;
    int r = wd_document_write(&d, &wd_document_uap, NULL, &out, NULL, &err);
    REQUIRE(r >= 0 || r == -UPP_ELIMIT);
    if (r < 0 || wd_document_read(&again, &wd_document_uap, wb_buf_str(&out), NULL, &err) < 0)
        return;
    REQUIRE(wd_document_write(&again, &wd_document_uap, NULL, &same, NULL, &err) == 0);
    REQUIRE(wb_str_eq(wb_buf_str(&same), wb_buf_str(&out)));
}
