// The trees are made up after the kernel's documentation of DRM client usage
// stats: no machine with a graphics device was recorded.

#include "agent/source/linux/gpu/gpu.h"

#include <unistd.h>

#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Reading;
using ::testing::UnorderedElementsAre;

class GpuTest : public testing::LinuxFixture {
 protected:
  static constexpr char kEngine[] = "GPU Engine";
  static constexpr char kProcessMemory[] = "GPU Process Memory";
  static constexpr char kAdapterMemory[] = "GPU Adapter Memory";
  static constexpr char kGfx7[] = "pid_7_gpu_0000:03:00.0_engtype_gfx";
  static constexpr char kGfx8[] = "pid_8_gpu_0000:03:00.0_engtype_gfx";

  GpuTest() { Write("sys/class/drm/card0/dev", "226:0\n"); }

  void SetInfo(int pid, int descriptor, const std::string& text) {
    Write(absl::StrCat("proc/", pid, "/fdinfo/", descriptor),
          "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t543\n" + text);
  }
  void Open(int pid, int descriptor, const std::string& target,
            const std::string& text) {
    SetInfo(pid, descriptor, text);
    const std::string link =
        PathOf(absl::StrCat("proc/", pid, "/fd/", descriptor));
    std::filesystem::create_directories(
        std::filesystem::path(link).parent_path());
    ASSERT_EQ(symlink(target.c_str(), link.c_str()), 0);
  }
  void OpenDevice(int pid, int descriptor, const std::string& text) {
    Open(pid, descriptor, "/dev/dri/renderD128", text);
  }
  void Close(int pid, int descriptor) {
    Remove(absl::StrCat("proc/", pid, "/fd/", descriptor));
    Remove(absl::StrCat("proc/", pid, "/fdinfo/", descriptor));
  }

  static std::string Amd(int client, uint64_t gfx_ns) {
    return absl::StrCat("drm-driver:\tamdgpu\ndrm-client-id:\t", client,
                        "\ndrm-pdev:\t0000:03:00.0\ndrm-engine-gfx:\t", gfx_ns,
                        " ns\n");
  }

  Reading After(int seconds, const std::string& counterset) {
    clock_.Advance(absl::Seconds(seconds));
    return Sample(counterset);
  }
};

TEST_F(GpuTest, EnginesOfAClient) {
  OpenDevice(7, 5,
             "drm-driver:\ti915\ndrm-client-id:\t3\ndrm-pdev:\t0000:00:02.0\n"
             "drm-engine-render:\t25000 ns\ndrm-engine-video:\t80000 ns\n"
             "drm-engine-capacity-video:\t2\n");
  const Reading reading = Sample(kEngine);
  EXPECT_THAT(reading.names,
              ElementsAre("pid_7_gpu_0000:00:02.0_engtype_render",
                          "pid_7_gpu_0000:00:02.0_engtype_video"));
  EXPECT_EQ(reading.ids.at("pid_7_gpu_0000:00:02.0_engtype_video"), 7);
  EXPECT_EQ(reading.Get("pid_7_gpu_0000:00:02.0_engtype_render",
                        "Utilization Percentage"),
            250);
  // Two engines: 800 units of 100 ns are 400 of each.
  EXPECT_EQ(reading.Get("pid_7_gpu_0000:00:02.0_engtype_video", "Running Time"),
            800);
  EXPECT_EQ(reading.Get("pid_7_gpu_0000:00:02.0_engtype_video",
                        "Utilization Percentage"),
            400);
}

TEST_F(GpuTest, ClientsOfAProcessAreSummedUp) {
  OpenDevice(7, 5, Amd(1, 1000));
  OpenDevice(7, 6, Amd(2, 500));
  EXPECT_EQ(Sample(kEngine).Get(kGfx7, "Running Time"), 15);
  SetInfo(7, 5, Amd(1, 1700));
  SetInfo(7, 6, Amd(2, 900));
  EXPECT_EQ(After(1, kEngine).Get(kGfx7, "Running Time"), 26);
  // The time of a closed client stays.
  Close(7, 6);
  EXPECT_EQ(After(1, kEngine).Get(kGfx7, "Running Time"), 26);
}

TEST_F(GpuTest, DuplicatesOfADescriptorCountOnce) {
  OpenDevice(7, 5, Amd(1, 1000));
  OpenDevice(7, 6, Amd(1, 1000));
  OpenDevice(8, 4, Amd(1, 1000));
  // A number of another adapter.
  OpenDevice(8, 5,
             "drm-driver:\tamdgpu\ndrm-client-id:\t1\n"
             "drm-pdev:\t0000:04:00.0\ndrm-engine-gfx:\t300 ns\n");
  const Reading reading = Sample(kEngine);
  EXPECT_THAT(reading.names, UnorderedElementsAre(
                                 kGfx7, "pid_8_gpu_0000:04:00.0_engtype_gfx"));
  EXPECT_EQ(reading.Get(kGfx7, "Running Time"), 10);
  EXPECT_EQ(reading.Get("pid_8_gpu_0000:04:00.0_engtype_gfx", "Running Time"),
            3);
}

