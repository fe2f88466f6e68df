/* server/doors/objects/message_files.c — images and attachments of messages in requests.
 *
 * A message never contains the bytes of an uploaded file: an image and an attachment are parts with the file's address
 * (model/file_url.h). That the file exists, and that an image is one, is checked when the message is created.
 */
#include <stdio.h>

#include "base/defs.h"
#include "json/value.h"
#include "log/file.h"
#include "model/file_url.h"
#include "run/engine.h"
#include "run/settings/files.h"
#include "server/doors/objects/message_files.h"
#include "server/http/server.h"

enum { ATTACHMENTS = 64, FILES = 256 /* of one message */ };

#define FILES_PATH   "/v1/files/"
#define CONTENT_PATH "/content"

static int file_part(struct wb_arena *a, uint8_t kind, struct upp_str url, struct upp_str metadata,
                     struct upp_part *ret, struct upp_err *err)
{
    struct upp_media *m = wb_new(a, struct upp_media);
    if (!m)
        return wb_arena_check(a, err);
    *m = (struct upp_media){.source = UPP_SOURCE_URL, .data = url};
    *ret = (struct upp_part){.kind = kind, .media = m, .metadata = metadata};
    return wb_arena_check(a, err);
}

static struct upp_str address(struct wb_arena *a, struct upp_str id)
{
    return wb_arena_join(a, (struct upp_str[]){UPP_STR(WM_FILE_SCHEME), id}, 2);
}

/* How closely a model looks at an image: kept for the provider, too. */
static int read_detail(const struct sv_body *b, yyjson_val *image, struct wb_arena *a, struct upp_str *ret,
                       struct upp_err *err)
{
    struct upp_str detail;
    int r = sv_body_str(b, image, UPP_STR("detail"), &detail, err);
    if (r <= 0)
        return r;
    if (!wb_str_eq(detail, UPP_STR("auto")) && !wb_str_eq(detail, UPP_STR("low")) &&
        !wb_str_eq(detail, UPP_STR("high")))
        return sv_body_wrong(b, sv_member(image, UPP_STR("detail")), err, "detail is auto, low or high");
    *ret = wb_arena_printf(a, "{\"openai\":{\"detail\":\"%.*s\"}}", UPP_FMT(detail));
    return wb_arena_check(a, err);
}

int sv_read_image(const struct sv_body *b, yyjson_val *v, bool file, struct wb_arena *a, struct upp_part *ret,
                  struct upp_err *err)
{
    const char *name = file ? "image_file" : "image_url", *member = file ? "file_id" : "url";
    yyjson_val *image = NULL;
    struct upp_str text = {NULL, 0}, metadata = {NULL, 0}, id;
    int r = sv_body_object(b, v, wb_cstr(name), &image, err);
    if (r > 0)
        r = sv_body_str(b, image, wb_cstr(member), &text, err);
    if (r >= 0)
        r = read_detail(b, image, a, &metadata, err);
    if (r < 0)
        return r;
    if (!text.n)
        return sv_body_wrong(b, v, err, "an image needs %s.%s", name, member);
    if (!file && wm_file_url(text, &id))
        return sv_body_wrong(b, sv_member(image, UPP_STR("url")), err, "a file is given as image_file");
    if (file && !wb_str_starts(text, UPP_STR(WL_FILE_PREFIX)))
        return sv_body_wrong(b, sv_member(image, UPP_STR("file_id")), err, "the id of a file begins with 'file-'");
    return file_part(a, UPP_PART_IMAGE, file ? address(a, text) : text, metadata, ret, err);
}

int sv_read_file(const struct sv_body *b, yyjson_val *v, uint8_t kind, struct wb_arena *a, struct upp_part *ret,
                 struct upp_err *err)
{
    struct upp_str id = {NULL, 0};
    int r = sv_body_str(b, v, UPP_STR("file_id"), &id, err);
    if (r <= 0)
        return r;
    if (!wb_str_starts(id, UPP_STR(WL_FILE_PREFIX)))
        return sv_body_wrong(b, sv_member(v, UPP_STR("file_id")), err, "the id of a file begins with 'file-'");
    r = file_part(a, kind, address(a, id), (struct upp_str){NULL, 0}, ret, err);
    return r < 0 ? r : 1;
}

/* What follows http://HOST, if that is us. */
static struct upp_str own_path(struct sv_exchange *x, struct upp_str url)
{
    size_t n, at = wb_str_find(url, UPP_STR("://"), 0);
    struct upp_str host = sv_http_header(x->request, UPP_STR("host"), &n), rest = wb_str_sub(url, at + 3, SIZE_MAX);
    if (at == SIZE_MAX || !host.n || !wb_str_starts(url, UPP_STR("http")) || !wb_str_starts(rest, host))
        return url;
    return wb_str_sub(rest, host.n, SIZE_MAX);
}

