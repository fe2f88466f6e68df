/* Pages of other origins: what they are told, on every kind of response; and requests through a proxy. */
#include "server/http/origin.h"

#include <stddef.h>
#include <stdio.h>

#include "base/defs.h"
#include "server/http/conn.h"
#include "server/keys/key.h"
#include "server/talk.h"

static const char *const pages[] = {"https://app.example.org", "http://localhost:3000", NULL};
static const char *const hosts[] = {"weft.example.org", NULL};
static const char *const all[] = {"*", NULL};

#define HOST "Host: localhost\r\n"
#define PAGE "Origin: https://app.example.org\r\n"
#define ASK  "Access-Control-Request-Method: POST\r\n"

static void donep(struct talk_reply *r)
{
    talk_reply_done(r);
}

struct expected {
    const char *request;
    int status;
    const char *origin, *methods, *headers; /* NULL: there is no such header */
};

/* A request's word "sesame" stands for the key (NULL: there is none). */
static int asks(const struct talk *t, const struct expected *cases, size_t n, const char *key, struct upp_err *err)
{
    WB_CLEANUP(donep) struct talk_reply r;
    char request[512];
    talk_reply_init(&r);
    for (size_t i = 0; i < n; i++) {
        static const char *const names[] = {"access-control-allow-origin", "access-control-allow-methods",
                                            "access-control-allow-headers"};
        const char *const want[] = {cases[i].origin, cases[i].methods, cases[i].headers};
        test_note("%.120s", cases[i].request);
        const char *word = strstr(cases[i].request, "sesame");
        (void)snprintf(request, sizeof request, "%.*s%s%s",
                       (int)(word ? word - cases[i].request : (ptrdiff_t)strlen(cases[i].request)), cases[i].request,
                       word ? key : "", word ? word + 6 : "");
        TRY(talk_once(t, wb_cstr(request), &r, err));
        if (!test_expect_int(r.status, cases[i].status, __FILE__, __LINE__, "status"))
            return -UPP_EBUG;
        for (size_t k = 0; k < WB_LEN(names); k++) {
            struct upp_str got = talk_header(&r, wb_cstr(names[k]));
            FAIL_UNLESS(want[k] ? wb_str_eq(got, wb_cstr(want[k])) : !got.p);
        }
        bool named = cases[i].origin && strcmp(cases[i].origin, "*") != 0;
        struct upp_str shown = talk_header(&r, UPP_STR("access-control-expose-headers"));
        FAIL_UNLESS(wb_str_eq(talk_header(&r, UPP_STR("vary")), UPP_STR("Origin")));
        FAIL_UNLESS((talk_header(&r, UPP_STR("access-control-allow-credentials")).p != NULL) == named);
        FAIL_UNLESS((wb_str_find(shown, UPP_STR("x-request-id, retry-after"), 0) == 0) == (cases[i].origin != NULL));
        FAIL_UNLESS(r.status != 204 ||
                    (!talk_header(&r, UPP_STR("content-length")).p && !talk_header(&r, UPP_STR("content-type")).p));
    }
    return 0;
}

