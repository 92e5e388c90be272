// Tests of the driver with a simulated PMU, loaded by the service control
// manager.

#include <windows.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <winioctl.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/os/wide_windows.h"
#include "driver/windows/access/device_interface.h"
#include "driver/windows/client/open_device.h"
#include "tests/driver/windows/loader.h"

namespace fleetperf {
namespace {

using hardware::Device;
using hardware::OpenDevice;
using pmu::Command;
using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(30);
// User and system.
constexpr uint64_t kBothRings = pmu::kSelectUser | pmu::kSelectSystem;

// Instructions, core cycles, references and misses of the last-level cache by
// the general counters; all fixed counters.
pmu::ProgramRequest ProgramOfTests() {
  pmu::ProgramRequest request;
  request.header.size = sizeof request;
  request.num_programs = 1;
  request.programs[0].general[0] = 0x00C0 | kBothRings;
  request.programs[0].general[1] = 0x003C | kBothRings;
  request.programs[0].general[2] = 0x4F2E | kBothRings;
  request.programs[0].general[3] = 0x412E | kBothRings;
  request.programs[0].fixed_control = 0x333;
  return request;
}

template <typename Struct>
absl::string_view BytesOf(const Struct& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <typename Head, typename Entry>
std::vector<Entry> EntriesOf(const std::string& reply) {
  Head head;
  if (reply.size() < sizeof head) return {};
  std::memcpy(&head, reply.data(), sizeof head);
  if (reply.size() != sizeof head + head.num_cpus * sizeof(Entry)) return {};
  std::vector<Entry> entries(head.num_cpus);
  std::memcpy(entries.data(), reply.data() + sizeof head,
              entries.size() * sizeof(Entry));
  return entries;
}

std::vector<pmu::CpuCounts> Read(Device& device) {
  const auto reply = device.Call(Command::kRead, "");
  EXPECT_TRUE(reply.ok()) << reply.status();
  return reply.ok() ? EntriesOf<pmu::Counts, pmu::CpuCounts>(*reply)
                    : std::vector<pmu::CpuCounts>();
}

absl::Status Send(Device& device, Command command,
                  absl::string_view request = "") {
  return device.Call(command, request).status();
}

// Reserves and programs.
absl::Status StartCounting(Device& device) {
  const absl::Status status = Send(device, Command::kReserve);
  return status.ok()
             ? Send(device, Command::kProgram, BytesOf(ProgramOfTests()))
             : status;
}

bool WaitFor(const std::function<bool()>& condition) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (absl::Now() < deadline) {
    if (condition()) return true;
  }
  return false;
}

class NoDevice final : public Device {
 public:
  absl::StatusOr<std::string> Call(Command, absl::string_view) override {
    return absl::UnavailableError("not open");
  }
};

class DriverTest : public ::testing::Test {
 protected:
  explicit DriverTest(const std::string& image = FLEETPERF_SIMULATED_SYS)
      : image_(image) {
    RemoveAnyService();
  }
  ~DriverTest() override { RemoveAnyService(); }

  void SetUp() override {
    ASSERT_EQ(RunLoader("install", image_).status, 0);
    const LoaderOutput output = RunLoader("start", image_);
    ASSERT_EQ(output.status, 0) << output.text;
    const absl::Status opens = OpenDevice().status();
    ASSERT_TRUE(opens.ok()) << opens;
  }

  // The simulated machine stops the driver's process unless all registers have
  // their former values again.
  void TearDown() override {
    const LoaderOutput output = RunLoader("stop", image_);
    EXPECT_EQ(output.status, 0) << output.text;
  }

  // Never null, so that a failure does not end the process.
  static std::unique_ptr<Device> Open() {
    auto device = OpenDevice();
    EXPECT_TRUE(device.ok()) << device.status();
    if (!device.ok()) return std::make_unique<NoDevice>();
    return *std::move(device);
  }

