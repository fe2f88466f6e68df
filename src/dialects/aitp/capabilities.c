/* dialects/aitp/capabilities.c — single structured messages. */
#include "dialects/aitp/capabilities.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"
#include "base/iso8601.h"
#include "dialects/core/lift.h"
#include "json/number.h"
#include "json/pointer.h"
#include "json/read.h"
#include "json/value.h"

/* ---- Schemas ----------------------------------------------------------------------------------------------- */

static bool take_number(struct upp_str *rest, char until, uint64_t *ret)
{
    struct upp_str digits;
    return wb_str_split(rest, until, &digits) && wb_str_u64(digits, ret);
}

bool wd_aitp_schema_parse(struct upp_str url, struct wd_aitp_schema *ret)
{
    static const struct upp_str before = UPP_STR_INIT("/capabilities/"), last = UPP_STR_INIT("schema.json");
    size_t at = wb_str_find(url, before, 0);
    struct upp_str rest = wb_str_sub(url, at + before.n, SIZE_MAX);
    if (at == SIZE_MAX || !wb_str_split(&rest, '/', &ret->name) || !ret->name.n || !rest.n || rest.p[0] != 'v')
        return false;
    rest = wb_str_sub(rest, 1, SIZE_MAX);
    return take_number(&rest, '.', &ret->major) && take_number(&rest, '.', &ret->minor) &&
           take_number(&rest, '/', &ret->patch) && rest.p && wb_str_eq(rest, last);
}

enum wd_aitp_capability wd_aitp_capability(struct upp_str url)
{
    static const struct upp_str names[WD_AITP_CAPABILITIES] = {
        [WD_AITP_PAYMENTS] = UPP_STR_INIT("aitp-01-payments"),
        [WD_AITP_DECISIONS] = UPP_STR_INIT("aitp-02-decisions"),
        [WD_AITP_DATA_REQUEST] = UPP_STR_INIT("aitp-03-data-request"),
        [WD_AITP_NEAR_WALLET] = UPP_STR_INIT("aitp-04-near-wallet"),
        [WD_AITP_EVM_WALLET] = UPP_STR_INIT("aitp-05-evm-wallet"),
    };
    struct wd_aitp_schema s;
    if (!wd_aitp_schema_parse(url, &s) || s.major >= WD_AITP_MAJORS)
        return WD_AITP_UNKNOWN;
    for (unsigned i = 1; i < WD_AITP_CAPABILITIES; i++)
        if (wb_str_eq(s.name, names[i]))
            return (enum wd_aitp_capability)i;
    return WD_AITP_UNKNOWN;
}

static bool has_capability(yyjson_val *actor, const struct wd_aitp_schema *schema)
{
    yyjson_val *v;
    size_t i, n;
    yyjson_arr_foreach(yyjson_obj_get(actor, "capabilities"), i, n, v)
    {
        struct wd_aitp_schema its;
        struct upp_str url = yyjson_is_str(v) ? wj_text(v) : wj_text_at(v, "schema");
        if (url.p && wd_aitp_schema_parse(url, &its) && its.major == schema->major && wb_str_eq(its.name, schema->name))
            return true;
    }
    return false;
}

/* ---- Members ----------------------------------------------------------------------------------------------- */

struct check {
    struct wd_problems *p;
    const yyjson_val *string; /* the string that contains the message; NULL: it is a value of p->root */
    yyjson_val *inside;
    const char *rule;
    bool strict;
};

void wd_aitp_problem(struct wd_problems *p, enum wd_severity severity, const char *rule, const yyjson_val *string,
                     yyjson_val *inside, const yyjson_val *at, const char *fmt, ...)
{
    char text[256], where[160];
    struct wj_pointer pointer;
    va_list args;
    if (p->list.n >= WD_MAX_PROBLEMS) { /* it is only counted: its pointer is not needed */
        wd_problem_at(p, severity, rule, "", "");
        return;
    }
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (!string) {
        wd_problem(p, severity, rule, at, "%s", text);
        return;
    }
    wj_pointer_init(&pointer, where, sizeof where);
    wj_pointer_find(&pointer, inside, at);
    wd_problem(p, severity, rule, string, "at '%s' in it: %s", where, text);
}

