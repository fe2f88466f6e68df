/* stores/sqlite/grams.h — which three letters follow each other in a text, or which words it has: what the index of the
 * search keeps of it.
 *
 * Every three characters (every word) are a number of 16 bits, several of them perhaps the same. The set of a text's
 * numbers stands beside its entry, a byte or two each, because the index must be told what to forget; the text itself
 * does not. In the index a number is a word of four characters.
 */
#ifndef WS_SQLITE_GRAMS_H
#define WS_SQLITE_GRAMS_H

#include <sqlite3.h>

#include "base/buf.h"
#include "base/str.h"

enum { WS_GRAM = 3, WS_GRAM_WORD = 4 };

/* The set of a text, of its words or of three characters each. No memory shows in the buffer. */
void ws_grams_of(struct upp_str text, bool words, struct wb_buf *out);

/* The words of a text in the index, with blanks between, as they come and at most so many: how many. */
size_t ws_grams_words(struct upp_str text, bool words, size_t most, struct wb_buf *out);

/* weft_grams(set): the words of a set. An SQLite result. */
int ws_grams_functions(sqlite3 *db);

#endif
