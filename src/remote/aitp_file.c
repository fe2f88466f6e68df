/* remote/aitp_file.c — an agent behind an AITP-T01 service: the files of our messages, uploaded to it one by one before
 * the message that names them. A message of AITP is text; its attachments are files of the service.
 */
#include <stdio.h>

#include "base/base64.h"
#include "base/defs.h"
#include "base/err.h"
#include "remote/aitp.h"

bool rm_aitp_is_file(const struct upp_part *p)
{
    return p->media && p->media->data.n && p->media->source != UPP_SOURCE_URL;
}

const struct upp_media *rm_aitp_file(const struct upp_message *m, size_t n)
{
    for (size_t i = 0; n < RM_ATTACHMENTS && i < m->n_parts; i++)
        if (rm_aitp_is_file(&m->parts[i]) && n-- == 0)
            return m->parts[i].media;
    return NULL;
}

uint8_t rm_aitp_stage(const struct upp_request *req, const struct rm_exchange *e)
{
    return !e->no_files && rm_aitp_file(req->messages[e->at], e->sent.n) ? RM_UPLOAD : RM_ADD;
}

/* A text for a header of a part: nothing in it may end the header or its quotes. */
static void add_plain(struct wb_buf *out, struct upp_str text)
{
    for (size_t i = 0; i < text.n; i++)
        wb_buf_addc(out, (unsigned char)text.p[i] < ' ' || text.p[i] == '"' || text.p[i] == '\\' || text.p[i] == 127
                             ? '_'
                             : text.p[i]);
}

/* A boundary that the file does not contain. */
static struct upp_str boundary_for(struct wb_arena *a, struct upp_str bytes)
{
    struct upp_str line = UPP_STR("weft-file");
    for (unsigned i = 0; line.p && wb_str_find(bytes, line, 0) != SIZE_MAX; i++)
        line = wb_arena_printf(a, "weft-file-%u", i);
    return line;
}

int rm_aitp_put_file(const struct upp_media *m, struct upp__outgoing *out, struct upp_str *type, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf bytes = WB_BUF(UPP__JSON);
    struct upp_str name = m->title.n ? m->title : UPP_STR("file");
    struct upp_str mime = m->mime.n                      ? m->mime
                          : m->source == UPP_SOURCE_TEXT ? UPP_STR("text/plain")
                                                         : UPP_STR("application/octet-stream");
    int r = 0;
    if (m->source == UPP_SOURCE_TEXT)
        wb_buf_add(&bytes, m->data);
    else
        r = wb_base64_decode(m->data, &bytes, err);
    if (r >= 0)
        r = wb_buf_check(&bytes, err);
    if (r < 0)
        return r;
    struct upp_str line = boundary_for(out->arena, wb_buf_str(&bytes));
    *type = wb_arena_printf(out->arena, "multipart/form-data; boundary=%.*s", UPP_FMT(line));
    wb_buf_addf(&out->body, "--%.*s\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nassistants\r\n",
                UPP_FMT(line));
    wb_buf_addf(&out->body, "--%.*s\r\ncontent-disposition: form-data; name=\"file\"; filename=\"", UPP_FMT(line));
    add_plain(&out->body, name);
    wb_buf_addf(&out->body, "\"\r\ncontent-type: ");
    add_plain(&out->body, mime);
    wb_buf_addf(&out->body, "\r\n\r\n");
    wb_buf_add(&out->body, wb_buf_str(&bytes));
    wb_buf_addf(&out->body, "\r\n--%.*s--\r\n", UPP_FMT(line));
    r = wb_buf_check(&out->body, err);
    return r < 0 ? r : wb_arena_check(out->arena, err);
}
