/* The sealed store: what nobody finds in the file, what is noticed, which key opens it. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <weft/weft.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hooks.h"
#include "stores/memory/memory.h"
#include "stores/sealed/keys.h"
#include "stores/sqlite/sqlite.h"
#include "stores/sqlite/sum.h"
#include "support/failing_store.h"
#include "support/stores.h"

static const struct ws_master other_master = {"another key of thirty-two bytes."}, third_master = {"a third"};

static const char *db_path(void)
{
    static char path[600];
    (void)snprintf(path, sizeof path, "%s/weft.db", test_folder());
    return path;
}

/* NULL: not sealed. */
WEFT_SUSPENDS static int open_db(const struct ws_master *key, struct wl_store **ret, struct upp_err *err)
{
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = db_path()), ret, err));
    return key ? ws_sealed_open(*ret, key, ret, err) : 0;
}

static bool is(struct upp_str s, const char *want)
{
    return wb_str_eq(s, wb_cstr(want));
}

/* ---- The master key -------------------------------------------------------------------------------- */

TEST(sealed_master_keys_are_hex_or_base64)
{
    static const char hex[] = "00112233445566778899aAbBcCdDeEfF00112233445566778899aabbccddeeff";
    static const struct {
        const char *text;
        int want;
    } cases[] = {
        {hex, 0},
        {"ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8=", 0},
        {" \tABEiM0RVZneImaq7zN3u_wARIjNEVWZ3iJmqu8zd7v8\r\n", 0},
        {"", -UPP_EINVALID},
        {"00112233445566778899aabbccddeeff00112233445566778899aabbccddeef", -UPP_EINVALID},
        {"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeffff", -UPP_EINVALID},
        {"ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8AAAA=", -UPP_EINVALID},
        {"hunter2", -UPP_EINVALID},
    };
    struct ws_master want, got;
    for (size_t i = 0; i < WS_MASTER; i++)
        want.key[i] = (unsigned char)(i % 16 * 0x11);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_err err = {0};
        int r = ws_master_parse(wb_cstr(cases[i].text), &got, &err);
        test_note("case %zu: %d %s", i, r, err.msg);
        CHECK_INT(r, cases[i].want);
        CHECK(r < 0 || memcmp(&got, &want, sizeof want) == 0);
        ALWAYS(!strstr(err.msg, "hunter2"));
    }
    ws_master_wipe(&got);
    CHECK(got.key[0] == 0 && got.key[31] == 0);
}

/* ---- One text -------------------------------------------------------------------------------------- */

static int open_seal(unsigned char with, const char *whose, struct ws_seal **ret, struct upp_err *err)
{
    struct ws_seal_keys keys;
    unsigned char key[WS_SEAL_KEY] = {with};
    int r = ws_seal_derive(key, wb_cstr(whose), &keys, err);
    return r < 0 ? r : ws_seal_new(&keys, ret, err);
}

TEST(sealed_text_opens_unchanged_in_its_place_alone)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct ws_seal_context at = {.kind = 3, .bytes = {1, 2, 3}, .n = 3, .space = UPP_STR("s")};
    struct upp_str parts[] = {UPP_STR("one"), {NULL, 0}, UPP_STR("")}, got[3], text, again;
    struct ws_seal *s = NULL, *x = NULL;
    struct upp_err err = {0};
    int r = open_seal(1, "acme", &s, &err);
    CHECK(r == 0);
    r = ws_seal_put(s, &at, UPP_STR(""), parts, 3, &a, &text, &err);
    bool ok = r == 0;
    ok = ok && ws_seal_put(s, &at, UPP_STR(""), parts, 3, &a, &again, &err) == 0;
    ok = ok && again.n == text.n && memcmp(again.p + 1, text.p + 1, 12) != 0; /* never the same nonce */
    char *copy = ok ? wb_arena_alloc(&a, text.n, 1) : NULL;
    for (size_t i = 0; copy && ok && i <= text.n; i++) { /* every bit of it, and at last none */
        for (unsigned bit = 0; ok && bit < (i < text.n ? 8 : 1); bit++) {
            memcpy(copy, text.p, text.n);
            if (i < text.n)
                copy[i] = (char)(copy[i] ^ 1 << bit);
            r = ws_seal_get(s, &at, wb_str(copy, text.n), got, 3, NULL);
            ok = EXPECT(r == (i < text.n ? -UPP_ESTORE : 0)) && EXPECT(r == 0 || !got[0].p);
        }
    }
    ok = ok && EXPECT(!copy || (is(got[0], "one") && !got[1].p && got[2].p && !got[2].n));
    for (size_t n = 0; copy && ok && n < text.n; n++) /* cut anywhere */
        ok = EXPECT(ws_seal_get(s, &at, wb_str(memcpy(copy, text.p, n), n), got, 3, NULL) == -UPP_ESTORE);

    struct ws_seal_context elsewhere[] = {at, at, at, at, at};
    elsewhere[0].kind = 4;
    elsewhere[1].bytes[2] = 4;
    elsewhere[2].n = 4;
    elsewhere[3].space = UPP_STR("");
    elsewhere[3].name = UPP_STR("s");
    elsewhere[4].space = UPP_STR("t");
    for (size_t i = 0; copy && ok && i < WB_LEN(elsewhere); i++)
        ok = EXPECT(ws_seal_get(s, &elsewhere[i], wb_str(memcpy(copy, text.p, text.n), text.n), got, 3, NULL) ==
                    -UPP_ESTORE);
    for (int i = 0; copy && ok && i < 2; i++) { /* another key, the same key of another tenant */
        ok = open_seal(i ? 1 : 2, i ? "acne" : "acme", &x, &err) == 0;
        ok = ok &&
             EXPECT(ws_seal_get(x, &at, wb_str(memcpy(copy, text.p, text.n), text.n), got, 3, NULL) == -UPP_ESTORE);
        x = ws_seal_free(x);
    }
    (void)ws_seal_free(s);
    CHECK(ok);
}

