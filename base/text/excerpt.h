// Shortens external text for messages.

#ifndef FLEETPERF_BASE_TEXT_EXCERPT_H_
#define FLEETPERF_BASE_TEXT_EXCERPT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf {

// The size of texts that messages quote in full, in bytes.
inline constexpr size_t kMaxExcerpt = 200;
// The size of messages that are sent or printed in full. Beyond some KiB, gRPC
// fails the call instead.
inline constexpr size_t kMaxErrorText = 2000;

// Returns the start of `text`, at most `max` bytes of whole UTF-8 characters.
absl::string_view Utf8Prefix(absl::string_view text, size_t max);

// Returns `text` if it has at most `max` bytes. Otherwise returns its start, up
// to the last whole UTF-8 character within `max` bytes, and its size:
// "\\web… (100000 bytes)".
std::string Excerpt(absl::string_view text, size_t max = kMaxExcerpt);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_TEXT_EXCERPT_H_
