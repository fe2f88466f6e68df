/* weft/weft.h — all of libweft. */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <upp/upp.h>
#include <weft/fiber.h>
#include <weft/runtime.h>
#include <weft/strategy.h>

#endif
