/* server/desk.c — sets up that server, and asks it. */
#include "server/desk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/defs.h"
#include "json/read.h"
#include "server/doors/doors.h"
#include "stores/memory/memory.h"

static const char *const tenants[] = {"one", "two"};

static WEFT_SUSPENDS int add_keys(struct desk *d, struct upp_err *err)
{
    const struct sv_key *key;
    TRY(sv_keys_open(d->rig.store, d->rig.engine, &d->keys, err));
    for (size_t i = 0; i < WB_LEN(tenants); i++) {
        struct sv_key_spec spec = {.name = UPP_STR("desk"), .tenant = wb_cstr(tenants[i]), .scopes = SV_SCOPE_RUN};
        TRY(sv_keys_add(d->keys, &spec, d->texts[i], &key, err));
    }
    d->talk.server->opts.keys = d->keys;
    return 0;
}

static WEFT_SUSPENDS int set_up(struct desk *d, struct upp_err *err)
{
    talk_reply_init(&d->reply);
    d->arena = (struct wb_arena)WB_ARENA(256u << 20);
    d->key = "one";
    struct wl_store *memory;
    TRY(ws_memory_open(&memory, err));
    lazy_open(&d->lazy, memory);
    d->rig.store = &d->lazy.store;
    TRY(rig_agent(&d->rig, "echo", NULL, err));
    TRY(rig_agent(&d->rig, "picker", "{\"replies\":[{\"parts\":[{\"tool_call\":{\"id\":\"p1\",\"name\":\"pick\"}}]}]}",
                  err));
    TRY(rig_agent(&d->rig, "noter",
                  "{\"replies\":[{\"parts\":[{\"text\":\"Let me see.\"},{\"tool_call\":{\"id\":\"n1\",\"name\":"
                  "\"note\"}}]},{\"parts\":[{\"text\":\"Noted.\"}]}]}",
                  err));
    TRY(rig_open(&d->rig, weft_loop_current(), NULL, err));
    d->talk.server->cores[0].engine = d->rig.engine;
    d->talk.server->opts.store = d->rig.store;
    return add_keys(d, err);
}

static WEFT_SUSPENDS int client(struct talk *t, struct upp_err *err)
{
    struct desk *d = t->arg;
    int r = set_up(d, err);
    if (r >= 0)
        r = d->act(d, err);
    sv_keys_close(d->keys);
    d->talk.server->opts.keys = NULL;
    if (d->rig.engine)
        rig_close(&d->rig);
    else
        rig_done(&d->rig);
    if (d->lazy.inner)
        d->lazy.inner->ops->close(d->lazy.inner);
    talk_reply_done(&d->reply);
    wb_arena_done(&d->arena);
    return r;
}

int desk_play(struct desk *d)
{
    struct upp_err err = {0};
    d->talk = (struct talk){.client = client, .arg = d, .simulated = true, .seed = 7, .opts = {.doors = sv_doors}};
    int r = talk_run(&d->talk, &err);
    if (r < 0)
        test_note("%s", err.msg);
    return r;
}

int desk_ask(struct desk *d, const char *body, struct upp_err *err, const char *fmt, ...)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf q = WB_BUF(64u << 20);
    char line[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    wb_buf_addf(&q, "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer %s\r\n", line,
                d->texts[strcmp(d->key, tenants[0]) != 0]);
    if (body)
        wb_buf_addf(&q, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n", strlen(body));
    else
        wb_buf_add(&q, UPP_STR("\r\n"));
    wb_buf_add(&q, wb_cstr(body));
    TRY(wb_buf_check(&q, err));
    talk_reply_done(&d->reply);
    talk_reply_init(&d->reply);
    wb_arena_reset(&d->arena);
    d->json = NULL;
    TRY(talk_once(&d->talk, wb_buf_str(&q), &d->reply, err));
    struct upp_str said = wb_buf_str(&d->reply.body);
    test_note("%s %.*s: %d %.*s", line, body ? (int)WB_MIN(strlen(body), (size_t)200) : 0, body ? body : "",
              d->reply.status, (int)WB_MIN(said.n, (size_t)1500), said.p);
    return wj_read(&d->arena, said, NULL, &d->json, err);
}

yyjson_val *desk_get(const struct desk *d, const char *path)
{
    yyjson_val *v = d->json;
    struct upp_str rest = wb_cstr(path), word;
    uint64_t i;
    while (v && wb_str_split(&rest, '/', &word))
        v = yyjson_is_arr(v) ? (wb_str_u64(word, &i) ? yyjson_arr_get(v, i) : NULL)
                             : yyjson_obj_getn(v, word.p, word.n);
    return v;
}

const char *desk_text(const struct desk *d, const char *path)
{
    yyjson_val *v = desk_get(d, path);
    return v && yyjson_is_str(v) ? yyjson_get_str(v) : "";
}

/* Numbers are read as they are written. */
long long desk_number(const struct desk *d, const char *path)
{
    yyjson_val *v = desk_get(d, path);
    return v && yyjson_is_raw(v) ? atoll(yyjson_get_raw(v)) : v && yyjson_is_num(v) ? yyjson_get_sint(v) : -1;
}

size_t desk_count(const struct desk *d, const char *path)
{
    yyjson_val *v = desk_get(d, path);
    return v && yyjson_is_arr(v) ? yyjson_arr_size(v) : SIZE_MAX;
}

bool desk_refused(const struct desk *d, int status, const char *words)
{
    const char *said = desk_text(d, "error/message");
    test_note("wanted %d '%s', got %d '%s' at %s", status, words, d->reply.status, said, desk_text(d, "error/param"));
    return d->reply.status == status && strstr(said, words);
}

struct desk_id desk_id(const struct desk *d, const char *path)
{
    struct desk_id id;
    (void)snprintf(id.s, sizeof id.s, "%s", desk_text(d, path));
    return id;
}

int desk_well_formed(struct desk *d, const char *thread, struct upp_err *err)
{
    struct wl_owner o = {.tenant = wb_cstr(d->key)};
    struct wb_uuid id;
    FAIL_UNLESS(wl_id_parse(wb_cstr(thread), UPP_STR("thread_"), &id));
    return rig_well_formed(d->rig.store, &o, id, err);
}

int desk_thread(struct desk *d, struct desk_id *ret, struct upp_err *err)
{
    TRY(desk_ask(d, "{}", err, "POST /v1/threads"));
    FAIL_UNLESS(d->reply.status == 200);
    *ret = desk_id(d, "id");
    return 0;
}

int desk_run(struct desk *d, const char *thread, const char *agent, const char *text, struct upp_err *err)
{
    char body[512];
    (void)snprintf(body, sizeof body,
                   "{\"assistant_id\":\"%s\",\"additional_messages\":[{\"role\":\"user\",\"content\":\"%s\"}]}", agent,
                   text);
    TRY(desk_ask(d, body, err, "POST /v1/threads/%s/runs", thread));
    FAIL_UNLESS(d->reply.status == 200);
    while (wr_engine_counts(d->rig.engine).working)
        TRY(weft_sleep_ms(1, err));
    return 0;
}