TEST(sealed_blob_keys_go_there_and_back)
{
    struct ws_seal *s = NULL;
    struct upp_err err = {0};
    struct wl_blob_key seen[64];
    int r = open_seal(1, "acme", &s, &err);
    bool ok = r == 0;
    for (unsigned char i = 0; ok && i < WB_LEN(seen); i++) {
        struct wl_blob_key k = {{0}}, back;
        k.b[i % 32] = (unsigned char)(1 + i / 32);
        ok = ws_seal_blob(s, &k, &seen[i], &err) == 0 && ws_seal_unblob(s, &seen[i], &back, &err) == 0 &&
             EXPECT(memcmp(&k, &back, sizeof k) == 0);
        for (unsigned char j = 0; ok && j < i; j++)
            ok = EXPECT(memcmp(seen[i].b, seen[j].b, 16) && memcmp(seen[i].b + 16, seen[j].b + 16, 16));
    }
    (void)ws_seal_free(s);
    CHECK(ok);
}

/* ---- What is in the file --------------------------------------------------------------------------- */

/* A word in every text that a store is given. */
static const char *const words[] = {
    "PlantedTitle", "PlantedMeta",    "PlantedBody",  "PlantedTape",    "PlantedBranch",
    "PlantedNote",  "PlantedOrigin",  "PlantedAgent", "PlantedCall",    "PlantedOptions",
    "PlantedError", "PlantedAlias",   "PlantedRoute", "PlantedIdemKey", "PlantedValue",
    "PlantedPiece", "PlantedRenamed", "PlantedAgain", "PlantedBlobKey",
};

#define TEXT(s) UPP_STR("{\"text\":\"" s "\"}")

static const struct wl_blob_key plain_key = {"PlantedBlobKey, of thirty-two by"}, first_key = {"one"},
                                second_key = {"two"};

static struct wb_uuid run_id(struct wl_owner o, uint64_t n)
{
    return test_uuid(30 + n + 10 * (wb_str_eq(o.tenant, UPP_STR("evil"))));
}

/* Everything twice: so that there is something to take the place of something. */
WEFT_SUSPENDS static int fill(struct wl_store *s, struct wl_owner o, uint64_t n, struct upp_err *err)
{
    struct wl_node node = test_family_node(7, 10 + n);
    node.name = UPP_STR("PlantedBranch");
    node.metadata = TEXT("PlantedNote");
    node.origin = TEXT("PlantedOrigin");
    struct wl_row rows[] = {test_row(node.key, 0, 1, "{\"text\":\"PlantedBody\"}"),
                            test_row(node.key, wl_pos(1, 0), 1, "second")};
    rows[0].tape = TEXT("PlantedTape");
    struct wl_thread t = {.id = test_family_uuid(7, 20 + n),
                          .tree = node.tree,
                          .head = node.key,
                          .kind = WL_MAIN,
                          .version = 1,
                          .title = UPP_STR("PlantedTitle"),
                          .metadata = TEXT("PlantedMeta")};
    struct wm_run run = {.id = run_id(o, n),
                         .root = run_id(o, n),
                         .thread = t.id,
                         .node = node.key,
                         .version = 1,
                         .status = WM_QUEUED,
                         .durability = WM_SYNC,
                         .agent = UPP_STR("PlantedAgent"),
                         .call = UPP_STR("PlantedCall"),
                         .options = TEXT("PlantedOptions"),
                         .error = TEXT("PlantedError"),
                         .created_ms = 1};
    struct wl_alias alias = {.kind = WL_ALIAS_THREAD, .text = UPP_STR("PlantedAlias"), .object = t.id};
    struct wl_key key = {.route = UPP_STR("POST /PlantedRoute"),
                         .key = UPP_STR("PlantedIdemKey"),
                         .object = t.id,
                         .created_ms = wb_wall_ms()};
    char name[] = {'n', (char)('0' + n), 0};
    struct wl_value value = {UPP_STR("space"), wb_cstr(name), UPP_STR("PlantedValue")};
    struct wl_piece one = {.key = plain_key, .last = true, .bytes = UPP_STR("PlantedPiece")}, two = one;
    two.key = n ? second_key : first_key;
    two.bytes = UPP_STR("PlantedRenamed");
    struct wl_blob_key named = {{'n', (unsigned char)n}};
    one.key.b[31] = (unsigned char)n;
    TRY(COMMIT(s, o, NULL, err, ADD_NODE(&node), ADD_ROW(&rows[0]), ADD_ROW(&rows[1]), ADD_THREAD(&t), ADD_RUN(&run),
               PUT_VALUE(&value), ADD_PIECE(&one), ADD_PIECE(&two), NAME_BLOB(&two.key, &named)));
    rows[1].body = TEXT("PlantedAgain");
    TRY(COMMIT(s, o, NULL, err, SET_ROW(&rows[1]), SET_NODE(&node), SET_THREAD(&t), SET_RUN(&run)));
    return n ? 0 : COMMIT(s, o, NULL, err, ADD_ALIAS(&alias), ADD_KEY(&key));
}

