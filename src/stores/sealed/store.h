/* stores/sealed/store.h — internals of the sealed store, shared by its files. */
#pragma once

#include "stores/columns.h"
#include "stores/sealed/keys.h"

#define WS_SEALED_BLOBS "weft.blobs" /* space of values: records which names are one blob's */
enum { WS_NAMES_NAME = 64 };

/* Texts of an object that are sealed together (columns.h). */
struct ws_sealed_texts {
    struct ws_seal_context at;
    struct upp_str *part[WS_SEAL_PARTS];
    size_t n;
    struct upp_str *home;
    bool optional;
};
struct ws_sealed_texts ws_sealed_texts(const struct ws_kind *k, void *thing, unsigned group);

struct ws_seal_context ws_piece_context(const struct wl_blob_key *sealed_as, uint32_t number, bool last);

struct ws_hidden_key {
    unsigned char route[32], key[32];
    unsigned char mask[32]; /* XORed with the hash of the body; needs created_ms */
};
int ws_hide_alias(struct ws_seal *x, uint8_t kind, struct upp_str text, unsigned char ret[32],
                  struct upp_err *err) UPP_MUST_CHECK;
int ws_hide_key(struct ws_seal *x, const struct wl_key *k, struct ws_hidden_key *ret,
                struct upp_err *err) UPP_MUST_CHECK;
struct upp_str ws_names_name(const struct wl_blob_key *to, const struct wl_blob_key *from, char ret[WS_NAMES_NAME]);

/* ---- Reading (open.c): as in struct wl_store_ops ---- */

WEFT_SUSPENDS int ws_open_rows(struct wl_store *s, const struct wl_owner *o, const struct wl_range *r,
                               struct wb_arena *a, struct wl_rows *ret, struct upp_err *err);
WEFT_SUSPENDS int ws_open_get(struct wl_store *s, const struct wl_ask *k, struct wb_arena *a, void *ret,
                              struct upp_err *err);
WEFT_SUSPENDS int ws_open_list(struct wl_store *s, const struct wl_ask *k, struct wb_arena *a, struct wl_list *ret,
                               struct upp_err *err);
WEFT_SUSPENDS int ws_open_follow(struct wl_store *s, uint64_t after, size_t max_rows, size_t max_bytes,
                                 struct wb_arena *a, struct wl_followed **ret, size_t *n, struct upp_err *err);
