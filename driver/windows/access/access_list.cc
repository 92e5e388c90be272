#include "driver/windows/access/access_list.h"

namespace fleetperf::pmu_device {
namespace {

constexpr uint8_t kRevision = 1;
constexpr uint8_t kAclRevision = 2;
constexpr uint16_t kDaclPresent = 0x0004;
constexpr uint16_t kDaclProtected = 0x1000;
constexpr uint16_t kSelfRelative = 0x8000;
constexpr uint32_t kFileAllAccess = 0x001F01FF;
constexpr uint32_t kFileReadAndWrite = 0x0012019F;

struct SidHead {
  uint8_t revision = kRevision;
  uint8_t num_authorities;
  uint8_t authority[6] = {0, 0, 0, 0, 0, 5};  // SECURITY_NT_AUTHORITY
};

template <uint8_t num_authorities>
struct AllowedAce {
  uint8_t type = 0;  // ACCESS_ALLOWED_ACE_TYPE
  uint8_t flags = 0;
  uint16_t size = sizeof(AllowedAce);
  uint32_t mask;
  SidHead head = {.num_authorities = num_authorities};
  uint32_t authorities[num_authorities];
};

struct AccessList {
  uint8_t revision = kAclRevision;
  uint8_t reserved = 0;
  uint16_t size = sizeof(AccessList);
  uint16_t num_entries = 3;
  uint16_t reserved2 = 0;
  AllowedAce<1> system = {.mask = kFileAllAccess, .authorities = {18}};
  AllowedAce<2> administrators = {.mask = kFileAllAccess,
                                  .authorities = {32, 544}};
  // NT SERVICE\fleetperf-agent: the SHA-1 of the name in upper case and UTF-16.
  AllowedAce<6> agent = {.mask = kFileReadAndWrite,
                         .authorities = {80, 0x7B11741C, 0x782E7641, 0x0ACFABE7,
                                         0x80CEAD67, 0x096D75A2}};
};
constexpr size_t kAclHeadSize = 8;

struct Descriptor {
  uint8_t revision = kRevision;
  uint8_t reserved = 0;
  uint16_t control = kSelfRelative | kDaclProtected | kDaclPresent;
  uint32_t owner = 0;
  uint32_t group = 0;
  uint32_t system_list = 0;
  uint32_t list_offset = 20;
  AccessList list;
};
static_assert(sizeof(Descriptor) == kSecurityDescriptorSize);
constexpr size_t kControlOffset = 2;
constexpr size_t kListOffsetOffset = 16;

constexpr Descriptor kDescriptor;

// Little-endian numbers at any alignment.
uint32_t Read16(const uint8_t* bytes) { return bytes[0] | bytes[1] << 8; }
uint32_t Read32(const uint8_t* bytes) {
  return Read16(bytes) | Read16(bytes + 2) << 16;
}

// Windows may round up the size of a list, so sizes may differ.
bool IsAccessList(const uint8_t* list, size_t size) {
  const auto* wanted = reinterpret_cast<const uint8_t*>(&kDescriptor.list);
  if (size < sizeof(AccessList)) return false;
  const uint32_t claimed = Read16(list + 2);
  if (claimed < sizeof(AccessList) || claimed > size) return false;
  if (Read16(list + 4) != kDescriptor.list.num_entries) return false;
  for (size_t i = kAclHeadSize; i < sizeof(AccessList); ++i) {
    if (list[i] != wanted[i]) return false;
  }
  return true;
}

}  // namespace

const uint8_t* SecurityDescriptor() {
  return reinterpret_cast<const uint8_t*>(&kDescriptor);
}

bool HasAccessList(const void* descriptor, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(descriptor);
  constexpr size_t kHeadSize = 20;
  if (size < kHeadSize) return false;
  const uint32_t control = Read16(bytes + kControlOffset);
  if (!(control & kDaclPresent) || !(control & kSelfRelative)) return false;
  const uint32_t offset = Read32(bytes + kListOffsetOffset);
  return offset >= kHeadSize && offset <= size &&
         IsAccessList(bytes + offset, size - offset);
}

}  // namespace fleetperf::pmu_device