#define REPORT(c, severity, at, ...)                                                                                   \
    wd_aitp_problem((c)->p, (severity), (c)->rule, (c)->string, (c)->inside, (at), __VA_ARGS__)

static bool is_amount(struct upp_str s)
{
    size_t digits = 0, points = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '.' && digits && !points) {
            points++;
            digits = 0;
        } else if (s.p[i] >= '0' && s.p[i] <= '9')
            digits++;
        else
            return false;
    }
    return digits > 0;
}

/* 0x and n hexadecimal digits; n = 0: at least one. */
static bool is_hex(struct upp_str s, size_t n)
{
    if (!wb_str_starts(s, UPP_STR("0x")) || (n ? s.n != n + 2 : s.n < 3))
        return false;
    for (size_t i = 2; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')))
            return false;
    }
    return true;
}

static bool is_nonce(struct upp_str s)
{
    if (s.n == 44 && s.p[43] == '=')
        s.n--;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '/'))
            return false;
    }
    return s.n == 43;
}

static bool is_time(struct upp_str s)
{
    struct wb_time t;
    return wb_time_parse(s, &t, NULL) >= 0 && !t.naive && !t.date_only;
}

static bool is_word(struct upp_str s, const char *const *words)
{
    while (*words && !wb_str_eq(s, wb_cstr(*words)))
        words++;
    return *words != NULL;
}

static bool has_text_type(struct upp_str s, const struct wd_aitp_member *m)
{
    switch (m->type) {
    case WD_AITP_AMOUNT:
        return is_amount(s);
    case WD_AITP_TIME:
        return is_time(s);
    case WD_AITP_WORD:
        return is_word(s, m->of);
    case WD_AITP_HEX:
        return is_hex(s, 0);
    case WD_AITP_ADDRESS:
        return is_hex(s, 40);
    case WD_AITP_HASH:
        return is_hex(s, 64);
    case WD_AITP_NONCE:
        return is_nonce(s);
    default:
        return m->type == WD_AITP_TEXT || m->type == WD_AITP_VALUE;
    }
}

static bool has_number_type(struct upp_str s, uint8_t type)
{
    switch (type) {
    case WD_AITP_WHOLE:
        return wj_num_whole(s);
    case WD_AITP_WEIGHT:
        return wj_num_whole(s) && wj_num_cmp(s, UPP_STR("1")) >= 0;
    case WD_AITP_RATING:
        return wj_num_cmp(s, UPP_STR("0")) >= 0 && wj_num_cmp(s, UPP_STR("5")) <= 0;
    default:
        return type == WD_AITP_NUMBER || type == WD_AITP_VALUE;
    }
}

static bool has_type(yyjson_val *v, const struct wd_aitp_member *m)
{
    if (yyjson_is_str(v))
        return has_text_type(wj_text(v), m);
    if (yyjson_is_raw(v))
        return has_number_type(wj_text(v), m->type);
    if (yyjson_is_bool(v))
        return m->type == WD_AITP_BOOL;
    return yyjson_is_obj(v) && (m->type == WD_AITP_ANY || m->type == WD_AITP_OBJECT);
}

static const char *expects(const struct wd_aitp_member *m, struct wj_list *words)
{
    static const char *const names[] = {
        [WD_AITP_TEXT] = "a text",
        [WD_AITP_AMOUNT] = "an amount in a text, as \"12.50\"",
        [WD_AITP_TIME] = "a date and time with its offset",
        [WD_AITP_WHOLE] = "a whole number",
        [WD_AITP_WEIGHT] = "a whole number from 1 on",
        [WD_AITP_NUMBER] = "a number",
        [WD_AITP_RATING] = "a number from 0 to 5",
        [WD_AITP_BOOL] = "true or false",
        [WD_AITP_VALUE] = "a text or a number",
        [WD_AITP_ANY] = "an object",
        [WD_AITP_OBJECT] = "an object",
        [WD_AITP_HEX] = "0x and hexadecimal digits",
        [WD_AITP_ADDRESS] = "0x and 40 hexadecimal digits",
        [WD_AITP_HASH] = "0x and 64 hexadecimal digits",
        [WD_AITP_NONCE] = "base64 of 32 bytes",
    };
    if (m->type != WD_AITP_WORD)
        return names[m->type];
    for (const char *const *w = m->of; *w; w++)
        wj_list_add(words, ", ", "'", wb_cstr(*w));
    return words->p;
}

