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
    struct wl_store *s;
    struct wl_owner owner;
    uint64_t max, size;
    EVP_MD_CTX *hash;
    struct wl_blob_key name; /* random, until the end */
    uint32_t number;
    bool hashed, ended;
    struct wl_blob_key key; /* once hashed */
    int failed;
    size_t n;
    char piece[WL_PIECE];
};

int ws_file_open(struct wl_store *s, const struct wl_owner *o, uint64_t max, struct ws_file_writer **ret,
                 struct upp_err *err)
{
    struct ws_file_writer *f = wb_alloc(sizeof *f);
    if (!f)
        return upp_fail(err, UPP_ENOMEM, "no memory for a file");
    f->s = s;
    f->owner = *o;
    f->max = max ? max : WS_FILE_MAX;
    f->size = 0;
    f->number = 0;
    f->hashed = false;
    f->ended = false;
    f->failed = 0;
    f->n = 0;
    f->hash = EVP_MD_CTX_new();
    int r = f->hash && EVP_DigestInit_ex(f->hash, EVP_sha256(), NULL) == 1
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

/* Writes the buffer as a piece, with other changes behind it. */
static WEFT_SUSPENDS int put_piece(struct ws_file_writer *f, bool last, const struct wl_change *more, size_t n,
                                   struct upp_err *err)
{
    struct wl_piece piece = {f->name, f->number, last, {f->piece, f->n}};
    struct wl_change changes[3 + WS_FILE_CHANGES] = {{.kind = WL_ADD_PIECE, .piece = &piece}};
    struct wl_commit commit = {.owner = f->owner, .changes = changes, .n = 1 + n, .flags = last ? WL_SYNCED : 0};
    if (n)
        memcpy(changes + 1, more, n * sizeof *more);
    int r = wl_store_commit(f->s, &commit, err);
    f->number++;
    f->n = 0;
    return r == -UPP_EBUSY && (!last || commit.conflict < 3)
               ? upp_wrap(err, -UPP_ESTORE, "a file that nobody wrote on for too long")
               : r;
}

WEFT_SUSPENDS int ws_file_write(struct ws_file_writer *f, struct upp_str bytes, struct upp_err *err)
{
    int r = f->failed;
    if (r < 0 || f->hashed)
        return upp_fail(err, UPP_EINVALID, "a file that has %s", r < 0 ? "failed" : "ended");
    if (bytes.n > f->max - f->size)
        r = upp_fail(err, UPP_ELIMIT, "a file of more than %llu bytes", (unsigned long long)f->max);
    else if (EVP_DigestUpdate(f->hash, bytes.p, bytes.n) != 1)
        r = upp_fail(err, UPP_ENOMEM, "no memory for a digest");
    while (r >= 0 && bytes.n) {
        if (f->n == WL_PIECE) /* now it is known not to be the last piece */
            r = put_piece(f, false, NULL, 0, err);
        size_t some = WB_MIN(bytes.n, (size_t)WL_PIECE - f->n);
        memcpy(f->piece + f->n, bytes.p, some);
        f->n += some;
        f->size += some;
        bytes = wb_str(bytes.p + some, bytes.n - some);
    }
    f->failed = r < 0 ? r : 0;
    return r < 0 ? r : 0;
}

int ws_file_key(struct ws_file_writer *f, struct wl_blob_key *key, uint64_t *size, struct upp_err *err)
{
    unsigned len = sizeof f->key.b;
    if (f->failed < 0 || f->ended)
        return upp_fail(err, UPP_EINVALID, "a file that has %s", f->failed < 0 ? "failed" : "ended");
    if (!f->hashed && EVP_DigestFinal_ex(f->hash, f->key.b, &len) != 1)
        return f->failed = upp_fail(err, UPP_ENOMEM, "no memory for a digest");
    f->hashed = true;
    *key = f->key;
    *size = f->size;
    return 0;
}

WEFT_SUSPENDS int ws_file_end(struct ws_file_writer *f, struct wb_uuid id, const struct wl_change *more, size_t n,
                              struct wl_blob_key *key, uint64_t *size, struct upp_err *err)
{
    struct wl_ref ref = {.id = id};
    struct wl_change changes[2 + WS_FILE_CHANGES] = {{.kind = WL_NAME_BLOB, .name = {&f->name, &ref.blob}},
                                                     {.kind = WL_ADD_REF, .ref = &ref}};
    int r = ws_file_key(f, &ref.blob, size, err);
    if (r >= 0 && n > WS_FILE_CHANGES)
        r = upp_fail(err, UPP_EBUG, "too many changes with a file");
    if (r < 0)
        return r;
    if (n)
        memcpy(changes + 2, more, n * sizeof *more);
    r = put_piece(f, true, changes, 2 + n, err);
    f->failed = r < 0 ? r : 0;
    if (r < 0)
        return r;
    f->ended = true;
    *key = ref.blob;
    return 0;
}

WEFT_SUSPENDS void ws_file_close(struct ws_file_writer *f)
{
    if (!f)
        return;
    if (!f->ended && f->number) {
        struct wl_change change = {.kind = WL_DROP_BLOB, .blob = &f->name};
        struct wl_commit commit = {.owner = f->owner, .changes = &change, .n = 1};
        int r = wl_store_commit(f->s, &commit, NULL);
        (void)r; /* the sweep removes it */
    }
    EVP_MD_CTX_free(f->hash);
    wb_free(f);
}
