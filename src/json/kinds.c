/* json/kinds.c — members without structure: text, numbers, words, values kept as they are. */
#include "json/decode.h"
#include "json/encode.h"
#include "json/number.h"
#include "json/value.h"

/* ---- Text ----------------------------------------------------------------------------------------- */

static int str_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    (void)d, (void)f;
    *(struct upp_str *)slot = wj_text(v);
    return 0;
}

static void str_put(struct wj_encoder *e, const struct wj_field *f, const void *slot)
{
    (void)f;
    wj_write_str(&e->w, *(const struct upp_str *)slot);
}

const struct wj_kind wj_kind_str = {.expects = "a string",
                                    .takes   = WJ_STRING,
                                    .has     = WJ_HAS_POINTER,
                                    .size    = sizeof(struct upp_str),
                                    .get     = str_get,
                                    .put     = str_put};

const struct wj_item wj_item_str = {&(const struct wj_field){.kind = &wj_kind_str}, sizeof(struct upp_str)};

/* ---- Text that is always the same -------------------------------------------------------------------- */

static int const_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    const struct upp_str *text = f->arg;
    (void)slot;
    if (wj_named(v, *text))
        return 0;
    char found[WJ_QUOTED];
    return wj_refuse(d, v, "expected '%.*s', found %s", UPP_FMT(*text), wj_quote(wj_text(v), found, sizeof found));
}

static void const_put(struct wj_encoder *e, const struct wj_field *f, const void *slot)
{
    (void)slot;
    wj_write_str(&e->w, *(const struct upp_str *)f->arg);
}

const struct wj_kind wj_kind_const = {
    .expects = "a string", .takes = WJ_STRING, .has = WJ_HAS_CONST, .get = const_get, .put = const_put};

/* ---- Numbers ---------------------------------------------------------------------------------------- */

static int number_out_of_range(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v)
{
    char found[64];
    return wj_refuse(d, v, "expected %s, found %s", f->kind->expects, wj_found(v, found, sizeof found));
}

/* Is this how wj_write_i64 and wj_write_u64 spell it? Then its text need not be remembered. */
static int integer_spelling(struct upp_str s)
{
    return s.n == 2 && s.p[0] == '-' && s.p[1] == '0' ? WJ_SPELLED : 0;
}

static int i64_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    if (WB_LIKELY(wb_str_i64(wj_text(v), slot)))
        return integer_spelling(wj_text(v));
    return wj_num_i64(wj_text(v), slot) ? WJ_SPELLED : number_out_of_range(d, f, v);
}

static void i64_put(struct wj_encoder *e, const struct wj_field *f, const void *slot)
{
    (void)f;
    wj_write_i64(&e->w, *(const int64_t *)slot);
}

static bool i64_same(const struct wj_field *f, yyjson_val *v, const void *slot)
{
    int64_t n;
    (void)f;
    return wj_num_i64(wj_text(v), &n) && n == *(const int64_t *)slot;
}

const struct wj_kind wj_kind_i64 = {.expects = "an integer of 64 bits",
                                    .takes   = WJ_NUMBER,
                                    .has     = WJ_HAS_BIT,
                                    .size    = sizeof(int64_t),
                                    .get     = i64_get,
                                    .put     = i64_put,
                                    .same    = i64_same};

static int u64_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    if (WB_LIKELY(wb_str_u64(wj_text(v), slot)))
        return 0;
    return wj_num_u64(wj_text(v), slot) ? WJ_SPELLED : number_out_of_range(d, f, v);
}

static void u64_put(struct wj_encoder *e, const struct wj_field *f, const void *slot)
{
    (void)f;
    wj_write_u64(&e->w, *(const uint64_t *)slot);
}

static bool u64_same(const struct wj_field *f, yyjson_val *v, const void *slot)
{
    uint64_t n;
    (void)f;
    return wj_num_u64(wj_text(v), &n) && n == *(const uint64_t *)slot;
}

const struct wj_kind wj_kind_u64 = {.expects = "an integer of 64 bits that is not negative",
                                    .takes   = WJ_NUMBER,
                                    .has     = WJ_HAS_BIT,
                                    .size    = sizeof(uint64_t),
                                    .get     = u64_get,
                                    .put     = u64_put,
                                    .same    = u64_same};

/* A double has a shortest text, and documents have any other: 1.0, 0.70, 1E5. The text is always remembered. */
static int f64_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    return wj_num_f64(wj_text(v), slot) ? WJ_SPELLED : number_out_of_range(d, f, v);
}

static void f64_put(struct wj_encoder *e, const struct wj_field *f, const void *slot)
{
    (void)f;
    wj_write_f64(&e->w, *(const double *)slot);
}

static bool f64_same(const struct wj_field *f, yyjson_val *v, const void *slot)
{
    double x;
    (void)f;
    return wj_num_f64(wj_text(v), &x) && memcmp(&x, slot, sizeof x) == 0; /* by bits: -0.0 is not 0.0 here */
}

const struct wj_kind wj_kind_f64 = {.expects = "a number in the range of a double",
                                    .takes   = WJ_NUMBER,
                                    .has     = WJ_HAS_BIT,
                                    .size    = sizeof(double),
                                    .get     = f64_get,
                                    .put     = f64_put,
                                    .same    = f64_same};

