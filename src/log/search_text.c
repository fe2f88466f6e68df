/* log/search_text.c — which text of an entry is searched. */
#include "base/log.h"
#include "base/utf8.h"
#include "log/lines.h"
#include "log/search.h"

const char *const wl_index_names[] = {"substrings", "words", "off", NULL};

/* Letters whose upper and lower case are two bytes each: Latin, Greek, Cyrillic. Others are compared as they are. */
static uint32_t lower(uint32_t c)
{
    static const struct {
        uint16_t from, to;
        uint8_t every; /* 1: each letter; 2: every second one, starting with the first */
        int16_t by;
    } ranges[] = {
        {0x00c0, 0x00d6, 1, 32}, {0x00d8, 0x00de, 1, 32}, {0x0100, 0x012f, 2, 1},    {0x0132, 0x0137, 2, 1},
        {0x0139, 0x0148, 2, 1},  {0x014a, 0x0177, 2, 1},  {0x0178, 0x0178, 1, -121}, {0x0179, 0x017e, 2, 1},
        {0x0386, 0x0386, 1, 38}, {0x0388, 0x038a, 1, 37}, {0x038c, 0x038c, 1, 64},   {0x038e, 0x038f, 1, 63},
        {0x0391, 0x03a1, 1, 32}, {0x03a3, 0x03ab, 1, 32}, {0x03c2, 0x03c2, 1, 1},    {0x0400, 0x040f, 1, 80},
        {0x0410, 0x042f, 1, 32}, {0x0460, 0x0481, 2, 1},  {0x048a, 0x04bf, 2, 1},    {0x04d0, 0x052f, 2, 1},
    };
    for (size_t i = 0; i < WB_LEN(ranges) && c >= ranges[i].from; i++)
        if (c <= ranges[i].to && (c - ranges[i].from) % ranges[i].every == 0)
            return (uint32_t)((int32_t)c + ranges[i].by);
    return c;
}

int wl__search_on(const struct wl_store *s, struct upp_err *err)
{
    return wl_store_index(s) == WL_INDEX_OFF
               ? upp_fail(err, UPP_EREFUSED,
                          "the search is off: `search` of the configuration is neither words nor substrings")
               : 0;
}

void wl__fold(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c >= 'A' && c <= 'Z')
            p[i] = (char)(c + 32);
        else if (c < ' ')
            p[i] = ' ';
        else if (c >= 0xc2 && c <= 0xdf && i + 1 < n) {
            uint32_t x = lower((uint32_t)(c & 0x1f) << 6 | ((unsigned char)p[i + 1] & 0x3f));
            p[i] = (char)(0xc0 | x >> 6);
            p[++i] = (char)(0x80 | (x & 0x3f));
        }
    }
}

bool wl__is_public(const struct wm_entry *e)
{
    return e->audience == WM_AUDIENCE_ALL && !wm_is_erased(e) &&
           (e->kind == WM_ENTRY_MESSAGE || e->kind == WM_ENTRY_REPAIR);
}

static void add_text(struct wb_buf *text, struct upp_str s)
{
    size_t room = WL_SEARCH_TEXT - WB_MIN(text->n, (size_t)WL_SEARCH_TEXT);
    if (!s.n || room < 8)
        return;
    if (text->n)
        wb_buf_addc(text, '\n');
    wb_utf8_add_clean(text, wb_str(s.p, wb_utf8_cut(s, room / 3))); /* an invalid byte becomes three */
}

static void add_tool(struct wb_buf *tools, struct upp_str name)
{
    if (!name.n || tools->n + name.n > WL_SEARCH_TEXT)
        return;
    if (tools->n)
        wb_buf_addc(tools, '\n');
    wb_utf8_add_clean(tools, name);
}

void wl__text_of(const struct wm_entry *e, struct wb_buf *text, struct wb_buf *tools)
{
    for (size_t i = 0; i < e->message.n_parts; i++) {
        const struct upp_part *p = &e->message.parts[i];
        if (p->kind == UPP_PART_TEXT || p->kind == UPP_PART_CALL || p->kind == UPP_PART_RESULT)
            add_text(text, p->text);
        else if (p->media && p->media->source == UPP_SOURCE_TEXT)
            add_text(text, p->media->data);
        if (p->kind == UPP_PART_CALL || p->kind == UPP_PART_RESULT)
            add_tool(tools, p->name);
    }
}

static bool has_refs(const struct wm_row *row)
{
    for (size_t i = 0; i < row->n_entries; i++)
        if (row->entries[i].n_refs)
            return true;
    return false;
}

WEFT_SUSPENDS static int read_lines(struct wl_store *s, const struct wl_owner *o, const struct wl_row *row,
                                    struct wb_arena *a, struct wl_line *lines, struct upp_err *err)
{
    struct wm_row parsed;
    uint32_t first = wl_pos_index(row->pos);
    int r = wm_row_read_entries(a, row->format, row->body, &parsed, err);
    if (r < 0)
        return r;
    if (parsed.n_entries != row->n_entries)
        return upp_fail(err, UPP_ESTORE, "it does not hold as many entries as it says");
    if (has_refs(&parsed)) /* their results are in other rows */
        return wl__lines(s, o, row->node, first, first + row->n_entries, a, lines, NULL, err);
    for (uint32_t i = 0; i < row->n_entries; i++) {
        lines[i] = (struct wl_line){.node = row->node, .index = first + i, .run = row->run, .entry = parsed.entries[i]};
        lines[i].id = wm_id_uuid((struct wm_id){
            .node = row->node, .index = first + i, .noun = WM_NOUN_ENTRY, .attempt = lines[i].entry.attempt});
    }
    return 0;
}

WEFT_SUSPENDS int wl__row_lines(struct wl_store *s, const struct wl_owner *o, const struct wl_row *row,
                                struct wb_arena *a, struct wl_line **ret, size_t *n, struct upp_err *err)
{
    *n = 0;
    if (!row->n_entries)
        return 0;
    struct wl_line *lines = wb_new_n(a, struct wl_line, row->n_entries);
    if (!lines)
        return wb_arena_check(a, err);
    struct upp_err why = {0};
    int r = read_lines(s, o, row, a, lines, &why);
    if (r == -UPP_ESTORE || r == -UPP_ENOTFOUND || r == -UPP_EINVALID) {
        wb_log(WB_WARN, "row not searched", WB_LZ("why", why.msg)); /* one bad row must not hide all that follow */
        return 0;
    }
    if (r < 0) {
        if (err)
            *err = why;
        return r;
    }
    *ret = lines;
    *n = row->n_entries;
    return 0;
}
