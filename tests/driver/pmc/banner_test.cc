// The banner on made-up files after Linux' documentation.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "driver/perf_event/simulation/simulated_system.h"
#include "driver/pmc/banner_linux.h"

namespace fleetperf::pmc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class BannerTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& line) {
    machine_.SetFile(path, line + "\n");
  }
  void WriteCache(int cpu, int index, const char* level, const char* type,
                  const char* size, const std::string& shared) {
    const std::string directory = absl::StrCat("/sys/devices/system/cpu/cpu",
                                               cpu, "/cache/index", index, "/");
    Write(directory + "level", level);
    Write(directory + "type", type);
    Write(directory + "size", size);
    Write(directory + "shared_cpu_list", shared);
  }
  void WriteZone(const std::string& zone, const std::string& name,
                 const std::string& microwatts) {
    const std::string directory = "/sys/class/powercap/" + zone + "/";
    Write(directory + "name", name);
    Write(directory + "constraint_0_name", "long_term");
    Write(directory + "constraint_0_max_power_uw", microwatts);
  }
  // Eight CPUs: two sockets of two cores, each with two threads, N and N + 4.
  void WriteCpus() {
    for (int cpu = 0; cpu < 8; ++cpu) {
      const int core = cpu % 4;
      const std::string threads = absl::StrCat(core, ",", core + 4);
      const std::string topology =
          absl::StrCat("/sys/devices/system/cpu/cpu", cpu, "/topology/");
      Write(topology + "physical_package_id", core < 2 ? "0" : "1");
      Write(topology + "thread_siblings_list", threads);
      WriteCache(cpu, 0, "1", "Data", "32K", threads);
      WriteCache(cpu, 1, "1", "Instruction", "64K", threads);
      WriteCache(cpu, 2, "2", "Unified", "1024K", threads);
      WriteCache(cpu, 3, "3", "Unified", "22528K",
                 core < 2 ? "0-1,4-5" : "2-3,6-7");
    }
    // Offline, and no CPU.
    Write("/sys/devices/system/cpu/cpu8/online", "0");
    Write("/sys/devices/system/cpu/cpuidle/current_driver", "none");
  }

  perf_event::SimulatedSystem machine_;
};

TEST_F(BannerTest, CountsProcessorsAndCaches) {
  WriteCpus();
  EXPECT_THAT(Banner(machine_),
              ElementsAre(Pair("processors", "2 sockets, 4 cores, 8 threads"),
                          Pair("caches",
                               "L1d 32 KiB x 4, L1i 64 KiB x 4, "
                               "L2 1024 KiB x 4, L3 22528 KiB x 2")));
}

TEST_F(BannerTest, ReadsThePowerOfPackages) {
  WriteZone("intel-rapl:0", "package-0", "165000000");
  WriteZone("intel-rapl:1", "package-1", "165000000");
  WriteZone("intel-rapl:0:0", "dram", "40000000");
  EXPECT_THAT(Banner(machine_),
              ElementsAre(Pair("TDP", "165 W for each of 2 packages")));
}

TEST_F(BannerTest, LeavesOutWhatTheMachineDoesNotTell) {
  EXPECT_THAT(Banner(machine_), IsEmpty());
  WriteZone("intel-rapl:0", "package-0", "0");
  WriteZone("intel-rapl:1", "psys", "28000000");
  EXPECT_THAT(Banner(machine_), IsEmpty());
  WriteZone("intel-rapl:0", "package-0", "12500000");
  EXPECT_THAT(Banner(machine_), ElementsAre(Pair("TDP", "12.5 W")));
}

}  // namespace
}  // namespace fleetperf::pmc
