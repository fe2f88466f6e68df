/* dialects/aitp/shapes.h — tables of what the messages of AITP's capabilities have. */
#ifndef WD_AITP_SHAPES_H
#define WD_AITP_SHAPES_H

#include "dialects/aitp/capabilities.h"

enum wd_aitp_type {
    WD_AITP_TEXT,
    WD_AITP_AMOUNT, /* a text: "12" or "12.50" */
    WD_AITP_TIME,   /* a text: date and time with an offset */
    WD_AITP_WORD,   /* one of `of`, a list of texts that ends with NULL */
    WD_AITP_WHOLE,  /* a whole number */
    WD_AITP_WEIGHT, /* one from 1 on */
    WD_AITP_NUMBER,
    WD_AITP_RATING, /* 0 to 5 */
    WD_AITP_BOOL,
    WD_AITP_VALUE,   /* a text or a number */
    WD_AITP_ANY,     /* an object of any members */
    WD_AITP_OBJECT,  /* one of the shape `of` */
    WD_AITP_HEX,     /* a text: 0x and hexadecimal digits */
    WD_AITP_ADDRESS, /* 40 of them */
    WD_AITP_HASH,    /* 64 of them */
    WD_AITP_NONCE,   /* base64 of 32 bytes */
};

enum { WD_AITP_MUST = 1 << 0, WD_AITP_LIST = 1 << 1, WD_AITP_SOME = 1 << 2 }; /* SOME: a list of at least one */

struct wd_aitp_member {
    const char *name; /* NULL: no more */
    uint8_t     type, flags;
    const void *of;
};

struct wd_aitp_shape {
    const struct wd_aitp_member *members;
    bool                         closed; /* other members are mistakes */
};

extern const struct wd_aitp_kind wd_aitp_kinds[]; /* ends with one that has no name */

#endif
