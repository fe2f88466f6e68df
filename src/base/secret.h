/* base/secret.h — keys and passwords, in memory of their own.
 *
 * A secret is an opaque pointer: no format takes it, the log knows it as a kind of its own and writes ***, and the
 * only way to its bytes is wb_secret_reveal, a name that can be searched for. Its pages are left out of core dumps,
 * kept from swap where the system allows it, and wiped before they are given back.
 *
 * What is revealed is borrowed: hand it on and do not keep a copy. The environment variable a secret came from is
 * still there, for this process, those it starts with it and readers of /proc, until wb_env_wipe.
 */
#pragma once

#include "base/defs.h"
#include "base/str.h"

struct wb_secret;

enum { WB_SECRET_MAX = 64 * 1024 };

WB_EXPORT_BEGIN

/* From text; from an environment variable; from a file, less one line end at its end. The last two refuse what is
 * empty (-UPP_EINVALID); a variable that is not set is -UPP_ENOTFOUND; a file that others than its owner can read
 * -UPP_EREFUSED. Errors never show any of it. */
int wb_secret_new(struct upp_str text, struct wb_secret **ret, struct upp_err *err) UPP_MUST_CHECK;
int wb_secret_env(const char *name, struct wb_secret **ret, struct upp_err *err) UPP_MUST_CHECK;
int wb_secret_file(const char *path, struct wb_secret **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Takes a variable out of this process's environment and overwrites the bytes of its value, which are those that
 * /proc/PID/environ shows. Not while another thread uses the environment. */
void wb_env_wipe(const char *name);

/* A secret that the caller writes: n zeroed bytes at *into; then its length, at most n. Of wb_secret_pages n may be
 * any. */
int wb_secret_pages(size_t n, struct wb_secret **ret, char **into, struct upp_err *err) UPP_MUST_CHECK;
int wb_secret_room(size_t n, struct wb_secret **ret, char **into, struct upp_err *err) UPP_MUST_CHECK;
void wb_secret_end(struct wb_secret *s, size_t n);

struct wb_secret *wb_secret_free(struct wb_secret *s); /* accepts NULL; returns NULL */

/* The bytes, followed by a NUL that is not counted; good for as long as the secret is. */
struct upp_str wb_secret_reveal(const struct wb_secret *s);

/* Is this it? Takes as long for a near miss as for a far one; only the length of what is given shows. */
bool wb_secret_is(const struct wb_secret *s, struct upp_str given);

WB_EXPORT_END

WB_DEFINE_CLEANUP(struct wb_secret, wb_secret_free)
