/* stores/sealed/master.c — the master key: as text, in use, and its record in the store. */
#include "base/base64.h"
#include "stores/sealed/keys.h"

const struct wl_owner ws_keys_owner = {.tenant = {WS_SEALED_TENANT, sizeof WS_SEALED_TENANT - 1}};

void ws_master_wipe(struct ws_master *m)
{
    explicit_bzero(m, sizeof *m);
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool from_hex(struct upp_str text, struct ws_master *ret)
{
    bool ok = text.n == 2 * WS_MASTER;
    for (size_t i = 0; ok && i < WS_MASTER; i++) {
        int high = digit(text.p[2 * i]), low = digit(text.p[2 * i + 1]);
        ok = high >= 0 && low >= 0;
        ret->key[i] = (unsigned char)((unsigned)high << 4 | (unsigned)low);
    }
    return ok;
}

int ws_master_parse(struct upp_str text, struct ws_master *ret, struct upp_err *err)
{
    text = wb_str_trim(text);
    if (from_hex(text, ret))
        return 0;
    struct wb_buf b = WB_BUF(WS_MASTER + 1);
    bool ok = wb_buf_reserve(&b, WS_MASTER + 1); /* in one allocation: growing would leave a copy behind */
    int r = ok ? wb_base64_decode(text, &b, NULL) : upp_fail(err, UPP_ENOMEM, "no memory for a key");
    if (ok && (r < 0 || b.n != WS_MASTER))
        r = upp_fail(err, UPP_EINVALID,
                     "a master key is 64 hex digits, or 32 bytes in base64 (`weft encryption new-key` makes one)");
    if (r >= 0)
        memcpy(ret->key, b.p, WS_MASTER);
    if (b.p)
        explicit_bzero(b.p, b.cap);
    wb_buf_done(&b);
    return r;
}

int ws_master_seal(const struct ws_master *m, struct ws_seal **ret, struct upp_err *err)
{
    struct ws_seal_keys keys;
    int r = ws_seal_derive(m->key, UPP_STR("master"), &keys, err);
    if (r >= 0)
        r = ws_seal_new(&keys, ret, err);
    explicit_bzero(&keys, sizeof keys);
    return r;
}

int ws_master_name(struct ws_seal *seal, struct ws_master_id *ret, struct upp_err *err)
{
    unsigned char sum[32];
    int r = ws_seal_name(seal, WS_NAME_MASTER, NULL, 0, sum, err);
    memcpy(ret->b, sum, sizeof ret->b);
    return r;
}

struct upp_str ws_master_text(const struct ws_master_id *id, char text[17])
{
    for (size_t i = 0; i < sizeof id->b; i++) {
        text[2 * i] = "0123456789abcdef"[id->b[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[id->b[i] & 15];
    }
    text[16] = 0;
    return wb_str(text, 16);
}

bool ws_master_same(struct ws_master_id a, struct ws_master_id b)
{
    return memcmp(a.b, b.b, sizeof a.b) == 0;
}

const struct ws_master *ws_master_at(const struct ws_mastering *m)
{
    return (const struct ws_master *)(const void *)wb_secret_reveal(m->secret).p;
}

int ws_master_store(const struct ws_master *key, struct ws_master_id id, struct ws_mastering *ret, struct upp_err *err)
{
    ret->id = id;
    return wb_secret_new(wb_str((const char *)key->key, WS_MASTER), &ret->secret, err);
}

void ws_master_drop(struct ws_mastering *m)
{
    m->secret = wb_secret_free(m->secret);
}

WEFT_SUSPENDS int ws_keys_commit(struct ws_sealed *s, const struct wl_change *c, size_t n, struct upp_err *err)
{
    struct wl_commit x = {.owner = ws_keys_owner, .changes = c, .n = n, .flags = WL_SYNCED | WL_SEALED};
    return wl_store_commit(s->inner, &x, err);
}

struct wl_change ws_keys_put(const struct wl_value *v)
{
    return (struct wl_change){.kind = WL_PUT_VALUE, .value = v};
}

static struct ws_seal_context master_context(const struct ws_master_id *id)
{
    struct ws_seal_context at = {.kind = WS_AT_MASTER, .n = sizeof id->b};
    memcpy(at.bytes, id->b, sizeof id->b);
    return at;
}

int ws_master_record(const struct ws_master *key, const struct ws_master *other, bool leaving, struct wb_arena *a,
                     char name[17], struct wl_value *ret, struct upp_err *err)
{
    struct ws_seal *seal;
    struct ws_master_id id;
    int r = ws_master_seal(key, &seal, err);
    if (r < 0)
        return r;
    r = ws_master_name(seal, &id, err);
    if (r >= 0) {
        struct ws_seal_context at = master_context(&id);
        struct upp_str parts[] = {leaving ? UPP_STR("leaving") : UPP_STR("here"),
                                  other ? wb_str((const char *)other->key, WS_MASTER) : (struct upp_str){NULL, 0}};
        *ret = (struct wl_value){.space = UPP_STR(WS_SEALED_MASTERS), .name = ws_master_text(&id, name)};
        r = ws_seal_put(seal, &at, UPP_STR(""), parts, 2, a, &ret->bytes, err);
    }
    (void)ws_seal_free(seal);
    return r;
}

/* Reads the other key of a rotation from the record; that the record opens at all proves that the key is right. */
static int read_master(struct ws_sealed *s, struct ws_seal *seal, struct upp_str record, struct upp_err *err)
{
    struct ws_seal_context at = master_context(&s->now.id);
    struct upp_str parts[2];
    int r = ws_seal_get(seal, &at, record, parts, 2, err);
    if (r < 0)
        return upp_wrap(err, r, "the record of the master key");
    s->leaving = wb_str_eq(parts[0], UPP_STR("leaving"));
    if (parts[1].n != WS_MASTER)
        return 0;
    struct ws_seal *second;
    struct ws_master other;
    struct ws_master_id id;
    memcpy(other.key, parts[1].p, WS_MASTER);
    r = ws_master_seal(&other, &second, err);
    if (r >= 0) {
        r = ws_master_name(second, &id, err);
        (void)ws_seal_free(second);
    }
    if (r >= 0)
        r = ws_master_store(&other, id, &s->other, err);
    ws_master_wipe(&other);
    return r;
}

static WEFT_SUSPENDS int first_master(struct ws_sealed *s, const struct ws_master *key, struct wb_arena *a,
                                      struct upp_err *err)
{
    struct upp_str *tenants;
    size_t n;
    char name[17];
    struct wl_value v;
    int r = wl_list_tenants(s->inner, (struct upp_str){NULL, 0}, 1, a, &tenants, &n, err);
    if (r >= 0 && n)
        return upp_fail(err, UPP_EREFUSED,
                        "the store holds things that are not encrypted: export them without the key, and import them "
                        "into a new store with it");
    if (r >= 0)
        r = ws_master_record(key, NULL, false, a, name, &v, err);
    return r < 0 ? r : ws_keys_commit(s, (struct wl_change[]){ws_keys_put(&v)}, 1, err);
}

WEFT_SUSPENDS int ws_keys_open(struct ws_sealed *s, const struct ws_master *key, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct ws_seal *seal;
    struct wl_value *v;
    size_t n, i = 0;
    char name[17];
    int r = ws_master_seal(key, &seal, err);
    if (r < 0)
        return r;
    r = ws_master_name(seal, &s->now.id, err);
    if (r >= 0)
        r = ws_master_store(key, s->now.id, &s->now, err);
    if (r >= 0)
        r = wl_list_values(s->inner, &ws_keys_owner, UPP_STR(WS_SEALED_MASTERS), (struct upp_str){NULL, 0}, 4, &a, &v,
                           &n, err);
    if (r >= 0 && n == 0)
        r = first_master(s, key, &a, err);
    else if (r >= 0) {
        while (i < n && !wb_str_eq(v[i].name, ws_master_text(&s->now.id, name)))
            i++;
        r = i < n ? read_master(s, seal, v[i].bytes, err)
                  : upp_fail(err, UPP_EREFUSED, "the store is encrypted with another key than this one");
    }
    (void)ws_seal_free(seal);
    return r;
}

WEFT_SUSPENDS int ws_sealed_check_plain(struct wl_store *s, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_value *v;
    size_t n;
    int r =
        wl_list_values(s, &ws_keys_owner, UPP_STR(WS_SEALED_MASTERS), (struct upp_str){NULL, 0}, 1, &a, &v, &n, err);
    if (r >= 0 && n)
        r = upp_fail(err, UPP_EREFUSED,
                     "the store is encrypted, and no key is given (encryption.key_file, or WEFT_ENCRYPTION_KEY)");
    return r;
}
