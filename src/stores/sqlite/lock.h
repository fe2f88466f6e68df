/* stores/sqlite/lock.h — one process owns a database file.
 *
 * FILE.lock is locked as long as the owner lives (SIGKILL releases it too) and names the owner: its process id, and the
 * Unix socket on which it accepts commands. There is no force option.
 */
#pragma once

#include "stores/driver.h"

/* After the text: a page that outlives its owner (stores/sqlite/promise.h), at an offset that is aligned for any page
 * size. */
enum { WS_LOCK_PAGE = 64 << 10, WS_LOCK_PAGE_SIZE = 4096 };

struct ws_lock {
    int fd; /* -1: not held */
    struct ws_owner_info mine;
};

/* Takes the lock of the database at path. -UPP_EBUSY: another process holds it; the message names it. Blocks
 * (files). */
int ws_lock_take(const char *path, struct ws_lock *ret, struct upp_err *err) UPP_MUST_CHECK;
void ws_lock_release(struct ws_lock *l);

/* The owner of the database at path. -UPP_ENOTFOUND: there is no lock file, or nobody holds it. */
int ws_lock_read(const char *path, struct ws_owner_info *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Opens the lock file for reading while nobody owns the database (the caller closes *ret, which stays as it was if
 * there is no lock file): 1. 0: somebody owns it. */
int ws_lock_open_unowned(const char *path, int *ret, struct upp_err *err) UPP_MUST_CHECK;

/* PATH.sock; if that is too long for a socket, a short name in the same folder. -UPP_EINVALID: that is too long,
 * too. */
int ws_lock_socket(const char *path, char ret[108], struct upp_err *err) UPP_MUST_CHECK;
