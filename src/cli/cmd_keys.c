/* cli/cmd_keys.c — weft keys add, list, revoke: the API keys of the server.
 *
 * The commands use the routes of the store's owner, so a running server knows of a change at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/defs.h"
#include "base/vec.h"
#include "cli/list.h"
#include "cli/setup.h"
#include "json/value.h"

struct key_request {
    struct cli_list list;
    const char *word; /* name or id */
    struct cli_source from;
    const char *tenant, *user, *scope, *limits;
};

/* ---- add ------------------------------------------------------------------------------------- */

static void put_text(struct wj_writer *w, const char *name, const char *value)
{
    if (value)
        wj_put_str(w, name, wb_cstr(value));
}

/* The key alone goes to standard output: KEY=$(weft keys add ci). */
WEFT_SUSPENDS static int add_key(struct cli_client *p, struct upp_err *err)
{
    const struct key_request *q = p->arg;
    WB_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(CLI_MAX_BODY);
    struct wj_writer w;
    struct upp_str key, id, tenant;
    yyjson_val *v;
    wj_writer_init(&w, &body, err);
    wj_write_open(&w, '{');
    put_text(&w, "name", q->word);
    put_text(&w, "tenant", q->tenant);
    put_text(&w, "user", q->user);
    put_text(&w, "scopes", q->scope);
    put_text(&w, "limits", q->limits);
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r < 0)
        return r;
    struct cli_request ask = {.method = "POST", .path = UPP_STR("/v1/keys"), .body = wb_buf_str(&body)};
    r = cli_owner_call(&p->door, &ask, &p->arena, &v, err);
    if (r >= 0)
        r = cli_answer_text(v, "key", &key, err);
    if (r >= 0)
        r = cli_answer_text(v, "id", &id, err);
    if (r >= 0)
        r = cli_answer_text(v, "tenant", &tenant, err);
    if (r < 0)
        return r;
    if (q->list.json)
        r = cli_print_json(v, err);
    else
        (void)printf("%.*s\n", UPP_FMT(key));
    cli_note(q->list.self, "key '%s' (%.*s) of tenant '%.*s' is shown once: the store has only its hash", q->word,
             UPP_FMT(id), UPP_FMT(tenant));
    return r;
}

/* ---- All keys -------------------------------------------------------------------------------- */

enum { KEYS_MAX = 100000 }; /* more than a store has */

static int64_t seconds_at(yyjson_val *v, const char *name)
{
    yyjson_val *t = yyjson_obj_get(v, name);
    int64_t seconds;
    return t && yyjson_is_raw(t) && wb_str_i64(wj_text(t), &seconds) ? seconds : 0;
}

/* All keys of a tenant (NULL: of all), page by page. */
struct keys {
    WB_VEC(yyjson_val *) list;
};

static void keys_done(struct keys *k)
{
    wb_vec_done(&k->list);
}

static bool is_revoked(yyjson_val *v)
{
    return !yyjson_is_null(yyjson_obj_get(v, "revoked_at"));
}

static int add_page(struct keys *all, yyjson_val *page, struct upp_err *err)
{
    yyjson_val *one;
    size_t i, max;
    yyjson_arr_foreach(yyjson_obj_get(page, "data"), i, max, one)
    {
        if (!wb_vec_room(&all->list, KEYS_MAX))
            return upp_fail(err, UPP_ENOMEM, "no memory for a list of keys");
        all->list.p[all->list.n++] = one;
    }
    return 0;
}

