/* server/keys/key.c — makes, writes, reads and verifies API keys. */
#include "server/keys/key.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "base/random.h"
#include "base/utf8.h"
#include "base/words.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "runtime/runtime.h"

/* ---- Scopes ---------------------------------------------------------------------------------- */

static const char *const scope_names[] = {"read", "run", "admin", "act-as", "instructions"};

const char *sv_scope_name(uint8_t scope)
{
    for (size_t i = 0; i < WB_LEN(scope_names); i++)
        if (scope == 1u << i)
            return scope_names[i];
    return "";
}

int sv_scopes_parse(struct upp_str text, uint8_t *ret, struct upp_err *err)
{
    struct upp_str rest = text, part;
    uint8_t all = 0;
    while (wb_str_split(&rest, ',', &part)) {
        struct wb_guess guess = {0};
        uint8_t one = 0;
        for (size_t i = 0; i < WB_LEN(scope_names); i++) {
            wb_guess(&guess, part, wb_cstr(scope_names[i]));
            if (wb_str_eq(part, wb_cstr(scope_names[i])))
                one = (uint8_t)(1u << i);
        }
        if (!one)
            return upp_fail(err, UPP_EINVALID, "'%.*s' is not a scope: read, run, admin, act-as, instructions%s",
                            UPP_FMT(part), wb_guessed(&guess));
        all |= one;
    }
    *ret = all;
    return 0;
}

void sv_scopes_write(uint8_t scopes, struct wb_buf *out)
{
    bool any = false;
    for (size_t i = 0; i < WB_LEN(scope_names); i++)
        if (scopes & 1u << i) {
            wb_buf_addf(out, "%s%s", any ? "," : "", scope_names[i]);
            any = true;
        }
}

/* ---- Names ----------------------------------------------------------------------------------- */

static bool all_of(struct upp_str s, bool (*fits)(unsigned char c))
{
    for (size_t i = 0; i < s.n; i++)
        if (!fits((unsigned char)s.p[i]))
            return false;
    return true;
}

static bool in_tenant(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c && strchr("._:@-", c));
}

static bool is_visible(unsigned char c)
{
    return c > ' ' && c < 0x7f;
}

static bool is_hex(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
}

static bool is_text(unsigned char c)
{
    return c >= ' ' && c != 0x7f;
}

int sv_tenant_check(struct upp_str name, struct upp_err *err)
{
    if (!name.n || name.n > SV_TENANT_NAME || !all_of(name, in_tenant))
        return upp_fail(err, UPP_EINVALID, "a tenant's name has 1 to %d of the characters A-Z a-z 0-9 . _ : @ -",
                        SV_TENANT_NAME);
    if (wb_str_eq(name, UPP_STR(WRT_TENANT)))
        return upp_fail(err, UPP_EINVALID, "the tenant '" WRT_TENANT "' is Weft's own");
    return 0;
}

int sv_key_name_check(struct upp_str name, struct upp_err *err)
{
    if (!name.n || name.n > SV_KEY_NAME || name.p[0] == '-' || !all_of(name, is_visible))
        return upp_fail(err, UPP_EINVALID, "a key's name has 1 to %d visible ASCII characters, the first of them no -",
                        SV_KEY_NAME);
    if (name.n == SV_KEY_ID && all_of(name, is_hex))
        return upp_fail(err, UPP_EINVALID, "a key's name is not 16 hex digits: that is an id");
    return 0;
}

int sv_user_check(struct upp_str name, struct upp_err *err)
{
    if (!name.n || name.n > SV_USER_NAME || !all_of(name, is_text) || !wb_utf8_valid(name, NULL))
        return upp_fail(err, UPP_EINVALID, "a user's name has 1 to %d bytes of UTF-8 without control characters",
                        SV_USER_NAME);
    return 0;
}

/* ---- Secrets --------------------------------------------------------------------------------- */

int sv_key_new(struct sv_key **ret, struct upp_err *err)
{
    struct sv_key *k = wb_calloc(1, sizeof *k);
    if (!k)
        return upp_fail(err, UPP_ENOMEM, "no memory for a key");
    k->arena = (struct wb_arena)WB_ARENA(64 << 10);
    *ret = k;
    return 0;
}

void sv_key_free(struct sv_key *k)
{
    if (!k)
        return;
    wb_arena_done(&k->arena);
    wb_free(k);
}

void sv_key_freep(struct sv_key **k)
{
    sv_key_free(*k);
}

