/* upp/providers/ollama.h — what the two halves of the Ollama adapter share. */
#ifndef UPP_PROVIDERS_OLLAMA_H
#define UPP_PROVIDERS_OLLAMA_H

#include "upp/providers/adapter.h"

/* A step being read. */
struct upp__ollama_own {
    uint8_t        kind; /* of the part that is open: text, reasoning; 0: none is */
    uint32_t       part;
    struct wb_buf  minted; /* JSON: ids of ours, without brackets */
    struct upp_str model;
};

int  upp__ollama_event(struct upp__reader *r, const struct ww_frame *f, struct upp_err *err);
int  upp__ollama_whole(struct upp__reader *r, struct upp_str body, struct upp_err *err);
int  upp__ollama_eof(struct upp__reader *r, struct upp_err *err);
void upp__ollama_done(struct upp__reader *r);
void upp__ollama_trouble(struct wb_arena *a, struct upp_str body, struct upp__trouble *t);

#endif
