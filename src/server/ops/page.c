/* server/ops/page.c — GET / and /page/{file}: the web page, from the files of server/page/ that are inside the program.
 *
 * The page shows what models, tools and users have written. Its policy is the second wall behind a page that only makes
 * text nodes: nothing from another host, no script or style inside the markup, no HTML made from strings (Trusted
 * Types). Images of messages are blobs, because they are fetched with the key.
 */
#include "server/ops/ops.h"
#include "server/ops/pages.h"

#define POLICY                                                                                                         \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob: data:; "        \
    "media-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "                                   \
    "require-trusted-types-for 'script'; trusted-types 'none'"

/* "gzip, deflate": does the client take it compressed? One that weighs its encodings gets it as it is. */
static bool takes_gzip(const struct sv_exchange *x)
{
    struct upp_str list = sv_http_header(x->request, UPP_STR("accept-encoding"), NULL);
    size_t         at   = wb_str_find(list, UPP_STR("gzip"), 0);
    return at != SIZE_MAX && wb_str_find(list, UPP_STR("gzip;"), 0) == SIZE_MAX;
}

static int respond(struct sv_exchange *x, struct upp_str name, struct upp_err *err)
{
    for (size_t i = 0; i < sv_page_n_files; i++) {
        const struct sv_page_file *f = &sv_page_files[i];
        if (!wb_str_eq(name, wb_cstr(f->name)))
            continue;
        sv_reply_header(&x->reply, "Content-Security-Policy", UPP_STR(POLICY));
        sv_reply_header(&x->reply, "Referrer-Policy", UPP_STR("no-referrer"));
        sv_reply_header(&x->reply, "Cross-Origin-Opener-Policy", UPP_STR("same-origin"));
        sv_reply_header(&x->reply, "Cache-Control", UPP_STR("no-cache"));
        sv_reply_header(&x->reply, "ETag", wb_cstr(f->etag));
        bool same       = wb_str_eq(sv_http_header(x->request, UPP_STR("if-none-match"), NULL), wb_cstr(f->etag));
        x->reply.status = same ? 304 : 200;
        x->reply.type   = f->type;
        bool small      = takes_gzip(x);
        sv_reply_header(&x->reply, "Vary", UPP_STR("Accept-Encoding"));
        if (small && !same)
            sv_reply_header(&x->reply, "Content-Encoding", UPP_STR("gzip"));
        if (!same)
            wb_buf_add(&x->reply.body, small ? f->gzip : f->bytes);
        return 0;
    }
    return upp_fail(err, UPP_ENOTFOUND, "no file '%.*s'", UPP_FMT(name));
}

int sv_get_page(struct sv_exchange *x, struct upp_err *err)
{
    return respond(x, UPP_STR("index.html"), err);
}

int sv_get_page_file(struct sv_exchange *x, struct upp_err *err)
{
    return respond(x, x->params[0], err);
}
