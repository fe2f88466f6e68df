/* server/http/multipart.c — the states of a multipart parser: preamble, delimiter, headers, content. */
#include "server/http/multipart.h"

#include "base/err.h"
#include "base/str.h"

enum state {
    PREAMBLE,  /* before the first delimiter: skipped */
    DELIMITER, /* behind one: two dashes, or the end of the line */
    HEAD,
    CONTENT,
    EPILOGUE,
};

static int broken(struct sv_multipart *m, struct upp_err *err, const char *why)
{
    m->failed = true;
    if (m->parts)
        return upp_fail(err, UPP_EINVALID, "the multipart body is broken at byte %llu, in part %u: %s",
                        (unsigned long long)m->at, m->parts, why);
    return upp_fail(err, UPP_EINVALID, "the multipart body is broken at byte %llu: %s", (unsigned long long)m->at, why);
}

static void consume(struct sv_multipart *m, struct upp_str *input, size_t n)
{
    m->at += n;
    *input = wb_str(input->p + n, input->n - n);
}

/* ---- Parameters of a header -------------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* A quoted string at *rest, without its quotes; takes it off. Browsers write a quote as %22, others as \". */
static bool take_quoted(struct upp_str *rest, struct wb_buf *out)
{
    size_t i = 1;
    for (; i < rest->n && rest->p[i] != '"'; i++) {
        bool escape = rest->p[i] == '\\' && i + 1 < rest->n && (rest->p[i + 1] == '"' || rest->p[i + 1] == '\\');
        if (escape)
            i++;
        if (wb_str_starts(wb_str_sub(*rest, i, SIZE_MAX), UPP_STR("%22"))) {
            wb_buf_addc(out, '"');
            i += 2;
        } else
            wb_buf_addc(out, rest->p[i]);
    }
    if (i >= rest->n)
        return false;
    *rest = wb_str_sub(*rest, i + 1, SIZE_MAX);
    return true;
}

/* The next "; name=value" of a header. The value is added to the buffer. 1; 0: there is none; <0: it is broken. */
static int next_parameter(struct upp_str *rest, struct upp_str *name, struct wb_buf *value)
{
    bool begun = false;
    size_t at = 0;
    for (*rest = wb_str_trim(*rest); rest->n && rest->p[0] == ';'; begun = true) /* some write lone semicolons */
        *rest = wb_str_trim(wb_str_sub(*rest, 1, SIZE_MAX));
    if (!rest->n || !begun)
        return rest->n ? -UPP_EINVALID : 0;
    while (at < rest->n && rest->p[at] != '=' && rest->p[at] != ';')
        at++;
    *name = wb_str_trim(wb_str_sub(*rest, 0, at));
    if (at == rest->n || rest->p[at] == ';')
        return -UPP_EINVALID;
    *rest = wb_str_trim(wb_str_sub(*rest, at + 1, SIZE_MAX));
    if (rest->n && rest->p[0] == '"')
        return take_quoted(rest, value) ? 1 : -UPP_EINVALID;
    size_t end = 0;
    while (end < rest->n && rest->p[end] != ';' && !is_blank(rest->p[end]))
        end++;
    wb_buf_add(value, wb_str_sub(*rest, 0, end));
    *rest = wb_str_sub(*rest, end, SIZE_MAX);
    return 1;
}

/* The part of a header before its parameters, which stay in *rest. */
static struct upp_str take_word(struct upp_str *rest)
{
    size_t at = wb_str_find(*rest, UPP_STR(";"), 0);
    struct upp_str word = wb_str_trim(wb_str_sub(*rest, 0, at));
    *rest = wb_str_sub(*rest, at, SIZE_MAX);
    return word;
}

/* ---- The boundary ------------------------------------------------------------------------------------------------ */

static bool good_boundary(struct upp_str s)
{
    static const char more[] = "'()+_,-./:=? ";
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i], low = (char)(c | 0x20);
        if (!((c >= '0' && c <= '9') || (low >= 'a' && low <= 'z') || (c && strchr(more, c))))
            return false;
    }
    return s.n && s.n <= SV_MULTI_BOUNDARY && s.p[s.n - 1] != ' ';
}

