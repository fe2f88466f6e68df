/* dialects/core/convert.c — reads a document in its dialect, checks it, and writes it in another; the dialects by name.
 */
#include "dialects/core/convert.h"

#include "base/err.h"
#include "base/random.h"
#include "base/utf8.h"
#include "dialects/core/document.h"
#include "dialects/core/writer.h"
#include "json/read.h"
#include "json/value.h"

void wd_losses_done(struct wd_losses *l)
{
    wb_vec_done(&l->list);
}

void wd_problems_done(struct wd_problems *p)
{
    wb_vec_done(&p->list);
}

void wd_document_done(struct wd_document *d)
{
    wd_lifting_done(&d->lifting);
    wd_problems_done(&d->problems);
    wm_doc_done(&d->doc);
    wb_arena_done(&d->a);
    *d = (struct wd_document){0};
}

/* SplitMix64: pseudo-random numbers, the same for the same seed. */
static uint64_t next_number(uint64_t *state)
{
    return wb_mix(*state += 0x9e3779b97f4a7c15);
}

static struct upp_str make_id(void *arg, struct wb_arena *a, const char *prefix)
{
    struct wd_document *d = arg;
    uint64_t halves[2] = {next_number(&d->ids), next_number(&d->ids)};
    char hex[32];
    for (size_t i = 0; i < sizeof hex; i++)
        hex[i] = "0123456789abcdef"[halves[i / 16] >> (60 - i % 16 * 4) & 15];
    return wb_arena_join(a, (struct upp_str[]){wb_cstr(prefix), wb_str(hex, sizeof hex)}, 2);
}

/* *utf8: see wj_read_opts; may be NULL. */
static int read_json(struct wb_arena *a, struct upp_str text, yyjson_val **ret, bool *utf8, struct upp_err *err)
{
    return wj_read(
        a, text,
        UPP_OPTS(wj_read_opts, .flags = WJ_SKIP_BOM, .max_bytes = WD_DOC_BYTES, .depth = WD_DOC_DEPTH, .utf8 = utf8),
        ret, err);
}

static int find_ops(const struct wd_document_ops **ops, yyjson_val *root, struct upp_err *err)
{
    if (!*ops)
        *ops = wd_document_detect(root);
    return *ops ? 0 : upp_fail(err, UPP_EINVALID, "no dialect knows this document: name one");
}

/* Computes the residue: writes the document back, discards the output, and keeps what differs from the input. */
static int compare(struct wd_document *d, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(WD_DOC_BYTES);
    WB_CLEANUP(wd_lowering_done)
    struct wd_lowering l = {.doc = &d->doc,
                            .scratch = WB_ARENA(WD_DOC_MEMORY),
                            .keep = WB_ARENA(WD_DOC_MEMORY),
                            .now_ms = d->lifting.now_ms,
                            .dialect = d->ops->name,
                            .before = d->before,
                            .last = d->last,
                            .compare = &d->lifting};
    wj_writer_init(&l.w, &out, err);
    int r = d->ops->lower(&l, err);
    if (r >= 0)
        r = wj_writer_check(&l.w);
    if (r >= 0 && d->lifting.failed)
        r = upp_fail(err, -d->lifting.failed, "no room for all that the document said beside");
    d->last = wb_arena_dup(&d->a, l.last);
    return r < 0 ? r : wd_residue_attach(&d->lifting, d->ops->name, err);
}

int wd_document_read(struct wd_document *d, const struct wd_document_ops *ops, struct upp_str text,
                     const struct wd_convert_opts *opts, struct upp_err *err)
{
    static const struct wd_convert_opts none = {.size = sizeof none};
    if (!opts)
        opts = &none;
    *d = (struct wd_document){.ops = ops,
                              .a = WB_ARENA(WD_DOC_MEMORY),
                              .bytes = text.n,
                              .seed = opts->seed,
                              .ids = opts->seed,
                              .before = opts->before,
                              .last = opts->last};
    int r = read_json(&d->a, text, &d->root, NULL, err);
    if (r >= 0)
        r = find_ops(&d->ops, d->root, err);
    if (r < 0)
        return r;
    d->doc.dialect = wb_cstr(d->ops->name);
    d->problems = (struct wd_problems){.a = &d->a, .root = d->root};
    d->lifting = (struct wd_lifting){.a = &d->a,
                                     .root = d->root,
                                     .doc = &d->doc,
                                     .problems = &d->problems,
                                     .agent = opts->agent,
                                     .now_ms = opts->now_ms,
                                     .id = make_id,
                                     .arg = d};
    r = d->ops->lift(&d->lifting, d->root, err);
    if (r >= 0)
        r = wb_arena_check(&d->a, err);
    if (r >= 0 && d->problems.failed)
        r = upp_fail(err, UPP_ENOMEM, "no memory for problems");
    if (r >= 0)
        r = wm_doc_divide(&d->doc, err);
    return r < 0 || opts->forget ? r : compare(d, err);
}

static void report_residue(const struct wm_residue *list, uint32_t entry, struct upp_str to, struct upp_str reported,
                           struct wd_losses *losses)
{
    for (const struct wm_residue *x = list; x; x = x->next) {
        if (!x->json.n || wb_str_eq(x->dialect, to) || wb_str_eq(x->dialect, reported))
            continue;
        const struct upp_str what[] = {UPP_STR("what "), wb_str_sub(x->dialect, 0, 32), UPP_STR(" says of its "),
                                       wb_str_sub(x->slot, 0, 32)};
        wd_loss_add(losses, wd_loss_pointer(losses, entry), wb_arena_join(losses->a, what, WB_LEN(what)),
                    UPP_STR("only its own dialect has a place for it"));
    }
}

