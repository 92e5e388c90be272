#include "aggregator/samples/labels.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/text/excerpt.h"

namespace fleetperf::aggregator {
namespace {

bool HasControlCharacter(absl::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_iscntrl(c); });
}

// Returns the escaped beginning of `text`, for an error message.
std::string EscapedStart(absl::string_view text) {
  constexpr size_t kMaxBytes = 40;
  return absl::StrCat(absl::CHexEscape(Utf8Prefix(text, kMaxBytes)),
                      text.size() > kMaxBytes ? "..." : "");
}

absl::Status CheckAtMost(size_t max, size_t count, absl::string_view unit,
                         absl::string_view what) {
  if (count <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has ", count, " ", unit, ", more than ", max));
}

absl::Status CheckLabel(absl::string_view field, const std::string& name,
                        const std::string& value) {
  RETURN_IF_ERROR(CheckAtMost(
      kMaxLabelNameBytes, name.size(), "bytes",
      absl::StrCat("the name \"", EscapedStart(name), "\" in ", field)));
  const std::string label =
      absl::StrCat(field, "[\"", absl::CHexEscape(name), "\"]");
  RETURN_IF_ERROR(
      CheckAtMost(kMaxLabelValueBytes, value.size(), "bytes", label));
  if (HasControlCharacter(name) || HasControlCharacter(value)) {
    return absl::InvalidArgumentError(
        absl::StrCat(label, " is \"", EscapedStart(value),
                     "\"; labels must not contain control characters"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckLabels(absl::string_view field, const Labels& labels) {
  RETURN_IF_ERROR(CheckAtMost(kMaxLabels, labels.size(), "labels", field));
  size_t bytes = 0;
  for (const auto& [name, value] : labels) {
    RETURN_IF_ERROR(CheckLabel(field, name, value));
    bytes += name.size() + value.size();
  }
  return CheckAtMost(kMaxLabelBytes, bytes, "bytes", field);
}

void SetLabels(const Labels& values, Labels* labels) {
  for (const auto& [name, value] : values) {
    if (value.empty()) {
      labels->erase(name);
    } else {
      (*labels)[name] = value;
    }
  }
}

}  // namespace fleetperf::aggregator
