/* interop/http2/client.c — libupp over HTTP/2, for run.sh.
 *
 *     http2_client certs FOLDER            a CA and a server's certificate, as PEM files
 *     http2_client ask FOLDER PORT PATH N  N calls, one after the other, a line each: the text, or the error's code
 *     http2_client many FOLDER PORT N      N streams at the same time, on fibers: how many were whole
 */
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <upp/llm.h>

#include "base/buf.h"
#include "run/engine.h"
#include "support/certs.h"
#include "weft/fiber.h"

static void make_certs(const char *folder)
{
    char path[512];
    struct cert ca = cert_new(&(struct cert_opts){.ca = true, .name = "a test's CA"});
    struct cert leaf = cert_new(&(struct cert_opts){.issuer = &ca});
    const struct cert *all[] = {&ca, &leaf};
    const char *as[] = {"ca.pem", "cert.pem"};
    for (int i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, as[i]);
        cert_write(all[i], path);
    }
    (void)snprintf(path, sizeof path, "%s/key.pem", folder);
    FILE *f = fopen(path, "w");
    if (!f || !PEM_write_PrivateKey(f, leaf.key, NULL, NULL, 0, NULL, NULL) || fclose(f))
        exit(1);
    cert_done(&leaf);
    cert_done(&ca);
}

static struct upp_llm *open_llm(const char *folder, const char *port, const char *path)
{
    static char url[256], ca[512];
    struct upp_llm *llm = NULL;
    struct upp_err err = {0};
    (void)snprintf(url, sizeof url, "https://localhost:%s%s", port, path);
    (void)snprintf(ca, sizeof ca, "%s/ca.pem", folder);
    int r = upp_llm_new(
        UPP_OPTS(upp_llm_opts, .model = upp_ollama("m", .base_url = url, .api_key = "k-1", .http = {.ca_file = ca})),
        &llm, &err);
    if (r < 0) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    return llm;
}

/* The text of one streamed answer, on a line. */
static int ask(struct upp_llm *llm, const struct upp_wait *wait, struct wb_buf *out)
{
    struct upp_stream *s = NULL;
    struct upp_err err = {0};
    struct upp_event ev;
    int r = upp_stream_open(llm, UPP_OPTS(upp_input, .text = UPP_STR("count"), .wait = wait), &s, &err);
    while (r >= 0 && (r = upp_stream_next(s, &ev, &err)) > 0)
        if (ev.type == UPP_TEXT_DELTA)
            wb_buf_add(out, ev.text);
    upp_stream_close(s);
    if (r < 0)
        wb_buf_addf(out, "%s", upp_code_name(r));
    wb_buf_addc(out, '\n');
    return r;
}

struct crowd {
    struct upp_llm *llm;
    struct upp_wait wait;
    unsigned n, whole;
};

static WEFT_SUSPENDS int one(void *arg, struct upp_err *err)
{
    struct crowd *c = arg;
    struct wb_buf out = WB_BUF(4096);
    (void)err;
    c->whole += ask(c->llm, &c->wait, &out) >= 0 && out.n == strlen("1 2 3 4 end\n");
    wb_buf_done(&out);
    return 0;
}

static WEFT_SUSPENDS int crowd(void *arg, struct upp_err *err)
{
    struct crowd *c = arg;
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    int r = 0;
    for (unsigned i = 0; i < c->n && r >= 0; i++)
        r = weft_scope_spawn(&all, "one", one, c, NULL, err);
    return r < 0 ? r : weft_scope_join(&all, err);
}

static int many(struct upp_llm *llm, const char *folder, unsigned n)
{
    static char ca[512];
    struct upp_http *http = NULL;
    struct weft_loop *loop = NULL;
    struct upp_err err = {0};
    struct crowd c = {.llm = llm, .n = n, .wait = wr_wait_table(NULL)};
    (void)snprintf(ca, sizeof ca, "%s/ca.pem", folder);
    int r = upp_http_new(UPP_OPTS(upp_http_opts, .ca_file = ca), &http, &err);
    c.wait.http = http;
    if (r >= 0)
        r = weft_loop_open(NULL, &loop, &err);
    if (r >= 0)
        r = weft_loop_run(loop, "crowd", crowd, &c, &err);
    weft_loop_close(loop);
    upp_http_free(http);
    printf(r < 0 ? "%s\n" : "whole\n", err.msg);
    printf("%u\n", c.whole);
    return r < 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "certs"))
        return make_certs(argv[2]), 0;
    if (argc < 5)
        return 2;
    struct upp_llm *llm = open_llm(argv[2], argv[3], argc == 6 ? argv[4] : "");
    int bad = 0;
    if (argc == 5)
        bad = many(llm, argv[2], (unsigned)atoi(argv[4]));
    else
        for (int i = 0; i < atoi(argv[5]); i++) {
            struct wb_buf out = WB_BUF(4096);
            (void)ask(llm, NULL, &out);
            (void)fwrite(out.p, 1, out.n, stdout);
            wb_buf_done(&out);
        }
    upp_llm_free(llm);
    return bad;
}
