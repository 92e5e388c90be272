// The DLL plays the scenario in the file next to it: scripted_perflib.json.

#include <windows.h>

#include "base/os/files.h"
#include "base/os/wide_windows.h"
#include "tests/scripted_perflib/scripted_perflib.h"
#include "tests/scripted_perflib/scripted_registry.h"

BOOL WINAPI DllMain(HINSTANCE dll, DWORD reason, void*) {
  if (reason != DLL_PROCESS_ATTACH) return TRUE;
  wchar_t path[1024];
  const DWORD size = GetModuleFileNameW(dll, path, std::size(path));
  std::string scenario_path = fleetperf::Utf8FromWide({path, size});
  scenario_path.replace(scenario_path.rfind('.'), std::string::npos, ".json");
  const auto json = fleetperf::ReadFile(scenario_path);
  if (!json.ok()) return FALSE;
  const auto scenario = fleetperf::testing::ParseScenario(*json);
  fleetperf::testing::ScriptedPerfLib::Instance().Play(scenario);
  fleetperf::testing::ScriptedRegistry::Instance().Play(scenario);
  return TRUE;
}
