/* base/err.c — errors as values: codes, sentences, context on the way up. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "base/utf8.h"

enum { LATER_MS = 1000 }; /* when trying again may help */

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

/* A message is one line of UTF-8, whatever a provider or a file put into it: control characters become blanks, lone
 * surrogates U+FFFD, which is as long, and each byte that belongs to nothing a question mark. */
static void clean(char *s)
{
    struct upp_str text = wb_cstr(s);
    for (size_t i = 0; i < text.n;) {
        uint32_t c = 0;
        size_t n = wb_wtf8_decode(text, i, &c);
        if (n == 0)
            s[i] = '?';
        else if (c < 0x20 || c == 0x7f)
            s[i] = ' ';
        else if (c >= 0xd800 && c <= 0xdfff)
            memcpy(s + i, "\xef\xbf\xbd", 3);
        i += n ? n : 1;
    }
}

/* Ends text that is too long, at a character and marked: at most `max` bytes stay. */
static void cut(char *s, size_t max)
{
    size_t room = max - (sizeof ellipsis - 1);
    memcpy(s + wb_utf8_cut(wb_str(s, room), room), ellipsis, sizeof ellipsis);
}

UPP_PRINTF(3, 0) static void format(char *buf, size_t size, const char *fmt, va_list args)
{
    int n = vsnprintf(buf, size, fmt, args);
    if (n < 0)
        buf[0] = 0;
    else if ((size_t)n >= size)
        cut(buf, size - 1);
    clean(buf);
}

int wb_vfail(struct upp_err *err, enum upp_code code, const char *fmt, va_list args)
{
    if (err) {
        char msg[sizeof err->msg]; /* the arguments may be words of *err */
        format(msg, sizeof msg, fmt, args);
        memset(err, 0, offsetof(struct upp_err, msg));
        err->code = (int)code;
        memcpy(err->msg, msg, strlen(msg) + 1);
    }
    return -(int)code;
}

int upp_fail(struct upp_err *err, enum upp_code code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int r = wb_vfail(err, code, fmt, args);
    va_end(args);
    return r;
}

int upp_wrap(struct upp_err *err, int r, const char *fmt, ...)
{
    if (err) {
        char old[sizeof err->msg], context[sizeof err->msg];
        va_list args;
        memcpy(old, err->msg, sizeof old);
        va_start(args, fmt);
        format(context, sizeof context, fmt, args);
        va_end(args);
        if (r < 0)
            err->code = -r;
        /* Context may take half; the cause of it all keeps the rest. */
        if (strlen(context) > sizeof context / 2)
            cut(context, sizeof context / 2);
        const char *why = old[0] ? old : upp_code_text(r);
        int n = snprintf(err->msg, sizeof err->msg, "%s: %s", context, why);
        if (n >= (int)sizeof err->msg)
            cut(err->msg, sizeof err->msg - 1);
    }
    return r;
}

void wb_err_where(struct upp_err *err, struct upp_str where)
{
    if (!err)
        return;
    size_t room = sizeof err->where - 1, n = 0;
    if (where.n > room) {
        n = sizeof ellipsis - 1;
        struct upp_str end = wb_str_sub(where, where.n - (room - n), room - n);
        while (end.n && ((unsigned char)end.p[0] & 0xc0) == 0x80) /* from the next whole character on */
            end = wb_str_sub(end, 1, end.n);
        memcpy(err->where, ellipsis, n);
        where = end;
    }
    if (where.n)
        memcpy(err->where + n, where.p, where.n);
    n += where.n;
    for (size_t i = 0; i < n; i++)
        if (err->where[i] == 0)
            err->where[i] = ' ';
    err->where[n] = 0;
    clean(err->where);
}

/* Where a caller does something different. The rest is the caller's "otherwise". */
static const struct {
    int number;
    enum upp_code code;
} sys_codes[] = {
    {ENOENT, UPP_ENOTFOUND},   {ENOTDIR, UPP_ENOTFOUND},   {EACCES, UPP_EREFUSED}, {EPERM, UPP_EREFUSED},
    {EROFS, UPP_EREFUSED},     {ENOMEM, UPP_ENOMEM},       {EMFILE, UPP_ELIMIT},   {ENFILE, UPP_ELIMIT},
    {EFBIG, UPP_ELIMIT},       {EBUSY, UPP_EBUSY},         {EAGAIN, UPP_EBUSY},    {ETXTBSY, UPP_EBUSY},
    {ETIMEDOUT, UPP_ETIMEOUT}, {ECANCELED, UPP_ECANCELED}, {EISDIR, UPP_EINVALID}, {ENAMETOOLONG, UPP_EINVALID},
    {ELOOP, UPP_EINVALID},     {EINVAL, UPP_EINVALID},     {E2BIG, UPP_EINVALID},
};

int wb_fail_sys(struct upp_err *err, int r, enum upp_code otherwise, const char *fmt, ...)
{
    enum upp_code code = otherwise;
    for (size_t i = 0; i < WB_LEN(sys_codes); i++)
        if (sys_codes[i].number == -r)
            code = sys_codes[i].code;
    if (err) {
        const char *name = strerrorname_np(-r), *text = strerrordesc_np(-r);
        char what[sizeof err->msg / 2], why[64];
        va_list args;
        va_start(args, fmt);
        format(what, sizeof what, fmt, args);
        va_end(args);
        (void)snprintf(why, sizeof why, "%s", text ? text : "unknown error");
        if (why[0] >= 'A' && why[0] <= 'Z' && why[1] >= 'a') /* in the middle of our sentence; but not "RPC" */
            why[0] += 'a' - 'A';
        (void)upp_fail(err, code, "%s: %s", what, why);
        if (name)
            (void)snprintf(err->cause, sizeof err->cause, "%s", name);
        else
            (void)snprintf(err->cause, sizeof err->cause, "errno %d", -r);
        if (r == -EMFILE || r == -ENFILE)
            err->retry_after_ms = LATER_MS; /* as wb_fail_full: there are descriptors again when others are done */
    }
    return -(int)code;
}

int wb_fail_full(struct upp_err *err, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int r = wb_vfail(err, UPP_ELIMIT, fmt, args);
    va_end(args);
    if (err)
        err->retry_after_ms = LATER_MS;
    return r;
}
