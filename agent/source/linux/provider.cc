#include "agent/source/linux/provider.h"

#include "perflib/guid.h"

namespace fleetperf::agent {

perflib::CountersetRegistration MakeRegistration(
    absl::string_view guid, absl::string_view name, absl::string_view help,
    uint32_t instance_type, absl::Span<const CounterSpec> counters) {
  perflib::CountersetRegistration registration;
  registration.guid = perflib::ParseGuid(guid).value();
  registration.name = std::string(name);
  registration.help = std::string(help);
  registration.provider_name = "fleetperf Linux provider";
  registration.instance_type = instance_type;
  for (const CounterSpec& spec : counters) {
    perflib::CounterRegistration& counter =
        registration.counters.emplace_back();
    counter.counter_id = spec.id;
    counter.type = spec.type;
    counter.default_scale = spec.scale;
    counter.base_counter_id = spec.base_id;
    counter.perf_time_id = spec.time_id;
    counter.perf_freq_id = spec.freq_id;
    counter.name = std::string(spec.name);
    counter.help = std::string(spec.help);
    if (spec.name.empty()) counter.attrib |= perflib::kAttribNoDisplayable;
    // A scaled whole number is meant to be read as a real one.
    if (spec.scale != 0) counter.attrib |= perflib::kAttribDisplayAsReal;
  }
  return registration;
}

void CountersetSample::Reset(size_t columns) {
  columns_ = columns;
  names_.clear();
  instances_.clear();
  values_.clear();
  present_.clear();
}

void CountersetSample::AddInstance(absl::string_view utf16_name,
                                   uint32_t instance_id) {
  instances_.push_back({names_.size(), utf16_name.size(), instance_id});
  names_.append(utf16_name.data(), utf16_name.size());
  values_.resize(values_.size() + columns_, 0);
  present_.push_back(0);
}

absl::string_view CountersetSample::Utf16Name(size_t row) const {
  const Instance& instance = instances_[row];
  return absl::string_view(names_).substr(instance.name_begin,
                                          instance.name_size);
}

}  // namespace fleetperf::agent
