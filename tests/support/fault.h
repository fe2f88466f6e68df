/* support/fault.h — makes the Nth call through the hook table fail, and sees what was left behind.
 *
 * Wraps the table in force with one that counts calls by class, keeps an account of live memory and
 * descriptors, and fails what it was told to. Threads may call at any time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fault_class { FAULT_MEMORY, FAULT_RANDOM, FAULT_FILE, FAULT_SOCKET, FAULT_SPAWN, FAULT_CLASSES };

/* Instead of an errno: the call moves only part of its bytes (where it moves any; else it succeeds). */
enum { FAULT_SHORT = -1 };

void fault_install(void);

/* From now on the n-th call (1 is the next one) of a class fails with `error`; sticky: and all after it. */
void fault_at(enum fault_class c, unsigned long n, int error, bool sticky);
void fault_off(void);

/* Calls of a class since fault_at or fault_off, and how many of them were made to fail. */
unsigned long fault_calls(enum fault_class c);
unsigned long fault_fired(void);

/* From now on memory that is given back is searched for this text (which is borrowed; NULL: no more, also by
 * fault_off). How many blocks had it in them: those that were freed, and those that were resized, which may leave a
 * copy behind. */
void fault_watch(const char *text);
size_t fault_watched(void);

/* What is live now; what of it was made after `since`, written as sentences into text. */
struct fault_account {
    uint64_t serial; /* of the newest allocation */
    size_t blocks, bytes, fds;
};
struct fault_account fault_account(void);
bool fault_balanced(struct fault_account since, char *text, size_t size);
