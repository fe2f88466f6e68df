/* base/iso8601.h — moments as text: RFC 3339, and the looser forms that Pydantic AI writes and reads.
 *
 *     YYYY-MM-DD                                       midnight
 *     YYYY-MM-DD T HH:MM[:SS[.digits]] [Z | ±HH:MM]    T may be t or a blank, Z may be z
 *
 * The calendar is checked. Not taken: numbers of seconds, the form without dashes, weeks and days of the year, a comma
 * before the fraction, hour 24, second 60 (no one who would write it back has leap seconds), offsets beyond ±23:59, and
 * the year 0000 (Python's calendar begins with 0001). Text is never rewritten: it stays beside what it means.
 *
 * A time without offset is naive: nobody knows where it was. It is ordered as if it were UTC.
 */
#pragma once

#include <upp/base.h>

#include "base/str.h"

struct wb_time {
    struct upp_str text;  /* as it was read, borrowed; empty if made from a number */
    struct upp_str finer; /* in text: digits of the fraction after the ninth, without zeros at the end */
    int64_t seconds;      /* since 1970 UTC, without leap seconds */
    uint32_t nanos;       /* 0 to 999999999 */
    int16_t offset;       /* minutes east of UTC; 0 when naive */
    bool naive, date_only;
};

/* Room for either form written below and a NUL. */
enum { WB_TIME_TEXT = sizeof "2026-01-02T03:04:05.678901+10:11" };

WB_EXPORT_BEGIN

/* -UPP_EINVALID: not a time; the message has the reason and the byte offset. */
int wb_time_parse(struct upp_str text, struct wb_time *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Is it spelled exactly as wb_time_upp spells it? Then *ms is its millisecond. Ten times faster than the one above. */
bool wb_time_parse_upp(struct upp_str text, int64_t *ms);

/* Which came first: -1, 0, 1. Exact, whatever the offsets and the number of digits. */
int wb_time_cmp(const struct wb_time *a, const struct wb_time *b);

/* Milliseconds since 1970; the other way, the millisecond that has begun. */
struct wb_time wb_time_from_ms(int64_t ms);
int64_t wb_time_ms(const struct wb_time *t);

/* What is written lies in out and is followed by a NUL. Empty if its year is not 0001 to 9999.
 *   upp:      2026-01-02T03:04:05.678Z, always UTC; finer digits are cut
 *   pydantic: as datetime.isoformat: the offset is kept, 0 is Z, naive stays naive; six digits or, when all are 0,
 *             none; finer ones are cut */
struct upp_str wb_time_upp(const struct wb_time *t, char out[WB_TIME_TEXT]);
struct upp_str wb_time_pydantic(const struct wb_time *t, char out[WB_TIME_TEXT]);

/* The first of them for a text of whole seconds, "2026-01-02T03:04:05Z", as it is nearly always spelled by others, for
 * less than parsing it costs; empty: it is another. */
struct upp_str wb_time_upp_of(struct upp_str text, char out[WB_TIME_TEXT]);

/* Is it UTC, and spelled exactly as wb_time_pydantic spells it? */
bool wb_time_is_pydantic(struct upp_str text);

WB_EXPORT_END
