// Fuzzes the contents of files in /proc and /sys. The providers of the Linux
// countersets build valid blocks on every tick, whatever the files contain.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "agent/source/linux/memory.h"
#include "agent/source/linux/network_interface.h"
#include "agent/source/linux/physical_disk.h"
#include "agent/source/linux/process_v2.h"
#include "agent/source/linux/processor_information.h"
#include "agent/source/linux/system.h"
#include "agent/source/provider_source.h"
#include "perflib/block_reader.h"
#include "tests/fuzz/check.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::agent {
namespace {

constexpr int kTicks = 2;

// A directory tree that stands in for a machine's /proc and /sys.
class Machine {
 public:
  Machine() { std::filesystem::create_directories(PathOf("sys/block/sda")); }

  const std::string& root() const { return directory_.path(); }

  // Replaces the contents of a file in place, so that open descriptors see the
  // new contents.
  void Write(const std::string& path, absl::string_view text) {
    const auto [entry, is_new] = contents_.try_emplace(path);
    if (!is_new && entry->second == text) return;
    const std::filesystem::path file = PathOf(path);
    if (is_new) std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    entry->second = std::string(text);
  }

 private:
  std::string PathOf(const std::string& path) const {
    return directory_.File(path);
  }

  testing::TempDirectory directory_;
  std::map<std::string, std::string> contents_;
};

// A provider and the files that it reads.
struct Subject {
  std::unique_ptr<Provider> (*make)(const std::string& root);
  std::vector<std::string> files;
};

template <typename T>
std::unique_ptr<Provider> Make(const std::string& root) {
  return std::make_unique<T>(root);
}

std::unique_ptr<Provider> MakeProcesses(const std::string& root) {
  return std::make_unique<ProcessV2>(root, /*max_open_files=*/1);
}

// Returns the subjects, indexed by the first byte of an input: the corpus
// depends on their order. Lists of nodes and CPUs are left out, because a few
// bytes in them can name thousands of files to open.
const std::vector<Subject>& Subjects() {
  static const std::string cpu = "sys/devices/system/cpu/cpu0/";
  static const auto& subjects = *new std::vector<Subject>{
      {&Make<ProcessorInformation>,
       {"proc/stat", "proc/interrupts", "proc/softirqs",
        cpu + "cpufreq/scaling_cur_freq", cpu + "cpufreq/cpuinfo_max_freq",
        cpu + "cpuidle/state0/latency", cpu + "cpuidle/state0/name",
        cpu + "cpuidle/state0/time", cpu + "cpuidle/state0/usage"}},
      {&Make<System>, {"proc/stat", "proc/loadavg", "proc/uptime"}},
      {&Make<Memory>, {"proc/meminfo", "proc/vmstat"}},
      {&Make<PhysicalDisk>, {"proc/diskstats"}},
      {&Make<NetworkInterface>,
       {"proc/net/dev", "sys/class/net/eth0/ifindex",
        "sys/class/net/eth0/speed"}},
      {&MakeProcesses,
       {"proc/uptime", "proc/7/stat", "proc/7/status", "proc/7/io",
        "proc/2/stat"}},
  };
  return subjects;
}

void CheckBlock(const std::string& bytes) {
  perflib::ParsedBlock block;
  perflib::ReadBlock(bytes, &block);
  FUZZ_CHECK(block.has_header);
  FUZZ_CHECK(block.defect_count == 0 && block.warning_count == 0);
  FUZZ_CHECK(block.results.size() == 1);
}

// Collects two ticks. `texts` holds the contents of the files for the first
// tick, then for the second. A file without a text is empty in the first tick
// and unchanged in the second.
void Check(const Subject& subject, const std::vector<absl::string_view>& texts,
           Machine* machine) {
  testing::SimulatedClock clock;
  std::vector<std::unique_ptr<Provider>> providers;
  providers.push_back(subject.make(machine->root()));
  const perflib::CountersetRegistration registration =
      providers.front()->registration();
  const auto source = MakeProviderSource(std::move(providers), clock);
  const auto handle = source->OpenQueryHandle();
  std::vector<perflib::CounterIdentifier> identifiers = {
      {.counterset = registration.guid,
       .counter_id = perflib::kWildcardCounter,
       .instance = registration.HasInstances() ? "*" : ""}};
  FUZZ_CHECK((*handle)->AddCounters(&identifiers).ok());
  FUZZ_CHECK(identifiers[0].status == perflib::kErrorSuccess);
  std::string block;
  for (size_t tick = 0, next = 0; tick < kTicks; ++tick) {
    for (const std::string& file : subject.files) {
      const bool has_text = next < texts.size();
      if (has_text || tick == 0) {
        machine->Write(file, has_text ? texts[next] : "");
      }
      ++next;
    }
    clock.Advance(absl::Seconds(1));
    FUZZ_CHECK((*handle)->QueryCounterData(&block).ok());
    CheckBlock(block);
  }
}

}  // namespace
}  // namespace fleetperf::agent

// The first byte selects the provider. 0xFF separates the contents of files.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fleetperf::agent::Machine machine;
  if (size == 0) return 0;
  const auto& subjects = fleetperf::agent::Subjects();
  const absl::string_view rest(reinterpret_cast<const char*>(data) + 1,
                               size - 1);
  fleetperf::agent::Check(subjects[data[0] % subjects.size()],
                          absl::StrSplit(rest, '\xFF'), &machine);
  return 0;
}
