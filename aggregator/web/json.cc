#include "aggregator/web/json.h"

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"

namespace fleetperf::aggregator::web {
namespace {

// Returns the size of the UTF-8 character at the start of `text`; 0 if there is
// none.
size_t CharacterSize(absl::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool is_overlong =
      (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool is_surrogate = lead == 0xed && byte(1) >= 0xa0;
  const bool is_too_large = lead == 0xf4 && byte(1) >= 0x90;
  return is_overlong || is_surrogate || is_too_large ? 0 : size;
}

}  // namespace

void AppendJsonString(absl::string_view text, std::string* out) {
  out->push_back('"');
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (size == 0) {
      out->append("\xef\xbf\xbd");
    } else if (first == '"' || first == '\\') {
      out->push_back('\\');
      out->push_back(text[0]);
    } else if (first < 0x20) {
      absl::StrAppend(out, "\\u", absl::Hex(first, absl::kZeroPad4));
    } else {
      out->append(text.data(), size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  out->push_back('"');
}

std::string ErrorJson(const absl::Status& error) {
  std::string json =
      absl::StrCat("{\"error\":{\"code\":\"",
                   absl::StatusCodeToString(error.code()), "\",\"message\":");
  AppendJsonString(Excerpt(error.message(), kMaxErrorText), &json);
  return absl::StrCat(json, "}}");
}

}  // namespace fleetperf::aggregator::web
