/* model/limits.h — limits on which several layers depend: each of them asserts that its own ones fit. */
#pragma once

enum {
    WM_RESULTS_MAX = 12 << 20, /* of the results of one message, as JSON: a row and a frame hold them all */
};
