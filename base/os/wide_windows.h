// Windows strings are UTF-16, fleetperf's are UTF-8.

#ifndef FLEETPERF_BASE_OS_WIDE_WINDOWS_H_
#define FLEETPERF_BASE_OS_WIDE_WINDOWS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/string_view.h"

namespace fleetperf {

// Invalid input becomes U+FFFD.
std::wstring WideFromUtf8(absl::string_view utf8);
std::string Utf8FromWide(std::wstring_view wide);

// Returns the absolute form of `utf8`, with backslashes and the prefix \\?\ (on
// a share \\?\UNC\), for the functions of Windows: they refuse other paths of
// 260 characters or more. Devices (\\.\) and paths with the prefix are returned
// as they are. Not for std::filesystem: it cannot examine files by such paths.
std::wstring LongPath(absl::string_view utf8);

// Splits a command line, which starts with the executable's name, into
// arguments by the rules of CommandLineToArgvW.
std::vector<std::string> SplitCommandLine(const std::wstring& command_line);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_WIDE_WINDOWS_H_
