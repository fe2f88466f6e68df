/* stores/sealed/store.h — what the files of the sealed store share. */
#ifndef WS_SEALED_STORE_H
#define WS_SEALED_STORE_H

#include "stores/sealed/keys.h"

#define WS_SEALED_BLOBS "weft.blobs" /* space of values: which names are one blob's */
enum { WS_NAMES_NAME = 64 };

struct ws_place ws_row_place(const struct wl_row *row);
struct ws_place ws_id_place(unsigned char kind, const struct wb_uuid *id);
struct ws_place ws_node_place(unsigned char kind, uint64_t key);
struct ws_place ws_value_place(struct upp_str space, struct upp_str name);
struct ws_place ws_piece_place(const struct wl_blob_key *sealed_as, uint32_t number, bool last);

struct ws_hidden_key {
    unsigned char route[32], key[32];
    unsigned char mask[32]; /* over the hash of the body; needs created_ms */
};
int            ws_hide_alias(struct ws_seal *x, uint8_t kind, struct upp_str text, unsigned char ret[32],
                             struct upp_err *err) UPP_MUST_CHECK;
int            ws_hide_key(struct ws_seal *x, const struct wl_key *k, struct ws_hidden_key *ret,
                           struct upp_err *err) UPP_MUST_CHECK;
struct upp_str ws_names_name(const struct wl_blob_key *to, const struct wl_blob_key *from, char ret[WS_NAMES_NAME]);

/* ---- Reading (open.c): as in struct wl_store_ops ---- */

WEFT_SUSPENDS int ws_open_rows(struct wl_store *s, const struct wl_owner *o, const struct wl_range *r,
                               struct wb_arena *a, struct wl_rows *ret, struct upp_err *err);
WEFT_SUSPENDS int ws_open_node(struct wl_store *s, const struct wl_owner *o, uint64_t key, struct wl_node *ret,
                               struct upp_err *err);
WEFT_SUSPENDS int ws_open_thread(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
                                 struct wl_thread *ret, struct upp_err *err);
WEFT_SUSPENDS int ws_open_run(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
                              struct wm_run *ret, struct upp_err *err);
WEFT_SUSPENDS int ws_open_alias(struct wl_store *s, const struct wl_owner *o, uint8_t kind, struct upp_str text,
                                struct wb_uuid *ret, struct upp_err *err);
WEFT_SUSPENDS int ws_open_key(struct wl_store *s, const struct wl_owner *o, struct upp_str route, struct upp_str key,
                              struct wl_key *ret, struct upp_err *err);
WEFT_SUSPENDS int ws_open_threads(struct wl_store *s, const struct wl_owner *o, struct wb_uuid after, size_t max,
                                  struct wb_arena *a, struct wl_thread **ret, size_t *n, struct upp_err *err);
WEFT_SUSPENDS int ws_open_runs(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread, bool live_only,
                               size_t max, struct wb_arena *a, struct wm_run **ret, size_t *n, struct upp_err *err);
WEFT_SUSPENDS int ws_open_live(struct wl_store *s, struct wb_uuid after, size_t max, struct wb_arena *a,
                               struct wm_run **runs, struct wl_owner **owners, size_t *n, struct upp_err *err);
WEFT_SUSPENDS int ws_open_family_nodes(struct wl_store *s, const struct wl_owner *o, uint32_t family,
                                       struct wb_uuid after, size_t max, struct wb_arena *a, struct wl_node **ret,
                                       size_t *n, struct upp_err *err);
WEFT_SUSPENDS int ws_open_family_threads(struct wl_store *s, const struct wl_owner *o, uint32_t family,
                                         struct wb_uuid after, size_t max, struct wb_arena *a, struct wl_thread **ret,
                                         size_t *n, struct upp_err *err);
WEFT_SUSPENDS int ws_open_value(struct wl_store *s, const struct wl_owner *o, struct upp_str space, struct upp_str name,
                                struct wb_arena *a, struct upp_str *ret, struct upp_err *err);
WEFT_SUSPENDS int ws_open_values(struct wl_store *s, const struct wl_owner *o, struct upp_str space,
                                 struct upp_str after, size_t max, struct wb_arena *a, struct wl_value **ret, size_t *n,
                                 struct upp_err *err);
WEFT_SUSPENDS int ws_open_tenants(struct wl_store *s, struct upp_str after, size_t max, struct wb_arena *a,
                                  struct upp_str **ret, size_t *n, struct upp_err *err);
WEFT_SUSPENDS int ws_open_piece(struct wl_store *s, const struct wl_owner *o, const struct wl_blob_key *key,
                                uint32_t number, struct wb_arena *a, struct wl_piece *ret, struct upp_err *err);
WEFT_SUSPENDS int ws_open_loose_blobs(struct wl_store *s, const struct wl_owner *o, int64_t before_ms, size_t max,
                                      struct wb_arena *a, struct wl_blob_key **ret, size_t *n, struct upp_err *err);
WEFT_SUSPENDS int ws_open_old_runs(struct wl_store *s, const struct wl_owner *o, uint64_t after, int64_t before_ms,
                                   size_t max, struct wb_arena *a, struct wm_run **ret, uint64_t **numbers, size_t *n,
                                   struct upp_err *err);
WEFT_SUSPENDS int ws_open_follow(struct wl_store *s, uint64_t after, size_t max_rows, size_t max_bytes,
                                 struct wb_arena *a, struct wl_followed **ret, size_t *n, struct upp_err *err);
WEFT_SUSPENDS int ws_open_learned(struct wl_store *s, uint64_t *upto, uint64_t *end, struct upp_err *err);

#endif
