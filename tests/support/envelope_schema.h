/* support/envelope_schema.h — docs/schemas: made from the table of the program, and held against it. */
#pragma once

#include "dialects/envelope/envelope.h"

/* The JSON Schema (draft 2020-12) and the TypeScript types of one envelope, both made from the table. */
void wd_envelope_schema(struct wb_buf *out);
void wd_envelope_types(struct wb_buf *out);
