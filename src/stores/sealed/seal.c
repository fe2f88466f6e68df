/* stores/sealed/seal.c — derives a tenant's keys, and encrypts and decrypts texts and names with them. */
#include "stores/sealed/seal.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>

#include "base/hooks.h"
#include "base/random.h"

enum { VERSION = 1, LENGTH = 4 };

static int failed(struct upp_err *err, const char *what)
{
    return upp_fail(err, UPP_ENOMEM, "the cryptography library cannot %s", what);
}

static int derive(const unsigned char *key, const char *label, struct upp_str whose, unsigned char *ret,
                  struct upp_err *err)
{
    unsigned char text[32 + 1024];
    size_t n = strlen(label) + 1, made;
    if (whose.n > sizeof text - 32)
        return upp_fail(err, UPP_ELIMIT, "a tenant's name of %zu bytes", whose.n);
    memcpy(text, label, n);
    if (whose.n)
        memcpy(text + n, whose.p, whose.n);
    if (!EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, key, WS_SEAL_KEY, text, n + whose.n, ret, WS_SEAL_KEY, &made))
        return failed(err, "derive a key");
    return 0;
}

int ws_seal_derive(const unsigned char key[WS_SEAL_KEY], struct upp_str whose, struct ws_seal_keys *ret,
                   struct upp_err *err)
{
    int r = derive(key, "weft 1 texts", whose, ret->texts, err);
    return r < 0 ? r : derive(key, "weft 1 names", whose, ret->names, err);
}

static bool make(struct ws_seal *s, const struct ws_seal_keys *keys)
{
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                           OSSL_PARAM_construct_end()};
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    s->in = EVP_CIPHER_CTX_new();
    s->out = EVP_CIPHER_CTX_new();
    s->mac = hmac ? EVP_MAC_CTX_new(hmac) : NULL;
    EVP_MAC_free(hmac);
    return s->in && s->out && s->mac && EVP_EncryptInit_ex(s->in, EVP_aes_256_gcm(), NULL, keys->texts, NULL) &&
           EVP_DecryptInit_ex(s->out, EVP_aes_256_gcm(), NULL, keys->texts, NULL) &&
           EVP_MAC_init(s->mac, keys->names, WS_SEAL_KEY, params);
}

int ws_seal_new(const struct ws_seal_keys *keys, struct ws_seal **ret, struct upp_err *err)
{
    struct ws_seal *s = wb_calloc(1, sizeof *s);
    if (!s)
        return upp_fail(err, UPP_ENOMEM, "no memory for a key");
    if (!make(s, keys)) {
        (void)ws_seal_free(s);
        return failed(err, "take a key");
    }
    *ret = s;
    return 0;
}

struct ws_seal *ws_seal_free(struct ws_seal *s)
{
    if (s) {
        EVP_CIPHER_CTX_free(s->in); /* all three wipe their memory */
        EVP_CIPHER_CTX_free(s->out);
        EVP_MAC_CTX_free(s->mac);
        wb_free(s);
    }
    return NULL;
}

static void put_u32(unsigned char *p, size_t n)
{
    for (int i = 0; i < LENGTH; i++)
        p[i] = (unsigned char)(n >> (8 * i));
}

static size_t get_u32(const unsigned char *p)
{
    return p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
}

/* The associated data: version, kind, number of parts, lengths and bytes of the context. */
static bool put_context(EVP_CIPHER_CTX *c, const struct ws_seal_context *at, size_t parts)
{
    unsigned char b[12 + sizeof at->bytes] = {VERSION, at->kind, (unsigned char)parts, (unsigned char)at->n};
    int n;
    put_u32(b + 4, at->space.n);
    put_u32(b + 8, at->name.n);
    memcpy(b + 12, at->bytes, at->n);
    return EVP_CipherUpdate(c, NULL, &n, b, 12 + (int)at->n) &&
           (!at->space.n || EVP_CipherUpdate(c, NULL, &n, (const void *)at->space.p, (int)at->space.n)) &&
           (!at->name.n || EVP_CipherUpdate(c, NULL, &n, (const void *)at->name.p, (int)at->name.n));
}

/* For each part its length plus one (0: NULL), then their bytes, each followed by a NUL. */
static size_t pack(const struct upp_str *parts, size_t n, unsigned char *to)
{
    size_t at = LENGTH * n;
    for (size_t i = 0; i < n; i++) {
        if (to)
            put_u32(to + LENGTH * i, parts[i].p ? parts[i].n + 1 : 0);
        if (to && parts[i].n)
            memcpy(to + at, parts[i].p, parts[i].n);
        if (to && parts[i].p)
            to[at + parts[i].n] = 0;
        at += parts[i].p ? parts[i].n + 1 : 0;
    }
    return at;
}

static bool unpack(const unsigned char *p, size_t size, struct upp_str *parts, size_t n)
{
    size_t at = LENGTH * n;
    for (size_t i = 0; i < n; i++) {
        size_t is = at <= size ? get_u32(p + LENGTH * i) : 0;
        if (at > size || is > size - at)
            return false;
        parts[i] = is ? wb_str((const char *)p + at, is - 1) : (struct upp_str){NULL, 0};
        at += is;
    }
    return at == size;
}