/* Reads all that fill wrote. */
WEFT_SUSPENDS static int read_all(struct wl_store *s, struct wl_owner o, uint64_t count, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 << 20);
    struct wl_node *nodes;
    struct wl_thread *threads, t;
    struct wm_run *runs, run;
    struct wl_value *values;
    struct wl_live_run *lives;
    struct wl_rows rows;
    struct wl_piece p;
    size_t n, live;
    TRY(wl_list_family_nodes(s, &o, 7, WB_UUID_NIL, 9, &a, &nodes, &n, err));
    FAIL_UNLESS(n == count);
    for (uint64_t i = 0; i < count; i++) {
        struct wl_blob_key named = {{'n', (unsigned char)i}}, plain = plain_key;
        plain.b[31] = (unsigned char)i;
        FAIL_UNLESS(is(nodes[i].name, "PlantedBranch") && is(nodes[i].metadata, "{\"text\":\"PlantedNote\"}") &&
                    is(nodes[i].origin, "{\"text\":\"PlantedOrigin\"}"));
        TRY(wl_store_rows(s, &o, &(struct wl_range){.node = nodes[i].key, .to = UINT64_MAX}, &a, &rows, err));
        FAIL_UNLESS(rows.n == 2 && is(rows.p[0].body, "{\"text\":\"PlantedBody\"}") &&
                    is(rows.p[0].tape, "{\"text\":\"PlantedTape\"}") &&
                    is(rows.p[1].body, "{\"text\":\"PlantedAgain\"}"));
        TRY(wl_get_thread(s, &o, test_family_uuid(7, 20 + i), &a, &t, err));
        FAIL_UNLESS(is(t.title, "PlantedTitle") && is(t.metadata, "{\"text\":\"PlantedMeta\"}"));
        TRY(wl_get_run(s, &o, run_id(o, i), &a, &run, err));
        FAIL_UNLESS(is(run.agent, "PlantedAgent") && is(run.call, "PlantedCall") &&
                    is(run.options, "{\"text\":\"PlantedOptions\"}") && is(run.error, "{\"text\":\"PlantedError\"}"));
        TRY(wl_get_piece(s, &o, &plain, 0, &a, &p, err));
        FAIL_UNLESS(is(p.bytes, "PlantedPiece"));
        TRY(wl_get_piece(s, &o, &named, 0, &a, &p, err));
        FAIL_UNLESS(is(p.bytes, "PlantedRenamed"));
    }
    TRY(wl_list_values(s, &o, UPP_STR("space"), (struct upp_str){NULL, 0}, 9, &a, &values, &n, err));
    FAIL_UNLESS(n == count && is(values[0].bytes, "PlantedValue"));
    TRY(wl_list_threads(s, &o, WB_UUID_NIL, 9, &a, &threads, &n, err));
    FAIL_UNLESS(n == count);
    TRY(wl_list_family_threads(s, &o, 7, WB_UUID_NIL, 9, &a, &threads, &n, err));
    TRY(wl_list_runs(s, &o, t.id, false, 9, &a, &runs, &n, err));
    TRY(wl_list_live(s, WB_UUID_NIL, 9, &a, &lives, &live, err));
    FAIL_UNLESS(live >= count && is(lives[0].run.agent, "PlantedAgent"));
    return 0;
}

static bool read_bytes(const char *suffix, struct wb_buf *ret)
{
    char path[700];
    static char block[4096];
    (void)snprintf(path, sizeof path, "%s%s", db_path(), suffix);
    FILE *f = fopen(path, "rb");
    for (size_t n; f && (n = fread(block, 1, sizeof block, f));)
        wb_buf_add(ret, wb_str(block, n));
    if (f)
        (void)fclose(f);
    return !ret->failed;
}

static bool holds(const struct wb_buf *b, struct upp_str what)
{
    return b->n && what.n && memmem(b->p, b->n, what.p, what.n); /* none: there was no memory for it */
}

