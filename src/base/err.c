/* base/err.c — errors as values: codes, sentences, context on the way up. */
#include <upp/base.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Cut text ends in this, so that nobody takes it for the whole. */
static const char ellipsis[] = "...";

const char *upp_version(void)
{
    return UPP_VERSION;
}

const char *upp_code_name(int code)
{
    switch (code < 0 ? -(unsigned)code : (unsigned)code) {
#define NAME_(suffix, value, spelling, sentence)                                                                       \
    case value:                                                                                                        \
        return spelling;
        UPP_CODES(NAME_)
#undef NAME_
    }
    return "UNKNOWN";
}

const char *upp_code_text(int code)
{
    switch (code < 0 ? -(unsigned)code : (unsigned)code) {
#define TEXT_(suffix, value, spelling, sentence)                                                                       \
    case value:                                                                                                        \
        return sentence;
        UPP_CODES(TEXT_)
#undef TEXT_
    }
    return "unknown error";
}

/* Control characters become blanks: a message is one line, whatever a provider or a file put into it. */
static void one_line(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            *s = ' ';
}

/* Formats into buf; what does not fit is cut at a character and marked. */
UPP_PRINTF(3, 0) static void format(char *buf, size_t size, const char *fmt, va_list args)
{
    int n = vsnprintf(buf, size, fmt, args);
    if (n < 0)
        buf[0] = 0;
    else if ((size_t)n >= size) {
        size_t keep = wb_utf8_cut((struct upp_str){buf, size - sizeof ellipsis}, size - sizeof ellipsis);
        memcpy(buf + keep, ellipsis, sizeof ellipsis);
    }
    one_line(buf);
}

int upp_fail(struct upp_err *err, enum upp_code code, const char *fmt, ...)
{
    if (err) {
        va_list args;
        memset(err, 0, offsetof(struct upp_err, msg)); /* format() ends msg itself */
        err->code = (int)code;
        va_start(args, fmt);
        format(err->msg, sizeof err->msg, fmt, args);
        va_end(args);
    }
    return -(int)code;
}

int upp_wrap(struct upp_err *err, int r, const char *fmt, ...)
{
    if (err) {
        char    old[sizeof err->msg], context[sizeof err->msg];
        va_list args;
        memcpy(old, err->msg, sizeof old);
        va_start(args, fmt);
        format(context, sizeof context, fmt, args);
        va_end(args);
        if (r < 0)
            err->code = -r;
        /* Context may take half; the cause of it all keeps the rest. */
        size_t n = strlen(context);
        if (n > sizeof context / 2)
            context[wb_utf8_cut((struct upp_str){context, n}, sizeof context / 2)] = 0;
        const char *why = old[0] ? old : upp_code_text(r);
        n               = (size_t)snprintf(err->msg, sizeof err->msg, "%s: %s", context, why);
        if (n >= sizeof err->msg) {
            size_t keep = wb_utf8_cut((struct upp_str){err->msg, sizeof err->msg - sizeof ellipsis},
                                      sizeof err->msg - sizeof ellipsis);
            memcpy(err->msg + keep, ellipsis, sizeof ellipsis);
        }
    }
    return r;
}
