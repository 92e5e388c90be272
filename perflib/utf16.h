// Conversions of PerfLib's strings: UTF-16, little-endian, at any alignment.

#ifndef FLEETPERF_PERFLIB_UTF16_H_
#define FLEETPERF_PERFLIB_UTF16_H_

#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf::perflib {

// Converts the bytes of a string without NUL. An odd last byte is ignored.
// Unpaired surrogates become U+FFFD. Never fails.
std::string Utf8FromUtf16(absl::string_view utf16);

// Returns `utf8` as UTF-16 bytes without NUL. Each ill-formed byte becomes
// U+FFFD.
std::string Utf16FromUtf8(absl::string_view utf8);

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_UTF16_H_
