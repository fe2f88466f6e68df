/* server/ops/page.c — GET / and /page/{file}: the web page, from the files of server/page/ that are inside the program;
 * and GET /docs with its files, which is of the same kind.
 *
 * The page shows what models, tools and users have written. Its policy is the second wall behind a page that only makes
 * text nodes: nothing from another host, no script or style inside the markup, no HTML made from strings (Trusted
 * Types). Images of messages are blobs, because they are fetched with the key.
 *
 * Scripts and styles are ours by a nonce, not by 'self': a file that somebody has uploaded is of this origin, too. The
 * nonce of a document's script holds for the modules that it imports.
 */
#include <stdio.h>

#include "base/defs.h"
#include "base/random.h"
#include "json/write.h"
#include "server/http/reply.h"
#include "server/ops/ops.h"
#include "server/ops/pages.h"

enum { NONCE = 16 /* random bytes */ };

#define OTHERS "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static void put_headers(struct sv_exchange *x, struct upp_str policy)
{
    sv_reply_header(&x->reply, "Content-Security-Policy", policy);
    sv_reply_header(&x->reply, "Referrer-Policy", UPP_STR("no-referrer"));
    sv_reply_header(&x->reply, "Cross-Origin-Opener-Policy", UPP_STR("same-origin"));
}

/* A document, in which each nonce="" gets this response's. Nobody may keep it: the next one has another nonce. */
static int respond_document(struct sv_exchange *x, struct upp_str text, struct upp_err *err)
{
    static const char empty[] = "nonce=\"";
    unsigned char bytes[NONCE];
    char nonce[2 * NONCE + 1];
    WB_CLEANUP(wb_buf_done) struct wb_buf policy = WB_BUF(1 << 10);
    int r = wb_random(bytes, sizeof bytes, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(nonce + 2 * i, 3, "%02x", bytes[i]);
    wb_buf_addf(&policy,
                "default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; connect-src 'self'; "
                "img-src 'self' blob: data:; media-src blob:; " OTHERS "; "
                "require-trusted-types-for 'script'; trusted-types 'none'",
                nonce, nonce);
    r = wb_buf_check(&policy, err);
    if (r < 0)
        return r;
    put_headers(x, wb_buf_str(&policy));
    sv_reply_header(&x->reply, "Cache-Control", UPP_STR("no-store"));
    x->reply.status = 200;
    x->reply.type = "text/html; charset=utf-8";
    for (size_t at; (at = wb_str_find(text, UPP_STR("nonce=\"\""), 0)) != SIZE_MAX;) {
        wb_buf_add(&x->reply.body, wb_str_sub(text, 0, at + sizeof empty - 1));
        wb_buf_add(&x->reply.body, wb_cstr(nonce));
        text = wb_str_sub(text, at + sizeof empty - 1, SIZE_MAX);
    }
    wb_buf_add(&x->reply.body, text);
    return 0;
}

/* "gzip, deflate": does the client take it compressed? One that weighs its encodings gets it as it is. */
static bool takes_gzip(const struct sv_exchange *x)
{
    struct upp_str list = sv_http_header(x->request, UPP_STR("accept-encoding"), NULL);
    size_t at = wb_str_find(list, UPP_STR("gzip"), 0);
    return at != SIZE_MAX && wb_str_find(list, UPP_STR("gzip;"), 0) == SIZE_MAX;
}

static void respond_file(struct sv_exchange *x, const struct sv_page_file *f)
{
    bool same = wb_str_eq(sv_http_header(x->request, UPP_STR("if-none-match"), NULL), wb_cstr(f->etag));
    bool small = takes_gzip(x);
    put_headers(x, UPP_STR("default-src 'none'; sandbox; " OTHERS));
    sv_reply_header(&x->reply, "Cache-Control", UPP_STR("no-cache"));
    sv_reply_header(&x->reply, "ETag", wb_cstr(f->etag));
    sv_reply_header(&x->reply, "Vary", UPP_STR("Accept-Encoding"));
    x->reply.status = same ? 304 : 200;
    x->reply.type = f->type;
    if (same)
        return;
    if (small)
        sv_reply_header(&x->reply, "Content-Encoding", UPP_STR("gzip"));
    wb_buf_add(&x->reply.body, small ? f->gzip : f->bytes);
}

static const struct sv_page_file *file_of(const struct sv_page_file *files, size_t n, struct upp_str name)
{
    for (size_t i = 0; i < n; i++)
        if (wb_str_eq(name, wb_cstr(files[i].name)))
            return &files[i];
    return NULL;
}

static int respond(struct sv_exchange *x, const struct sv_page_file *files, size_t n, struct upp_str name,
                   bool document, struct upp_err *err)
{
    const struct sv_page_file *f = file_of(files, n, name);
    if (!f)
        return upp_fail(err, UPP_ENOTFOUND, "no file '%.*s'", UPP_FMT(name));
    if (document)
        return respond_document(x, f->bytes, err);
    respond_file(x, f);
    return 0;
}

/* What AgentScope's servers say about themselves: its tools look for the paths here. */
static int write_service(struct sv_exchange *x, struct upp_err *err)
{
    static const char *const paths[][2] = {{"process", "/process"},
                                           {"stream", "/process/stream"},
                                           {"health", "/health"},
                                           {"task", "/process/task"},
                                           {"task_status", "/process/task/{task_id}"},
                                           {"responses", "/compatible-mode/v1/responses"}};
    struct wj_writer w;
    wj_writer_init(&w, &x->reply.body, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "service", UPP_STR("Weft"));
    wj_put_str(&w, "mode", UPP_STR("standalone"));
    wj_put_open(&w, "endpoints", '{');
    for (size_t i = 0; i < WB_LEN(paths); i++)
        wj_put_str(&w, paths[i][0], wb_cstr(paths[i][1]));
    wj_write_close(&w, '}');
    wj_write_close(&w, '}');
    x->reply.status = 200;
    return wj_writer_check(&w);
}

/* The page, unless the client would rather have JSON. */
int sv_get_page(struct sv_exchange *x, struct upp_err *err)
{
    struct upp_str accept = sv_http_header(x->request, UPP_STR("accept"), NULL);
    sv_reply_header(&x->reply, "Vary", UPP_STR("Accept"));
    if (sv_accept_prefers(accept, "application/json", "text/html"))
        return write_service(x, err);
    return respond(x, sv_page_files, sv_page_n_files, UPP_STR("index.html"), true, err);
}

int sv_get_page_file(struct sv_exchange *x, struct upp_err *err)
{
    return respond(x, sv_page_files, sv_page_n_files, x->params[0], false, err);
}

int sv_get_docs(struct sv_exchange *x, struct upp_err *err)
{
    return respond(x, sv_docs_files, sv_docs_n_files, UPP_STR("docs.html"), true, err);
}

int sv_get_docs_file(struct sv_exchange *x, struct upp_err *err)
{
    return respond(x, sv_docs_files, sv_docs_n_files, x->params[0], false, err);
}
