#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tests/fuzz/seed_files.h"

namespace fleetperf {
namespace {

constexpr uint64_t kInstructions = 0x300C0;
constexpr uint64_t kCycles = 0x3003C;
constexpr uint64_t kAlmostWrapped = (uint64_t{1} << 48) - 1;

// The steps of pmu_fuzzer.
enum PmuStep {
  kRequest,
  kProgram,
  kClose,
  kCount,
  kOffline,
  kOnline,
  kSleep,
  kFault,
  kOtherOwner
};

enum PmuCommand { kDescribe = 1, kReserve = 2, kRead = 4, kRelease = 5 };

std::string PmuBytes(std::initializer_list<int> bytes) {
  return std::string(bytes.begin(), bytes.end());
}

// A number of Input: 0 in one byte, others in nine.
std::string PmuNumber(uint64_t number) {
  if (number == 0) return std::string(1, '\0');
  std::string bytes = "\xF0";
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(number >> (8 * i));
  return bytes;
}

std::string PmuProgramOfCore(int core_type, uint64_t fixed_control,
                             std::vector<uint64_t> general) {
  general.resize(8);
  std::string bytes = PmuBytes({core_type}) + PmuNumber(fixed_control) +
                      PmuBytes({0});  // only valid bits of fixed_control
  for (const uint64_t selection : general) bytes += PmuNumber(selection);
  return bytes + PmuBytes({3});
}

// Programs for one or for two types of cores, without the step's number.
std::string PmuProgram(uint64_t fixed_control) {
  return PmuBytes({1, 1, 1}) +
         PmuProgramOfCore(0, fixed_control, {kInstructions, kCycles}) +
         PmuProgramOfCore(0, 0, {});
}
std::string PmuHybridProgram() {
  return PmuBytes({1, 2, 0}) +
         PmuProgramOfCore(
             2, 0x3333,
             {kInstructions, kCycles, 0, 0, 0, 0, 0, kInstructions}) +
         PmuProgramOfCore(1, 0x333, {kCycles});
}

std::string PmuRequest(int client, int command) {
  return PmuBytes({kRequest, client, command}) + Part("") + PmuNumber(1500);
}

std::string PmuCount(int cpu, int event, uint64_t events, int fixed,
                     uint64_t fixed_events, int energy) {
  return PmuBytes({kCount, cpu, event, 0}) + PmuNumber(events) +
         PmuBytes({fixed}) + PmuNumber(fixed_events) + PmuBytes({energy});
}

// Everything that a client may live to see.
std::string PmuSession(int model, const std::string& program) {
  const std::string start = PmuBytes({kProgram}) + program;
  const std::string read = PmuRequest(1, kRead);
  return absl::StrCat(
      PmuBytes({model}), PmuRequest(1, kDescribe), PmuRequest(1, kReserve),
      start, PmuCount(0, 0xC0, 1000, 0, 500, 9), read,
      PmuCount(1, 0x3C, kAlmostWrapped, 1, kAlmostWrapped, 200), read,
      PmuBytes({kOffline, 1, 0, 0}), read, PmuBytes({kOnline, 1}), read,
      PmuBytes({kSleep, 0, 1, 0}), PmuCount(0, 0xC0, 5, 0, 5, 5), read,
      PmuRequest(2, kReserve), PmuBytes({kClose, 2}), start,
      PmuRequest(1, kRelease));
}

std::string PmuFaults() {
  std::string bytes = PmuBytes({4});
  for (int access = 0; access < 120; access += 5) {
    bytes += PmuBytes({kFault, access}) + PmuProgram(0x333);
  }
  return bytes + PmuBytes({kClose, 1});
}

std::string PmuOfflineWithoutNotice() {
  return PmuBytes({2, kProgram}) + PmuProgram(0x333) +
         PmuBytes({kOffline, 1, 1}) + PmuRequest(1, kRelease) +
         PmuBytes({kOnline, 1, kProgram}) + PmuProgram(0) +
         PmuBytes({kOffline, 2, 1, kOnline, 2});
}

std::string PmuOtherOwner() {
  return PmuBytes({4, kOtherOwner}) + PmuRequest(1, kReserve) +
         PmuBytes({kOtherOwner}) + PmuRequest(1, kReserve) +
         PmuBytes({kClose, 1});
}

}  // namespace

// The first byte of an input is the model.
absl::Status WritePmuSessions(const std::string& root) {
  const auto write = [&root](const std::string& name,
                             const std::string& bytes) {
    return Write(root, "pmu", name, bytes);
  };
  RETURN_IF_ERROR(write("version1", PmuSession(0, PmuProgram(0))));
  RETURN_IF_ERROR(write("version5", PmuSession(5, PmuProgram(0x3333))));
  RETURN_IF_ERROR(write("amd", PmuSession(6, PmuProgram(0))));
  RETURN_IF_ERROR(write("without_pmu", PmuSession(8, PmuProgram(0))));
  RETURN_IF_ERROR(write("hybrid", PmuSession(9, PmuHybridProgram())));
  RETURN_IF_ERROR(write("faults", PmuFaults()));
  RETURN_IF_ERROR(write("offline_without_notice", PmuOfflineWithoutNotice()));
  return write("other_owner", PmuOtherOwner());
}

}  // namespace fleetperf