static int asks_with_key(struct talk *t, const char *key, struct upp_err *err)
{
    static const char app[] = "https://app.example.org";
    static const struct expected cases[] = {
        /* Preflights: no key, every route. */
        {"OPTIONS /echo HTTP/1.1\r\n" HOST PAGE ASK "\r\n", 204, app, "POST", "authorization, content-type"},
        {"OPTIONS /echo HTTP/1.1\r\n" HOST PAGE ASK
         "Access-Control-Request-Headers: authorization,x-stainless-os\r\n\r\n",
         204, app, "POST", "authorization,x-stainless-os"},
        {"OPTIONS /echo HTTP/1.1\r\n" HOST PAGE ASK "Access-Control-Request-Headers: a\"b\r\n\r\n", 204, app, "POST",
         "authorization, content-type"},
        {"OPTIONS /stream HTTP/1.1\r\n" HOST PAGE ASK "\r\n", 204, app, "GET, HEAD", "authorization, content-type"},
        {"OPTIONS /livez HTTP/1.1\r\n" HOST PAGE ASK "\r\n", 204, app, "GET, HEAD", "authorization, content-type"},
        {"OPTIONS /none HTTP/1.1\r\n" HOST PAGE ASK "\r\n", 204, app, "GET, HEAD, POST, PUT, PATCH, DELETE",
         "authorization, content-type"},
        {"OPTIONS /echo HTTP/1.1\r\n" HOST "Origin: http://localhost:3000\r\n" ASK "\r\n", 204, "http://localhost:3000",
         "POST", "authorization, content-type"},
        /* What is none. */
        {"OPTIONS /echo HTTP/1.1\r\n" HOST PAGE "\r\n", 405, app, NULL, NULL},
        {"OPTIONS /echo HTTP/1.1\r\n" HOST ASK "\r\n", 405, NULL, NULL, NULL},
        {"OPTIONS /echo HTTP/1.1\r\n" HOST "Origin: https://evil.example\r\n" ASK "\r\n", 403, NULL, NULL, NULL},
        {"OPTIONS /echo HTTP/1.1\r\n" HOST "Origin: null\r\n" ASK "\r\n", 403, NULL, NULL, NULL},
        {"OPTIONS /echo HTTP/1.1\r\n" HOST "Origin: http://localhost\r\n" ASK "\r\n", 405, NULL, NULL, NULL},
        /* Responses, also errors. */
        {"GET /empty HTTP/1.1\r\n" HOST PAGE "Authorization: Bearer sesame\r\n\r\n", 200, app, NULL, NULL},
        {"GET /stream HTTP/1.1\r\n" HOST PAGE "Authorization: Bearer sesame\r\n\r\n", 200, app, NULL, NULL},
        {"GET /stream HTTP/1.0\r\n" HOST PAGE "Authorization: Bearer sesame\r\n\r\n", 200, app, NULL, NULL},
        {"GET /empty HTTP/1.1\r\n" HOST PAGE "\r\n", 401, app, NULL, NULL},
        {"GET /none HTTP/1.1\r\n" HOST PAGE "\r\n", 404, app, NULL, NULL},
        {"POST /empty HTTP/1.1\r\n" HOST PAGE "\r\n", 405, app, NULL, NULL},
        {"GET /fail/2 HTTP/1.1\r\n" HOST PAGE "Authorization: Bearer sesame\r\n\r\n", 429, app, NULL, NULL},
        {"GET /fail/20 HTTP/1.1\r\n" HOST PAGE "Authorization: Bearer sesame\r\n\r\n", 500, app, NULL, NULL},
        {"POST /small HTTP/1.1\r\n" HOST PAGE "Authorization: Bearer sesame\r\nContent-Length: 17\r\n\r\n", 413, app,
         NULL, NULL},
        {"GET /empty HTTP/1.1\r\n" HOST "Origin: https://evil.example\r\n\r\n", 403, NULL, NULL, NULL},
        {"GET /empty HTTP/1.1\r\n" HOST "Origin: http://localhost\r\nAuthorization: Bearer sesame\r\n\r\n", 200, NULL,
         NULL, NULL},
        {"GET /empty HTTP/1.1\r\n" HOST "Authorization: Bearer sesame\r\n\r\n", 200, NULL, NULL, NULL},
    };
    return asks(t, cases, WB_LEN(cases), key, err);
}

static int named(struct talk *t, struct upp_err *err)
{
    return talk_with_key(t, SV_SCOPE_RUN, asks_with_key, err);
}

TEST(cors_of_named_origins)
{
    for (uint64_t seed = 0; seed <= 2; seed++) {
        struct talk t = {.client = named, .simulated = seed > 0, .seed = seed, .limit = 3, .opts.origins = pages};
        struct upp_err err = {0};
        int r = talk_run(&t, &err);
        test_note("seed %d: %s", (int)seed, err.msg);
        CHECK_INT(r, 0);
    }
}

static int any(struct talk *t, struct upp_err *err)
{
    static const struct expected cases[] = {
        {"OPTIONS /echo HTTP/1.1\r\n" HOST PAGE ASK "\r\n", 204, "*", "POST", "authorization, content-type"},
        {"GET /empty HTTP/1.1\r\n" HOST "Origin: https://evil.example\r\n\r\n", 200, "*", NULL, NULL},
        {"GET /empty HTTP/1.1\r\n" HOST "Origin: null\r\n\r\n", 200, "*", NULL, NULL},
        {"GET /empty HTTP/1.1\r\n" HOST "\r\n", 200, NULL, NULL, NULL},
    };
    return asks(t, cases, WB_LEN(cases), NULL, err);
}

TEST(cors_of_all_origins)
{
    struct talk t = {.client = any, .opts.origins = all};
    struct upp_err err = {0};
    CHECK_INT(talk_run(&t, &err), 0);
}

