/* base/file.h — whole files, through the hook table.
 *
 * Everything here blocks: on a loop it belongs on a worker thread. Errors carry the path in `where`.
 */
#pragma once

#include "base/buf.h"

WB_EXPORT_BEGIN

/* Appends the whole file to the buffer. -UPP_ELIMIT when it does not fit below the buffer's maximum.
 * After a failure the buffer holds what it held before, and is not failed unless there was no memory. */
int wb_file_read(const char *path, struct wb_buf *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Replaces the file atomically: writes a file next to it, syncs, and renames it over the old one. After a crash or an
 * error the file is the complete old or new one; after success it is the new one even if power fails.
 * A symbolic link is replaced, not followed; a new file has `mode` (less the umask). A crash may leave a file called
 * PATH.<16 digits>.tmp behind. */
int wb_file_write(const char *path, struct upp_str bytes, unsigned mode, struct upp_err *err) UPP_MUST_CHECK;

/* The same without waiting for the disk: atomic as long as the machine does not crash. For many files that can be made
 * again. */
int wb_file_write_unsynced(const char *path, struct upp_str bytes, unsigned mode, struct upp_err *err) UPP_MUST_CHECK;

/* Gives a file that is complete its name: syncs it, renames it over `path`, and syncs the folder. After a failure it
 * may have either name. */
int wb_file_publish(const char *temp, const char *path, struct upp_err *err) UPP_MUST_CHECK;

/* May others than its owner read the file, or write it? Not where there is none. */
bool wb_file_exposed(const char *path);

/* Until n bytes are read or the file ends: how many, or a negative errno. */
int64_t wb_fd_read(int fd, void *p, size_t n);

/* All of them: 0, or a negative errno. */
int wb_fd_write(int fd, struct upp_str bytes);

/* For WB_CLEANUP: closes *fd unless it is negative, and makes it so. */
void wb_fd_close(int *fd);

WB_EXPORT_END