/* The word as it is, in hex, and in base64 wherever it begins in a group of three. */
static bool found(const struct wb_buf *b, const char *word)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf x = WB_BUF(4096);
    if (holds(b, wb_cstr(word)))
        return true;
    for (const char *p = word; *p; p++)
        wb_buf_addf(&x, "%02x", (unsigned)(unsigned char)*p);
    bool is_there = holds(b, wb_buf_str(&x));
    for (size_t skip = 0; skip < 3; skip++) {
        wb_buf_clear(&x);
        wb_base64_add(&x, wb_str(word + skip, (strlen(word) - skip) / 3 * 3), WB_BASE64);
        is_there = is_there || holds(b, wb_buf_str(&x));
    }
    return is_there;
}

struct scan {
    const struct ws_master *key;
    unsigned seen; /* a bit for each word */
};

static bool scan_files(struct scan *x)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64 << 20);
    bool ok = read_bytes("", &b) && read_bytes("-wal", &b) && read_bytes("-shm", &b) && read_bytes(".lock", &b);
    for (size_t i = 0; i < WB_LEN(words); i++)
        x->seen |= found(&b, words[i]) ? 1u << i : 0;
    return ok;
}

WEFT_SUSPENDS static int scan(void *arg, struct upp_err *err)
{
    struct scan *x = arg;
    struct wl_store *s;
    TRY(open_db(x->key, &s, err));
    int r = fill(s, ALICE, 0, err);
    if (r >= 0)
        r = read_all(s, ALICE, 1, err);
    bool ok = r >= 0 && scan_files(x); /* with all that is in the write-ahead log */
    s->ops->close(s);
    return r < 0 ? r : ok && scan_files(x) ? 0 : upp_fail(err, UPP_ENOMEM, "no memory for the files");
}

/* covers: UAP-16.2/3 */
TEST(sealed_file_holds_none_of_the_words)
{
    struct upp_err err = {0};
    struct scan x = {.key = &test_master};
    CHECK(test_on_loop(scan, &x, &err) == 0);
    for (size_t i = 0; i < WB_LEN(words); i++)
        if (x.seen & 1u << i)
            test_note("%s is in the file", words[i]);
    ALWAYS(x.seen == 0);
}

/* The test above can fail. */
TEST_WITH(sealed_words_are_found_where_nothing_is_sealed, .no_torture = "it is about the test before it")
{
    struct upp_err err = {0};
    struct scan x = {0};
    CHECK(test_on_loop(scan, &x, &err) == 0);
    for (size_t i = 0; i < WB_LEN(words); i++)
        if (!(x.seen & 1u << i))
            test_note("%s is not in the file", words[i]);
    CHECK(x.seen == (1u << WB_LEN(words)) - 1);
}

/* ---- Sessions of a program ------------------------------------------------------------------------- */

/* Says something in a new session of a program that has its own runtime, on a file with or without a key. */
static int have_session(const char *key, struct upp_model *model, struct upp_err *err)
{
    UPP_CLEANUP(weft_runtime_closep) struct weft_runtime *rt = NULL;
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    struct weft_agent *a;
    struct upp_turn *t;
    char url[700];
    (void)snprintf(url, sizeof url, "sqlite:%s", db_path());
    TRY(weft_runtime_open(UPP_OPTS(weft_runtime_opts, .store = url, .encryption_key = key), &rt, err));
    TRY(weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .use = model, .name = "PlantedAgent"), &a, err));
    TRY(weft_session_new(a, UPP_OPTS(weft_session_opts, .metadata = "{\"note\":\"PlantedMeta\"}"), &s, err));
    TRY(weft_session_run(s, UPP_STR("PlantedBody"), &t, err));
    upp_turn_free(t);
    return 0;
}

