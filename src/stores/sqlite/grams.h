/* stores/sqlite/grams.h — the trigrams of a text, or its words: what the search index stores of it.
 *
 * Every trigram (or word) is hashed to 16 bits; several may share a number. The set of a text's numbers is stored with
 * its entry, one or two bytes each, because FTS5 must be told what to delete; the text itself is not stored. In the
 * index a number is a word of four characters.
 */
#pragma once

#include <sqlite3.h>

#include "base/buf.h"
#include "base/str.h"

enum { WS_GRAM = 3, WS_GRAM_WORD = 4 };

/* The set of a text: of its words, or of its trigrams. Out of memory is recorded in the buffer. */
void ws_grams_of(struct upp_str text, bool words, struct wb_buf *out);

/* The index words of a text, separated by blanks, in order and at most `most`. Returns how many. */
size_t ws_grams_words(struct upp_str text, bool words, size_t most, struct wb_buf *out);

/* Registers weft_grams(set): the index words of a set. Returns an SQLite result code. */
int ws_grams_functions(sqlite3 *db);
