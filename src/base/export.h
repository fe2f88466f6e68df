/* base/export.h — what libweft may use of libupp's insides.
 *
 * Everything is compiled with hidden visibility. Declarations between these marks are seen by the
 * linker, which exports them under the private symbol version (src/libupp.map.in): libweft links to them,
 * nobody else may.
 */
#pragma once

#define WB_EXPORT_BEGIN _Pragma("GCC visibility push(default)")
#define WB_EXPORT_END   _Pragma("GCC visibility pop")
