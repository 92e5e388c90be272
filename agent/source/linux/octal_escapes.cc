#include "agent/source/linux/octal_escapes.h"

namespace fleetperf::agent {
namespace {

bool IsOctal(char c) { return c >= '0' && c <= '7'; }

}  // namespace

std::string DecodeOctal(absl::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size() &&
                           IsOctal(text[i + 1]) && IsOctal(text[i + 2]) &&
                           IsOctal(text[i + 3]);
    const int byte = is_escape
                         ? (text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 |
                               (text[i + 3] - '0')
                         : 0;
    if (byte != 0) {
      decoded += static_cast<char>(byte);
      i += 3;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

}  // namespace fleetperf::agent