WEFT_SUSPENDS static int read_keys(struct cli_client *p, const char *tenant, struct keys *all, struct upp_err *err)
{
    struct upp_str last = {NULL, 0};
    yyjson_val *v;
    do {
        wb_buf_clear(&p->path);
        wb_buf_addf(&p->path, "/v1/keys?limit=100%s%.*s", last.n ? "&after=" : "", UPP_FMT(last));
        struct cli_request ask = {.method = "GET", .path = wb_buf_str(&p->path), .tenant = wb_cstr(tenant)};
        int r = wb_buf_check(&p->path, err);
        if (r >= 0)
            r = cli_owner_call(&p->door, &ask, &p->arena, &v, err);
        if (r >= 0)
            r = add_page(all, v, err);
        if (r < 0)
            return r;
        last = wj_text_at(v, "last_id");
    } while (last.n && yyjson_is_true(yyjson_obj_get(v, "has_more")));
    return 0;
}

/* Usable keys before revoked ones, each with the newest last. */
static int in_order(const void *a, const void *b)
{
    yyjson_val *const *x = a, *const *y = b;
    if (is_revoked(*x) != is_revoked(*y))
        return is_revoked(*x) ? 1 : -1;
    int64_t m = seconds_at(*x, "created_at"), n = seconds_at(*y, "created_at");
    if (m != n)
        return m < n ? -1 : 1;
    return wb_str_cmp(wj_text_at(*x, "id"), wj_text_at(*y, "id"));
}

/* ---- list ------------------------------------------------------------------------------------ */

enum { ID, NAME, TENANT, SCOPES, LIMITS, CREATED, USED, REVOKED, COLUMNS };

static const struct cli_column heads[COLUMNS] = {
    [ID] = {.title = "KEY"},
    [NAME] = {.title = "NAME"},
    [TENANT] = {.title = "TENANT"},
    [SCOPES] = {.title = "SCOPES"},
    [LIMITS] = {.title = "LIMITS", .may_go = true},
    [CREATED] = {.title = "CREATED", .may_go = true},
    [USED] = {.title = "USED", .may_go = true},
    [REVOKED] = {.title = "REVOKED"},
};

static struct upp_str scopes_of(yyjson_val *v, struct wb_arena *a)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1 << 16);
    yyjson_val *one;
    size_t i, max;
    yyjson_arr_foreach(yyjson_obj_get(v, "scopes"), i, max, one)
        wb_buf_addf(&b, "%s%.*s", i ? "," : "", UPP_FMT(wj_text_of(one)));
    return wb_arena_dup(a, wb_buf_str(&b));
}

/* A time; where there is no head, with what it is of. */
static struct upp_str time_text(yyjson_val *v, const char *member, const char *word, struct wb_arena *a)
{
    int64_t seconds = seconds_at(v, member);
    struct upp_str text = seconds ? cli_time_text(seconds * 1000, a) : UPP_STR("-");
    return wb_arena_printf(a, "%s%.*s", cli_columns(stdout) ? "" : word, UPP_FMT(text));
}

static void key_cells(void *row, struct wb_arena *a, struct cli_cell *ret)
{
    yyjson_val *v = row;
    struct upp_str user = wj_text_at(v, "user"), limits = wj_text_at(v, "limits");
    bool gone = is_revoked(v);
    ret[ID] = (struct cli_cell){wj_text_at(v, "id"), CLI_CYAN, 0};
    ret[NAME] = (struct cli_cell){wj_text_at(v, "name"), gone ? CLI_DIM : CLI_BOLD, 0};
    ret[TENANT].text =
        wb_arena_printf(a, "%.*s%s%.*s", UPP_FMT(wj_text_at(v, "tenant")), user.n ? "/" : "", UPP_FMT(user));
    ret[SCOPES].text = scopes_of(v, a);
    ret[LIMITS].text = limits.n ? limits : UPP_STR("-");
    ret[CREATED] = (struct cli_cell){time_text(v, "created_at", "created ", a), CLI_DIM, 0};
    ret[USED] = (struct cli_cell){time_text(v, "last_used_at", "used ", a), CLI_DIM, 0};
    if (gone)
        ret[REVOKED] = (struct cli_cell){time_text(v, "revoked_at", "revoked ", a), CLI_RED, 0};
}

/* The columns are as wide as their widest cell also where the output is no terminal: all keys are there before the
 * first is printed. */
