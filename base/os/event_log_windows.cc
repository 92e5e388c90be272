#include "base/os/event_log_windows.h"

#include <windows.h>

#include <iterator>

#include "base/os/wide_windows.h"

namespace fleetperf {

void WriteEvent(const std::string& source, EventType type,
                absl::string_view message) {
  const HANDLE log =
      RegisterEventSourceW(nullptr, WideFromUtf8(source).c_str());
  if (log == nullptr) return;
  constexpr DWORD kEventId = 1;
  const WORD win32_type =
      type == EventType::kError ? EVENTLOG_ERROR_TYPE : EVENTLOG_WARNING_TYPE;
  const std::wstring text = WideFromUtf8(message);
  const wchar_t* strings[] = {text.c_str()};
  ReportEventW(log, win32_type, 0, kEventId, nullptr, std::size(strings), 0,
               strings, nullptr);
  DeregisterEventSource(log);
}

}  // namespace fleetperf