int ws_seal_put(struct ws_seal *s, const struct ws_seal_context *at, struct upp_str head, const struct upp_str *parts,
                size_t n, struct wb_arena *a, struct upp_str *ret, struct upp_err *err)
{
    size_t size = pack(parts, n, NULL);
    int wrote, more;
    unsigned char *all = wb_arena_alloc(a, head.n + size + WS_SEAL_MORE, 1);
    if (!all)
        return wb_arena_check(a, err);
    unsigned char *p = all + head.n, *text = p + 1 + WS_SEAL_NONCE;
    if (head.n)
        memcpy(all, head.p, head.n);
    p[0] = VERSION;
    int r = wb_random(p + 1, WS_SEAL_NONCE, err);
    if (r < 0)
        return r;
    (void)pack(parts, n, text);
    OSSL_PARAM tag[] = {OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, text + size, WS_SEAL_TAG), OSSL_PARAM_END};
    if (!EVP_EncryptInit_ex(s->in, NULL, NULL, NULL, p + 1) || !put_context(s->in, at, n) ||
        !EVP_EncryptUpdate(s->in, text, &wrote, text, (int)size) || !EVP_EncryptFinal_ex(s->in, text + wrote, &more) ||
        !EVP_CIPHER_CTX_get_params(s->in, tag))
        return failed(err, "seal a text");
    *ret = wb_str((const char *)all, head.n + size + WS_SEAL_MORE);
    return 0;
}

int ws_seal_get(struct ws_seal *s, const struct ws_seal_context *at, struct upp_str text, struct upp_str *parts,
                size_t n, struct upp_err *err)
{
    int wrote, more;
    for (size_t i = 0; i < n; i++)
        parts[i] = (struct upp_str){NULL, 0};
    if (text.n < WS_SEAL_MORE + LENGTH * n || text.n > INT32_MAX || text.p[0] != VERSION)
        return upp_fail(err, UPP_ESTORE, "this is no sealed text");
    unsigned char *p = (unsigned char *)(uintptr_t)text.p, *in = p + 1 + WS_SEAL_NONCE; /* writable: see seal.h */
    size_t size = text.n - WS_SEAL_MORE;
    if (!EVP_DecryptInit_ex(s->out, NULL, NULL, NULL, p + 1) || !put_context(s->out, at, n) ||
        !EVP_DecryptUpdate(s->out, in, &wrote, in, (int)size) ||
        !EVP_CIPHER_CTX_ctrl(s->out, EVP_CTRL_AEAD_SET_TAG, WS_SEAL_TAG, in + size))
        return failed(err, "open a text");
    if (EVP_DecryptFinal_ex(s->out, in + wrote, &more) != 1 || !unpack(in, size, parts, n)) {
        explicit_bzero(in, size);
        return upp_fail(err, UPP_ESTORE, "it was changed, moved, or sealed with another key");
    }
    return 0;
}

int ws_seal_name(struct ws_seal *s, unsigned char which, const struct upp_str *parts, size_t n, unsigned char ret[32],
                 struct upp_err *err)
{
    unsigned char head[1 + LENGTH * WS_SEAL_PARTS] = {which};
    size_t made;
    for (size_t i = 0; i < n; i++)
        put_u32(head + 1 + LENGTH * i, parts[i].n);
    bool ok = EVP_MAC_init(s->mac, NULL, 0, NULL) && EVP_MAC_update(s->mac, head, 1 + LENGTH * n);
    for (size_t i = 0; ok && i < n; i++)
        ok = !parts[i].n || EVP_MAC_update(s->mac, (const void *)parts[i].p, parts[i].n);
    return ok && EVP_MAC_final(s->mac, ret, &made, 32) ? 0 : failed(err, "hide a name");
}

enum { ROUNDS = 4, HALF = 16, BLOB_ROUND = 200 /* name kinds of the rounds: this one and those after it */ };

/* One Feistel round: changes the half `to` by a keyed hash of the other half. */
static int feistel_round(struct ws_seal *s, int round, unsigned char *to, const unsigned char *by, struct upp_err *err)
{
    unsigned char sum[32];
    struct upp_str half = wb_str((const char *)by, HALF);
    int r = ws_seal_name(s, (unsigned char)(BLOB_ROUND + round), &half, 1, sum, err);
    for (int i = 0; r >= 0 && i < HALF; i++)
        to[i] ^= sum[i];
    return r;
}

int ws_seal_blob(struct ws_seal *s, const struct wl_blob_key *key, struct wl_blob_key *ret, struct upp_err *err)
{
    int r = 0;
    *ret = *key;
    for (int i = 0; r >= 0 && i < ROUNDS; i++)
        r = feistel_round(s, i, ret->b + (i % 2 ? HALF : 0), ret->b + (i % 2 ? 0 : HALF), err);
    return r;
}

int ws_seal_unblob(struct ws_seal *s, const struct wl_blob_key *key, struct wl_blob_key *ret, struct upp_err *err)
{
    int r = 0;
    *ret = *key;
    for (int i = ROUNDS; r >= 0 && i-- > 0;)
        r = feistel_round(s, i, ret->b + (i % 2 ? HALF : 0), ret->b + (i % 2 ? 0 : HALF), err);
    return r;
}
