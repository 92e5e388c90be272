#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "driver/hardware/linux/timestamp_frequency.h"
#include "driver/perf_event/pmu.h"
#include "driver/perf_event/system.h"
#include "driver/pmc/banner_linux.h"
#include "driver/pmc/experiments/perf_event_counters.h"
#include "driver/pmc/machine.h"

namespace fleetperf::pmc {
namespace {

std::string LineOf(const std::string& path) {
  const auto text = perf_event::LinuxSystem().ReadFile(path);
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text))
                   : std::string(text.status().message());
}

std::vector<Fact> LinuxFacts() {
  std::vector<Fact> facts = Banner(perf_event::LinuxSystem());
  const auto pmus = perf_event::ListPmus();
  facts.emplace_back("perf_event PMUs",
                     pmus.ok() ? absl::StrJoin(*pmus, " ")
                               : std::string(pmus.status().message()));
  facts.emplace_back("perf_event_paranoid",
                     LineOf("/proc/sys/kernel/perf_event_paranoid"));
  return facts;
}

}  // namespace

Machine RealMachine() {
  return {
      .open_reader = &hardware::OpenHardwareReader,
      .open_thread_counters =
          [](int, RdpmcAccess) {
            return CountThread(perf_event::LinuxSystem());
          },
      .timestamp_hertz =
          [] { return hardware::TimestampHertz(perf_event::LinuxSystem()); },
      .facts = LinuxFacts,
      .processor = &RealProcessor()};
}

}  // namespace fleetperf::pmc