/* covers: UAP-16.2/1 */
TEST_WITH(sealed_sessions_of_a_program, .no_torture = "sessions and the store have tests of their own that are")
{
    static const char key[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    struct upp_model *model = NULL;
    struct upp_err err = {0};
    struct scan x = {0};
    CHECK_INT(upp_scripted_new((struct upp_str){NULL, 0}, &model, &err), 0);
    int r = have_session(key, model, &err), without = have_session(NULL, model, NULL);
    bool ok = scan_files(&x);
    int again = have_session(key, model, &err);
    test_note("%d %s", r, err.msg);
    upp_model_free(model);
    CHECK_INT(r, 0);
    CHECK_INT(without, -UPP_EREFUSED);
    CHECK_INT(again, 0);
    CHECK(ok && x.seen == 0);
}

/* ---- Which key opens it ---------------------------------------------------------------------------- */

WEFT_SUSPENDS static int keys(void *arg, struct upp_err *err)
{
    struct wl_store *s, *x;
    struct upp_err e = {0};
    (void)arg;
    TRY(open_db(&test_master, &s, err));
    int r = fill(s, ALICE, 0, err);
    s->ops->close(s);
    TRY(r);
    FAIL_UNLESS(open_db(&other_master, &s, &e) < 0);
    FAIL_UNLESS(e.code == 0 || strstr(e.msg, "another key"));
    TRY(open_db(NULL, &s, err));
    r = ws_sealed_check_plain(s, &e);
    s->ops->close(s);
    FAIL_UNLESS(r < 0);
    TRY(open_db(&test_master, &s, err)); /* and nothing has changed */
    r = read_all(s, ALICE, 1, err);
    s->ops->close(s);
    TRY(r);

    TRY(ws_memory_open(&x, err));
    r = fill(x, ALICE, 0, err);
    if (r >= 0)
        r = ws_sealed_check_plain(x, err);
    if (r < 0) {
        x->ops->close(x);
        return r;
    }
    r = ws_sealed_open(x, &test_master, &s, &e);
    test_note("%d %s", r, e.msg);
    FAIL_UNLESS(r == -UPP_EREFUSED || r == -UPP_ENOMEM);
    return 0;
}

/* covers: UAP-16.2/2 */
TEST(sealed_store_opens_with_its_key_alone)
{
    struct upp_err err = {0};
    CHECK(test_on_loop(keys, NULL, &err) == 0);
}

/* ---- What is noticed ------------------------------------------------------------------------------- */

#define SWAP(table, column, place)                                                                                     \
    "UPDATE " table " SET " column " = (SELECT x." column " FROM " table " x WHERE x." place " <> " table "." place    \
    " AND x." column " IS NOT NULL ORDER BY x." place " LIMIT 1) WHERE " column " IS NOT NULL"

static const char *const attacks[] = {
    SWAP("log", "body", "id"),
    "UPDATE log SET body = NULL WHERE id = 1",
    "UPDATE log SET body = x'' WHERE id = 1",
    "UPDATE log SET body = CAST('{\"text\":\"PlantedBody\"}' AS BLOB) WHERE id = 1",
    "UPDATE log SET tape = x'00' WHERE id = 1",
    "UPDATE log SET format = 2 WHERE id = 1",
    "UPDATE log SET pos = 1 WHERE id = 2",
    "UPDATE log SET body = substr(body, 1, length(body) - 1) WHERE id = 3",
    SWAP("threads", "metadata", "id"),
    "UPDATE threads SET metadata = NULL",
    "UPDATE threads SET title = CAST('mine' AS BLOB)",
    SWAP("runs", "options", "number"),
    SWAP("runs", "call", "number"),
    "UPDATE runs SET options = call",
    "UPDATE runs SET agent = CAST('another' AS BLOB)",
    "UPDATE runs SET error = CAST('{}' AS BLOB)",
    SWAP("branches", "metadata", "key"),
    SWAP("branches", "origin", "key"),
    "UPDATE branches SET origin = metadata",
    "UPDATE branches SET name = CAST('mine' AS BLOB)",
    "UPDATE vals SET bytes = (SELECT x.bytes FROM vals x WHERE x.name <> vals.name AND x.space = vals.space)"
    " WHERE space = CAST('space' AS BLOB)",
    SWAP("pieces", "bytes", "id"),
    "UPDATE pieces SET bytes = x''",
    /* Another tenant's rows as one's own, and its key. */
    "UPDATE log SET tenant = 1000 + tenant; UPDATE log SET tenant = (SELECT min(id) FROM tenants WHERE id <> log.tenant"
    " - 1000 AND id > 1) WHERE tenant > 1000",
    "UPDATE vals SET bytes = (SELECT x.bytes FROM vals x WHERE x.space = vals.space AND x.name <> vals.name)"
    " WHERE space = CAST('tenants' AS BLOB)",
};

struct attacked {
    int result;
    struct upp_err err;
};

/* Changes the file from outside, as somebody does who knows how checksums are made: what notices is the seal. */
static bool change(const char *sql)
{
    sqlite3 *db = NULL;
    bool ok = test_db_open(db_path(), &db) == SQLITE_OK && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK &&
              sqlite3_total_changes(db) > 0 && ws_sum_functions(db) == SQLITE_OK && ws_sum_all(db) == SQLITE_OK;
    if (!ok)
        test_note("%s: %s", sql, sqlite3_errmsg(db));
    test_db_close(db);
    return ok;
}

WEFT_SUSPENDS static int make_two(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    (void)arg;
    TRY(open_db(&test_master, &s, err));
    int r = fill(s, ALICE, 0, err);
    if (r >= 0)
        r = fill(s, ALICE, 1, err);
    if (r >= 0)
        r = fill(s, EVE, 0, err);
    if (r >= 0)
        r = read_all(s, ALICE, 2, err);
    s->ops->close(s);
    return r;
}

WEFT_SUSPENDS static int read_changed(void *arg, struct upp_err *err)
{
    struct attacked *x = arg;
    struct wl_store *s;
    TRY(open_db(&test_master, &s, err));
    x->result = read_all(s, ALICE, 2, &x->err);
    s->ops->close(s);
    return 0;
}

/* covers: UAP-16.2b/6 */
TEST_WITH(sealed_store_notices_what_was_changed, .no_torture = "the file is changed from outside", .seconds = 300)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf whole = WB_BUF(64 << 20);
    struct upp_err err = {0};
    CHECK(test_on_loop(make_two, NULL, &err) == 0);
    CHECK(read_bytes("", &whole));
    for (size_t i = 0; i < WB_LEN(attacks); i++) {
        struct attacked x = {0};
        FILE *f = fopen(db_path(), "wb");
        CHECK(f && fwrite(whole.p, 1, whole.n, f) == whole.n && fclose(f) == 0);
        CHECK(change(attacks[i]));
        CHECK(test_on_loop(read_changed, &x, &err) == 0);
        test_note("%s: %d %s", attacks[i], x.result, x.err.msg);
        CHECK_INT(x.result, -UPP_ESTORE);
        CHECK(strstr(x.err.msg, "cannot be opened") || strstr(x.err.msg, "the key of tenant"));
    }
}

