/* cli/documents/dump.c — collects the objects of a dump from its files, groups them by thread, and writes each as a
 * document. */
#include "cli/documents/dump.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/file.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"

enum {
    DEPTH = 8,         /* folders, and lists in lists */
    OBJECTS = 1 << 22, /* and notes, and files of the folder */
    JSON_MAX = 256 << 20,
    ARENA_MAX = 2000 << 20,
};

static const char *const objects[] = {"thread", "thread.message", "thread.run", "thread.run.step", "file", "assistant"};
static const char *const members[] = {"thread",    "messages", "runs",       "steps",
                                      "run_steps", "files",    "assistants", "data"};

/* Objects that belong to no thread. */
static bool is_apart(enum cli_dump_kind kind)
{
    return kind == CLI_DUMP_FILE || kind == CLI_DUMP_ASSISTANT;
}

static int no_memory(struct upp_err *err)
{
    return upp_fail(err, UPP_ENOMEM, "no memory for the dump, or more than %d objects", OBJECTS);
}

static int note(struct cli_dump *d, const char *path, struct upp_str what, const char *why, struct upp_err *err)
{
    struct upp_str text = wb_arena_printf(&d->a, "%s: %.*s%s%s", path, UPP_FMT(what), what.n ? " " : "", why);
    return text.p && wb_vec_push(&d->notes, text, OBJECTS) ? 0 : no_memory(err);
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

static bool is_named(yyjson_val *key, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (wb_str_eq(wj_text(key), wb_cstr(names[i])))
            return true;
    return false;
}

static uint64_t number_at(yyjson_val *v, const char *name)
{
    yyjson_val *x = yyjson_obj_get(v, name);
    uint64_t n = 0;
    return x && (yyjson_is_num(x) || yyjson_is_raw(x)) && wb_str_u64(wj_text(x), &n) ? n : 0;
}

static int collect(struct cli_dump *d, const char *path, yyjson_val *v, unsigned depth, struct upp_err *err);

/* The API sends lists newest first, and people save them as they come. */
static bool newest_first(yyjson_val *list, bool page)
{
    yyjson_val *first = yyjson_arr_get_first(list), *last = yyjson_arr_get_last(list);
    uint64_t a = number_at(first, "created_at"), b = number_at(last, "created_at");
    if (a != b)
        return a > b;
    return page && wb_str_eq(wj_text_at(first, "role"), UPP_STR("assistant")) &&
           wb_str_eq(wj_text_at(last, "role"), UPP_STR("user"));
}

static int collect_list(struct cli_dump *d, const char *path, yyjson_val *list, bool page, unsigned depth,
                        struct upp_err *err)
{
    size_t n = yyjson_arr_size(list);
    bool back = newest_first(list, page);
    int r = 0;
    yyjson_val **items = wb_new_n(&d->a, yyjson_val *, n + 1), *v;
    size_t i, max;
    if (!items)
        return no_memory(err);
    yyjson_arr_foreach(list, i, max, v) items[back ? n - 1 - i : i] = v;
    for (i = 0; r >= 0 && i < n; i++)
        r = collect(d, path, items[i], depth + 1, err);
    return r;
}

/* Members of an object that are lists of others. */
static int collect_members(struct cli_dump *d, const char *path, yyjson_val *v, bool all, unsigned depth,
                           struct upp_err *err)
{
    yyjson_val *key, *value;
    size_t i, n;
    int r = 0;
    yyjson_obj_foreach(v, i, n, key, value)
    {
        if (is_named(key, members, WB_LEN(members)) && yyjson_is_ctn(value))
            r = collect(d, path, value, depth + 1, err);
        else if (all)
            r = note(d, path, wj_text(key), "is not taken", err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int collect(struct cli_dump *d, const char *path, yyjson_val *v, unsigned depth, struct upp_err *err)
{
    struct upp_str object = wj_text_at(v, "object");
    if (depth > DEPTH)
        return upp_fail(err, UPP_EINVALID, "%s: lists in lists, deeper than %d", path, DEPTH);
    if (yyjson_is_arr(v))
        return collect_list(d, path, v, false, depth, err);
    if (!yyjson_is_obj(v))
        return note(d, path, (struct upp_str){NULL, 0}, "a value that is no object is not taken", err);
    if (wb_str_eq(object, UPP_STR("list")) && yyjson_is_arr(yyjson_obj_get(v, "data")))
        return collect_list(d, path, yyjson_obj_get(v, "data"), true, depth, err);
    if (!object.p)
        return collect_members(d, path, v, true, depth, err);
    for (size_t i = 0; i < WB_LEN(objects); i++) {
        if (!wb_str_eq(object, wb_cstr(objects[i])))
            continue;
        struct cli_dump_object x = {.v = v,
                                    .kind = (enum cli_dump_kind)i,
                                    .id = wj_text_at(v, "id"),
                                    .thread = wj_text_at(v, i == CLI_DUMP_THREAD ? "id" : "thread_id"),
                                    .created = number_at(v, "created_at"),
                                    .order = d->objects.n};
        if (!wb_vec_push(&d->objects, x, OBJECTS))
            return no_memory(err);
        return i == CLI_DUMP_THREAD || i == CLI_DUMP_RUN ? collect_members(d, path, v, false, depth, err) : 0;
    }
    return note(d, path, object, "is no object of a thread, and is not taken", err);
}

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

/* JSON, or JSON lines. */
static int collect_text(struct cli_dump *d, const char *path, struct upp_str text, struct upp_err *err)
{
    yyjson_val *v;
    struct upp_str line, rest = text;
    size_t number = 0;
    int r = wj_read(&d->a, text, NULL, &v, err);
    if (r >= 0)
        return collect(d, path, v, 0, err);
    if (r != -UPP_EINVALID || memchr(text.p, '\n', text.n) == NULL)
        return upp_wrap(err, r, "%s", path);
    while (wb_str_split(&rest, '\n', &line)) {
        number++;
        if (!wb_str_trim(line).n)
            continue;
        r = wj_read(&d->a, line, NULL, &v, err);
        if (r >= 0)
            r = collect(d, path, v, 0, err);
        if (r < 0)
            return upp_wrap(err, r, "%s:%zu", path, number);
    }
    return 0;
}

bool cli_dump_is_dump(struct upp_str text)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ARENA_MAX);
    yyjson_val *v, *list;
    if (wj_read(&a, text, NULL, &v, NULL) < 0)
        return memchr(text.p, '\n', text.n) != NULL;
    struct upp_str object = wj_text_at(v, "object");
    if (wb_str_eq(object, UPP_STR("thread")))
        return false;
    list = yyjson_is_arr(v) ? v : yyjson_obj_get(v, "data");
    return !wb_str_eq(wj_text_at(yyjson_arr_get_first(list), "object"), UPP_STR("thread.message")) ||
           (object.p && !wb_str_eq(object, UPP_STR("list")));
}

/* ---- Folders ----------------------------------------------------------------------------------------------------- */

bool cli_dump_is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int take_path(struct cli_dump *d, const char *path, struct upp_err *err)
{
    struct upp_str name = wb_cstr(path);
    if (!wb_str_ends(name, UPP_STR(".json")) && !wb_str_ends(name, UPP_STR(".jsonl")) &&
        !wb_str_ends(name, UPP_STR(".ndjson")))
        return wb_vec_push(&d->paths, path, OBJECTS) ? 0 : no_memory(err);
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(JSON_MAX);
    int r = wb_file_read(path, &text, err);
    if (r < 0)
        return upp_wrap(err, r, "%s", path);
    const char *base = strrchr(path, '/');
    if (strncmp(base ? base + 1 : path, "file-", 5) == 0) /* a file of the thread that is JSON itself */
        return wb_vec_push(&d->paths, path, OBJECTS) ? 0 : no_memory(err);
    return text.n ? collect_text(d, path, wb_buf_str(&text), err) : 0;
}

static int walk(struct cli_dump *d, const char *folder, unsigned depth, struct upp_err *err)
{
    WB_VEC(const char *) names = {0};
    DIR *all = opendir(folder);
    struct dirent *e;
    int r = 0;
    if (!all)
        return upp_fail(err, UPP_EINVALID, "cannot read the folder %s", folder);
    while (r >= 0 && (e = readdir(all)) != NULL) {
        if (e->d_name[0] == '.')
            continue;
        struct upp_str path = wb_arena_printf(&d->a, "%s/%s", folder, e->d_name);
        r = path.p && wb_vec_push(&names, path.p, OBJECTS) ? 0 : no_memory(err);
    }
    (void)closedir(all);
    if (names.n)
        qsort(names.p, names.n, sizeof *names.p, by_name); /* the order of a folder means nothing */
    for (size_t i = 0; r >= 0 && i < names.n; i++) {
        if (!cli_dump_is_folder(names.p[i]))
            r = take_path(d, names.p[i], err);
        else
            r = depth < DEPTH ? walk(d, names.p[i], depth + 1, err)
                              : upp_fail(err, UPP_EINVALID, "folders deeper than %d: %s", DEPTH, names.p[i]);
    }
    wb_vec_done(&names);
    return r;
}

/* ---- Threads and files ------------------------------------------------------------------------------------------- */

static int add_thread(struct cli_dump *d, struct upp_str id, struct upp_err *err)
{
    for (size_t i = 0; i < d->threads.n; i++)
        if (wb_str_eq(d->threads.p[i], id))
            return 0;
    return wb_vec_push(&d->threads, id, OBJECTS) ? 0 : no_memory(err);
}

static int find_threads(struct cli_dump *d, struct upp_err *err)
{
    bool loose = false;
    int r = 0;
    for (size_t i = 0; r >= 0 && i < d->objects.n; i++) {
        const struct cli_dump_object *x = &d->objects.p[i];
        if (is_apart(x->kind))
            continue;
        loose |= !x->thread.n;
        if (x->thread.n)
            r = add_thread(d, x->thread, err);
    }
    if (r >= 0 && loose && d->threads.n > 1) {
        for (size_t i = 0; r >= 0 && i < d->objects.n; i++)
            if (!is_apart(d->objects.p[i].kind) && !d->objects.p[i].thread.n)
                r = note(d, "the dump", d->objects.p[i].id,
                         "does not say its thread, and there are several: it is not taken", err);
    } else if (r >= 0 && loose && !d->threads.n)
        r = add_thread(d, UPP_STR(""), err);
    for (size_t i = 0; r >= 0 && i < d->objects.n && d->threads.n == 1; i++)
        if (!d->objects.p[i].thread.n)
            d->objects.p[i].thread = d->threads.p[0];
    return r;
}

bool cli_dump_has_assistants(const struct cli_dump *d)
{
    for (size_t i = 0; i < d->objects.n; i++)
        if (d->objects.p[i].kind == CLI_DUMP_ASSISTANT)
            return true;
    return false;
}

static struct cli_dump_file *file_of(struct cli_dump *d, struct upp_str id)
{
    struct cli_dump_file f = {.id = id};
    for (size_t i = 0; i < d->files.n; i++)
        if (wb_str_eq(d->files.p[i].id, id))
            return &d->files.p[i];
    return wb_vec_push(&d->files, f, OBJECTS) ? &d->files.p[d->files.n - 1] : NULL;
}

static int refer(struct cli_dump *d, struct upp_str id, bool image, struct upp_err *err)
{
    struct cli_dump_file *f = id.n ? file_of(d, id) : NULL;
    if (f)
        f->image |= image;
    return f || !id.n ? 0 : no_memory(err);
}

static int find_files_of(struct cli_dump *d, yyjson_val *message, struct upp_err *err)
{
    yyjson_val *content = yyjson_obj_get(message, "content"), *attached = yyjson_obj_get(message, "attachments"), *v;
    size_t i, n;
    int r = 0;
    yyjson_arr_foreach(content, i, n, v)
    {
        r = refer(d, wj_text_at(yyjson_obj_get(v, "image_file"), "file_id"), true, err);
        if (r < 0)
            return r;
    }
    yyjson_arr_foreach(attached, i, n, v)
    {
        r = refer(d, wj_text_at(v, "file_id"), false, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* "file-abc", "file-abc.png", or the name that the file object has. */
static bool is_file(const struct cli_dump_file *f, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct upp_str base = wb_cstr(slash ? slash + 1 : path);
    bool by_id = wb_str_starts(base, f->id) && (base.n == f->id.n || base.p[f->id.n] == '.');
    return by_id || (f->filename.n && wb_str_eq(base, f->filename));
}

static int find_files(struct cli_dump *d, struct upp_err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < d->objects.n; i++) {
        const struct cli_dump_object *x = &d->objects.p[i];
        struct cli_dump_file *f = x->kind == CLI_DUMP_FILE && x->id.n ? file_of(d, x->id) : NULL;
        if (f) {
            f->filename = wj_text_at(x->v, "filename");
            f->purpose = wj_text_at(x->v, "purpose");
        } else if (x->kind == CLI_DUMP_MESSAGE)
            r = find_files_of(d, x->v, err);
    }
    for (size_t k = 0; r >= 0 && k < d->paths.n; k++) {
        bool used = false;
        for (size_t i = 0; i < d->files.n; i++)
            if (is_file(&d->files.p[i], d->paths.p[k])) {
                used = true;
                if (!d->files.p[i].path)
                    d->files.p[i].path = d->paths.p[k];
            }
        if (!used)
            r = note(d, d->paths.p[k], (struct upp_str){NULL, 0}, "no message has this file: it is not taken", err);
    }
    for (size_t i = 0; r >= 0 && i < d->files.n; i++)
        if (!d->files.p[i].path)
            r = note(d, "the dump", d->files.p[i].id,
                     "is not there: messages keep its id, models are told that it is gone", err);
    return r;
}

static int by_time(const void *a, const void *b)
{
    const struct cli_dump_object *x = a, *y = b;
    if (x->created != y->created)
        return x->created < y->created ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

int cli_dump_read(struct cli_dump *d, const char *path, struct upp_str text, struct upp_err *err)
{
    *d = (struct cli_dump){.a = WB_ARENA(ARENA_MAX)};
    int r = text.n ? collect_text(d, path, text, err) : walk(d, path, 0, err);
    if (r >= 0 && d->objects.n)
        qsort(d->objects.p, d->objects.n, sizeof *d->objects.p, by_time);
    if (r >= 0)
        r = find_threads(d, err);
    if (r >= 0)
        r = find_files(d, err);
    if (r >= 0 && !d->threads.n && !cli_dump_has_assistants(d))
        r = upp_fail(err, UPP_EINVALID, "%s has no thread, no message and no assistant of the Assistants API", path);
    return r;
}

void cli_dump_done(struct cli_dump *d)
{
    wb_vec_done(&d->objects);
    wb_vec_done(&d->threads);
    wb_vec_done(&d->paths);
    wb_vec_done(&d->files);
    wb_vec_done(&d->notes);
    wb_arena_done(&d->a);
}

/* ---- Documents --------------------------------------------------------------------------------------------------- */

static void put_objects(struct wj_writer *w, const struct cli_dump *d, struct upp_str thread, const char *name,
                        enum cli_dump_kind kind)
{
    struct upp_str last = {NULL, 0};
    wj_put_open(w, name, '[');
    for (size_t i = 0; i < d->objects.n; i++) {
        const struct cli_dump_object *x = &d->objects.p[i];
        if (x->kind != kind || !wb_str_eq(x->thread, thread) || (x->id.n && wb_str_eq(x->id, last)))
            continue; /* the same object twice, as of two pages */
        wj_write_value(w, x->v);
        last = x->id;
    }
    wj_write_close(w, ']');
}

int cli_dump_write(struct cli_dump *d, size_t i, struct wb_buf *out, struct upp_err *err)
{
    static const char *const lists[] = {"messages", "runs", "steps", "run_steps", "files", "data"};
    struct upp_str id = d->threads.p[i];
    yyjson_val *thread = NULL, *key, *v;
    struct wj_writer w;
    size_t k, n;
    uint64_t created = 0;
    for (k = 0; k < d->objects.n; k++) {
        const struct cli_dump_object *x = &d->objects.p[k];
        if (!wb_str_eq(x->thread, id))
            continue;
        created = created ? created : x->created;
        if (x->kind == CLI_DUMP_THREAD)
            thread = x->v;
    }
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    if (thread) {
        yyjson_obj_foreach(thread, k, n, key, v)
        {
            if (!is_named(key, lists, WB_LEN(lists)))
                wj_put_member(&w, key);
        }
    } else {
        if (id.n)
            wj_put_str(&w, "id", id);
        wj_put_str(&w, "object", UPP_STR("thread"));
        wj_put_u64(&w, "created_at", created);
        wj_put_open(&w, "metadata", '{');
        wj_write_close(&w, '}');
    }
    put_objects(&w, d, id, "messages", CLI_DUMP_MESSAGE);
    put_objects(&w, d, id, "runs", CLI_DUMP_RUN);
    put_objects(&w, d, id, "steps", CLI_DUMP_STEP);
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}
