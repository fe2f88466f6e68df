/* support/paths.h — where this tree and its build are. In one file that the build writes: no other object depends on
 * the place of the tree, so a compiler cache serves every clone. */
#pragma once

extern const char test_tree[];   /* the folder tests/; WEFT_TESTS in the environment wins where a test reads files */
extern const char test_reaper[]; /* the program weft-reaper of this build */