/* ---- Another master key ---------------------------------------------------------------------------- */

enum { TENANTS = 600 /* more than two pages of them */ };

WEFT_SUSPENDS static int put_tenants(struct wl_store *s, unsigned n, struct upp_err *err)
{
    for (unsigned i = 0; i < n; i++) {
        char name[16];
        struct wl_value v = {UPP_STR("s"), UPP_STR("n"), UPP_STR("text")};
        struct wl_owner o = {.tenant = wb_str(name, (size_t)snprintf(name, sizeof name, "t%u", i))};
        TRY(COMMIT(s, o, NULL, err, PUT_VALUE(&v)));
    }
    return 0;
}

WEFT_SUSPENDS static int read_tenants(struct wl_store *s, unsigned n, struct upp_err *err)
{
    for (unsigned i = 0; i < n; i++) {
        UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
        char name[16];
        struct upp_str x;
        struct wl_owner o = {.tenant = wb_str(name, (size_t)snprintf(name, sizeof name, "t%u", i))};
        TRY(wl_get_value(s, &o, UPP_STR("s"), UPP_STR("n"), &a, &x, err));
        FAIL_UNLESS(is(x, "text"));
    }
    return 0;
}

/* Opens with a key, does something, closes; the inner store stays. */
WEFT_SUSPENDS static int with_key(struct wl_store *inner, const struct ws_master *key, uint64_t dies_in, bool applies,
                                  const struct ws_master *to, unsigned tenants, struct upp_err *err)
{
    struct frail f;
    struct wl_store *s;
    frail_open(&f, inner, NULL);
    TRY(ws_sealed_open(&f.store, key, &s, err));
    f.dies_in = dies_in;
    f.applies = applies;
    int r = to ? ws_sealed_rotate(s, to, NULL, err) : read_tenants(s, tenants, err);
    s->ops->close(s);
    return r;
}

/* The n-th commit of it is the last: before or behind it. Then either key or the new one reads all, and it is ended
 * with either. */
WEFT_SUSPENDS static int cut_off(unsigned tenants, uint64_t at, bool applies, bool end_with_new, bool *over,
                                 struct upp_err *err)
{
    struct wl_store *m, *s;
    TRY(ws_memory_open(&m, err));
    struct frail f;
    frail_open(&f, m, NULL);
    int r = ws_sealed_open(&f.store, &test_master, &s, err);
    if (r >= 0) {
        r = put_tenants(s, tenants, err);
        s->ops->close(s);
    }
    if (r >= 0)
        r = with_key(m, &test_master, at, applies, &other_master, 0, err);
    *over = r >= 0;
    bool old = with_key(m, &test_master, 0, false, NULL, tenants, err) >= 0,
         new = with_key(m, &other_master, 0, false, NULL, tenants, err) >= 0;
    test_note("commit %d, %d: %d, old %d, new %d", (int)at, applies, r, old, new);
    r = EXPECT(old || new) && EXPECT(!*over || (new && !old)) ? 0 : -UPP_EBUG;
    if (r >= 0 && old && new) { /* in the middle */
        if (with_key(m, &test_master, 0, false, &third_master, 0, NULL) != -UPP_EREFUSED)
            r = upp_fail(err, UPP_EBUG, "a third key was taken");
        if (r >= 0)
            r = with_key(m, end_with_new ? &other_master : &test_master, 0, false, &other_master, 0, err);
        if (r >= 0)
            r = with_key(m, &other_master, 0, false, NULL, tenants, err);
        if (r >= 0 && with_key(m, &test_master, 0, false, NULL, tenants, NULL) != -UPP_EREFUSED)
            r = upp_fail(err, UPP_EBUG, "the old key still opens it");
    }
    m->ops->close(m);
    return r;
}

