/* server/ops/pages.h — files of this folder that are inside the program (scripts/embed). */
#ifndef SV_PAGES_H
#define SV_PAGES_H

#include <upp/base.h>

extern const struct upp_str sv_page_openapi_json, sv_page_docs_html, sv_page_docs_js, sv_page_docs_css;

#endif
