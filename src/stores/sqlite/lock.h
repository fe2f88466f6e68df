/* stores/sqlite/lock.h — one process owns a database file.
 *
 * FILE.lock is locked for as long as the owner lives, also when it dies of SIGKILL, and says who it is: its process
 * number, and the Unix socket at which it does work for others. There is no way to force it.
 */
#ifndef WS_LOCK_H
#define WS_LOCK_H

#include <upp/base.h>

#include "base/buf.h"

/* Behind the text: a page that outlives its owner (stores/sqlite/promise.h). Where pages of any size may begin. */
enum { WS_LOCK_PAGE = 64 << 10, WS_LOCK_PAGE_SIZE = 4096 };

struct ws_lock_info {
    int  pid;         /* 0: it does not say (nobody holds it, or its owner is just starting) */
    char socket[108]; /* the size of sun_path; empty: it does not say */
};

struct ws_lock {
    int                 fd; /* -1: not held */
    struct ws_lock_info mine;
};

/* Takes the lock of the database at path. -UPP_EBUSY: another holds it; the message names it. Blocks (files). */
int  ws_lock_take(const char *path, struct ws_lock *ret, struct upp_err *err) UPP_MUST_CHECK;
void ws_lock_release(struct ws_lock *l);

/* Who owns the database at path. -UPP_ENOTFOUND: there is no lock file, or nobody holds it. */
int ws_lock_read(const char *path, struct ws_lock_info *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The lock file, to be looked at while nobody owns the database (*ret: to be closed): 1. 0: somebody does, or there is
 * none. */
int ws_lock_look(const char *path, int *ret, struct upp_err *err) UPP_MUST_CHECK;

/* PATH.sock; where that is too long for a socket, a short name in the same folder. -UPP_EINVALID: that is too long,
 * too. */
int ws_lock_socket(const char *path, char ret[108], struct upp_err *err) UPP_MUST_CHECK;

#endif