TEST_F(GpuTest, ASharedClientOutlivesItsFirstProcess) {
  OpenDevice(7, 5, Amd(1, 1000));
  OpenDevice(8, 4, Amd(1, 1000));
  Sample(kEngine);
  Remove("proc/7");
  SetInfo(8, 4, Amd(1, 1600));
  const Reading reading = After(1, kEngine);
  EXPECT_THAT(reading.names, ElementsAre(kGfx8));
  // Only what it used since.
  EXPECT_EQ(reading.Get(kGfx8, "Running Time"), 6);
}

// The kernel's documentation permits drivers to step back and catch up.
TEST_F(GpuTest, TimesDoNotFall) {
  OpenDevice(7, 5, Amd(1, 2000));
  Sample(kEngine);
  SetInfo(7, 5, Amd(1, 1500));
  EXPECT_EQ(After(1, kEngine).Get(kGfx7, "Running Time"), 20);
  SetInfo(7, 5, Amd(1, 2100));
  EXPECT_EQ(After(1, kEngine).Get(kGfx7, "Running Time"), 21);
}

// 30 s of work must not look like the work of one interval.
TEST_F(GpuTest, ALaterClientCountsFromItsSecondReading) {
  OpenDevice(7, 5, Amd(1, 1000));
  Sample(kEngine);
  OpenDevice(7, 6, Amd(2, 5000));
  OpenDevice(8, 3, Amd(3, 700));
  EXPECT_THAT(After(29, kEngine).names, ElementsAre(kGfx7));
  const Reading found = After(1, kEngine);
  EXPECT_EQ(found.Get(kGfx7, "Running Time"), 10);
  EXPECT_EQ(found.Get(kGfx8, "Running Time"), 7);
  SetInfo(7, 6, Amd(2, 5400));
  EXPECT_EQ(After(1, kEngine).Get(kGfx7, "Running Time"), 14);
}

TEST_F(GpuTest, OtherDescriptorsAreNotRead) {
  Open(7, 3, "/dev/null", Amd(1, 1000));
  Open(7, 4, "/dev/dri", Amd(2, 1000));
  Open(7, 5, "socket:[123]", Amd(3, 1000));
  OpenDevice(7, 6, "");                     // a driver without statistics
  OpenDevice(7, 7, "drm-driver:\tast\n");   // clients without numbers
  OpenDevice(7, 8, "drm-client-id:\t5\n");  // no driver
  EXPECT_THAT(Sample(kEngine).names, IsEmpty());
  EXPECT_THAT(Sample(kProcessMemory).names, IsEmpty());
}

TEST_F(GpuTest, ADescriptorThatBecomesAnotherFileIsLeftAlone) {
  OpenDevice(7, 5, Amd(1, 1000));
  Sample(kEngine);
  SetInfo(7, 5, "");
  EXPECT_THAT(After(1, kEngine).names, IsEmpty());
}

TEST_F(GpuTest, MachinesWithoutDevicesAreNotSearched) {
  Remove("sys/class/drm");
  Write("sys/class/drm/version", "drm 1.1.0 20060810\n");
  OpenDevice(7, 5, Amd(1, 1000));
  EXPECT_THAT(Sample(kEngine).names, IsEmpty());
}