static int write_doc(const struct wm_doc *doc, const struct wd_document_ops *to, const struct wd_convert_opts *opts,
                     struct upp_str reported, struct wb_buf *out, struct wd_losses *losses, struct upp_err *err)
{
    static const struct wd_convert_opts none = {.size = sizeof none};
    if (!opts)
        opts = &none;
    if (losses && !(to->carries && !opts->pure)) {
        /* Reports the residue of other dialects, which is not written. The caller has reported that of the dialect
         * `reported`. */
        report_residue(doc->residue, WD_THREAD, wb_cstr(to->name), reported, losses);
        for (uint32_t i = 0; i < doc->entries.n; i++)
            report_residue(doc->entries.p[i].residue, i, wb_cstr(to->name), reported, losses);
    }
    WB_CLEANUP(wd_lowering_done)
    struct wd_lowering l = {.doc = doc,
                            .losses = losses,
                            .scratch = WB_ARENA(WD_DOC_MEMORY),
                            .keep = WB_ARENA(WD_DOC_MEMORY),
                            .temp = WB_BUF(WD_DOC_BYTES),
                            .now_ms = opts->now_ms,
                            .view = opts->view,
                            .target = opts->target,
                            .pure = opts->pure,
                            .no_system = opts->no_system,
                            .before = opts->before,
                            .last = opts->last,
                            .dialect = to->name};
    size_t from = out->n;
    wj_writer_init(&l.w, out, err);
    int r = to->lower(&l, err);
    if (r >= 0)
        r = wj_writer_check(&l.w);
    if (r >= 0 && losses && losses->failed)
        r = upp_fail(err, UPP_ENOMEM, "no memory for losses");
    if (r >= 0 && opts->items && l.items.to)
        *opts->items = l.items;
    else if (r >= 0 && opts->items && out->n > from && out->p[from] == '[')
        *opts->items = (struct wd_items){from + 1, out->n - 1};
    return r;
}

int wd_doc_write(const struct wm_doc *doc, const struct wd_document_ops *to, const struct wd_convert_opts *opts,
                 struct wb_buf *out, struct wd_losses *losses, struct upp_err *err)
{
    return write_doc(doc, to, opts, (struct upp_str){0}, out, losses, err);
}

int wd_document_write(struct wd_document *d, const struct wd_document_ops *to, const struct wd_convert_opts *opts,
                      struct wb_buf *out, struct wd_losses *losses, struct upp_err *err)
{
    wd_lost_sort(&d->lifting);
    if (losses && to != d->ops && !(to->carries && !(opts && opts->pure))) {
        wd_lost_report(&d->lifting, d->lifting.lost.p, d->lifting.lost.n, losses);
        losses->more += d->lifting.lost_more;
    }
    /* In most dialects the output fits into this and is never copied. A failure is sticky. */
    (void)wb_buf_reserve(out, WB_MIN(2 * d->bytes, (out->max - out->n) / 2));
    return write_doc(&d->doc, to, opts, wb_cstr(d->ops->name), out, losses, err);
}

int wd_document_detect_text(struct upp_str text, const struct wd_document_ops **ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WD_DOC_MEMORY);
    yyjson_val *root;
    int r = read_json(&a, text, &root, NULL, err);
    *ret = r < 0 ? NULL : wd_document_detect(root);
    return r < 0 ? r : 0;
}

int wd_document_validate(const struct wd_document_ops *ops, struct upp_str text, struct wb_arena *a,
                         struct wd_problems *problems, const struct wd_document_ops **ret, struct upp_err *err)
{
    yyjson_val *root;
    bool utf8 = false;
    int r = read_json(a, text, &root, &utf8, err);
    if (r >= 0)
        r = find_ops(&ops, root, err);
    if (r < 0)
        return r;
    *problems = (struct wd_problems){.a = a, .root = root, .utf8 = utf8};
    *ret = ops;
    r = ops->validate(problems, root, err);
    if (r >= 0 && !utf8 && ops->half_rule) {
        /* yyjson stores all values in one array. */
        for (yyjson_val *v = problems->root, *end = unsafe_yyjson_get_next(v); v < end; v++)
            if (yyjson_is_str(v) && wb_wtf8_lone(wj_text(v)))
                wd_problem(problems, ops->half, ops->half_rule, v, "a text with half of a surrogate pair");
    }
    if (r >= 0)
        r = wb_arena_check(a, err);
    return r >= 0 && problems->failed ? upp_fail(err, UPP_ENOMEM, "no memory for problems") : r;
}

/* clang-format off */
static const struct wd_document_ops *const documents[] = {
    &wd_document_thread,
    &wd_document_pydantic,
    &wd_document_ui,
    &wd_document_agentapi,
    &wd_document_aitp,
    &wd_document_assistants,
    &wd_document_envelope,
    &wd_document_upp,
    &wd_document_uap,
};
/* clang-format on */

const struct wd_document_ops *wd_document_at(size_t i)
{
    return i < WB_LEN(documents) ? documents[i] : NULL;
}

const struct wd_document_ops *wd_document_find(struct upp_str name)
{
    const struct wd_document_ops *ops = NULL;
    for (size_t i = 0; (ops = wd_document_at(i)) && !wb_str_eq(name, wb_cstr(ops->name)); i++)
        ;
    return ops;
}

const struct wd_document_ops *wd_document_detect(yyjson_val *root)
{
    const struct wd_document_ops *ops, *best = NULL;
    int sure = 0;
    for (size_t i = 0; (ops = wd_document_at(i)); i++) {
        int n = ops->detect(root);
        if (n > sure) {
            sure = n;
            best = ops;
        }
    }
    return best;
}