bool sv_file_of_url(struct sv_exchange *x, struct upp_str url, struct upp_str *id)
{
    struct upp_str path = own_path(x, url), end = UPP_STR(CONTENT_PATH);
    *id = wb_str_sub(url, sizeof WM_FILE_URN - 1, SIZE_MAX);
    if (wb_str_starts(url, UPP_STR(WM_FILE_URN WL_FILE_PREFIX)))
        return true;
    if (!wb_str_starts(path, UPP_STR(FILES_PATH WL_FILE_PREFIX)) || !wb_str_ends(path, end))
        return false;
    *id = wb_str_sub(path, sizeof FILES_PATH - 1, path.n - end.n - (sizeof FILES_PATH - 1));
    return true;
}

int sv_file_part(struct wb_arena *a, struct upp_str id, struct upp_str mime, struct upp_part *ret, struct upp_err *err)
{
    struct upp_media *m = wb_new(a, struct upp_media);
    if (!m)
        return wb_arena_check(a, err);
    *m = (struct upp_media){.source = UPP_SOURCE_URL, .data = address(a, id), .mime = mime};
    *ret = (struct upp_part){.kind = wb_str_starts(mime, UPP_STR("image/")) ? UPP_PART_IMAGE : UPP_PART_DOCUMENT,
                             .media = m};
    return wb_arena_check(a, err);
}

WEFT_SUSPENDS static int find_file(struct sv_exchange *x, const struct sv_body *b, yyjson_val *at, struct upp_str id,
                                   struct wl_file *ret, struct upp_err *err)
{
    int r = wl_file_find(x->server->opts.store, &x->owner, id, &x->arena, ret, err);
    return r == -UPP_ENOTFOUND ? sv_body_wrong(b, at, err, "No such File object: %.*s", UPP_FMT(id)) : r;
}

WEFT_SUSPENDS static int check_image(struct sv_exchange *x, const struct sv_body *b, yyjson_val *at, struct upp_str id,
                                     struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4 * WL_PIECE);
    struct wl_file f;
    struct wl_piece p;
    int r = find_file(x, b, at, id, &f, err);
    if (r >= 0)
        r = wl_get_piece(x->server->opts.store, &x->owner, &f.blob, 0, &a, &p, err);
    if (r < 0)
        return r;
    if (!wr_image_type(p.bytes))
        return sv_body_wrong(b, at, err, "the file %.*s is no image: PNG, JPEG, GIF and WebP are taken", UPP_FMT(id));
    return f.bytes > WR_FILE_IMAGE ? sv_body_wrong(b, at, err, "the image has more than 20 MiB") : 0;
}

int sv_check_files(struct sv_exchange *x, const struct sv_body *b, yyjson_val *at, const struct wm_entry *list,
                   size_t from, size_t n, struct upp_err *err)
{
    struct upp_str id;
    struct wl_file f;
    size_t files = 0;
    int r = 0;
    for (size_t i = from; i < n; i++)
        for (size_t k = 0; r >= 0 && k < list[i].message.n_parts; k++) {
            const struct upp_part *p = &list[i].message.parts[k];
            if (!wm_part_file(p, &id))
                continue;
            if (++files > FILES)
                return sv_body_wrong(b, at, err, "at most %d files", FILES);
            r = p->kind == UPP_PART_IMAGE ? check_image(x, b, at, id, err) : find_file(x, b, at, id, &f, err);
        }
    return r < 0 ? r : 0;
}

static int check_tools(struct sv_exchange *x, const struct sv_body *b, yyjson_val *tools,
                       const struct wr_agent_def *agent, struct upp_err *err)
{
    yyjson_val *tool;
    size_t i, n;
    yyjson_arr_foreach(tools, i, n, tool)
    {
        int r = sv_check_hosted(x, b, tool, agent, err);
        if (r < 0)
            return r;
    }
    return 0;
}

WEFT_SUSPENDS static int read_attachment(struct sv_exchange *x, const struct sv_body *b, yyjson_val *v,
                                         const struct wr_agent_def *agent, struct upp_part *ret, struct upp_err *err)
{
    struct upp_str id = {NULL, 0}, text = {NULL, 0}, metadata = {NULL, 0};
    yyjson_val *tools = NULL;
    struct wl_file f;
    if (!yyjson_is_obj(v))
        return sv_body_wrong(b, v, err, "an attachment is an object");
    int r = sv_body_str(b, v, UPP_STR("file_id"), &id, err);
    if (r == 0)
        return sv_body_wrong(b, v, err, "an attachment needs file_id");
    if (r > 0 && !wb_str_starts(id, UPP_STR(WL_FILE_PREFIX)))
        return sv_body_wrong(b, sv_member(v, UPP_STR("file_id")), err, "the id of a file begins with 'file-'");
    if (r >= 0)
        r = sv_body_array(b, v, UPP_STR("tools"), &tools, err);
    if (r >= 0)
        r = check_tools(x, b, tools, agent, err);
    if (r >= 0)
        r = find_file(x, b, sv_member(v, UPP_STR("file_id")), id, &f, err);
    if (r >= 0 && tools)
        r = sv_body_text(&x->arena, tools, &text, err);
    if (r < 0)
        return r;
    if (tools)
        metadata = wb_arena_printf(&x->arena, "{\"assistants\":{\"tools\":%.*s}}", UPP_FMT(text));
    return file_part(&x->arena, UPP_PART_DOCUMENT, address(&x->arena, id), metadata, ret, err);
}

