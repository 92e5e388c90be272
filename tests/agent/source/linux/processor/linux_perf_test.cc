// Counters that a plan names, on a machine with a simulated PMU. Expected
// values are rate times time.

#include <set>

#include "agent/collect/resolve.h"
#include "driver/perf_event/event_parser.h"
#include "driver/perf_event/simulation/simulated_system.h"
#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using perf_event::Event;
using perf_event::SimulatedSystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kPerf[] = "Linux Perf";

class LinuxPerfTest : public testing::LinuxFixture {
 protected:
  LinuxPerfTest() { events_ = owned_; }

  void SetRate(const std::string& name, uint64_t per_second) {
    machine_.SetRate(*perf_event::ParseEvent(name, machine_), per_second);
  }

  // Applies a plan with these counters. Returns the problems.
  std::vector<std::string> Plan(
      const std::vector<std::string>& counters,
      const std::vector<std::string>& instances = {}) {
    Registration(kPerf);  // loads all
    agent::Plan plan;
    plan.queries = {
        {.counterset = kPerf, .counters = counters, .instances = instances}};
    resolution_ = DefineAndResolve(source(), plan, "machine", &registrations());
    std::vector<std::string> problems;
    for (const auto& problem : resolution_.problems) {
      problems.push_back(problem.message);
    }
    return problems;
  }

  // Samples the counters of the plan after a second.
  testing::Reading SampleAfter(absl::Duration duration) {
    machine_.Advance(duration);
    std::vector<uint32_t> ids;
    for (const auto& counter : resolution_.queries.at(0).counters) {
      ids.push_back(counter.id);
    }
    if (handle_ == nullptr) handle_ = Open(kPerf, ids);
    return Sample(handle_.get(), kPerf, ids);
  }

  const std::shared_ptr<SimulatedSystem> owned_ =
      std::make_shared<SimulatedSystem>(
          perf_event::SimulatedMachine{.cpus = 2, .hardware_counters = 1});
  SimulatedSystem& machine_ = *owned_;
  Resolution resolution_;
  std::unique_ptr<QueryHandle> handle_;
};

TEST_F(LinuxPerfTest, BeginsWithTheSoftwareEvents) {
  std::set<std::string> names;
  for (const auto& counter : Registration(kPerf).counters) {
    names.insert(counter.name);
  }
  EXPECT_TRUE(names.contains("page-faults"));
  EXPECT_TRUE(names.contains("context-switches"));
  EXPECT_TRUE(names.contains("% Time Counted"));
  EXPECT_FALSE(names.contains("cpu-cycles"));
}

TEST_F(LinuxPerfTest, CountsEventsThatThePlanNames) {
  SetRate("cycles", 1000);
  EXPECT_THAT(Plan({"cycles", "page-faults"}), IsEmpty());
  SetRate("page-faults", 7);
  SampleAfter(absl::ZeroDuration());
  const testing::Reading reading = SampleAfter(absl::Seconds(2));
  EXPECT_THAT(reading.names, ElementsAre("0", "1", "_Total"));
  // The alias stands for its canonical name.
  EXPECT_EQ(reading.Get("0", "cpu-cycles"), 2000u);
  EXPECT_EQ(reading.Get("1", "page-faults"), 14u);
  EXPECT_EQ(reading.Get("_Total", "cpu-cycles"), 4000u);
}

// An id depends on nothing but the canonical text.
TEST_F(LinuxPerfTest, IdsAreTheSameOnAllMachines) {
  SetRate("cycles", 1);
  SetRate("r1a8", 1);
  Plan({"cycles", "r1a8"});
  std::map<std::string, uint32_t> ids;
  for (const auto& counter : Registration(kPerf).counters) {
    ids[counter.name] = counter.counter_id;
  }
  // The first 4 bytes of sha256sum, little-endian, without the first bit and
  // with the second.
  EXPECT_EQ(ids.at("cpu-cycles"), 1139963942u);
  EXPECT_EQ(ids.at("page-faults"), 1547799215u);
}

