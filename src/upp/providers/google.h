/* upp/providers/google.h — shared by the files of the Gemini adapter. */
#pragma once

#include "upp/providers/adapter.h"

struct upp__google_args;

enum { UPP__GOOGLE_MAX_RAW = 64 << 20 }; /* bytes of what is stored to be sent back */

/* Members of the answer that are stored in metadata.google unchanged. */
enum {
    UPP__GOOGLE_MESSAGE,   /* finishMessage */
    UPP__GOOGLE_TOKEN,     /* continuationToken */
    UPP__GOOGLE_GROUNDING, /* groundingMetadata */
    UPP__GOOGLE_CITATION,  /* citationMetadata */
    UPP__GOOGLE_URLS,      /* urlContextMetadata */
    UPP__GOOGLE_EXTRAS,
};

/* A step being read. It builds two lists: UPP's parts, reported as they arrive; and `raw`, the vendor's parts, in which
 * consecutive texts are one unless they are signed. */
struct upp__google_own {
    struct wb_buf text;  /* of the newest part of raw, not yet in it */
    bool thought;        /* that part is a thought */
    struct wb_buf raw;   /* JSON: the earlier parts, without brackets */
    bool odd;            /* raw contains more than texts and calls */
    struct wb_buf usage; /* JSON: the newest object with a usageMetadata */
    bool answered;       /* there was a candidate */
    struct upp_str model, finish;
    struct upp_str extras[UPP__GOOGLE_EXTRAS]; /* JSON */

    /* A call with partialArgs (Vertex); NULL: none. */
    struct upp__google_args *args;
    struct upp_str call_id, call_name, call_signature;
};

/* `contents` of a request. */
struct upp__body;
void upp__google_contents(struct upp__body *b);

int upp__google_event(struct upp__reader *r, const struct ww_frame *f, struct upp_err *err);
int upp__google_whole(struct upp__reader *r, struct upp_str body, struct upp_err *err);
int upp__google_eof(struct upp__reader *r, struct upp_err *err);
void upp__google_done(struct upp__reader *r);
void upp__google_error(yyjson_val *v, struct upp__provider_error *t);
