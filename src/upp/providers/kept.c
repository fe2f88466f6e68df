/* upp/providers/kept.c — is a call that was kept in a vendor's own form still the one that the message has?
 *
 * Somebody may have edited the message since. Then what was kept must not go back: the vendor would get what nobody
 * says any more, and the model would read a result of other arguments than the call has.
 */
#include "upp/providers/kept.h"

#include "base/str.h"
#include "json/compare.h"

static bool same(struct upp__body *b, yyjson_val *one, yyjson_val *other)
{
    int r = wj_equal(one, other, NULL);
    if (r < 0) /* else something different would go out */
        wj_writer_fail(&b->w, upp_fail(b->err, UPP_ENOMEM, "no memory for a request"));
    return r > 0;
}

/* Arguments as text mean this value. No text means the empty object. */
static bool means(struct upp__body *b, struct upp_str text, yyjson_val *value)
{
    yyjson_val *said = upp__look(b, text.n ? text : UPP_STR("{}"));
    return said && same(b, said, value);
}

/* Of a call that was cut off the message has arguments whose last brace is taken away (upp__say_cut). */
static struct upp_str closed(struct upp__body *b, struct upp_str text)
{
    return wb_arena_printf(b->arena, "%.*s}", UPP_FMT(text));
}

static bool same_text(struct upp__body *b, struct upp_str said, struct upp_str kept)
{
    kept = wb_str_trim(kept);
    return wb_str_eq(said, kept) || wb_str_eq(closed(b, said), kept);
}

static bool same_arguments(struct upp__body *b, struct upp_str said, yyjson_val *kept)
{
    said = wb_str_trim(said);
    if (yyjson_is_str(kept)) {
        if (same_text(b, said, wj_text(kept)))
            return true;
        struct upp_str text = wb_str_trim(wj_text(kept));
        kept                = upp__look(b, text.n ? text : UPP_STR("{}"));
        if (!kept)
            return false; /* no JSON: its text is all that there is to compare */
    }
    if (!kept || yyjson_is_null(kept))
        kept = upp__look(b, UPP_STR("{}"));
    if (!kept)
        return false;
    if (means(b, said, kept) || means(b, closed(b, said), kept))
        return true;
    yyjson_val *invalid = upp__get(kept, "INVALID_JSON"); /* upp__write_arguments */
    return yyjson_is_str(invalid) && yyjson_obj_size(kept) == 1 && same_text(b, said, wj_text(invalid));
}

bool upp__is_kept_call(struct upp__body *b, const struct upp_part *call, struct upp_str name, yyjson_val *arguments)
{
    return wb_str_eq(call->name, name) && same_arguments(b, call->text, arguments);
}
