#include "driver/hardware/driver_reply.h"

#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace fleetperf::hardware {
namespace {

constexpr uint32_t kMaxWidth = 64;

absl::Status Wrong(absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("the driver's reply has a wrong ", what,
                   "; install the driver of the same version as this program"));
}

// Copies the structure at the start of the reply, and the array behind it.
template <typename Head, typename Element>
absl::Status Parse(absl::string_view reply, Head* head,
                   std::vector<Element>* elements) {
  if (reply.size() < sizeof(Head)) return Wrong("size");
  std::memcpy(head, reply.data(), sizeof(Head));
  if (head->header.version != pmu::kProtocolVersion) return Wrong("version");
  if (head->header.size < sizeof(Head) || head->header.size > reply.size()) {
    return Wrong("size of its head");
  }
  if (head->num_cpus > pmu::kMaxCpus) return Wrong("number of CPUs");
  if (head->cpu_size < sizeof(Element)) return Wrong("size of a CPU");
  const absl::string_view array = reply.substr(head->header.size);
  if (array.size() != size_t{head->num_cpus} * head->cpu_size) {
    return Wrong("size");
  }
  elements->resize(head->num_cpus);
  for (size_t i = 0; i < elements->size(); ++i) {
    std::memcpy(&(*elements)[i], array.data() + i * head->cpu_size,
                sizeof(Element));
  }
  return absl::OkStatus();
}

bool IsPlausible(const pmu::CpuDescription& cpu) {
  return cpu.num_general <= pmu::kMaxGeneralCounters &&
         cpu.fixed_counters < 1u << pmu::kMaxFixedCounters &&
         cpu.general_width <= kMaxWidth && cpu.fixed_width <= kMaxWidth;
}

}  // namespace

absl::StatusOr<DriverDescription> ParseDescription(absl::string_view reply) {
  DriverDescription description;
  RETURN_IF_ERROR(Parse(reply, &description.machine, &description.cpus));
  if (description.machine.energy_unit >= kMaxWidth ||
      description.machine.memory_energy_unit >= kMaxWidth) {
    return Wrong("unit of energy");
  }
  for (const pmu::CpuDescription& cpu : description.cpus) {
    if (!IsPlausible(cpu)) return Wrong("number or width of counters");
  }
  return description;
}

absl::StatusOr<std::vector<pmu::CpuCounts>> ParseCounts(
    absl::string_view reply) {
  pmu::Counts head;
  std::vector<pmu::CpuCounts> counts;
  RETURN_IF_ERROR(Parse(reply, &head, &counts));
  return counts;
}

}  // namespace fleetperf::hardware
