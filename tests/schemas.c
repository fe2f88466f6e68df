/* schemas FOLDER — writes docs/schemas: what is made from tables of the program. A unit test holds them against it. */
#include <stdio.h>

#include "base/buf.h"
#include "base/file.h"
#include "support/envelope_schema.h"

static int save(const char *folder, const char *name, const struct wb_buf *text)
{
    char path[1024];
    struct upp_err err = {0};
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (text->failed || n < 0 || (size_t)n >= sizeof path ||
        wb_file_write_unsynced(path, wb_buf_str(text), 0666, &err) < 0) {
        (void)fprintf(stderr, "schemas: %s: %s\n", name, err.msg);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf schema = WB_BUF(1u << 20), types = WB_BUF(1u << 20);
    if (argc != 2) {
        (void)fputs("usage: schemas FOLDER\n", stderr);
        return 2;
    }
    wd_envelope_schema(&schema);
    wd_envelope_types(&types);
    return save(argv[1], "envelope.schema.json", &schema) | save(argv[1], "envelope.d.ts", &types);
}
