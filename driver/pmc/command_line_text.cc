#include "driver/pmc/command_line_text.h"

#include <cstddef>

namespace fleetperf::pmc {
namespace {

// Backslashes are literal, except in front of a quotation mark, where each is
// doubled.
void AppendQuoted(const std::string& argument, std::string* text) {
  *text += '"';
  size_t backslashes = 0;
  for (const char c : argument) {
    if (c == '"') text->append(backslashes + 1, '\\');
    backslashes = c == '\\' ? backslashes + 1 : 0;
    *text += c;
  }
  text->append(backslashes, '\\');
  *text += '"';
}

}  // namespace

std::string CommandLineText(const std::vector<std::string>& arguments) {
  std::string text;
  for (const std::string& argument : arguments) {
    if (!text.empty()) text += ' ';
    const bool is_plain =
        !argument.empty() &&
        argument.find_first_of(" \t\n\v\"") == std::string::npos;
    if (is_plain) {
      text += argument;
    } else {
      AppendQuoted(argument, &text);
    }
  }
  return text;
}

}  // namespace fleetperf::pmc
