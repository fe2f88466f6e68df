/* dialects/aitp/shapes.h — tables of the members of AITP's structured messages. */
#pragma once

#include "dialects/aitp/capabilities.h"

enum wd_aitp_type {
    WD_AITP_TEXT,
    WD_AITP_AMOUNT, /* string: "12" or "12.50" */
    WD_AITP_TIME,   /* string: date and time with an offset */
    WD_AITP_WORD,   /* one of `of`, an array of strings that ends with NULL */
    WD_AITP_WHOLE,  /* integer */
    WD_AITP_WEIGHT, /* integer, 1 or more */
    WD_AITP_NUMBER,
    WD_AITP_RATING, /* 0 to 5 */
    WD_AITP_BOOL,
    WD_AITP_VALUE,   /* string or number */
    WD_AITP_ANY,     /* any object */
    WD_AITP_OBJECT,  /* object of the shape `of` */
    WD_AITP_HEX,     /* string: 0x and hexadecimal digits */
    WD_AITP_ADDRESS, /* 0x and 40 digits */
    WD_AITP_HASH,    /* 0x and 64 digits */
    WD_AITP_NONCE,   /* base64 of 32 bytes */
};

enum { WD_AITP_MUST = 1 << 0, WD_AITP_LIST = 1 << 1, WD_AITP_SOME = 1 << 2 }; /* SOME: a list of at least one */

struct wd_aitp_member {
    const char *name; /* NULL: end of the table */
    uint8_t type, flags;
    const void *of;
};

struct wd_aitp_shape {
    const struct wd_aitp_member *members;
    bool closed; /* other members are errors */
};

extern const struct wd_aitp_kind wd_aitp_kinds[]; /* ends with a kind without a name */