WEFT_SUSPENDS static int list_keys(struct cli_client *p, struct upp_err *err)
{
    struct key_request *q = p->arg;
    WB_CLEANUP(keys_done) struct keys all = {0};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct cli_column columns[COLUMNS];
    struct cli_cell cells[COLUMNS] = {0};
    const struct cli_list_kind kind = {
        .noun = "key", .columns = columns, .n_columns = COLUMNS, .all = true, .cells = key_cells};
    int r = read_keys(p, q->tenant, &all, err);
    if (r < 0)
        return r;
    if (all.list.n)
        qsort(all.list.p, all.list.n, sizeof *all.list.p, in_order);
    memcpy(columns, heads, sizeof columns);
    for (size_t i = 0; i < all.list.n; i++) {
        key_cells(all.list.p[i], &a, cells);
        for (int c = NAME; c <= LIMITS; c++)
            columns[c].width = WB_MAX(columns[c].width, cli_line_columns(cells[c].text, 0));
    }
    (void)cli_list_begin(&q->list, q->list.self, &kind); /* fails for a wrong --limit alone */
    for (size_t i = 0; r >= 0 && i < all.list.n; i++)
        r = cli_list_row(&q->list, all.list.p[i], &a, err);
    if (r >= 0)
        r = wb_arena_check(&a, err);
    (void)cli_list_end(&q->list, r < 0 ? CLI_FAILED : CLI_GOOD);
    return r;
}

/* ---- revoke ---------------------------------------------------------------------------------- */

/* Says so if no key of any tenant is usable any more. */
WEFT_SUSPENDS static int warn_if_last(struct cli_client *p, struct upp_err *err)
{
    const struct key_request *q = p->arg;
    WB_CLEANUP(keys_done) struct keys all = {0};
    int r = read_keys(p, NULL, &all, err);
    for (size_t i = 0; r >= 0 && i < all.list.n; i++)
        if (!is_revoked(all.list.p[i]))
            return 0;
    if (r >= 0)
        cli_note(q->list.self,
                 "that was the last usable key: every request over TCP is refused until `weft keys add NAME`");
    return r;
}

WEFT_SUSPENDS static int revoke_key(struct cli_client *p, struct upp_err *err)
{
    const struct key_request *q = p->arg;
    yyjson_val *v;
    wb_buf_add(&p->path, UPP_STR("/v1/keys/"));
    cli_path_add(&p->path, wb_cstr(q->word));
    struct cli_request ask = {.method = "DELETE", .path = wb_buf_str(&p->path), .tenant = wb_cstr(q->tenant)};
    int r = wb_buf_check(&p->path, err);
    if (p->door.runtime && wb_log_on(WB_WARN) && !wb_log_on(WB_INFO)) /* our own log would say what the note says */
        (void)cli_log_setup(p->door.config, "error", WB_ERROR);
    if (r >= 0)
        r = cli_owner_call(&p->door, &ask, &p->arena, &v, err);
    if (r < 0)
        return r;
    if (q->list.json)
        r = cli_print_json(v, err);
    else
        (void)printf("key '%.*s' (%.*s) is revoked\n", UPP_FMT(wj_text_at(v, "name")), UPP_FMT(wj_text_at(v, "id")));
    return r < 0 ? r : warn_if_last(p, err);
}

/* ---- The command ----------------------------------------------------------------------------- */

static const struct action {
    const char *name, *wants; /* wants: describes its word; NULL: it has none */
    bool must_exist;          /* the database */
    WEFT_SUSPENDS int (*fn)(struct cli_client *p, struct upp_err *err);
} actions[] = {
    {"add", "a name for the key", false, add_key},
    {"list", NULL, true, list_keys},
    {"revoke", "the id or the name of a key", true, revoke_key},
};

static const char *const action_names[] = {"add", "list", "revoke", NULL}; /* in the order of actions */

