#include "aggregator/web/json.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/text/excerpt.h"
#include "base/text/utf8.h"

namespace fleetperf::aggregator::web {

void AppendJsonString(absl::string_view text, std::string* out) {
  out->push_back('"');
  while (!text.empty()) {
    uint32_t character = 0;
    const size_t size = DecodeCharacter(text, &character);
    if (size == 0) {
      out->append("\uFFFD");
    } else if (character == '"' || character == '\\') {
      out->push_back('\\');
      out->push_back(text[0]);
    } else if (character < 0x20) {
      absl::StrAppend(out, "\\u", absl::Hex(character, absl::kZeroPad4));
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
