// A GUID for tests, and its bytes in Windows layout (computed with Python's
// uuid.UUID(...).bytes_le).

#ifndef FLEETPERF_TESTS_SUPPORT_GUIDS_H_
#define FLEETPERF_TESTS_SUPPORT_GUIDS_H_

#include "perflib/guid.h"

namespace fleetperf::testing {

// Processor Information
inline constexpr char kGuidText[] = "{b4fc721a-0378-476f-89ba-a5a79f810b36}";
inline constexpr perflib::Guid kGuid = {
    0xb4fc721a,
    0x0378,
    0x476f,
    {0x89, 0xba, 0xa5, 0xa7, 0x9f, 0x81, 0x0b, 0x36}};
inline constexpr char kGuidHex[] = "1a72fcb4 7803 6f47 89baa5a79f810b36";

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_GUIDS_H_