WEFT_SUSPENDS static int read_attachments(struct sv_exchange *x, const struct sv_body *b, yyjson_val *v,
                                          const struct wr_agent_def *agent, struct upp_message *m, struct upp_err *err)
{
    yyjson_val *list = NULL, *one;
    size_t i, n;
    int r = sv_body_array(b, v, UPP_STR("attachments"), &list, err);
    if (r <= 0 || !yyjson_arr_size(list))
        return r < 0 ? r : 0;
    if (m->role != UPP_ROLE_USER)
        return sv_body_wrong(b, list, err, "only messages of a user have attachments");
    if (yyjson_arr_size(list) > ATTACHMENTS)
        return sv_body_wrong(b, list, err, "at most %d attachments", ATTACHMENTS);
    struct upp_part *parts = wb_new_n(&x->arena, struct upp_part, m->n_parts + yyjson_arr_size(list));
    if (!parts)
        return wb_arena_check(&x->arena, err);
    memcpy(parts, m->parts, m->n_parts * sizeof *parts);
    m->parts = parts;
    yyjson_arr_foreach(list, i, n, one)
    {
        r = read_attachment(x, b, one, agent, &parts[m->n_parts], err);
        if (r < 0)
            return r;
        m->n_parts++;
    }
    return 0;
}

WEFT_SUSPENDS int sv_read_files(struct sv_exchange *x, const struct sv_body *b, yyjson_val *v,
                                const struct wr_agent_def *agent, struct upp_message *m, struct upp_err *err)
{
    yyjson_val *content = sv_member(v, UPP_STR("content")), *part;
    size_t i, n;
    if (!yyjson_is_obj(v))
        return 0;
    if (yyjson_is_arr(content) && yyjson_arr_size(content) > FILES)
        return sv_body_wrong(b, content, err, "at most %d parts of a content", FILES);
    yyjson_arr_foreach(content, i, n, part)
    {
        yyjson_val *at =
            yyjson_is_obj(part) ? sv_member(sv_member(part, UPP_STR("image_file")), UPP_STR("file_id")) : NULL;
        int r = at ? check_image(x, b, at, wj_text(at), err) : 0;
        if (r < 0)
            return r;
    }
    return read_attachments(x, b, v, agent, m, err);
}

static bool has_tool(const struct wr_agent_def *agent, struct upp_str name)
{
    for (size_t i = 0; agent && i < agent->n_tools; i++)
        if (wb_str_eq(agent->tools[i].spec.name, name))
            return true;
    return false;
}

int sv_check_hosted(struct sv_exchange *x, const struct sv_body *b, yyjson_val *tool, const struct wr_agent_def *agent,
                    struct upp_err *err)
{
    struct upp_str type = {NULL, 0};
    yyjson_val *at = yyjson_is_obj(tool) ? sv_member(tool, UPP_STR("type")) : NULL;
    if (!yyjson_is_obj(tool))
        return sv_body_wrong(b, tool, err, "a tool is an object");
    int r = sv_body_str(b, tool, UPP_STR("type"), &type, err);
    if (r < 0)
        return r;
    if (!wb_str_eq(type, UPP_STR("file_search")) && !wb_str_eq(type, UPP_STR("code_interpreter")))
        return sv_body_wrong(b, at ? at : tool, err,
                             "tools of type '%.*s' are not supported: there are functions of the client, and "
                             "file_search and code_interpreter of agents that have them",
                             UPP_FMT(type));
    if (!agent)
        agent = wr_agent(x->core->engine, (struct upp_str){NULL, 0});
    if (has_tool(agent, type))
        return 0;
    if (!agent)
        return sv_body_wrong(b, at, err, "there is no %.*s: agents.NAME.hosted in the configuration maps it to a tool",
                             UPP_FMT(type));
    return sv_body_wrong(b, at, err,
                         "the agent '%.*s' has no %.*s: agents.NAME.hosted in the configuration maps it to a tool",
                         UPP_FMT(agent->name), UPP_FMT(type));
}
