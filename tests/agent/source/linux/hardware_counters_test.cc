// The counterset of hardware counters on a simulated PMU. Expected values are
// rate times time.

#include "driver/perf_event/event_parser.h"
#include "driver/perf_event/simulation/simulated_system.h"
#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using perf_event::SimulatedSystem;
using ::testing::ElementsAre;

constexpr char kHardware[] = "Hardware Counters";

class HardwareCountersTest : public testing::LinuxFixture {
 protected:
  explicit HardwareCountersTest(perf_event::SimulatedMachine machine =
                                    {.cpus = 2, .hardware_counters = 16})
      : owned_(std::make_shared<SimulatedSystem>(machine)) {
    events_ = owned_;
    SetRate("instructions", 3'000'000'000);
    SetRate("cycles", 1'500'000'000);
    SetRate("ref-cycles", 1'000'000'000);
  }

  // Makes the CPUs those of a model; without it their vendor is unknown.
  void SetModel(const std::string& vendor, int family, int model) {
    machine_.SetFile(
        "/proc/cpuinfo",
        absl::StrCat("vendor_id\t: ", vendor, "\ncpu family\t: ", family,
                     "\nmodel\t\t: ", model, "\nstepping\t: 0\n"));
  }
  void SetSapphireRapids() { SetModel("GenuineIntel", 6, 143); }
  void SetZen2() { SetModel("AuthenticAMD", 0x17, 0x31); }

  void SetRate(const std::string& name, uint64_t per_second) {
    const auto events = perf_event::ParseEvents(name, machine_);
    for (const perf_event::Event& event : *events) {
      machine_.SetRate(event, per_second);
    }
  }

  // Returns the growth of the values in a second in which all events count.
  testing::Values GrowthOf(const std::string& instance) {
    if (handle_ == nullptr) {
      handle_ = Open(kHardware, {perflib::kWildcardCounter});
      Take();
      Advance();
    }
    testing::Values before = last_.rows.at(instance);
    Advance();
    testing::Values growth;
    for (const auto& [counter, value] : last_.rows.at(instance)) {
      growth[counter] = value - before[counter];
    }
    return growth;
  }

  void Advance() {
    machine_.Advance(absl::Seconds(1));
    clock_.Advance(absl::Seconds(1));
    Take();
  }

  void Take() {
    last_ = Sample(handle_.get(), kHardware, {perflib::kWildcardCounter});
  }

  uint64_t BaseOf(const testing::Values& growth, absl::string_view counter) {
    for (const auto& registered : Registration(kHardware).counters) {
      if (registered.name == counter) {
        return growth.at(absl::StrCat("id:", registered.base_counter_id));
      }
    }
    throw std::invalid_argument(std::string(counter));
  }

  const std::shared_ptr<SimulatedSystem> owned_;
  SimulatedSystem& machine_ = *owned_;
  std::unique_ptr<QueryHandle> handle_;
  testing::Reading last_;
};

TEST_F(HardwareCountersTest, ExistsOnlyWithAPmu) {
  events_ = std::make_shared<SimulatedSystem>(
      perf_event::SimulatedMachine{.hardware_counters = 0});
  for (const auto& registration : registrations()) {
    EXPECT_NE(registration.name, kHardware);
  }
}

// 3 · 10^9 instructions in 1.5 · 10^9 cycles a second: IPC 2. 10^9 of 2 · 10^9
// cycles of the timestamp counter: active for half of the time, at 1.5 times
// the base frequency of 2 GHz.
TEST_F(HardwareCountersTest, CountsInstructionsAndCycles) {
  const testing::Values growth = GrowthOf("0");
  EXPECT_THAT(last_.names, ElementsAre("0", "1", "_Total"));
  EXPECT_EQ(growth.at("Instructions/sec"), 3'000'000'000u);
  EXPECT_EQ(growth.at("IPC"), 3'000'000'000u);
  EXPECT_EQ(BaseOf(growth, "IPC"), 1'500'000'000u);
  EXPECT_EQ(growth.at("% Active"), 1'000'000'000u);
  EXPECT_EQ(BaseOf(growth, "% Active"), 2'000'000'000u);
  // 1.5 · 10^9 cycles in 0.5 s are 300 in 100 ns, which is 3000 MHz.
  EXPECT_EQ(growth.at("Active Frequency"), 1'500'000'000u);
  EXPECT_EQ(BaseOf(growth, "Active Frequency"), 5'000'000u);
  EXPECT_EQ(BaseOf(growth, "Average Frequency"), 10'000'000u);
  EXPECT_FALSE(growth.contains("L3 Misses/sec"));
  EXPECT_FALSE(growth.contains("Temperature"));
}

TEST_F(HardwareCountersTest, TotalsAreThoseOfAllCpus) {
  const testing::Values growth = GrowthOf("_Total");
  EXPECT_EQ(growth.at("Instructions/sec"), 6'000'000'000u);
  EXPECT_EQ(BaseOf(growth, "IPC"), 3'000'000'000u);
  EXPECT_EQ(BaseOf(growth, "% Active"), 4'000'000'000u);
}

TEST_F(HardwareCountersTest, CountsCachesAndBranches) {
  SetSapphireRapids();
  SetRate("cache-references", 1000);
  SetRate("cache-misses", 100);
  SetRate("branches", 500);
  SetRate("branch-misses", 5);
  SetRate("cpu/event=0xd0,umask=0x81/", 4000);
  SetRate("cpu/event=0xd1,umask=0x08/", 40);
  // Linux' own count of misses is one of replacements.
  SetRate("L1-dcache-loads", 4000);
  SetRate("L1-dcache-load-misses", 7000);
  const testing::Values growth = GrowthOf("1");
  EXPECT_EQ(growth.at("L3 Misses/sec"), 100u);
  EXPECT_EQ(growth.at("% L3 Hits"), 900u);
  EXPECT_EQ(BaseOf(growth, "% L3 Hits"), 1000u);
  EXPECT_EQ(growth.at("L3 Misses per Instruction"), 100u);
  EXPECT_EQ(BaseOf(growth, "L3 Misses per Instruction"), 3'000'000'000u);
  EXPECT_EQ(growth.at("% Branch Misses"), 5u);
  EXPECT_EQ(BaseOf(growth, "% Branch Misses"), 500u);
  EXPECT_EQ(growth.at("% L1 Data Misses"), 40u);
}

// The numbers of these events differ from model to model.
TEST_F(HardwareCountersTest, CountsTheSecondLevelCacheOfKnownModels) {
  SetRate("cpu/event=0xd1,umask=0x02/", 900);
  SetRate("cpu/event=0xd1,umask=0x10/", 100);
  SetSapphireRapids();
  const testing::Values growth = GrowthOf("0");
  EXPECT_EQ(growth.at("L2 Misses/sec"), 100u);
  EXPECT_EQ(growth.at("% L2 Hits"), 900u);
  EXPECT_EQ(BaseOf(growth, "% L2 Hits"), 1000u);
}

// On Meteor Lake, a miss is 10 on the large cores and 80 on the small ones.
TEST_F(HardwareCountersTest, CountsTheSecondLevelCacheOfBothTypesOfCores) {
  const std::string devices = "/sys/bus/event_source/devices/";
  const std::map<std::string, std::string> formats = {{"event", "config:0-7"},
                                                      {"umask", "config:8-15"}};
  machine_.AddPmu("cpu_core", 50, formats);
  machine_.SetFile(devices + "cpu_core/cpus", "0\n");
  machine_.AddPmu("cpu_atom", 51, formats);
  machine_.SetFile(devices + "cpu_atom/cpus", "1\n");
  SetRate("cpu_core/event=0xd1,umask=0x02/", 900);
  SetRate("cpu_core/event=0xd1,umask=0x10/", 100);
  SetRate("cpu_atom/event=0xd1,umask=0x02/", 60);
  SetRate("cpu_atom/event=0xd1,umask=0x10/", 1);
  SetRate("cpu_atom/event=0xd1,umask=0x80/", 20);
  SetModel("GenuineIntel", 6, 170);
  EXPECT_EQ(GrowthOf("0").at("L2 Misses/sec"), 100u);
  EXPECT_EQ(GrowthOf("1").at("L2 Misses/sec"), 20u);
  EXPECT_EQ(GrowthOf("1").at("L2 Hits/sec"), 60u);
}

TEST_F(HardwareCountersTest, LeavesOutTheSecondLevelCacheOfOtherModels) {
  SetModel("AuthenticAMD", 6, 143);
  EXPECT_FALSE(GrowthOf("0").contains("L2 Misses/sec"));
}

// On AMD, the kernel's cache-references and cache-misses are events of the
// second level. The third level has a PMU for each group of CPUs that share it.
class AmdHardwareCountersTest : public HardwareCountersTest {
 protected:
  AmdHardwareCountersTest()
      : HardwareCountersTest({.cpus = 4, .hardware_counters = 16}) {
    SetZen2();
    SetRate("cache-references", 9'999'999);
    SetRate("cache-misses", 8'888'888);
  }

  // CPUs 0 and 2 share a cache, 1 and 3 another one.
  void AddL3() {
    machine_.AddPmu("amd_l3", 40,
                    {{"event", "config:0-7"}, {"umask", "config:8-15"}}, "0-1");
    for (const int cpu : {0, 1}) {
      const std::string caches =
          absl::StrCat("/sys/devices/system/cpu/cpu", cpu, "/cache/");
      machine_.SetFile(caches + "index2/level", "2\n");
      machine_.SetFile(caches + "index2/shared_cpu_list",
                       absl::StrCat(cpu, "\n"));
      machine_.SetFile(caches + "index3/level", "3\n");
      machine_.SetFile(caches + "index3/shared_cpu_list",
                       absl::StrCat(cpu, ",", cpu + 2, "\n"));
    }
    SetRate("amd_l3/event=0x04,umask=0xff/", 1000);
    SetRate("amd_l3/event=0x04,umask=0x01/", 100);
  }

  void AddMperf() {
    machine_.AddPmu("msr", 41, {{"event", "config:0-63"}});
    machine_.SetFile("/sys/bus/event_source/devices/msr/events/mperf",
                     "event=0x02\n");
    SetRate("msr/mperf/", 500'000'000);
  }
};

TEST_F(AmdHardwareCountersTest, ServesNoThirdLevelWithoutItsPmu) {
  const testing::Values growth = GrowthOf("0");
  EXPECT_FALSE(growth.contains("L3 References/sec"));
  EXPECT_FALSE(growth.contains("L3 Misses/sec"));
  EXPECT_FALSE(growth.contains("% L3 Hits"));
  EXPECT_FALSE(growth.contains("L3 Misses per Instruction"));
}

// Two CPUs with 3 · 10^9 instructions a second share a cache.
TEST_F(AmdHardwareCountersTest, CountsTheThirdLevelAtTheFirstCpuThatSharesIt) {
  AddL3();
  for (const char* cpu : {"0", "1"}) {
    const testing::Values growth = GrowthOf(cpu);
    EXPECT_EQ(growth.at("L3 References/sec"), 1000u);
    EXPECT_EQ(growth.at("L3 Misses/sec"), 100u);
    EXPECT_EQ(growth.at("% L3 Hits"), 900u);
    EXPECT_EQ(growth.at("L3 Misses per Instruction"), 100u);
    EXPECT_EQ(BaseOf(growth, "L3 Misses per Instruction"), 6'000'000'000u);
  }
  const testing::Values other = GrowthOf("2");
  EXPECT_FALSE(other.contains("L3 Misses/sec"));
  EXPECT_FALSE(other.contains("L3 Misses per Instruction"));
  const testing::Values total = GrowthOf("_Total");
  EXPECT_EQ(total.at("L3 Misses/sec"), 200u);
  EXPECT_EQ(total.at("L3 Misses per Instruction"), 200u);
  EXPECT_EQ(BaseOf(total, "L3 Misses per Instruction"), 12'000'000'000u);
}

// A CPU that goes offline keeps its instructions.
TEST_F(AmdHardwareCountersTest, InstructionsBehindTheThirdLevelNeverFall) {
  AddL3();
  GrowthOf("0");
  const uint64_t before =
      BaseOf(last_.rows.at("0"), "L3 Misses per Instruction");
  machine_.SetOnline(2, false);
  machine_.SetFile("/sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list",
                   "0\n");
  Advance();
  EXPECT_EQ(BaseOf(last_.rows.at("0"), "L3 Misses per Instruction") - before,
            3'000'000'000u);
}

TEST_F(AmdHardwareCountersTest, HasNoRatioIfTheSystemDoesNotSayWhoShares) {
  AddL3();
  machine_.RemoveFile("/sys/devices/system/cpu/cpu0/cache/index3/level");
  const testing::Values growth = GrowthOf("0");
  EXPECT_EQ(growth.at("L3 Misses/sec"), 100u);
  EXPECT_FALSE(growth.contains("L3 Misses per Instruction"));
}

// The kernel maps ref-cycles on Zen 4 only.
TEST_F(AmdHardwareCountersTest, CountsReferenceCyclesByMperf) {
  AddMperf();
  const testing::Values growth = GrowthOf("0");
  EXPECT_EQ(growth.at("Reference Cycles/sec"), 500'000'000u);
  EXPECT_EQ(growth.at("% Active"), 500'000'000u);
  EXPECT_EQ(BaseOf(growth, "% Active"), 2'000'000'000u);
}

TEST_F(AmdHardwareCountersTest, CountsReferenceCyclesByTheKernelWithoutMperf) {
  EXPECT_EQ(GrowthOf("0").at("Reference Cycles/sec"), 1'000'000'000u);
}

// ls_dispatch.ld_dispatch and ls_mab_alloc.loads, as on Windows.
TEST_F(AmdHardwareCountersTest, CountsTheFirstLevelByEventsOfTheModel) {
  SetRate("L1-dcache-loads", 1);
  SetRate("L1-dcache-load-misses", 2);
  SetRate("cpu/event=0x29,umask=0x01/", 4000);
  SetRate("cpu/event=0x41,umask=0x01/", 40);
  const testing::Values growth = GrowthOf("3");
  EXPECT_EQ(growth.at("L1 Data Loads/sec"), 4000u);
  EXPECT_EQ(growth.at("L1 Data Misses/sec"), 40u);
}

// What the generic names of caches count there is not known.
TEST_F(HardwareCountersTest, CountsNoCachesOfOtherVendors) {
  for (const char* event : {"cache-references", "cache-misses",
                            "L1-dcache-loads", "L1-dcache-load-misses"}) {
    SetRate(event, 1000);
  }
  SetRate("branches", 500);
  const testing::Values growth = GrowthOf("0");
  EXPECT_EQ(growth.at("Branches/sec"), 500u);
  EXPECT_EQ(growth.at("Reference Cycles/sec"), 1'000'000'000u);
  EXPECT_FALSE(growth.contains("L3 References/sec"));
  EXPECT_FALSE(growth.contains("L1 Data Loads/sec"));
}

// One CPU counts for its package: power, and the memory controllers, of which
// there are two here.
TEST_F(HardwareCountersTest, CountsThePackage) {
  SetSapphireRapids();
  const std::string devices = "/sys/bus/event_source/devices/";
  const auto add = [&](const std::string& pmu, uint32_t type,
                       const std::string& event, const std::string& scale,
                       const std::string& unit) {
    machine_.AddPmu(pmu, type, {{"event", "config:0-7"}}, "0");
    const std::string file = devices + pmu + "/events/" + event;
    machine_.SetFile(file, "event=0x04\n");
    machine_.SetFile(file + ".scale", scale + "\n");
    machine_.SetFile(file + ".unit", unit + "\n");
  };
  add("power", 20, "energy-pkg", "2.3283064365386962890625e-10", "Joules");
  for (const int controller : {0, 1}) {
    add(absl::StrCat("uncore_imc_", controller), 30 + controller,
        "cas_count_read", "6.103515625e-5", "MiB");
  }
  SetRate("power/energy-pkg/", uint64_t{40} << 32);
  SetRate("uncore_imc/cas_count_read/", 1'000'000);
  const testing::Values growth = GrowthOf("0");
  EXPECT_EQ(growth.at("Package Power"), 40'000'000u);  // scaled by 10^-6
  EXPECT_EQ(growth.at("Memory Read Bytes/sec"), 2 * 64'000'000u);
  EXPECT_FALSE(last_.rows.at("1").contains("Package Power"));
}

// Two packages of a CPU and a last-level cache each.
TEST_F(HardwareCountersTest, ReadsTheUncoreAndCachesOfPackages) {
  const std::string cpus = "/sys/devices/system/cpu/";
  const auto write = [&](uint64_t second) {
    for (const int package : {0, 1}) {
      const std::string cpu = absl::StrCat(cpus, "cpu", package);
      const std::string cache =
          absl::StrCat("/sys/fs/resctrl/mon_data/mon_L3_0", package, "/");
      const uint64_t part = package + 1;
      const std::pair<std::string, uint64_t> files[] = {
          {cpu + "/topology/physical_package_id", package},
          {cpu + "/cache/index3/id", package},
          {absl::StrCat(cpus, "intel_uncore_frequency/package_0", package,
                        "_die_00/current_freq_khz"),
           1'000'000 * part},
          {cache + "llc_occupancy", 5'000 * part},
          {cache + "mbm_total_bytes", 900 * part * second},
          {cache + "mbm_local_bytes", 700 * part * second}};
      for (const auto& [file, value] : files) {
        machine_.SetFile(file, absl::StrCat(value, "\n"));
      }
    }
  };
  write(1);
  GrowthOf("0");
  write(2);
  const testing::Values growth = GrowthOf("_Total");
  EXPECT_EQ(growth.at("Local Memory Bytes/sec"), 700 + 1'400);
  EXPECT_EQ(growth.at("Remote Memory Bytes/sec"), 200 + 400);
  EXPECT_EQ(last_.Get("1", "L3 Occupancy Bytes"), 10'000);
  EXPECT_EQ(last_.Get("_Total", "L3 Occupancy Bytes"), 15'000);
  EXPECT_EQ(last_.Get("0", "Uncore Frequency"), 1'000);
  EXPECT_EQ(last_.Get("_Total", "Uncore Frequency"), 1'500);
}

// Some virtual machines have an energy counter that stays 0.
TEST_F(HardwareCountersTest, AnEnergyCounterThatStays0IsAbsent) {
  SetSapphireRapids();
  machine_.AddPmu("power", 20, {{"event", "config:0-7"}}, "0");
  const std::string file =
      "/sys/bus/event_source/devices/power/events/energy-pkg";
  machine_.SetFile(file, "event=0x02\n");
  machine_.SetFile(file + ".scale", "2.3283064365386962890625e-10\n");
  SetRate("power/energy-pkg/", 0);
  EXPECT_FALSE(GrowthOf("0").contains("Package Power"));
}

TEST_F(HardwareCountersTest, ReadsTheTemperatureOfEachCore) {
  const std::string sensor = "/sys/class/hwmon/hwmon3/";
  machine_.SetFile(sensor + "name", "coretemp\n");
  machine_.SetFile(sensor + "temp1_label", "Package id 0\n");
  machine_.SetFile(sensor + "temp2_label", "Core 0\n");
  machine_.SetFile(sensor + "temp2_input", "41000\n");
  machine_.SetFile(sensor + "temp3_label", "Core 4\n");
  machine_.SetFile(sensor + "temp3_input", "53900\n");
  for (const auto& [cpu, core] : std::map<int, int>{{0, 4}, {1, 0}}) {
    const std::string topology =
        absl::StrCat("/sys/devices/system/cpu/cpu", cpu, "/topology/");
    machine_.SetFile(topology + "physical_package_id", "0\n");
    machine_.SetFile(topology + "core_id", absl::StrCat(core, "\n"));
  }
  GrowthOf("0");
  EXPECT_EQ(last_.Get("0", "Temperature"), 53u);
  EXPECT_EQ(last_.Get("1", "Temperature"), 41u);
  EXPECT_EQ(last_.Get("_Total", "Temperature"), 47u);
}

class BusyHardwareCountersTest : public HardwareCountersTest {
 protected:
  // The first group needs all three counters, so that two groups take turns.
  BusyHardwareCountersTest()
      : HardwareCountersTest(
            {.hardware_counters = 3, .turn = absl::Milliseconds(1)}) {
    SetSapphireRapids();
    SetRate("cache-references", 1000);
    SetRate("cache-misses", 100);
  }
};

TEST_F(BusyHardwareCountersTest, ScalesGroupsThatTakeTurns) {
  const testing::Values growth = GrowthOf("0");
  EXPECT_EQ(growth.at("Instructions/sec"), 3'000'000'000u);
  EXPECT_EQ(BaseOf(growth, "IPC"), 1'500'000'000u);
  EXPECT_EQ(growth.at("L3 Misses/sec"), 100u);
  // Five events were enabled for a second, each for half of it on the PMU.
  EXPECT_EQ(growth.at("% Time Counted"), 2'500'000'000u);
  EXPECT_EQ(BaseOf(growth, "% Time Counted"), 5'000'000'000u);
}

}  // namespace
}  // namespace fleetperf::agent