/* The store's master key was here before the server had keys of its own. */
static bool has_moved(const char *word)
{
    return strcmp(word, "new") == 0 || strcmp(word, "rotate") == 0 || strcmp(word, "forget") == 0;
}

static const char *first_word(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (argv[i][0] != '-')
            return argv[i];
    return "";
}

static int run_keys(const struct cli_command *self, int argc, char **argv)
{
    struct key_request q = {0};
    const char *words[2] = {NULL, NULL}, *first = first_word(argc, argv);
    size_t n;
    if (has_moved(first)) {
        struct cli_command now = cli_encryption;
        now.json = self->json;
        now.quiet = self->quiet;
        cli_note(self, "`weft keys %s` is now `weft encryption %s`", first,
                 strcmp(first, "new") == 0 ? "new-key" : first);
        return now.run(&now, argc, argv);
    }
    int bad = cli_parse_some(self, argc, argv, &q, words, 2, &n);
    if (bad)
        return bad;
    size_t which;
    bad = cli_word(self, "an action", n ? words[0] : NULL, action_names, &which);
    if (bad)
        return bad;
    const struct action *a = &actions[which];
    if (n != (a->wants ? 2 : 1))
        return cli_misuse(self, "%s wants %s", a->name, a->wants ? a->wants : "no more words");
    if (a->fn != add_key && (q.user || q.scope || q.limits))
        return cli_misuse(self, "%s does not take --user, --scope or --limits", a->name);
    q.list.self = self;
    q.word = words[1];
    return cli_client_run(self, &q.from, a->must_exist, a->fn, &q);
}

static const struct cli_option keys_options[] = {
    CLI_VALUE("--tenant", "T", "a tenant", struct key_request, tenant,
              "whose threads and runs the key sees (default: local)"),
    CLI_VALUE("--user", "U", "a user", struct key_request, user, "the user within the tenant"),
    CLI_VALUE(
        "--scope", "S,S", "scopes: read, run, admin, act-as, instructions", struct key_request, scope,
        "read (GET), run (also changes; the default), admin (the keys of its tenant), act-as (the header weft-user), "
        "instructions (the system prompt of a run)"),
    CLI_VALUE("--limits", "L,L", "requests=N/m,runs=N,tokens=N/d,bytes=N", struct key_request, limits,
              "requests=600/m,runs=8,tokens=1000000/d,bytes=10GiB: what is not named has no limit. Units of bytes: kB, "
              "MB, GB, "
              "TB, KiB, MiB, GiB, TiB"),
    CLI_FLAG("--json", struct key_request, list.json, "one object per key and line"),
    CLI_STORE_OPTIONS(struct key_request, from),
};

const struct cli_command cli_keys = {
    .name = "keys",
    .usage = "add NAME [--tenant T] [--user U] [--scope S,S] [--limits L,L]\n"
             "       weft keys list [--tenant T]\n"
             "       weft keys revoke ID|NAME [--tenant T]\n"
             "       each also takes [--json] [--config FILE] [--store URL]",
    .summary = "API keys of the server: add, list, revoke",
    .help = "As soon as the store has had a key, every request over TCP needs one: `Authorization: Bearer KEY` or\n"
            "`x-api-key: KEY`. That stays so if all are revoked. A running server knows of a change at once.\n"
            "add prints the key, once: the store has only its hash.\n"
            "list prints one line per key: id, name, tenant, scopes, limits, times; usable keys first, then revoked "
            "ones, each\n"
            "with the newest last. Never the key itself.\n"
            "revoke ends a key at once, and streams that were opened with it.\n"
            "The master key of an encrypted store is `weft encryption`.",
    .run = run_keys,
    CLI_OPTIONS(keys_options),
    .examples = "KEY=$(weft keys add ci)\n"
                "weft keys add page --scope read,run --limits requests=60/m\n"
                "weft keys list\n"
                "weft keys revoke ci\n",
    .words = action_names,
};