int sv_multipart_init(struct sv_multipart *m, struct upp_str type, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf value = WB_BUF(SV_MULTI_HEAD);
    struct upp_str name, word = take_word(&type);
    int r = 0;
    bool found = false;
    *m = (struct sv_multipart){.matched = 2}; /* as if behind a line end */
    m->head = (struct wb_buf)WB_BUF(SV_MULTI_HEAD);
    m->texts = (struct wb_buf)WB_BUF(2 * SV_MULTI_HEAD);
    if (!wb_str_eq_nocase(word, UPP_STR("multipart/form-data")))
        return upp_fail(err, UPP_EINVALID, "the body is not multipart/form-data but '%.*s'", UPP_FMT(word));
    while (!found && (r = next_parameter(&type, &name, &value)) > 0) {
        found = wb_str_eq_nocase(name, UPP_STR("boundary"));
        if (!found)
            wb_buf_clear(&value);
    }
    int bad = wb_buf_check(&value, err);
    if (bad < 0)
        return bad;
    if (!found || !good_boundary(wb_buf_str(&value)))
        return upp_fail(err, UPP_EINVALID, "the Content-Type has no boundary of 1 to %d characters", SV_MULTI_BOUNDARY);
    memcpy(m->delimiter, "\r\n--", 4);
    memcpy(m->delimiter + 4, value.p, value.n);
    m->n_delimiter = 4 + value.n;
    return 0;
}

void sv_multipart_done(struct sv_multipart *m)
{
    wb_buf_done(&m->head);
    wb_buf_done(&m->texts);
}

/* ---- The head of a part ------------------------------------------------------------------------------------------ */

/* Texts of the part are stored one after the other; their offsets become pointers when all are there. */
struct span {
    size_t at, n;
    bool found;
};

static int read_disposition(struct sv_multipart *m, struct upp_str value, struct span *name, struct span *filename,
                            struct upp_err *err)
{
    struct upp_str key;
    int r;
    if (!wb_str_eq_nocase(take_word(&value), UPP_STR("form-data")))
        return broken(m, err, "its Content-Disposition is not form-data");
    for (;;) {
        size_t at = m->texts.n;
        if ((r = next_parameter(&value, &key, &m->texts)) <= 0)
            return r < 0 ? broken(m, err, "its Content-Disposition has a parameter without a value") : 0;
        struct span s = {at, m->texts.n - at, true};
        struct span *to = wb_str_eq_nocase(key, UPP_STR("name"))       ? name
                          : wb_str_eq_nocase(key, UPP_STR("filename")) ? filename
                                                                       : NULL;
        if (to && to->found)
            return broken(m, err, "its Content-Disposition has a parameter twice");
        if (to)
            *to = s;
    }
}

static struct upp_str text_of(const struct sv_multipart *m, struct span s)
{
    return s.found ? wb_str(wb_buf_str(&m->texts).p + s.at, s.n) : (struct upp_str){NULL, 0};
}

static int read_head(struct sv_multipart *m, struct upp_err *err)
{
    struct upp_str rest = wb_buf_str(&m->head), line;
    struct span name = {0}, filename = {0}, type = {0};
    wb_buf_clear(&m->texts);
    while (rest.n) {
        size_t end = wb_str_find(rest, UPP_STR("\r\n"), 0);
        line = wb_str_sub(rest, 0, end);
        rest = wb_str_sub(rest, end == SIZE_MAX ? SIZE_MAX : end + 2, SIZE_MAX);
        if (!line.n)
            continue;
        size_t colon = wb_str_find(line, UPP_STR(":"), 0);
        if (colon == SIZE_MAX || !colon || is_blank(line.p[0]))
            return broken(m, err, "a header without a name");
        struct upp_str key = wb_str_sub(line, 0, colon), value = wb_str_trim(wb_str_sub(line, colon + 1, SIZE_MAX));
        int r = 0;
        if (wb_str_eq_nocase(key, UPP_STR("content-disposition")))
            r = name.found ? broken(m, err, "it has two Content-Dispositions")
                           : read_disposition(m, value, &name, &filename, err);
        else if (wb_str_eq_nocase(key, UPP_STR("content-type"))) {
            type = (struct span){m->texts.n, value.n, true};
            wb_buf_add(&m->texts, value);
        } else if (wb_str_eq_nocase(key, UPP_STR("content-transfer-encoding")) &&
                   !wb_str_eq_nocase(value, UPP_STR("binary")) && !wb_str_eq_nocase(value, UPP_STR("8bit")) &&
                   !wb_str_eq_nocase(value, UPP_STR("7bit")))
            r = broken(m, err, "its Content-Transfer-Encoding is not taken: send the bytes as they are");
        if (r < 0)
            return r;
    }
    int r = wb_buf_check(&m->texts, err);
    if (r < 0)
        return r;
    m->name = text_of(m, name);
    m->filename = text_of(m, filename);
    m->type = text_of(m, type);
    return m->name.n ? SV_MULTI_PART : broken(m, err, "it has no name");
}

/* ---- States ------------------------------------------------------------------------------------------------------ */

/* Looks for the delimiter: -1: the input is used up; 0: *data is content; 1: the delimiter is complete. No byte of the
 * boundary is a CR, so a match that fails cannot contain the beginning of another one. */