// Two events share one hardware counter: each is counted half of the time and
// scaled.
TEST_F(LinuxPerfTest, ScalesEventsThatTakeTurns) {
  SetRate("cycles", 1'000'000);
  SetRate("instructions", 3'000'000);
  EXPECT_THAT(Plan({"cycles", "instructions", "% Time Counted"}), IsEmpty());
  SampleAfter(absl::ZeroDuration());
  const testing::Reading reading = SampleAfter(absl::Seconds(1));
  EXPECT_EQ(reading.Get("0", "cpu-cycles"), 1'000'000u);
  EXPECT_EQ(reading.Get("0", "instructions"), 3'000'000u);
  // 100 · running / enabled, of two CPUs with two events each.
  EXPECT_EQ(reading.Get("_Total", "% Time Counted"), 2'000'000'000u);
  EXPECT_EQ(reading.Get("_Total", "id:1100"), 4'000'000'000u);
}

// Energy is counted on one CPU of a package, in units of 2^-32 joules.
TEST_F(LinuxPerfTest, ServesUnitsInMillionths) {
  machine_.AddPmu("power", 9, {{"event", "config:0-7"}}, "0");
  const std::string events = "/sys/bus/event_source/devices/power/events/";
  machine_.SetFile(events + "energy-pkg", "event=0x02\n");
  machine_.SetFile(events + "energy-pkg.scale",
                   "2.3283064365386962890625e-10\n");
  machine_.SetFile(events + "energy-pkg.unit", "Joules\n");
  SetRate("power/energy-pkg/", uint64_t{25} << 32);  // 25 W
  EXPECT_THAT(Plan({"power/energy-pkg/"}), IsEmpty());
  SampleAfter(absl::ZeroDuration());
  const testing::Reading reading = SampleAfter(absl::Seconds(2));
  EXPECT_EQ(reading.Get("0", "power/energy-pkg/"), 50'000'000u);
  EXPECT_EQ(reading.Get("1", "power/energy-pkg/"), std::nullopt);
  EXPECT_EQ(Registration(kPerf).counters.back().default_scale, -6);
}

TEST_F(LinuxPerfTest, ReportsWhatCannotBeCounted) {
  SetRate("cycles", 1);
  EXPECT_THAT(Plan({"cycles", "instructions"}),
              ElementsAre(HasSubstr("instructions: the CPU's PMU does not have "
                                    "this event")));
  EXPECT_THAT(Plan({"cpu/evnt=1/"}), Contains(HasSubstr("evnt")));
  EXPECT_THAT(Plan({"cycles", "cpu/evnt=1/"}), ElementsAre(HasSubstr("evnt")));
  EXPECT_THAT(Plan({"uncore_imc/clockticks/"}),
              Contains(HasSubstr("uncore_imc")));
}

TEST_F(LinuxPerfTest, ReportsAMissingPermissionOnce) {
  events_ = std::make_shared<SimulatedSystem>(
      perf_event::SimulatedMachine{.is_privileged = false});
  EXPECT_THAT(Plan({}), ElementsAre(HasSubstr("perf_event_paranoid is 2")));
}

TEST_F(LinuxPerfTest, ClosesEventsThatNoPlanNames) {
  SetRate("cycles", 1);
  Plan({"cycles", "page-faults"});
  SampleAfter(absl::Seconds(1));
  EXPECT_EQ(machine_.open_descriptors(), 4);
  Plan({"cycles"});
  EXPECT_EQ(machine_.open_descriptors(), 2);
  Plan({"cycles"}, {"/a.slice"});
  EXPECT_EQ(machine_.open_descriptors(), 0);
}

TEST_F(LinuxPerfTest, LeavesOutEventsBehindTheLimitOfDescriptors) {
  max_event_descriptors_ = 128;  // 1 for each counter, but there are 2 CPUs
  SetRate("cycles", 1);
  Plan({"cycles"});
  const testing::Reading reading = SampleAfter(absl::Seconds(1));
  EXPECT_EQ(reading.Get("0", "cpu-cycles"), std::nullopt);
  EXPECT_EQ(machine_.open_descriptors(), 0);
}

// The counts of a cgroup are those of its processes on all CPUs. A cgroup that
// is created again is another instance.
TEST_F(LinuxPerfTest, CountsCgroups) {
  Write("sys/fs/cgroup/cgroup.controllers", "");
  Write("sys/fs/cgroup/web.slice/cgroup.procs", "");
  SetRate("cycles", 1000);
  EXPECT_THAT(Plan({"cycles"}, {"/web.slice", "/none.slice"}), IsEmpty());
  SampleAfter(absl::ZeroDuration());
  const testing::Reading before = SampleAfter(absl::Seconds(1));
  EXPECT_THAT(before.names, ElementsAre("/web.slice"));
  EXPECT_EQ(before.Get("/web.slice", "cpu-cycles"), 2000u);
  Remove("sys/fs/cgroup/web.slice");
  EXPECT_THAT(SampleAfter(absl::Seconds(1)).names, IsEmpty());
  EXPECT_EQ(machine_.open_descriptors(), 0);
}

}  // namespace
}  // namespace fleetperf::agent