// xe counts cycles, which are no time.
TEST_F(GpuTest, EnginesThatCountCyclesAreAbsent) {
  OpenDevice(7, 5,
             "drm-driver:\txe\ndrm-client-id:\t6\ndrm-pdev:\t0000:00:02.0\n"
             "drm-cycles-rcs:\t28257900\ndrm-total-cycles-rcs:\t7655183225\n"
             "drm-engine-capacity-bcs:\t9\n"
             "drm-total-vram0:\t23992 KiB\ndrm-resident-vram0:\t10 MiB\n");
  EXPECT_THAT(Sample(kEngine).names, IsEmpty());
  const Reading memory = Sample(kProcessMemory);
  EXPECT_EQ(memory.Get("pid_7_gpu_0000:00:02.0", "Total Committed"),
            23'992 * 1024);
  EXPECT_EQ(memory.Get("pid_7_gpu_0000:00:02.0", "Dedicated Usage"),
            10'485'760);
  EXPECT_EQ(memory.Get("pid_7_gpu_0000:00:02.0", "Shared Usage"), std::nullopt);
}

// An adapter without a PCI address has its driver's name.
TEST_F(GpuTest, MemoryOfAnAdapterOnABusOfAChip) {
  OpenDevice(7, 5,
             "drm-driver:\tpanfrost\ndrm-client-id:\t14\n"
             "drm-total-memory:\t290 MiB\ndrm-shared-memory:\t0 MiB\n"
             "drm-active-memory:\t226 MiB\ndrm-resident-memory:\t36496 KiB\n"
             "drm-purgeable-memory:\t128 KiB\n");
  const Reading reading = Sample(kProcessMemory);
  EXPECT_THAT(reading.names, ElementsAre("pid_7_gpu_panfrost"));
  EXPECT_EQ(reading.Get("pid_7_gpu_panfrost", "Total Committed"),
            304'087'040);  // 290 * 2^20
  EXPECT_EQ(reading.Get("pid_7_gpu_panfrost", "Shared Usage"),
            37'371'904);  // 36496 * 2^10
  EXPECT_EQ(reading.Get("pid_7_gpu_panfrost", "Dedicated Usage"), std::nullopt);
}

TEST_F(GpuTest, TellsOfDescriptorsAndEnginesBeyondTheLimits) {
  std::string engines;
  for (int i = 0; i < 66; ++i) {
    absl::StrAppend(&engines, "drm-engine-e", i, ":\t1000 ns\n");
  }
  OpenDevice(7, 0, Amd(1, 1000) + engines);
  for (int i = 1; i < 4098; ++i) {
    ASSERT_EQ(symlink("/dev/dri/renderD128",
                      PathOf(absl::StrCat("proc/7/fd/", i)).c_str()),
              0);
  }
  // With gfx, 64 engines.
  EXPECT_LE(Sample(kEngine).names.size(), 64u);
  const auto left_out =
      Sample("fleetperf Collection").Get(kEngine, "Instances Left Out");
  // The device with the engines may be one of the two descriptors.
  EXPECT_TRUE(left_out == 2 || left_out == 2 + 3) << *left_out;
  EXPECT_THAT(source().Limitations()[0].reason,
              ::testing::HasSubstr("4096 descriptors of graphics devices"));
}

TEST_F(GpuTest, MemoryOfProcessesAndAdapters) {
  // Before drm-resident, and with both.
  OpenDevice(7, 5,
             Amd(1, 0) +
                 "drm-memory-vram:\t100 KiB\ndrm-memory-gtt:\t20 KiB\n"
                 "drm-memory-cpu:\t3 KiB\n");
  OpenDevice(8, 5,
             Amd(2, 0) +
                 "drm-memory-vram:\t50 KiB\ndrm-resident-vram:\t50 KiB\n"
                 "drm-total-vram:\t64 KiB\ndrm-resident-gtt:\t512\n"
                 "drm-total-gtt:\t1024\n");
  const Reading processes = Sample(kProcessMemory);
  EXPECT_THAT(processes.names,
              ElementsAre("pid_7_gpu_0000:03:00.0", "pid_8_gpu_0000:03:00.0"));
  EXPECT_EQ(processes.ids.at("pid_8_gpu_0000:03:00.0"), 8);
  EXPECT_EQ(processes.Get("pid_7_gpu_0000:03:00.0", "Dedicated Usage"),
            100 * 1024);
  EXPECT_EQ(processes.Get("pid_7_gpu_0000:03:00.0", "Shared Usage"), 23 * 1024);
  EXPECT_EQ(processes.Get("pid_7_gpu_0000:03:00.0", "Total Committed"),
            123 * 1024);
  EXPECT_EQ(processes.Get("pid_8_gpu_0000:03:00.0", "Dedicated Usage"),
            50 * 1024);
  EXPECT_EQ(processes.Get("pid_8_gpu_0000:03:00.0", "Shared Usage"), 512);
  EXPECT_EQ(processes.Get("pid_8_gpu_0000:03:00.0", "Total Committed"),
            65 * 1024);
  const Reading adapters = Sample(kAdapterMemory);
  EXPECT_THAT(adapters.names, ElementsAre("gpu_0000:03:00.0"));
  EXPECT_EQ(adapters.Get("gpu_0000:03:00.0", "Dedicated Usage"), 150 * 1024);
  EXPECT_EQ(adapters.Get("gpu_0000:03:00.0", "Shared Usage"), 23 * 1024 + 512);
  EXPECT_EQ(adapters.Get("gpu_0000:03:00.0", "Total Committed"), 188 * 1024);
}

}  // namespace
}  // namespace fleetperf::agent
