/* base/library.h — what is known of a library we stand on; each layer names its own. */
#ifndef WB_LIBRARY_H
#define WB_LIBRARY_H

struct wb_library {
    const char *name;
    const char *built;   /* the version we were compiled against */
    const char *running; /* the one loaded now, as it says itself; NULL: it does not say */
};

#endif
