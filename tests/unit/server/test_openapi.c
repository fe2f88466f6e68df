
#include <yyjson.h>

#include "base/defs.h"
#include "server/doors/doors.h"
#include "server/ops/ops.h"
#include "support/test.h"

/* All doors of `weft serve`, as its server has them. */
struct all {
    struct weft_loop *loop;
    struct sv_ops *ops;
    struct sv_server *server;
    struct wb_buf text;
    yyjson_doc *doc;
};

static void close_all(struct all *all)
{
    yyjson_doc_free(all->doc);
    wb_buf_done(&all->text);
    sv_server_close(all->server);
    sv_ops_close(all->ops);
    weft_loop_close(all->loop);
}

static int open_all(struct all *all, bool keys, struct upp_err *err)
{
    all->text = (struct wb_buf)WB_BUF(1u << 20);
    int r = weft_loop_open(NULL, &all->loop, err);
    if (r >= 0)
        r = sv_ops_open(NULL, &all->ops, err);
    if (r >= 0)
        r = sv_server_open(all->loop,
                           UPP_OPTS(sv_server_opts, .takes = true, .doors = sv_doors, .ops = &all->ops->door,
                                    .monitor = &all->ops->http),
                           &all->server, err);
    if (r >= 0)
        r = sv_openapi_write(all->server->doors, keys, &all->text, err);
    if (r >= 0) {
        all->doc = yyjson_read(all->text.p, all->text.n, 0);
        r = all->doc ? 0 : -UPP_ENOMEM;
    }
    return r;
}

static yyjson_val *at(const struct all *all, const char *pointer)
{
    return yyjson_doc_ptr_get(all->doc, pointer);
}

/* Whoever adds a route describes it in src/server/ops/openapi.json; whoever removes one removes the description. */
TEST(openapi_describes_every_route)
{
    WB_CLEANUP(close_all) struct all all = {0};
    struct upp_err err = {0};
    int r = open_all(&all, false, &err);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
    r = sv_openapi_check(all.server->doors, &err);
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
}

static int nothing(struct sv_exchange *x, struct upp_err *err)
{
    (void)x, (void)err;
    return 0;
}

TEST(openapi_notices_what_does_not_fit)
{
    static const struct sv_route rows[] = {{SV_GET, "/none", nothing, 0, 0}};
    static const struct sv_door door = {.name = "d", .prefix = "", .routes = rows, .n_routes = 1};
    static const struct sv_door *const doors[] = {&door, NULL};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct upp_err err = {0};
    CHECK_INT(sv_openapi_write(doors, false, &out, &err), -UPP_EBUG);
    CHECK(strstr(err.msg, "GET /none"));
    CHECK_INT(sv_openapi_check(doors, &err), -UPP_EBUG);
    CHECK(strstr(err.msg, "GET /livez"));
}

TEST(openapi_makes_what_the_tables_say)
{
    WB_CLEANUP(close_all) struct all all = {0};
    struct upp_err err = {0};
    CHECK_INT(open_all(&all, true, &err), 0);
    CHECK_STR(wb_cstr(yyjson_get_str(at(&all, "/openapi"))), UPP_STR("3.1.0"));
    CHECK_STR(wb_cstr(yyjson_get_str(at(&all, "/info/version"))), UPP_STR(UPP_VERSION));
    CHECK(!at(&all, "/operations"));
#define RUN "/paths/~1v1~1threads~1{t}~1runs~1{r}/get"
    CHECK_STR(wb_cstr(yyjson_get_str(at(&all, RUN "/parameters/0/$ref"))), UPP_STR("#/components/parameters/t"));
    CHECK_STR(wb_cstr(yyjson_get_str(at(&all, RUN "/parameters/1/$ref"))), UPP_STR("#/components/parameters/r"));
    CHECK(at(&all, RUN "/responses/200/content") && at(&all, RUN "/responses/401") && at(&all, RUN "/responses/404") &&
          !at(&all, RUN "/responses/413") && at(&all, RUN "/security/0/key") && at(&all, RUN "/security/1/x-api-key"));
    CHECK(at(&all, "/paths/~1v1~1threads/get") && at(&all, "/paths/~1v1~1threads/post/responses/413"));
    CHECK(!at(&all, "/paths/~1livez/get/responses/401") && !at(&all, "/paths/~1livez/get/security/0"));
    CHECK(at(&all, "/paths/~1metrics/get/security/0") && at(&all, "/components/securitySchemes/x-api-key/name"));
}
