/* server/ops/pages.h — files that are inside the program (scripts/embed): those of this folder, and the web page. */
#ifndef SV_PAGES_H
#define SV_PAGES_H

#include <upp/base.h>

extern const struct upp_str sv_page_openapi_json, sv_page_docs_html, sv_page_docs_js, sv_page_docs_css;

/* A file of server/page/. */
struct sv_page_file {
    const char    *name, *type, *etag;
    struct upp_str bytes, gzip; /* and the same, compressed */
};

extern const struct sv_page_file sv_page_files[];
extern const size_t              sv_page_n_files;

#endif
