// Terms of events of a PMU, as in "cpu/event=0x3c,umask=0x1/" and in the files
// below /sys/bus/event_source/devices/cpu/events.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_TERMS_H_
#define FLEETPERF_DRIVER_PERF_EVENT_TERMS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace fleetperf::perf_event {

// No text of an event or of a file in sysfs may be longer, in bytes.
inline constexpr size_t kMaxEventText = 4096;

struct Term {
  // Letters, digits, '_', '-' and '.'; neither "." nor "..".
  std::string name;
  // Nothing for "name", which is a flag (1) or an event, and for "name=?".
  std::optional<uint64_t> value;
  // "name=?": a parameter that the user of the event must set.
  bool is_parameter = false;

  friend bool operator==(const Term&, const Term&) = default;
};

// Returns whether `name` can name a PMU, an event, a term or a tracepoint. Such
// a name stays in its directory if it is appended to the path of one.
bool IsName(absl::string_view name);

// Parses "name=value,name,...". Values are decimal, or hexadecimal after "0x".
// Spaces around names and values, and empty terms, are ignored.
//   InvalidArgument   names the term that is wrong or repeated
absl::StatusOr<std::vector<Term>> ParseTerms(absl::string_view text);

// Writes terms so that ParseTerms reads the same ones: values in hexadecimal,
// without spaces.
std::string TermsText(absl::Span<const Term> terms);

// Parses 64 bits, decimal or hexadecimal after "0x", without sign or spaces.
std::optional<uint64_t> ParseNumber(absl::string_view text);

// Returns `text` in double quotes for a message. Bytes that are not printable
// are escaped.
std::string Quoted(absl::string_view text);

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_TERMS_H_
