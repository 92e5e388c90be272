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
  SetRate("cache-references", 1000);
  SetRate("cache-misses", 100);
  SetRate("branches", 500);
  SetRate("branch-misses", 5);
  SetRate("L1-dcache-loads", 4000);
  SetRate("L1-dcache-load-misses", 40);
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
  machine_.SetFile("/proc/cpuinfo",
                   "processor\t: 0\nvendor_id\t: GenuineIntel\n"
                   "cpu family\t: 6\nmodel\t\t: 143\n"
                   "model name\t: Intel(R) Xeon(R) Platinum 8480+\n"
                   "stepping\t: 8\n");
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
  machine_.SetFile("/proc/cpuinfo",
                   "vendor_id\t: GenuineIntel\ncpu family\t: 6\n"
                   "model\t\t: 170\nstepping\t: 4\n");
  EXPECT_EQ(GrowthOf("0").at("L2 Misses/sec"), 100u);
  EXPECT_EQ(GrowthOf("1").at("L2 Misses/sec"), 20u);
  EXPECT_EQ(GrowthOf("1").at("L2 Hits/sec"), 60u);
}

TEST_F(HardwareCountersTest, LeavesOutTheSecondLevelCacheOfOtherModels) {
  machine_.SetFile("/proc/cpuinfo",
                   "vendor_id\t: AuthenticAMD\ncpu family\t: 6\n"
                   "model\t\t: 143\nstepping\t: 8\n");
  EXPECT_FALSE(GrowthOf("0").contains("L2 Misses/sec"));
}

// One CPU counts for its package: power, and the memory controllers, of which
// there are two here.
TEST_F(HardwareCountersTest, CountsThePackage) {
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

// Some virtual machines have an energy counter that stays 0.
TEST_F(HardwareCountersTest, AnEnergyCounterThatStays0IsAbsent) {
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