/* The origin of one request is not that of the next on the same connection. */
static int forgets(struct talk *t, struct upp_err *err)
{
    WB_CLEANUP(donep) struct talk_reply r;
    UPP_CLEANUP(test_closep) int fd = -1;
    static const char one[] = "GET /empty HTTP/1.1\r\n" HOST PAGE "\r\n", two[] = "GET /empty HTTP/1.1\r\n" HOST "\r\n";
    talk_reply_init(&r);
    TRY(talk_connect(t, 0, &fd, err));
    for (int i = 0; i < 4; i++) {
        TRY(i % 2 ? weft_send(fd, two, sizeof two - 1, err) : weft_send(fd, one, sizeof one - 1, err));
        TRY(talk_read(fd, &r, false, err));
        FAIL_UNLESS((talk_header(&r, UPP_STR("access-control-allow-origin")).p != NULL) == (i % 2 == 0));
    }
    return 0;
}

TEST(cors_is_of_one_request)
{
    struct talk t = {.client = forgets, .opts.origins = pages};
    struct upp_err err = {0};
    CHECK_INT(talk_run(&t, &err), 0);
}

/* ---- Through a proxy ---- */

static int says_client(struct sv_exchange *x, struct upp_err *err)
{
    (void)err;
    x->reply.status = 200;
    wb_buf_add(&x->reply.body, wb_cstr(x->conn->client));
    return 0;
}

static const struct sv_route client_row[] = {{SV_GET, "/client", says_client, 0, SV_ROUTE_OPEN}};
static const struct sv_door client_door = {.name = "client", .prefix = "/", .routes = client_row, .n_routes = 1};
static const struct sv_door *const client_doors[] = {&client_door, NULL};

static int through(struct talk *t, struct upp_err *err)
{
    static const struct {
        const char *headers;
        int trusted, others; /* status */
        const char *client;  /* behind a trusted proxy */
    } cases[] = {
        {"Host: localhost\r\n", 200, 200, "127.0.0.1"},
        {"Host: localhost\r\nX-Forwarded-For: 192.0.2.1\r\n", 200, 200, "192.0.2.1"},
        {"Host: backend\r\nX-Forwarded-Host: weft.example.org\r\n", 200, 421, "127.0.0.1"},
        {"Host: localhost\r\nX-Forwarded-Host: evil.example\r\n", 421, 200, NULL},
        {"Host: localhost\r\nX-Forwarded-Host: a b\r\n", 400, 200, NULL},
        {"Host: backend\r\nX-Forwarded-Host: weft.example.org\r\nX-Forwarded-Proto: https\r\nOrigin: "
         "https://weft.example.org\r\n",
         200, 421, "127.0.0.1"},
        {"Host: backend\r\nX-Forwarded-Host: weft.example.org\r\nX-Forwarded-Proto: https\r\nOrigin: "
         "http://weft.example.org\r\n",
         403, 421, NULL},
    };
    WB_CLEANUP(donep) struct talk_reply r;
    bool trusted = t->arg != NULL;
    if (trusted) /* after it was opened: it has no keys, and this route needs none */
        t->server->settings->proxies = (struct sv_proxies){t->arg, 1};
    talk_reply_init(&r);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf request = WB_BUF(4096);
        wb_buf_addf(&request, "GET /client HTTP/1.1\r\n%s\r\n", cases[i].headers);
        TRY(wb_buf_check(&request, err));
        test_note("%s %s", trusted ? "trusted" : "not trusted", cases[i].headers);
        TRY(talk_once(t, wb_buf_str(&request), &r, err));
        if (!test_expect_int(r.status, trusted ? cases[i].trusted : cases[i].others, __FILE__, __LINE__, "status"))
            return -UPP_EBUG;
        if (r.status == 200)
            FAIL_UNLESS(wb_str_eq(wb_buf_str(&r.body), wb_cstr(trusted ? cases[i].client : "127.0.0.1")));
    }
    return 0;
}

TEST(cors_behind_a_proxy)
{
    struct wb_network net;
    struct upp_err err = {0};
    CHECK_INT(wb_network_parse(UPP_STR("127.0.0.0/8"), &net, &err), 0);
    for (int i = 0; i < 2; i++) {
        struct talk t = {.client = through, .opts.hosts = hosts, .opts.doors = client_doors};
        if (i)
            t.arg = &net;
        CHECK_INT(talk_run(&t, &err), 0);
    }
}