static void check_object(const struct check *c, yyjson_val *v, const struct wd_aitp_shape *shape);

static void check_value(const struct check *c, yyjson_val *v, const struct wd_aitp_member *m)
{
    struct wj_list words = {0};
    if (!has_type(v, m))
        REPORT(c, WD_ERROR, v, m->type == WD_AITP_WORD ? "'%s' is one of %s" : "'%s' must be %s", m->name,
               expects(m, &words));
    else if (m->type == WD_AITP_OBJECT)
        check_object(c, v, m->of);
}

static void check_member(const struct check *c, yyjson_val *v, const struct wd_aitp_member *m)
{
    yyjson_val *item;
    size_t i, n;
    if (!(m->flags & WD_AITP_LIST)) {
        check_value(c, v, m);
        return;
    }
    if (!yyjson_is_arr(v) || (m->flags & WD_AITP_SOME && !yyjson_arr_size(v)))
        REPORT(c, WD_ERROR, v, "'%s' must be a list%s", m->name, m->flags & WD_AITP_SOME ? " of at least one" : "");
    yyjson_arr_foreach(v, i, n, item) check_value(c, item, m);
}

static bool is_member(yyjson_val *name, const struct wd_aitp_shape *shape)
{
    const struct wd_aitp_member *m = shape->members;
    while (m->name && !wj_named(name, wb_cstr(m->name)))
        m++;
    return m->name != NULL;
}

static void refuse_other(const struct check *c, const yyjson_val *name)
{
    char quoted[WJ_QUOTED];
    REPORT(c, c->strict ? WD_ERROR : WD_WARNING, name, "there is no member %s",
           wj_quote(wj_text(name), quoted, sizeof quoted));
}

/* Recursive: as deep as the tables. */
static void check_object(const struct check *c, yyjson_val *v, const struct wd_aitp_shape *shape)
{
    yyjson_val *key, *value;
    size_t i, n;
    for (const struct wd_aitp_member *m = shape->members; m->name; m++) {
        yyjson_val *its = yyjson_obj_get(v, m->name);
        if (!its && m->flags & WD_AITP_MUST)
            REPORT(c, WD_ERROR, v, "member '%s' is missing", m->name);
        else if (its)
            check_member(c, its, m);
    }
    if (!shape->closed)
        return;
    yyjson_obj_foreach(v, i, n, key, value)
    {
        if (!is_member(key, shape))
            refuse_other(c, key);
    }
}

/* ---- Messages ---------------------------------------------------------------------------------------------- */

static const struct wd_aitp_kind *kind_named(enum wd_aitp_capability capability, const yyjson_val *name)
{
    const struct wd_aitp_kind *k = wd_aitp_kinds;
    while (k->name && !(k->capability == capability && wj_named(name, wb_cstr(k->name))))
        k++;
    return k->name ? k : NULL;
}

const struct wd_aitp_kind *wd_aitp_kind(yyjson_val *message, yyjson_val **body)
{
    enum wd_aitp_capability capability = wd_aitp_capability(wj_text_at(message, "$schema"));
    yyjson_val *key, *value;
    size_t i, n;
    if (!capability)
        return NULL;
    yyjson_obj_foreach(message, i, n, key, value)
    {
        const struct wd_aitp_kind *kind = kind_named(capability, key);
        if (kind && yyjson_is_obj(value)) {
            *body = value;
            return kind;
        }
    }
    return NULL;
}

