// Names in the ANSI code pages of old providers.

#ifndef FLEETPERF_PERFLIB_V1_CODE_PAGE_H_
#define FLEETPERF_PERFLIB_V1_CODE_PAGE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf::perflib {

// PERF_OBJECT_TYPE.CodePage of UTF-16.
inline constexpr uint32_t kUnicodePage = 0;

// Returns whether names of this page are converted: UTF-16, 1252, 28591
// (Latin 1) and 65001 (UTF-8).
bool IsKnownCodePage(uint32_t code_page);

// Returns the name in UTF-16. The bytes of unknown pages, and of names that are
// not UTF-8 as their page says, become the characters of Latin 1: they may be
// wrong, but different names stay different. An odd last byte of UTF-16 is left
// out.
std::string Utf16FromCodePage(absl::string_view name, uint32_t code_page);

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_V1_CODE_PAGE_H_
