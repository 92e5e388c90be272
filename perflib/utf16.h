// PerfLib's strings: UTF-16, little-endian, in bytes that may stand at any
// address.

#ifndef FLEETPERF_PERFLIB_UTF16_H_
#define FLEETPERF_PERFLIB_UTF16_H_

#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf::perflib {

// `utf16` is the string's bytes without a NUL; an odd byte at the end is
// ignored. A surrogate without its partner becomes U+FFFD: ill-formed text is
// shown as such and never fails.
std::string Utf8FromUtf16(absl::string_view utf16);

// The bytes of `utf8` in UTF-16, without a NUL. Ill-formed input becomes
// U+FFFD, one for each wrong byte.
std::string Utf16FromUtf8(absl::string_view utf8);

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_UTF16_H_