WEFT_SUSPENDS static int rotations(void *arg, struct upp_err *err)
{
    unsigned tenants = *(unsigned *)arg;
    bool over = false;
    uint64_t at = 1;
    for (; !over; at++) {
        TRY(cut_off(tenants, at, false, at % 2, &over, err));
        bool unused;
        if (!over)
            TRY(cut_off(tenants, at, true, at % 2 == 0, &unused, err));
    }
    test_note("%llu commits", (unsigned long long)at - 2);
    FAIL_UNLESS(at - 2 == 2 + (tenants + 255) / 256);
    return 0;
}

TEST_WITH(sealed_store_gets_another_master_key_cut_off_anywhere,
          .no_torture = "it cuts off by itself, and a failing call means another number of commits", .seconds = 300)
{
    struct upp_err err = {0};
    unsigned n = TENANTS;
    CHECK(test_on_loop(rotations, &n, &err) == 0);
    n = 1;
    CHECK(test_on_loop(rotations, &n, &err) == 0);
}

WEFT_SUSPENDS static int rotate_live(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    (void)arg;
    TRY(open_db(&test_master, &s, err));
    int r = fill(s, ALICE, 0, err);
    if (r >= 0)
        r = ws_sealed_rotate(s, &other_master, NULL, err);
    if (r >= 0)
        r = fill(s, EVE, 0, err); /* a new tenant, with the new key */
    if (r >= 0)
        r = ws_sealed_rotate(s, &other_master, NULL, NULL) == -UPP_EINVALID ? 0 : -UPP_ENOMEM;
    s->ops->close(s);
    TRY(r);
    TRY(open_db(&other_master, &s, err));
    r = read_all(s, ALICE, 1, err);
    if (r >= 0)
        r = read_all(s, EVE, 1, err);
    s->ops->close(s);
    return r;
}

TEST(sealed_store_goes_on_with_its_new_key)
{
    struct upp_err err = {0};
    CHECK(test_on_loop(rotate_live, NULL, &err) == 0);
}

/* ---- Many at once ---------------------------------------------------------------------------------- */

enum { TOGETHER = 8, TENANTS_EACH = 12 };

struct comer {
    struct wl_store *s;
    uint64_t who;
};

static struct wl_owner tenant_of(unsigned i, char name[16])
{
    return (struct wl_owner){.tenant = wb_str(name, (size_t)snprintf(name, 16, "t%u", i))};
}

/* All of them come to each tenant at about the same time, and none has a key yet. */
WEFT_SUSPENDS static int come(void *arg, struct upp_err *err)
{
    struct comer *x = arg;
    for (unsigned i = 0; i < TENANTS_EACH; i++) {
        char name[16];
        struct wl_node n = test_node(1 + x->who);
        struct wl_row row = test_row(n.key, 0, 1, "text");
        TRY(COMMIT(x->s, tenant_of(i, name), NULL, err, ADD_NODE(&n), ADD_ROW(&row)));
    }
    return 0;
}

WEFT_SUSPENDS static int all_are_read(struct wl_store *s, struct upp_err *err)
{
    for (unsigned i = 0; i < TENANTS_EACH; i++)
        for (uint64_t who = 0; who < TOGETHER; who++) {
            UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
            char name[16];
            struct wl_owner o = tenant_of(i, name);
            struct wl_rows rows;
            TRY(wl_store_rows(s, &o, &(struct wl_range){.node = 1 + who, .to = UINT64_MAX}, &a, &rows, err));
            FAIL_UNLESS(rows.n == 1 && is(rows.p[0].body, "text"));
        }
    return 0;
}

WEFT_SUSPENDS static int come_together(struct wl_store *s, struct upp_err *err)
{
    struct comer x[TOGETHER]; /* outlives the scope */
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    for (uint64_t i = 0; i < TOGETHER; i++) {
        x[i] = (struct comer){s, i};
        TRY(weft_scope_spawn(&all, "comer", come, &x[i], NULL, err));
    }
    return weft_scope_join(&all, err);
}

WEFT_SUSPENDS static int fibers_at_once(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    (void)arg;
    TRY(open_db(&test_master, &s, err));
    int r = come_together(s, err);
    s->ops->close(s);
    TRY(r);
    TRY(open_db(&test_master, &s, err)); /* what was kept is what was used */
    r = all_are_read(s, err);
    s->ops->close(s);
    return r;
}

TEST(sealed_tenant_gets_one_key_of_many_fibers)
{
    struct upp_err err = {0};
    CHECK(test_on_loop(fibers_at_once, NULL, &err) == 0);
}

static void *come_alone(void *arg)
{
    struct upp_err err = {0};
    return test_on_loop(come, arg, &err) < 0 ? arg : NULL;
}

WEFT_SUSPENDS static int open_in_memory(void *arg, struct upp_err *err)
{
    struct wl_store *m;
    TRY(ws_memory_open(&m, err));
    return ws_sealed_open(m, &test_master, arg, err);
}

WEFT_SUSPENDS static int read_and_close(void *arg, struct upp_err *err)
{
    struct wl_store *s = arg;
    int r = all_are_read(s, err);
    s->ops->close(s);
    return r;
}