static int find_delimiter(struct sv_multipart *m, struct upp_str *input, struct upp_str *data)
{
    size_t i = 0;
    if (!input->n)
        return -1;
    if (!m->matched) {
        const char *cr = memchr(input->p, '\r', input->n);
        size_t n = cr ? (size_t)(cr - input->p) : input->n;
        *data = wb_str(input->p, n);
        if (n) {
            consume(m, input, n);
            return 0;
        }
    }
    while (i < input->n && m->matched < m->n_delimiter && input->p[i] == m->delimiter[m->matched]) {
        i++;
        m->matched++;
    }
    size_t matched = m->matched;
    consume(m, input, i);
    if (matched == m->n_delimiter) {
        m->matched = 0;
        return 1;
    }
    if (!input->n)
        return -1;
    m->matched = 0;
    *data = wb_str(m->delimiter, matched);
    return 0;
}

static int in_preamble(struct sv_multipart *m, struct upp_str *input, struct upp_err *err)
{
    struct upp_str skipped;
    int found = 0;
    while (found == 0) {
        found = find_delimiter(m, input, &skipped);
        if (m->at > SV_MULTI_PREAMBLE && found <= 0)
            return broken(m, err, "no boundary as the Content-Type has it");
    }
    m->state = found > 0 ? DELIMITER : PREAMBLE;
    return 0;
}

/* Behind a delimiter: "--", or blanks and a line end. */
static int in_delimiter(struct sv_multipart *m, struct upp_str *input, struct upp_err *err)
{
    while (input->n && m->state == DELIMITER) {
        char c = input->p[0];
        if (m->last == '-' ? c != '-' : m->last == '\r' ? c != '\n' : !is_blank(c) && c != '\r' && c != '-')
            return broken(m, err, "a boundary is followed by a line end, or by two dashes");
        if (c == '-' && m->last == ' ')
            return broken(m, err, "a boundary is followed by a line end, or by two dashes");
        if (c == '\n')
            m->state = HEAD;
        else if (c == '-' && m->last == '-')
            m->state = EPILOGUE;
        m->last = (uint8_t)(is_blank(c) ? ' ' : c);
        consume(m, input, 1);
    }
    if (m->state == DELIMITER)
        return 0;
    m->last = 0;
    if (m->state == EPILOGUE)
        return SV_MULTI_END;
    if (m->parts == SV_MULTI_PARTS)
        return broken(m, err, "too many parts");
    m->parts++;
    wb_buf_clear(&m->head);
    return 0;
}

static int in_head(struct sv_multipart *m, struct upp_str *input, struct upp_err *err)
{
    while (input->n && m->state == HEAD) {
        wb_buf_addc(&m->head, input->p[0]);
        if (m->head.failed == -UPP_ELIMIT)
            return broken(m, err, "its headers are longer than 8 KiB");
        if (m->head.failed)
            return wb_buf_check(&m->head, err);
        consume(m, input, 1);
        struct upp_str head = wb_buf_str(&m->head);
        if (wb_str_eq(head, UPP_STR("\r\n")) || wb_str_ends(head, UPP_STR("\r\n\r\n")))
            m->state = CONTENT;
    }
    m->matched = 0;
    return m->state == CONTENT ? read_head(m, err) : 0;
}

static int in_content(struct sv_multipart *m, struct upp_str *input, struct upp_str *data)
{
    int found = find_delimiter(m, input, data);
    if (found > 0)
        m->state = DELIMITER;
    return found > 0 ? SV_MULTI_PART_END : found == 0 ? SV_MULTI_DATA : 0;
}

int sv_multipart_next(struct sv_multipart *m, struct upp_str *input, struct upp_str *data, struct upp_err *err)
{
    int r = 0;
    if (m->failed)
        return upp_fail(err, UPP_EINVALID, "the multipart body is broken");
    while (r == 0 && input->n)
        switch ((enum state)m->state) {
        case PREAMBLE:
            r = in_preamble(m, input, err);
            break;
        case DELIMITER:
            r = in_delimiter(m, input, err);
            break;
        case HEAD:
            r = in_head(m, input, err);
            break;
        case CONTENT:
            r = in_content(m, input, data);
            break;
        case EPILOGUE:
            consume(m, input, input->n);
            break;
        }
    return r;
}

int sv_multipart_check_end(const struct sv_multipart *m, struct upp_err *err)
{
    if (m->state == EPILOGUE && !m->failed)
        return 0;
    return upp_fail(err, UPP_EINVALID,
                    m->parts ? "the multipart body ends at byte %llu, in part %u, before its last boundary"
                             : "the multipart body ends at byte %llu, and has no part",
                    (unsigned long long)m->at, m->parts);
}
