#include "base/os/wide_windows.h"

#include <windows.h>
#include <shellapi.h>

namespace fleetperf {

std::wstring WideFromUtf8(absl::string_view utf8) {
  const int size = static_cast<int>(utf8.size());
  std::wstring wide(
      MultiByteToWideChar(CP_UTF8, 0, utf8.data(), size, nullptr, 0), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, utf8.data(), size, wide.data(),
                      static_cast<int>(wide.size()));
  return wide;
}

std::string Utf8FromWide(std::wstring_view wide) {
  const int size = static_cast<int>(wide.size());
  std::string utf8(WideCharToMultiByte(CP_UTF8, 0, wide.data(), size, nullptr,
                                       0, nullptr, nullptr),
                   '\0');
  WideCharToMultiByte(CP_UTF8, 0, wide.data(), size, utf8.data(),
                      static_cast<int>(utf8.size()), nullptr, nullptr);
  return utf8;
}

std::wstring LongPath(absl::string_view utf8) {
  const std::wstring wide = WideFromUtf8(utf8);
  // The size includes the terminating null, the result of the second call does
  // not.
  std::wstring path(GetFullPathNameW(wide.c_str(), 0, nullptr, nullptr), L'\0');
  path.resize(GetFullPathNameW(wide.c_str(), static_cast<DWORD>(path.size()),
                               path.data(), nullptr));
  if (path.empty()) return wide;  // the caller's function reports why
  if (path.starts_with(L"\\\\?\\") || path.starts_with(L"\\\\.\\")) return path;
  if (path.starts_with(L"\\\\")) return L"\\\\?\\UNC" + path.substr(1);
  return L"\\\\?\\" + path;
}

std::vector<std::string> SplitCommandLine(const std::wstring& command_line) {
  int count = 0;
  wchar_t** const wide = CommandLineToArgvW(command_line.c_str(), &count);
  std::vector<std::string> arguments;
  for (int i = 0; wide != nullptr && i < count; ++i) {
    arguments.push_back(Utf8FromWide(wide[i]));
  }
  LocalFree(wide);
  return arguments;
}

}  // namespace fleetperf
