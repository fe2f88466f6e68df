/* stores/blobs/file.c — a file as a blob, written piece by piece.
 *
 * Its key is known only after its last byte: until then it has a random name; the commit that adds the reference
 * renames it. If the tenant already has a blob with the same bytes, that one stays and ours is dropped.
 */
#include <openssl/evp.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "base/random.h"
#include "base/str.h"
#include "stores/blobs/blobs.h"

struct ws_file_writer {
    struct wl_store   *s;
    struct wl_owner    owner;
    uint64_t           max, size;
    EVP_MD_CTX        *hash;
    struct wl_blob_key name; /* random, until the end */
    uint32_t           number;
    bool               ended;
    int                failed;
    size_t             n;
    char               piece[WL_PIECE];
};

int ws_file_open(struct wl_store *s, const struct wl_owner *o, uint64_t max, struct ws_file_writer **ret,
                 struct upp_err *err)
{
    struct ws_file_writer *f = wb_alloc(sizeof *f);
    if (!f)
        return upp_fail(err, UPP_ENOMEM, "no memory for a file");
    f->s      = s;
    f->owner  = *o;
    f->max    = max ? max : WS_FILE_MAX;
    f->size   = 0;
    f->number = 0;
    f->ended  = false;
    f->failed = 0;
    f->n      = 0;
    f->hash   = EVP_MD_CTX_new();
    int r     = f->hash && EVP_DigestInit_ex(f->hash, EVP_sha256(), NULL) == 1
                    ? wb_random(f->name.b, sizeof f->name.b, err)
                    : upp_fail(err, UPP_ENOMEM, "no memory for a digest");
    if (r < 0) {
        EVP_MD_CTX_free(f->hash);
        wb_free(f);
        return r;
    }
    *ret = f;
    return 0;
}

/* Writes the buffer as a piece. `last`: it is the last one; also names the blob and adds this reference, whose blob is
 * filled in. */
static WEFT_SUSPENDS int put_piece(struct ws_file_writer *f, struct wl_ref *last, struct upp_err *err)
{
    struct wl_piece  piece     = {.key = f->name, .number = f->number, .last = last, .bytes = {f->piece, f->n}};
    struct wl_change changes[] = {{.kind = WL_ADD_PIECE, .piece = &piece},
                                  {.kind = WL_NAME_BLOB, .name = {&f->name, last ? &last->blob : NULL}},
                                  {.kind = WL_ADD_REF, .ref = last}};
    struct wl_commit commit    = {
           .owner = f->owner, .changes = changes, .n = last ? WB_LEN(changes) : 1, .flags = last ? WL_SYNCED : 0};
    unsigned len = sizeof f->name.b;
    if (EVP_DigestUpdate(f->hash, f->piece, f->n) != 1 ||
        (last && EVP_DigestFinal_ex(f->hash, last->blob.b, &len) != 1))
        return upp_fail(err, UPP_ENOMEM, "no memory for a digest");
    int r = f->s->ops->commit(f->s, &commit, err);
    f->number++;
    f->n = 0;
    return r == -UPP_EBUSY ? upp_wrap(err, -UPP_ESTORE, "a file that nobody wrote on for too long") : r;
}

WEFT_SUSPENDS int ws_file_write(struct ws_file_writer *f, struct upp_str bytes, struct upp_err *err)
{
    int r = f->failed;
    if (r < 0 || f->ended)
        return upp_fail(err, UPP_EINVALID, "a file that has %s", r < 0 ? "failed" : "ended");
    if (bytes.n > f->max - f->size)
        r = upp_fail(err, UPP_ELIMIT, "a file of more than %llu bytes", (unsigned long long)f->max);
    while (r >= 0 && bytes.n) {
        if (f->n == WL_PIECE) /* now it is known not to be the last piece */
            r = put_piece(f, NULL, err);
        size_t some = WB_MIN(bytes.n, (size_t)WL_PIECE - f->n);
        memcpy(f->piece + f->n, bytes.p, some);
        f->n += some;
        f->size += some;
        bytes = wb_str(bytes.p + some, bytes.n - some);
    }
    f->failed = r < 0 ? r : 0;
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS int ws_file_end(struct ws_file_writer *f, struct wb_uuid id, struct wl_blob_key *key, uint64_t *size,
                              struct upp_err *err)
{
    struct wl_ref ref = {.id = id};
    if (f->failed < 0 || f->ended)
        return upp_fail(err, UPP_EINVALID, "a file that has %s", f->failed < 0 ? "failed" : "ended");
    int r     = put_piece(f, &ref, err);
    f->failed = r < 0 ? r : 0;
    if (r < 0)
        return r;
    f->ended = true;
    *key     = ref.blob;
    *size    = f->size;
    return 0;
}

WEFT_SUSPENDS void ws_file_close(struct ws_file_writer *f)
{
    if (!f)
        return;
    if (!f->ended && f->number) {
        struct wl_change change = {.kind = WL_DROP_BLOB, .blob = &f->name};
        struct wl_commit commit = {.owner = f->owner, .changes = &change, .n = 1};
        int              r      = f->s->ops->commit(f->s, &commit, NULL);
        (void)r; /* the sweep removes it */
    }
    EVP_MD_CTX_free(f->hash);
    wb_free(f);
}
