/* fuzz/fuzz_schema.c — any schema, any value: each check ends, says the same twice, and says it in UTF-8.
 *
 * Input: the text of a schema and the text of a value, with a byte 0xff between them, which no JSON holds.
 */
#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "json/read.h"
#include "json/schema.h"

struct told {
    unsigned n;
};

static void note(void *arg, const char *pointer, const char *reason)
{
    struct told *t = arg;
    REQUIRE_SHOWN(pointer);
    REQUIRE_SHOWN(reason);
    REQUIRE(reason[0]);
    t->n++;
}

/* `schema` and the word that turns it round: a value fits the one or the other. */
static int check_not(struct upp_str schema, struct upp_str json)
{
    WB_CLEANUP(upp_schema_freep) struct upp_schema *s = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(2u << 20);
    wb_buf_add(&b, UPP_STR("{\"not\":"));
    wb_buf_add(&b, schema);
    wb_buf_addc(&b, '}');
    if (upp_schema_new(wb_buf_str(&b), &s, NULL) < 0) /* references to the root mean another schema now */
        return -1;
    return upp_schema_check(s, json, NULL, NULL, NULL);
}

FUZZ(schema)
{
    WB_CLEANUP(upp_schema_freep) struct upp_schema *s = NULL;
    static struct upp_schema_report a, b; /* too large for a frame */
    struct told told = {0};
    struct upp_err err = {0};
    struct upp_str schema;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    if (!wb_str_split(&in, (char)0xff, &schema))
        return;
    if (upp_schema_new(schema, &s, &err) < 0) {
        REQUIRE(!s && err.msg[0]);
        REQUIRE_SHOWN(err.msg);
        REQUIRE_SHOWN(err.where);
        return;
    }
    if (!in.p)
        return;
    int r = upp_schema_check(s, in, UPP_OPTS(upp_schema_opts, .violation = note, .arg = &told), &a, &err);
    REQUIRE(r == upp_schema_check(s, in, NULL, &b, NULL));
    if (r < 0) {
        REQUIRE_SHOWN(err.msg);
        return;
    }
    REQUIRE_SHOWN(a.text);
    REQUIRE(strcmp(a.text, b.text) == 0 && a.violations == b.violations && a.violations == (uint32_t)r);
    REQUIRE((r == 0) == (a.text[0] == 0));
    REQUIRE(told.n == (r < UPP_SCHEMA_SHOWN ? (unsigned)r : UPP_SCHEMA_SHOWN) && a.shown <= told.n);
    if (wb_str_find(schema, UPP_STR("ref"), 0) == SIZE_MAX && wb_str_find(schema, UPP_STR("\\u"), 0) == SIZE_MAX) {
        int other = check_not(schema, in);
        REQUIRE(other < 0 || (other == 0) == (r > 0));
    }
}
