/* runtime/config_describe.c — the JSON Schema of the configuration, told by its readers.
 *
 * There is no second list of keys: the readers run on empty nodes (wc_reader.describe), and the functions of
 * config_read.h, instead of reading a value, write what they would accept. A reader that looks at the kind of a value
 * is run on each kind. What no function tells (names of agents, say) is left open: `weft config check` knows more than
 * the schema, never less.
 */
#include <stdio.h>

#include "base/err.h"
#include "runtime/config_read.h"

enum { SCHEMA_MAX = 1 << 20, SCRATCH = 32 << 10, KINDS = 3 };

#define VARIABLE "{\"type\":\"string\",\"pattern\":\"\\\\$\\\\{\"}"

bool wc_described(struct wc_reader *r, const char *fmt, ...)
{
    va_list args;
    if (!r->describe)
        return false;
    va_start(args, fmt);
    if (!r->describe->n)
        wb_buf_vaddf(r->describe, fmt, args);
    va_end(args);
    return true;
}

bool wc_describe_words(struct wc_reader *r, const char *const *words)
{
    if (!r->describe || r->describe->n)
        return r->describe != NULL;
    wb_buf_addf(r->describe, "{\"anyOf\":[{\"enum\":[");
    for (size_t i = 0; words[i]; i++)
        wb_buf_addf(r->describe, "%s\"%s\"", i ? "," : "", words[i]);
    wb_buf_addf(r->describe, "]}," VARIABLE "]}");
    return true;
}

bool wc_describe_number(struct wc_reader *r, const char *type, double min, double max)
{
    return wc_described(r, "{\"anyOf\":[{\"type\":\"%s\",\"minimum\":%.15g,\"maximum\":%.15g}," VARIABLE "]}", type,
                        min, max);
}

static void describe_member(struct wc_reader *r, const struct wc_key *key)
{
    switch (key->type) {
    case WC_U32:
    case WC_U64:
        (void)wc_describe_number(r, "integer", (double)key->min, (double)key->max);
        break;
    case WC_F64:
        (void)wc_describe_number(r, "number", (double)key->min, (double)key->max);
        break;
    case WC_DURATION:
        (void)wc_described(r, WC_SCHEMA_DURATION);
        break;
    case WC_TRUTH:
    case WC_UNTRUTH:
        (void)wc_described(r, WC_SCHEMA_TRUTH);
        break;
    case WC_ENUM:
    case WC_WORD:
        (void)wc_describe_words(r, key->words);
        break;
    default:
        (void)wc_described(r, WC_SCHEMA_TEXT);
    }
}

/* Runs a reader on an empty value of each kind, and joins what it tells. */
static void describe_read(struct wc_reader *r, const struct wc_key *key)
{
    struct wb_buf *out = r->describe, told[KINDS] = {WB_BUF(SCHEMA_MAX), WB_BUF(SCHEMA_MAX), WB_BUF(SCHEMA_MAX)};
    size_t n = 0;
    void *into;
    for (size_t k = 0; k < KINDS && (into = wb_arena_alloc(&r->config->arena, SCRATCH, 16)); k++) {
        struct wc_node node = {.kind = (uint8_t)k, .line = 1, .column = 1, .text = UPP_STR("x")};
        memset(into, 0, SCRATCH);
        r->describe = &told[n];
        r->key = key;
        key->read(r, &node, into);
        bool again = !told[n].n;
        for (size_t i = 0; i < n; i++)
            again |= wb_str_eq(wb_buf_str(&told[i]), wb_buf_str(&told[n]));
        if (again)
            wb_buf_clear(&told[n]);
        else
            n++;
    }
    r->describe = out;
    wb_buf_addf(out, n == 0 ? "true" : n > 1 ? "{\"anyOf\":[" : "");
    for (size_t i = 0; i < n; i++)
        wb_buf_addf(out, "%s%.*s", i ? "," : "", UPP_FMT(wb_buf_str(&told[i])));
    wb_buf_addf(out, n > 1 ? "]}" : "");
    for (size_t k = 0; k < KINDS; k++)
        wb_buf_done(&told[k]);
}

bool wc_describe_map(struct wc_reader *r, const struct wc_key *keys, size_t n)
{
    size_t required = 0;
    if (!r->describe || r->describe->n)
        return r->describe != NULL;
    struct wb_buf *out = r->describe;
    wb_buf_addf(out, "{\"type\":[\"object\",\"null\"],\"additionalProperties\":false,\"properties\":{");
    for (size_t i = 0; i < n; i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf one = WB_BUF(SCHEMA_MAX);
        wb_buf_addf(out, "%s\"%s\":", i ? "," : "", keys[i].name);
        r->describe = &one;
        if (keys[i].read)
            describe_read(r, &keys[i]);
        else if (keys[i].type)
            describe_member(r, &keys[i]);
        else
            wb_buf_addf(&one, "{\"description\":\"not supported yet\"}");
        r->describe = out;
        wb_buf_add(out, wb_buf_str(&one));
    }
    wb_buf_addf(out, "}");
    for (size_t i = 0; i < n; i++)
        if (keys[i].flags & WC_REQUIRED)
            wb_buf_addf(out, "%s\"%s\"", required++ ? "," : ",\"required\":[", keys[i].name);
    wb_buf_addf(out, required ? "]}" : "}");
    return true;
}

bool wc_describe_named(struct wc_reader *r, bool dots, wc_named_fn *fn, void *into)
{
    if (!r->describe || r->describe->n)
        return r->describe != NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf one = WB_BUF(SCHEMA_MAX);
    struct wb_buf *out = r->describe;
    struct wc_node key = {.kind = WC_SCALAR, .line = 1, .column = 1, .text = UPP_STR("x")};
    struct wc_node value = {.kind = WC_MAP, .line = 1, .column = 1};
    r->describe = &one;
    fn(r, &key, &value, into);
    r->describe = out;
    wb_buf_addf(out, "{\"type\":\"object\",\"propertyNames\":{\"pattern\":\"^%s$\"},\"additionalProperties\":%.*s}",
                dots ? "[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}" : "[A-Za-z0-9_-]{1,64}", UPP_FMT(wb_buf_str(&one)));
    return true;
}
