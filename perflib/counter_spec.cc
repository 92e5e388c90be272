#include "perflib/counter_spec.h"

#include <string>

#include "perflib/guid.h"

namespace fleetperf::perflib {

CountersetRegistration MakeRegistration(
    absl::string_view guid, absl::string_view name, absl::string_view help,
    absl::string_view provider_name, uint32_t instance_type,
    absl::Span<const CounterSpec> counters) {
  CountersetRegistration registration;
  registration.guid = ParseGuid(guid).value();
  registration.name = std::string(name);
  registration.help = std::string(help);
  registration.provider_name = std::string(provider_name);
  registration.instance_type = instance_type;
  for (const CounterSpec& spec : counters) {
    CounterRegistration& counter = registration.counters.emplace_back();
    counter.counter_id = spec.id;
    counter.type = spec.type;
    counter.default_scale = spec.scale;
    counter.base_counter_id = spec.base_id;
    counter.perf_time_id = spec.time_id;
    counter.perf_freq_id = spec.freq_id;
    counter.name = std::string(spec.name);
    counter.help = std::string(spec.help);
    if (spec.name.empty()) counter.attrib |= kAttribNoDisplayable;
    // A scaled integer is displayed as a real number.
    if (spec.scale != 0) counter.attrib |= kAttribDisplayAsReal;
  }
  return registration;
}

}  // namespace fleetperf::perflib
