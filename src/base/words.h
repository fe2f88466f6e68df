/* base/words.h — what a word of a text is, for those who search by whole words; and which word was meant.
 *
 * Letters and digits that stand together are a word. In scripts that put no blanks between words (Chinese, Japanese,
 * Thai, ...), and of symbols, every character is one: what is looked for there may begin and end anywhere.
 */
#pragma once

#include "base/str.h"

WB_EXPORT_BEGIN

/* The next word at or behind *at, which is left behind it; false: there is none. Any bytes will do. */
bool wb_word_next(struct upp_str text, size_t *at, struct upp_str *ret);

/* Do no letters of one word stand on both sides of byte `at`? */
bool wb_word_ends(struct upp_str text, size_t at);

/* Which of some words a wrong one was meant to be: "; did you mean 'x'?", or "". Begins all zero. */
struct wb_guess {
    char text[96];
    unsigned distance;
};
void wb_guess(struct wb_guess *g, struct upp_str wrong, struct upp_str right);
const char *wb_guessed(const struct wb_guess *g);

WB_EXPORT_END
