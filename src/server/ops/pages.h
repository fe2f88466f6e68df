/* server/ops/pages.h — files that are inside the program (scripts/embed): those of this folder, and the web page. */
#pragma once

#include <upp/base.h>

extern const struct upp_str sv_page_openapi_json;

/* A file of a page. */
struct sv_page_file {
    const char *name, *type, *etag;
    struct upp_str bytes, gzip; /* and the same, compressed */
};

extern const struct sv_page_file sv_page_files[]; /* server/page/ */
extern const size_t sv_page_n_files;
extern const struct sv_page_file sv_docs_files[]; /* of /docs */
extern const size_t sv_docs_n_files;
