#include "perflib/v1/names.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "perflib/bytes.h"
#include "perflib/defect.h"
#include "perflib/utf16.h"

namespace fleetperf::perflib {
namespace {

// The pair (1, the highest index) is no name.
constexpr uint32_t kHighestIndex = 1;

// Returns none if the text is not digits only, or too large.
std::optional<uint32_t> Index(absl::string_view utf16) {
  const std::string text = Utf8FromUtf16(utf16);
  uint32_t index;
  if (!std::all_of(text.begin(), text.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(text, &index)) {
    return std::nullopt;
  }
  return index;
}

}  // namespace

V1Names V1Names::Read(absl::string_view bytes) {
  V1Names names;
  size_t position = 0;
  const auto next = [&]() -> std::optional<absl::string_view> {
    const absl::string_view rest = bytes.substr(position);
    const size_t size = TerminatedUtf16Length(rest);
    if (size == absl::string_view::npos) {
      names.status_ = Defect{.problem = Defect::Problem::kUnterminated,
                             .what = "a text of the name table",
                             .offset = position,
                             .limit = rest.size()}
                          .ToStatus();
      return std::nullopt;
    }
    position += size + sizeof(char16_t);
    return rest.substr(0, size);
  };
  while (position < bytes.size()) {
    const auto digits = next();
    if (!digits.has_value() || digits->empty()) break;  // the end of the list
    const auto text = next();
    if (!text.has_value()) break;
    const std::optional<uint32_t> index = Index(*digits);
    if (index.has_value() && index != kHighestIndex) {
      names.texts_.try_emplace(*index, Utf8FromUtf16(*text));
    }
  }
  return names;
}

absl::string_view V1Names::Find(uint32_t index) const {
  const auto found = texts_.find(index);
  return found == texts_.end() ? absl::string_view() : found->second;
}

}  // namespace fleetperf::perflib
