// The process of V1 providers, over a scripted registry: the argument is the
// file of its scenario.

#include "agent/source/windows/v1/provider_process.h"

#include <cstdio>

#include "base/os/files.h"
#include "tests/scripted_perflib/scripted_registry.h"

int main(int argc, char** argv) {
  using namespace fleetperf;  // a small main
  if (argc != 2) return 2;
  auto parent = ParentPipe::Open();
  const auto scenario = ReadFile(argv[1]);
  if (!parent.ok() || !scenario.ok()) return 2;
  std::printf("providers may print anything\n");
  std::fflush(stdout);
  testing::ScriptedRegistry::Instance().Play(testing::ParseScenario(*scenario));
  const auto data = agent::MakeRegistryPerformanceData(
      testing::ScriptedRegistryFunctions(), "");
  return agent::ServePerformanceData(data.get(), parent->get()).ok() ? 0 : 1;
}
