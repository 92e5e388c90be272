// Fuzzes counter paths. A path is parsed, or rejected with the position of the
// error. A name is unchanged after being written as a path and parsed again.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "perflib/path.h"
#include "tests/fuzz/check.h"

namespace fleetperf::perflib {
namespace {

void CheckPath(absl::string_view text) {
  const auto path = ParsePath(text, {"Known (set)"});
  if (!path.ok()) {
    FUZZ_CHECK(absl::StrContains(path.status().message(), "at character "));
    return;
  }
  path->machine.Matches(text);
  path->counterset.Matches(text);
  if (path->instance.has_value()) path->instance->Matches(text);
  FUZZ_CHECK(path->counter.has_wildcards() ||
             path->counter.Matches(path->counter.literal()));
}

// The pattern made by escaping a name matches that name, also as part of a
// path.
void CheckName(absl::string_view name) {
  FUZZ_CHECK(Pattern(EscapeName(name)).Matches(name));
  const auto path = ParsePath(FormatPath("", "Set", name, 3, "Counter)\\"));
  FUZZ_CHECK(path.ok() && path->instance.has_value());
  FUZZ_CHECK(path->instance->Matches(name));
  FUZZ_CHECK(path->instance_index == 3);
  FUZZ_CHECK(path->SelectsInstance(name, 3));
  FUZZ_CHECK(path->counter.Matches("Counter)\\"));
}

}  // namespace
}  // namespace fleetperf::perflib

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  fleetperf::perflib::CheckPath(text);
  fleetperf::perflib::CheckName(text);
  return 0;
}