static void num_put(struct wj_encoder *e, const struct wj_field *f, const void *slot)
{
    (void)f;
    wj_write_num(&e->w, *(const struct upp_str *)slot);
}

const struct wj_kind wj_kind_num = {.expects = "a number",
                                    .takes   = WJ_NUMBER,
                                    .has     = WJ_HAS_POINTER,
                                    .size    = sizeof(struct upp_str),
                                    .get     = str_get,
                                    .put     = num_put};

/* ---- Words -------------------------------------------------------------------------------------------- */

static int bool_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    (void)d, (void)f;
    *(bool *)slot = unsafe_yyjson_get_bool(v);
    return 0;
}

static void bool_put(struct wj_encoder *e, const struct wj_field *f, const void *slot)
{
    (void)f;
    wj_write_bool(&e->w, *(const bool *)slot);
}

const struct wj_kind wj_kind_bool = {.expects = "true or false",
                                     .takes   = WJ_BOOL,
                                     .has     = WJ_HAS_BIT,
                                     .size    = sizeof(bool),
                                     .get     = bool_get,
                                     .put     = bool_put};

static const struct wj_word *find_word(const struct wj_enum *words, const yyjson_val *v)
{
    for (unsigned i = 0; i < words->n; i++)
        if (wj_named(v, words->words[i].text))
            return &words->words[i];
    return NULL;
}

__attribute__((noinline, cold)) static int unknown_word(struct wj_decoder *d, const struct wj_enum *words,
                                                        yyjson_val *v)
{
    struct wj_list list = {0};
    char           found[WJ_QUOTED];
    for (unsigned i = 0; i < words->n; i++)
        wj_list_add(&list, ", ", "'", words->words[i].text);
    return wj_refuse(d, v, "expected %s%s, found %s", words->n > 1 ? "one of " : "", list.p,
                     wj_quote(wj_text(v), found, sizeof found));
}

/* Enums are stored as int: every enum of ours fits, and gcc and clang give it that size. */
static int enum_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    const struct wj_enum *words = f->arg;
    const struct wj_word *word  = find_word(words, v);
    if (!word && !(f->flags & F_OPEN))
        return unknown_word(d, words, v);
    memcpy(slot, word ? &word->value : &words->other, sizeof(int));
    return word ? 0 : WJ_SPELLED;
}

static void enum_put(struct wj_encoder *e, const struct wj_field *f, const void *slot)
{
    const struct wj_enum *words = f->arg;
    int                   value;
    memcpy(&value, slot, sizeof value);
    for (unsigned i = 0; i < words->n; i++)
        if (words->words[i].value == value) {
            wj_write_str(&e->w, words->words[i].text);
            return;
        }
    wj_writer_fail(&e->w, upp_fail(e->w.err, UPP_EINVALID, "expected a value that has a word, found %d", value));
}

static bool enum_same(const struct wj_field *f, yyjson_val *v, const void *slot)
{
    const struct wj_enum *words = f->arg;
    return memcmp(slot, &words->other, sizeof(int)) == 0 && !find_word(words, v);
}

const struct wj_kind wj_kind_enum = {.expects = "a string",
                                     .takes   = WJ_STRING,
                                     .has     = WJ_HAS_BIT,
                                     .size    = sizeof(int),
                                     .get     = enum_get,
                                     .put     = enum_put,
                                     .same    = enum_same};

/* ---- Kept as they are ----------------------------------------------------------------------------------- */

static int any_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    (void)d, (void)f;
    *(yyjson_val **)slot = v;
    return 0;
}

static void any_put(struct wj_encoder *e, const struct wj_field *f, const void *slot)
{
    (void)f;
    e->value = *(yyjson_val *const *)slot;
    wj_write_value(&e->w, e->value);
}

const struct wj_kind wj_kind_any = {.expects = "a value",
                                    .takes   = WJ_NUMBER | WJ_NULL | WJ_BOOL | WJ_STRING | WJ_ARRAY | WJ_OBJECT,
                                    .has     = WJ_HAS_POINTER,
                                    .size    = sizeof(yyjson_val *),
                                    .get     = any_get,
                                    .put     = any_put};

static int map_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    struct wj_map *map = slot;
    (void)f;
    map->n = unsafe_yyjson_get_len(v);
    map->p = wb_new_n(d->arena, struct wj_pair, map->n ? map->n : 1); /* an empty map has a pointer too */
    if (!map->p)
        return wb_arena_check(d->arena, d->err);
    yyjson_val *name = unsafe_yyjson_get_first(v);
    for (size_t i = 0; i < map->n; i++, name = unsafe_yyjson_get_next(name + 1))
        map->p[i] = (struct wj_pair){wj_text(name), name + 1};
    return 0;
}

static void map_put(struct wj_encoder *e, const struct wj_field *f, const void *slot)
{
    const struct wj_map *map = slot;
    (void)f;
    wj_write_open(&e->w, '{');
    for (size_t i = 0; i < map->n; i++) {
        wj_write_name(&e->w, map->p[i].name);
        wj_write_value(&e->w, map->p[i].value);
    }
    wj_write_close(&e->w, '}');
}

const struct wj_kind wj_kind_map = {.expects = "an object",
                                    .takes   = WJ_OBJECT,
                                    .has     = WJ_HAS_POINTER,
                                    .size    = sizeof(struct wj_map),
                                    .get     = map_get,
                                    .put     = map_put};