static void put_hex(char *to, const unsigned char *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        *to++ = "0123456789abcdef"[from[i] >> 4];
        *to++ = "0123456789abcdef"[from[i] & 15];
    }
    *to = 0;
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool get_hex(struct upp_str s, unsigned char *to, size_t n)
{
    if (s.n != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        int high = digit(s.p[2 * i]), low = digit(s.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        to[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

static bool hash(struct upp_str secret, unsigned char ret[32])
{
    unsigned n = 32;
    return EVP_Digest(secret.p, secret.n, ret, &n, EVP_sha256(), NULL) == 1;
}

int sv_key_generate(struct sv_key *k, char text[SV_KEY_TEXT + 1], struct upp_err *err)
{
    unsigned char bytes[(SV_KEY_ID + SV_KEY_SECRET) / 2];
    char secret[SV_KEY_SECRET + 1];
    int r = wb_random(bytes, sizeof bytes, err);
    if (r >= 0) {
        put_hex(k->id, bytes, SV_KEY_ID / 2);
        put_hex(secret, bytes + SV_KEY_ID / 2, SV_KEY_SECRET / 2);
        (void)snprintf(text, SV_KEY_TEXT + 1, "weft_%s_%s", k->id, secret);
        if (!hash(wb_cstr(secret), k->hash))
            r = upp_fail(err, UPP_ENOMEM, "no memory for a digest");
    }
    explicit_bzero(bytes, sizeof bytes);
    explicit_bzero(secret, sizeof secret);
    return r < 0 ? r : 0;
}

bool sv_key_split(struct upp_str text, struct upp_str *id, struct upp_str *secret)
{
    if (text.n != SV_KEY_TEXT || !wb_str_starts(text, UPP_STR("weft_")) || text.p[5 + SV_KEY_ID] != '_')
        return false;
    *id = wb_str_sub(text, 5, SV_KEY_ID);
    *secret = wb_str_sub(text, 5 + SV_KEY_ID + 1, SV_KEY_SECRET);
    return true;
}

bool sv_key_is(const struct sv_key *k, struct upp_str secret)
{
    static const unsigned char none[32];
    unsigned char given[32];
    if (!hash(secret, given))
        return false;
    bool same = CRYPTO_memcmp(given, k ? k->hash : none, sizeof given) == 0; /* also without a key: as long */
    return same && k;
}

/* ---- Records --------------------------------------------------------------------------------- */

int sv_key_write(const struct sv_key *k, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf scopes = WB_BUF(256), limits = WB_BUF(256);
    struct wj_writer w;
    char hex[65];
    put_hex(hex, k->hash, sizeof k->hash);
    sv_scopes_write(k->scopes, &scopes);
    sv_limits_write(&k->limits, &limits);
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "id", wb_cstr(k->id));
    wj_put_str(&w, "name", k->name);
    wj_put_str(&w, "tenant", k->tenant);
    if (k->user.n)
        wj_put_str(&w, "user", k->user);
    wj_put_str_or_empty(&w, "scopes", wb_buf_str(&scopes));
    wj_put_str_or_empty(&w, "limits", wb_buf_str(&limits));
    wj_put_str(&w, "sha256", wb_cstr(hex));
    wj_put_i64(&w, "created_ms", k->created_ms);
    if (k->revoked_ms)
        wj_put_i64(&w, "revoked_ms", k->revoked_ms);
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    return r < 0 ? r : wb_buf_check(&limits, err);
}

static bool get_i64(yyjson_val *root, const char *name, int64_t *ret)
{
    yyjson_val *v = yyjson_obj_get(root, name);
    return v && yyjson_is_raw(v) && wb_str_i64(wj_text(v), ret);
}

static int bad_record(struct upp_err *err)
{
    return upp_fail(err, UPP_ESTORE, "the record of an API key is damaged");
}

int sv_key_read(struct upp_str json, struct sv_key **ret, struct upp_err *err)
{
    WB_CLEANUP(sv_key_freep) struct sv_key *k = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    yyjson_val *v;
    int r = sv_key_new(&k, err);
    if (r >= 0)
        r = wj_read(&a, json, NULL, &v, err);
    if (r < 0)
        return r;
    struct upp_str id = wj_text_at(v, "id");
    if (!yyjson_is_obj(v) || id.n != SV_KEY_ID || !get_hex(wj_text_at(v, "sha256"), k->hash, sizeof k->hash) ||
        !get_i64(v, "created_ms", &k->created_ms))
        return bad_record(err);
    (void)get_i64(v, "revoked_ms", &k->revoked_ms); /* optional */
    memcpy(k->id, id.p, SV_KEY_ID);
    k->name = wb_arena_dup(&k->arena, wj_text_at(v, "name"));
    k->tenant = wb_arena_dup(&k->arena, wj_text_at(v, "tenant"));
    k->user = wb_arena_dup(&k->arena, wj_text_at(v, "user"));
    if (!k->tenant.n || sv_scopes_parse(wj_text_at(v, "scopes"), &k->scopes, err) < 0 ||
        sv_limits_parse(wj_text_at(v, "limits"), &k->limits, err) < 0)
        return bad_record(err);
    r = wb_arena_check(&k->arena, err);
    if (r >= 0)
        *ret = WB_TAKE(k);
    return r;
}

int sv_key_use_write(const struct sv_key *k, struct wb_buf *out, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    wj_put_i64(&w, "day", k->day);
    wj_put_u64(&w, "tokens", k->tokens);
    wj_put_i64(&w, "used_ms", k->used_ms);
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

int sv_key_use_read(struct sv_key *k, struct upp_str json, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    yyjson_val *v;
    int64_t day, used_ms;
    uint64_t tokens;
    int r = wj_read(&a, json, NULL, &v, err);
    if (r < 0)
        return r;
    yyjson_val *n = yyjson_obj_get(v, "tokens");
    if (!yyjson_is_obj(v) || !get_i64(v, "day", &day) || !n || !yyjson_is_raw(n) || !wb_str_u64(wj_text(n), &tokens) ||
        !get_i64(v, "used_ms", &used_ms))
        return bad_record(err);
    k->day = day;
    k->used_ms = used_ms;
    k->tokens = WB_MIN(tokens, SV_LIMIT_MAX);
    return 0;
}
