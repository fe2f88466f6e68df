/* upp/providers/google.h — what the two halves of the Gemini adapter share. */
#ifndef UPP_PROVIDERS_GOOGLE_H
#define UPP_PROVIDERS_GOOGLE_H

#include "upp/providers/adapter.h"

struct upp__google_args;

enum { UPP__GOOGLE_MAX_RAW = 64 << 20 }; /* bytes of what is kept to be said again */

/* What came along with the answer and stays in metadata.google as it is. */
enum {
    UPP__GOOGLE_MESSAGE,   /* finishMessage */
    UPP__GOOGLE_TOKEN,     /* continuationToken */
    UPP__GOOGLE_GROUNDING, /* groundingMetadata */
    UPP__GOOGLE_CITATION,  /* citationMetadata */
    UPP__GOOGLE_URLS,      /* urlContextMetadata */
    UPP__GOOGLE_EXTRAS,
};

/* A step being read. Two lists grow at once: parts as UPP has them, said as they come; and `raw`, the vendor's own, in
 * which texts in a row are one unless they are signed. */
struct upp__google_own {
    struct wb_buf  text;     /* of the newest part of raw, while it grows */
    bool           thought;  /* it is one */
    struct wb_buf  raw;      /* JSON: the parts before it, without brackets */
    bool           odd;      /* raw says more than texts and calls do */
    struct wb_buf  usage;    /* JSON: the newest object that holds a usageMetadata */
    bool           answered; /* a candidate came */
    struct upp_str model, finish;
    struct upp_str extras[UPP__GOOGLE_EXTRAS]; /* JSON */

    /* A call whose arguments come in pieces (Vertex); NULL: none. */
    struct upp__google_args *args;
    struct upp_str           call_id, call_name, call_signature;
};

/* `contents` of a request. */
struct upp__body;
void upp__google_contents(struct upp__body *b);

int  upp__google_event(struct upp__reader *r, const struct ww_frame *f, struct upp_err *err);
int  upp__google_whole(struct upp__reader *r, struct upp_str body, struct upp_err *err);
int  upp__google_eof(struct upp__reader *r, struct upp_err *err);
void upp__google_done(struct upp__reader *r);
void upp__google_error(yyjson_val *v, struct upp__trouble *t);

#endif