TEST_WITH(sealed_tenant_gets_one_key_of_many_threads, .no_torture = "threads come as they like: no call has a number")
{
    struct wl_store *s = NULL;
    struct upp_err err = {0};
    struct comer x[TOGETHER];
    pthread_t threads[TOGETHER];
    bool ok = true;
    CHECK(test_on_loop(open_in_memory, &s, &err) == 0);
    for (uint64_t i = 0; i < TOGETHER; i++) {
        x[i] = (struct comer){s, i};
        ALWAYS(pthread_create(&threads[i], NULL, come_alone, &x[i]) == 0);
    }
    for (size_t i = 0; i < TOGETHER; i++) {
        void *failed = NULL;
        ok = pthread_join(threads[i], &failed) == 0 && !failed && ok;
    }
    CHECK(test_on_loop(read_and_close, s, &err) == 0);
    CHECK(ok);
}

WEFT_SUSPENDS static int many_tenants(void *arg, struct upp_err *err)
{
    enum { MORE = 1100 }; /* than are kept at hand */
    struct wl_store *s;
    (void)arg;
    TRY(open_in_memory(&s, err));
    int r = put_tenants(s, MORE, err);
    if (r >= 0)
        r = read_tenants(s, MORE, err);
    if (r >= 0)
        r = EXPECT(((struct ws_sealed *)s)->keyed.n <= WS_KEYED_MAX) ? 0 : -UPP_EBUG;
    s->ops->close(s);
    return r;
}

TEST_WITH(sealed_keys_at_hand_are_limited, .no_torture = "it is about their number")
{
    struct upp_err err = {0};
    CHECK(test_on_loop(many_tenants, NULL, &err) == 0);
}

/* ---- Forgetting a tenant --------------------------------------------------------------------------- */

WEFT_SUSPENDS static int forgotten(struct wl_store *s, struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct wl_thread t;
    struct wl_live_run *live;
    struct upp_str *names;
    struct wb_uuid id;
    struct upp_err e = {0};
    size_t n;
    struct wl_value v = {UPP_STR("s"), UPP_STR("n"), UPP_STR("text")};
    int r = wl_get_thread(s, &ALICE, test_family_uuid(7, 20), &a, &t, &e);
    FAIL_UNLESS(r == -UPP_ENOMEM || (r == -UPP_EREFUSED && strstr(e.msg, "the key of tenant 'acme' was erased")));
    FAIL_UNLESS(wl_get_alias(s, &ALICE, WL_ALIAS_THREAD, UPP_STR("PlantedAlias"), &id, err) < 0);
    FAIL_UNLESS(COMMIT(s, ALICE, NULL, err, PUT_VALUE(&v)) < 0); /* the name stays erased */
    TRY(wl_list_tenants(s, (struct upp_str){NULL, 0}, 9, &a, &names, &n, err));
    FAIL_UNLESS(n == 1 && is(names[0], "evil"));
    TRY(wl_list_live(s, WB_UUID_NIL, 1, &a, &live, &n, err));
    FAIL_UNLESS(n == 1 && is(live[0].owner.tenant, "evil"));
    return read_all(s, EVE, 1, err);
}

WEFT_SUSPENDS static int forget(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    (void)arg;
    TRY(open_db(&test_master, &s, err));
    int r = fill(s, ALICE, 0, err);
    if (r >= 0)
        r = fill(s, EVE, 0, err);
    if (r >= 0)
        r = ws_sealed_forget(s, UPP_STR("acme"), err);
    if (r >= 0)
        r = forgotten(s, err);
    s->ops->close(s);
    TRY(r);
    TRY(open_db(&test_master, &s, err));
    r = ws_sealed_rotate(s, &other_master, NULL, err);
    if (r >= 0)
        r = forgotten(s, err);
    s->ops->close(s);
    return r;
}

TEST(sealed_tenant_is_forgotten_with_its_key)
{
    struct upp_err err = {0};
    CHECK(test_on_loop(forget, NULL, &err) == 0);
}

/* ---- All of it, without a file: for faults at every call ------------------------------------------- */

WEFT_SUSPENDS static int a_life(struct wl_store *s, struct upp_err *err)
{
    TRY(fill(s, ALICE, 0, err));
    TRY(fill(s, ALICE, 1, err));
    TRY(fill(s, EVE, 0, err));
    TRY(read_all(s, ALICE, 2, err));
    int r = ws_sealed_rotate(s, &other_master, NULL, err);
    TRY(read_all(s, ALICE, 2, err)); /* whether it was or not */
    TRY(r);
    TRY(ws_sealed_forget(s, UPP_STR("acme"), err));
    return forgotten(s, err);
}

WEFT_SUSPENDS static int live_in_memory(void *arg, struct upp_err *err)
{
    struct wl_store *s;
    (void)arg;
    TRY(open_in_memory(&s, err));
    int r = a_life(s, err);
    s->ops->close(s);
    return r;
}

TEST(sealed_life_in_memory)
{
    struct upp_err err = {0};
    CHECK(test_on_loop(live_in_memory, NULL, &err) == 0);
}