  const std::string image_;
};

TEST_F(DriverTest, DescribesTheMachine) {
  const auto device = Open();
  const auto reply = device->Call(Command::kDescribe, "");
  ASSERT_TRUE(reply.ok()) << reply.status();
  const auto cpus = EntriesOf<pmu::Description, pmu::CpuDescription>(*reply);
  ASSERT_EQ(cpus.size(), GetActiveProcessorCount(ALL_PROCESSOR_GROUPS));
  for (const pmu::CpuDescription& cpu : cpus) {
    EXPECT_EQ(cpu.is_online, 1);
    EXPECT_EQ(cpu.pmu_version, 3);
    EXPECT_EQ(cpu.num_general, 4);
    EXPECT_EQ(cpu.fixed_counters, 7);
  }
}

// The ratios are those that simulated_machine.h documents.
TEST_F(DriverTest, CountsOnEveryCpu) {
  const auto device = Open();
  ASSERT_TRUE(StartCounting(*device).ok());
  const auto first = Read(*device);
  ASSERT_EQ(first.size(), GetActiveProcessorCount(ALL_PROCESSOR_GROUPS));
  std::vector<pmu::CpuCounts> second;
  ASSERT_TRUE(WaitFor([&] {
    second = Read(*device);
    return second.size() == first.size() &&
           second.front().tsc > first.front().tsc &&
           second.back().tsc > first.back().tsc;
  }));
  for (size_t cpu = 0; cpu < first.size(); ++cpu) {
    const auto& from = first[cpu];
    const auto& to = second[cpu];
    const uint64_t ticks = to.tsc - from.tsc;
    const uint64_t cycles = to.fixed[1] - from.fixed[1];
    const uint64_t instructions = to.fixed[0] - from.fixed[0];
    EXPECT_EQ(to.is_online, 1);
    EXPECT_EQ(2 * (to.fixed[2] - from.fixed[2]), ticks);
    EXPECT_EQ(10 * cycles, 6 * ticks);
    EXPECT_EQ(10 * instructions, 15 * cycles);
    EXPECT_EQ(to.general[0] - from.general[0], instructions);
    EXPECT_EQ(to.general[1] - from.general[1], cycles);
    EXPECT_EQ(1000 * (to.general[2] - from.general[2]), 10 * instructions);
    EXPECT_EQ(1000 * (to.general[3] - from.general[3]), 4 * instructions);
    EXPECT_EQ(to.temperature_below_limit, 30);
  }
}

TEST_F(DriverTest, RefusesMalformedRequests) {
  const auto device = Open();
  ASSERT_TRUE(Send(*device, Command::kReserve).ok());
  const pmu::ProgramRequest program = ProgramOfTests();
  for (size_t size = 0; size < sizeof program; ++size) {
    EXPECT_FALSE(
        Send(*device, Command::kProgram, BytesOf(program).substr(0, size)).ok())
        << size;
  }
  EXPECT_FALSE(
      Send(*device, Command::kProgram, std::string(1 << 20, '\xFF')).ok());
  EXPECT_FALSE(Send(*device, Command::kDescribe, "x").ok());
  EXPECT_EQ(Send(*device, Command::kRead).code(),
            absl::StatusCode::kFailedPrecondition)
      << "nothing is programmed";
  // The driver still works.
  EXPECT_TRUE(Send(*device, Command::kProgram, BytesOf(program)).ok());
  EXPECT_FALSE(Read(*device).empty());
  EXPECT_TRUE(Send(*device, Command::kRelease).ok());
}

// A handle without the client's checks.
class RawHandle {
 public:
  RawHandle()
      : handle_(CreateFileW(pmu_device::kDevicePath,
                            GENERIC_READ | GENERIC_WRITE, 0, nullptr,
                            OPEN_EXISTING, 0, nullptr)) {}
  ~RawHandle() { CloseHandle(handle_); }

  // Returns the Win32 error, and the reply.
  DWORD Control(uint32_t code, size_t reply_capacity, std::string* reply) {
    reply->assign(reply_capacity, '\0');
    DWORD size = 0;
    const BOOL ok =
        DeviceIoControl(handle_, code, nullptr, 0, reply->data(),
                        static_cast<DWORD>(reply_capacity), &size, nullptr);
    reply->resize(size);
    return ok ? ERROR_SUCCESS : GetLastError();
  }

 private:
  const HANDLE handle_;
};

TEST_F(DriverTest, ChecksControlCodesAndTheSizeOfReplies) {
  RawHandle device;
  std::string reply;
  const uint32_t describe = pmu_device::ControlCode(Command::kDescribe);
  for (size_t size = 0; size < sizeof(pmu_device::DeviceReply); ++size) {
    EXPECT_EQ(device.Control(describe, size, &reply),
              DWORD{ERROR_INSUFFICIENT_BUFFER});
  }
  pmu_device::DeviceReply head;
  for (const size_t size :
       {sizeof head, sizeof head + 1, sizeof head + sizeof(pmu::Description)}) {
    EXPECT_EQ(device.Control(describe, size, &reply), DWORD{ERROR_SUCCESS});
    ASSERT_EQ(reply.size(), sizeof head);
    std::memcpy(&head, reply.data(), sizeof head);
    EXPECT_EQ(head.result, pmu::Result::kWrongSize);
  }
  // Unknown commands, and a code that would need no rights.
  for (const uint32_t code :
       {pmu_device::ControlCode(Command{6}),
        pmu_device::ControlCode(Command{0}),
        uint32_t{CTL_CODE(pmu_device::kDeviceType,
                          pmu_device::kFirstFunction + 1, METHOD_BUFFERED,
                          FILE_ANY_ACCESS)}}) {
    const DWORD error = device.Control(code, 4096, &reply);
    if (error == ERROR_SUCCESS) {
      std::memcpy(&head, reply.data(), sizeof head);
      EXPECT_EQ(head.result, pmu::Result::kUnknownCommand) << code;
    } else {
      EXPECT_EQ(error, DWORD{ERROR_INVALID_FUNCTION}) << code;
    }
  }
}

TEST_F(DriverTest, ServesOneOwnerAtATime) {
  auto owner = Open();
  const auto other = Open();
  ASSERT_TRUE(StartCounting(*owner).ok());
  const absl::Status refused = Send(*other, Command::kReserve);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("another program"));
  EXPECT_FALSE(Send(*other, Command::kRead).ok());
  EXPECT_FALSE(Send(*other, Command::kProgram, BytesOf(ProgramOfTests())).ok());
  EXPECT_FALSE(Send(*other, Command::kRelease).ok());
  EXPECT_TRUE(Send(*other, Command::kDescribe).ok());
  EXPECT_FALSE(Read(*owner).empty()) << "the owner is undisturbed";

