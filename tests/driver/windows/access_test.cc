// Tests of what the driver and its clients share: control codes and the access
// list of the device.

#include <windows.h>
#include <gtest/gtest.h>
#include <sddl.h>
#include <winioctl.h>

#include <cstring>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/os/service_account_windows.h"
#include "base/os/wide_windows.h"
#include "driver/windows/access/access_list.h"
#include "driver/windows/access/device_interface.h"

namespace fleetperf::pmu_device {
namespace {

using pmu::Command;

TEST(ControlCode, IsThatOfWindows) {
  constexpr uint32_t kWindows =
      CTL_CODE(kDeviceType, kFirstFunction + 4, METHOD_BUFFERED,
               FILE_READ_ACCESS | FILE_WRITE_ACCESS);
  EXPECT_EQ(ControlCode(Command::kRead), kWindows);
  EXPECT_EQ(CommandOf(kWindows), Command::kRead);
}

TEST(ControlCode, RefusesCodesThatNeedNoRights) {
  EXPECT_EQ(CommandOf(CTL_CODE(kDeviceType, kFirstFunction + 4, METHOD_BUFFERED,
                               FILE_ANY_ACCESS)),
            Command{0});
  EXPECT_EQ(CommandOf(CTL_CODE(kDeviceType, kFirstFunction + 4, METHOD_BUFFERED,
                               FILE_READ_ACCESS)),
            Command{0});
  EXPECT_EQ(CommandOf(CTL_CODE(kDeviceType, kFirstFunction + 4, METHOD_NEITHER,
                               FILE_READ_ACCESS | FILE_WRITE_ACCESS)),
            Command{0});
  EXPECT_EQ(CommandOf(CTL_CODE(FILE_DEVICE_UNKNOWN, kFirstFunction + 4,
                               METHOD_BUFFERED,
                               FILE_READ_ACCESS | FILE_WRITE_ACCESS)),
            Command{0});
}

std::vector<uint8_t> FromSddl(const std::string& sddl) {
  PSECURITY_DESCRIPTOR descriptor = nullptr;
  ULONG size = 0;
  if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(
          WideFromUtf8(sddl).c_str(), SDDL_REVISION_1, &descriptor, &size)) {
    return {};
  }
  const absl::Cleanup free_descriptor = [&] { LocalFree(descriptor); };
  const auto* const bytes = static_cast<const uint8_t*>(descriptor);
  return {bytes, bytes + size};
}

bool IsOurs(const std::string& sddl) {
  const std::vector<uint8_t> descriptor = FromSddl(sddl);
  return !descriptor.empty() &&
         HasAccessList(descriptor.data(), descriptor.size());
}

std::string Ours() {
  return absl::StrCat("D:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;FRFW;;;",
                      ServiceSid("fleetperf-agent"), ")");
}

TEST(AccessList, IsThatOfTheText) {
  EXPECT_TRUE(
      IsValidSecurityDescriptor(const_cast<uint8_t*>(SecurityDescriptor())));
  EXPECT_TRUE(HasAccessList(SecurityDescriptor(), kSecurityDescriptorSize));
  EXPECT_TRUE(IsOurs(Ours()));
  // With an owner and a group, as Windows returns it.
  EXPECT_TRUE(IsOurs("O:BAG:SY" + Ours()));
}

TEST(AccessList, DiffersFromEveryOther) {
  EXPECT_FALSE(IsOurs("D:P(A;;FA;;;SY)(A;;FA;;;BA)"));
  EXPECT_FALSE(IsOurs(Ours() + "(A;;FR;;;WD)"));  // everyone
  EXPECT_FALSE(IsOurs(absl::StrCat("D:P(A;;FA;;;SY)(A;;FA;;;WD)(A;;FRFW;;;",
                                   ServiceSid("fleetperf-agent"), ")")));
  EXPECT_FALSE(IsOurs(absl::StrCat("D:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;FRFW;;;",
                                   ServiceSid("other-agent"), ")")));
  EXPECT_FALSE(IsOurs(absl::StrCat("D:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;FA;;;",
                                   ServiceSid("fleetperf-agent"), ")")));
  EXPECT_FALSE(IsOurs("O:BAG:SY"));  // no list: everyone has all rights
}

TEST(AccessList, DamageIsNoMatch) {
  const std::vector<uint8_t> good = FromSddl("O:BAG:SY" + Ours());
  uint32_t offset = 0;
  std::memcpy(&offset, good.data() + 16, sizeof offset);
  uint16_t list_size = 0;
  std::memcpy(&list_size, good.data() + offset + 2, sizeof list_size);
  for (size_t size = 0; size < offset + list_size; ++size) {
    // A copy of the exact size, so that tools see a read beyond it.
    const std::vector<uint8_t> part(good.begin(), good.begin() + size);
    EXPECT_FALSE(HasAccessList(part.data(), size)) << size;
  }
  std::vector<uint8_t> damaged = good;
  offset = 0xFFFFFFF0;
  std::memcpy(damaged.data() + 16, &offset, sizeof offset);
  EXPECT_FALSE(HasAccessList(damaged.data(), damaged.size()));
  EXPECT_FALSE(HasAccessList(good.data(), 19));
}

}  // namespace
}  // namespace fleetperf::pmu_device
