// Names in the ANSI code pages of old providers.

#ifndef FLEETPERF_PERFLIB_V1_CODE_PAGE_H_
#define FLEETPERF_PERFLIB_V1_CODE_PAGE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf::perflib {

// PERF_OBJECT_TYPE.CodePage of UTF-16.
inline constexpr uint32_t kUnicodePage = 0;

// Returns the name in UTF-16. Code pages 1252 and 28591 are converted; of any
// other, characters beyond ASCII become U+FFFD. An odd last byte of UTF-16 is
// left out.
std::string Utf16FromCodePage(absl::string_view name, uint32_t code_page);

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_V1_CODE_PAGE_H_