/* Checks that the tables cannot express. */
static void check_more(const struct check *c, const struct wd_aitp_kind *kind, yyjson_val *body)
{
    if (kind->capability == WD_AITP_DATA_REQUEST && kind->does == WD_AITP_ASKS) {
        yyjson_val *form = yyjson_obj_get(body, "form");
        if (yyjson_is_obj(form) && !yyjson_obj_get(form, "fields") == !yyjson_obj_get(form, "json_url"))
            REPORT(c, c->strict ? WD_ERROR : WD_WARNING, form, "a form has either 'fields' or 'json_url'");
    }
    struct upp_str signing = wj_text_at(body, "signing_type");
    if (kind->capability != WD_AITP_EVM_WALLET || !signing.p)
        return;
    if (wb_str_eq(signing, UPP_STR("personal_sign")) && !yyjson_obj_get(body, "message"))
        REPORT(c, WD_ERROR, body, "to sign by 'personal_sign' there must be a 'message'");
    if (wb_str_eq(signing, UPP_STR("typed_data")) && !yyjson_obj_get(body, "typed_data"))
        REPORT(c, WD_ERROR, body, "to sign by 'typed_data' there must be 'typed_data'");
}

static void check_kinds(struct check *c, yyjson_val *message, enum wd_aitp_capability capability)
{
    yyjson_val *key, *value;
    size_t i, n, known = 0, others = 0;
    bool closed = capability != WD_AITP_DECISIONS && capability != WD_AITP_DATA_REQUEST;
    yyjson_obj_foreach(message, i, n, key, value)
    {
        const struct wd_aitp_kind *kind = kind_named(capability, key);
        if (!kind) {
            others += !wj_named(key, UPP_STR("$schema"));
            if (closed && !wj_named(key, UPP_STR("$schema")))
                refuse_other(c, key);
            continue;
        }
        if (known++)
            REPORT(c, WD_ERROR, key, "a message is of one kind");
        else if (!yyjson_is_obj(value))
            REPORT(c, WD_ERROR, value, "'%s' must be an object", kind->name);
        else {
            check_object(c, value, kind->shape);
            check_more(c, kind, value);
        }
    }
    if (!known) /* a later minor version may have more kinds */
        REPORT(c, c->strict || !others ? WD_ERROR : WD_WARNING, message, "it is of no kind that its capability has");
}

static int check_message(struct check *c, yyjson_val *message)
{
    yyjson_val *schema = yyjson_obj_get(message, "$schema");
    size_t before = c->p->errors;
    c->rule = "AITP-7";
    if (!yyjson_is_obj(message) || !schema || !yyjson_is_str(schema))
        REPORT(c, WD_ERROR, schema ? schema : message, "a structured message is an object with the text '$schema'");
    else {
        enum wd_aitp_capability capability = wd_aitp_capability(wj_text(schema));
        c->rule = capability == WD_AITP_DECISIONS ? "AITP-8" : "AITP-14";
        if (capability)
            check_kinds(c, message, capability);
    }
    return (int)WB_MIN(c->p->errors - before, (size_t)INT32_MAX);
}

int wd_aitp_check(yyjson_val *message, bool strict, struct wd_problems *p)
{
    struct check c = {.p = p, .strict = strict};
    return check_message(&c, message);
}

int wd_aitp_check_inside(const yyjson_val *string, yyjson_val *inside, bool strict, struct wd_problems *p)
{
    struct check c = {.p = p, .string = string, .inside = inside, .strict = strict};
    return check_message(&c, inside);
}

int wd_aitp_structured(struct wb_arena *a, yyjson_val *item, yyjson_val **ret, struct upp_err *err)
{
    struct upp_err why = {0};
    struct upp_str s = wb_str_trim(item && yyjson_is_str(item) ? wj_text(item) : UPP_STR(""));
    if (!s.n || s.p[0] != '{' || wb_str_find(s, UPP_STR("\"$schema\""), 0) == SIZE_MAX)
        return 0;
    int r = wj_read(a, s, UPP_OPTS(wj_read_opts, .max_bytes = WD_DOC_BYTES), ret, &why);
    if (r == -UPP_EINVALID || r == -UPP_ELIMIT)
        return 0; /* not a structured message: ordinary text */
    if (r < 0 && err)
        *err = why;
    return r < 0 ? r : yyjson_obj_get(*ret, "$schema") != NULL;
}

bool wd_aitp_shares(yyjson_val *actors, const struct wd_aitp_schema *schema)
{
    yyjson_val *actor;
    size_t i, n;
    yyjson_arr_foreach(actors, i, n, actor)
    {
        if (!has_capability(actor, schema))
            return false;
    }
    return true;
}
