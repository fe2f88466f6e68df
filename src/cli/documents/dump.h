/* cli/documents/dump.h — dumps of the Assistants API, as people saved them: threads, messages, runs, steps and files,
 * each object in any file, in lists, pages and JSON lines.
 *
 * Reads all objects of a file or a folder and puts them together by thread: one document of the dialect `assistants`
 * for each. Whatever is not taken is noted with its place, and nothing is dropped without a note.
 */
#pragma once

#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"

enum cli_dump_kind {
    CLI_DUMP_THREAD,
    CLI_DUMP_MESSAGE,
    CLI_DUMP_RUN,
    CLI_DUMP_STEP,
    CLI_DUMP_FILE,
    CLI_DUMP_ASSISTANT,
    CLI_DUMP_KINDS
};

struct cli_dump_object {
    yyjson_val *v;
    enum cli_dump_kind kind;
    struct upp_str id, thread; /* thread: empty if it does not say */
    uint64_t created;          /* seconds */
    size_t order;              /* as it was found, oldest first */
};

/* A file that messages refer to, or that a file object describes. */
struct cli_dump_file {
    struct upp_str id, filename, purpose;
    const char *path; /* NULL: it is not in the dump */
    bool image;
};

struct cli_dump {
    struct wb_arena a;
    WB_VEC(struct cli_dump_object) objects; /* sorted by time */
    WB_VEC(struct upp_str) threads;         /* ids; one empty id: the messages do not say */
    WB_VEC(const char *) paths;             /* files that are not JSON */
    WB_VEC(struct cli_dump_file) files;
    WB_VEC(struct upp_str) notes; /* what is not taken */
};

/* Is it a folder? */
bool cli_dump_is_folder(const char *path);

/* Does this text have to be read as a dump: JSON lines, or JSON that is neither a thread nor a list of messages? */
bool cli_dump_is_dump(struct upp_str text);

/* `text`: of the file; empty: the path is a folder. */
int cli_dump_read(struct cli_dump *d, const char *path, struct upp_str text, struct upp_err *err) UPP_MUST_CHECK;
void cli_dump_done(struct cli_dump *d);
bool cli_dump_has_assistants(const struct cli_dump *d);

/* The document of the i-th thread. */
int cli_dump_write(struct cli_dump *d, size_t i, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;