  // Closing releases. The core reserves only if no counters run, so all of the
  // owner's registers are restored.
  owner = nullptr;
  EXPECT_TRUE(WaitFor([&] { return StartCounting(*other).ok(); }));
  EXPECT_FALSE(Read(*other).empty());
}

TEST_F(DriverTest, UnloadingReleasesThePmu) {
  auto owner = Open();
  ASSERT_TRUE(StartCounting(*owner).ok());
  const LoaderOutput output = RunLoader("stop", image_);
  EXPECT_EQ(output.status, 0) << output.text;
  owner = nullptr;
  EXPECT_EQ(RunLoader("start", image_).status, 0);
  const auto next = Open();
  EXPECT_TRUE(StartCounting(*next).ok());
}

std::string OwnPath() {
  wchar_t path[1024];
  const DWORD size = GetModuleFileNameW(nullptr, path, std::size(path));
  return Utf8FromWide({path, size});
}

constexpr wchar_t kHeldEvent[] = L"fleetperf_pmu_test_held";

// Runs in a process of its own: see the next test.
TEST(Client, DISABLED_HoldsThePmuUntilKilled) {
  const auto device = OpenDevice();
  if (!device.ok() || !StartCounting(**device).ok()) return;
  const HANDLE held = OpenEventW(EVENT_MODIFY_STATE, FALSE, kHeldEvent);
  SetEvent(held);
  SleepEx(INFINITE, FALSE);
}

TEST_F(DriverTest, AKilledClientLosesThePmu) {
  const HANDLE held = CreateEventW(nullptr, TRUE, FALSE, kHeldEvent);
  ChildProcess client(OwnPath(),
                      "--gtest_also_run_disabled_tests "
                      "--gtest_filter=Client.DISABLED_HoldsThePmuUntilKilled");
  ASSERT_EQ(WaitForSingleObject(
                held, static_cast<DWORD>(absl::ToInt64Milliseconds(kPatience))),
            WAIT_OBJECT_0);
  CloseHandle(held);
  const auto next = Open();
  EXPECT_EQ(Send(*next, Command::kReserve).code(),
            absl::StatusCode::kResourceExhausted);
  client.Kill();
  absl::Status status;
  EXPECT_TRUE(WaitFor([&] {
    status = StartCounting(*next);
    return status.ok();
  })) << status;
  EXPECT_FALSE(Read(*next).empty());
}

class FaultingDriverTest : public DriverTest {
 protected:
  FaultingDriverTest() : DriverTest(FLEETPERF_FAULTING_SYS) {}
};

TEST_F(FaultingDriverTest, SurvivesFaults) {
  const auto device = Open();
  const absl::Status reserved = Send(*device, Command::kReserve);
  EXPECT_TRUE(reserved.ok()) << reserved;
  const absl::Status programmed =
      Send(*device, Command::kProgram, BytesOf(ProgramOfTests()));
  EXPECT_EQ(programmed.code(), absl::StatusCode::kUnavailable) << programmed;
  EXPECT_THAT(std::string(programmed.message()), HasSubstr("refused"));
  EXPECT_TRUE(Send(*device, Command::kDescribe).ok());
}

// The driver of real machines. Wine offers no reservation of the PMU.
class RealDriverTest : public DriverTest {
 protected:
  RealDriverTest() : DriverTest(FLEETPERF_SYS) {}
};

TEST_F(RealDriverTest, RefusesWithoutAPmuAndSurvives) {
  const auto device = Open();
  const absl::Status status = StartCounting(*device);
  EXPECT_FALSE(status.ok());
  // Wine cannot reserve the PMU; its CPU may have none.
  EXPECT_THAT(status.code(), ::testing::AnyOf(absl::StatusCode::kNotFound,
                                              absl::StatusCode::kUnimplemented))
      << status;
  EXPECT_TRUE(Send(*device, Command::kDescribe).ok());
  EXPECT_EQ(RunLoader("status", image_).status, 0);
}

}  // namespace
}  // namespace fleetperf
