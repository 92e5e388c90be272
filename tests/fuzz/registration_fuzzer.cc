// Fuzzes registration information, instance lists and counter identifiers. The
// first byte of an input selects the structure.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "perflib/query.h"
#include "perflib/registration.h"
#include "tests/fuzz/check.h"

namespace fleetperf::perflib {
namespace {

// A registration that can be read is unchanged after being written and read
// again.
void CheckCountersetStruct(absl::string_view bytes) {
  const auto registration = ReadCountersetStruct(bytes);
  if (!registration.ok()) return;
  FUZZ_CHECK(registration->counters.size() * sizeof(PerfCounterRegInfo) <=
             bytes.size());
  const auto again = ReadCountersetStruct(WriteCountersetStruct(*registration));
  FUZZ_CHECK(again.ok() && *again == *registration);
}

void CheckStringBuffer(absl::string_view bytes) {
  const auto strings = ReadStringBuffer(bytes);
  if (!strings.ok()) return;
  size_t text = 0;
  for (const CounterString& string : *strings) text += string.text.size();
  FUZZ_CHECK(text <= 8 * bytes.size());
  FUZZ_CHECK(strings->size() * sizeof(PerfStringCounterHeader) <= bytes.size());
}

void CheckIdentifiers(absl::string_view bytes) {
  const auto identifiers = ReadCounterIdentifiers(bytes);
  if (!identifiers.ok()) return;
  const auto again =
      ReadCounterIdentifiers(WriteCounterIdentifiers(*identifiers));
  FUZZ_CHECK(again.ok() && *again == *identifiers);
}

void CheckInstances(absl::string_view bytes) {
  const auto instances = ReadInstanceList(bytes);
  if (!instances.ok()) return;
  const auto again = ReadInstanceList(WriteInstanceList(*instances));
  FUZZ_CHECK(again.ok() && *again == *instances);
}

}  // namespace
}  // namespace fleetperf::perflib

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fleetperf::perflib;
  if (size == 0) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1,
                                size - 1);
  switch (data[0] % 7) {
    case 0:
      CheckCountersetStruct(bytes);
      break;
    case 1:
      ReadCounterStruct(bytes).status().IgnoreError();
      break;
    case 2:
      ReadString(bytes).status().IgnoreError();
      break;
    case 3:
      CheckStringBuffer(bytes);
      break;
    case 4:
      ReadGuid(bytes).status().IgnoreError();
      break;
    case 5:
      CheckIdentifiers(bytes);
      break;
    case 6:
      CheckInstances(bytes);
      break;
  }
  return 0;
}
