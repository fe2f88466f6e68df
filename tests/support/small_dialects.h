/* support/small_dialects.h — three small dialects for tests of what all dialects share.
 *
 *   toy      {"toy":1,"title":TEXT|null,"pairs":[{"ask":{"text":TEXT},"reply":{"text":TEXT,"thought":TEXT}}]}
 *            messages grouped two to an object; a pair may lack one of them
 *   lines    ["u: TEXT","a: TEXT"]; has no place for titles and thoughts
 *   carrier  {"said":[{"by":"u"|"a","text":TEXT}],"carried":[...]}; keeps what others said beside
 */
#pragma once

#include "dialects/core/convert.h"

extern const struct wd_document_ops toy_dialect, lines_dialect, carrier_dialect;
