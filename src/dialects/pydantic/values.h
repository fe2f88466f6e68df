/* dialects/pydantic/values.h — what Pydantic accepts as a number, time or boolean: more than the JSON type.
 *
 * It reads leniently: "5" and true are integers, 1700000000 is a time. These functions tell what it accepts; the values
 * stay as they are.
 */
#pragma once

#include <yyjson.h>

#include "base/str.h"

bool wd_pydantic_int(yyjson_val *v);
bool wd_pydantic_decimal(yyjson_val *v); /* finite */
bool wd_pydantic_bool(yyjson_val *v);
bool wd_pydantic_time(yyjson_val *v);
