/* fuzz/fuzz_aap_decode.c — any lines as the stream of an Agent API response: what reads is written as messages, which
 * read again as the same.
 */
#include "dialects/core/convert.h"
#include "fuzz/fuzz.h"
#include "dialects/agentapi/decode.h"

static bool decode(struct upp_str lines, struct wd_document *d)
{
    struct wd_aap_decoder decoder;
    struct upp_str line;
    struct upp_err err = {0};
    int r = 0;
    wd_aap_decoder_init(&decoder, &d->a);
    while (wb_str_split(&lines, '\n', &line)) {
        r = wd_aap_decode(&decoder, line, &err);
        REQUIRE(r == 0 || r == -UPP_EINVALID || r == -UPP_ELIMIT);
    }
    r = wd_aap_decode_end(&decoder, &d->doc, (struct upp_str){0}, 0, &err);
    REQUIRE(r == 0 || r == -UPP_EINVALID || r == -UPP_ELIMIT);
    wd_aap_decoder_done(&decoder);
    return r == 0;
}

FUZZ(aap_decode)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {.ops = &wd_document_agentapi, .a = WB_ARENA(256u << 20)};
    WB_CLEANUP(wd_document_done) struct wd_document again = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(64u << 20), same = WB_BUF(64u << 20);
    struct upp_err err = {0};
    if (!decode(in, &d))
        return;
    int r = wd_document_write(&d, &wd_document_agentapi, NULL, &out, NULL, &err);
    REQUIRE(r >= 0 || r == -UPP_ELIMIT);
    if (r < 0 || wd_document_read(&again, &wd_document_agentapi, wb_buf_str(&out), NULL, &err) < 0)
        return;
    REQUIRE(wd_document_write(&again, &wd_document_agentapi, NULL, &same, NULL, &err) == 0);
    REQUIRE(wb_str_eq(wb_buf_str(&same), wb_buf_str(&out)));
}
