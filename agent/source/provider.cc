#include "agent/source/provider.h"

namespace fleetperf::agent {

void CountersetSample::Reset(size_t columns) {
  columns_ = columns;
  names_.clear();
  instances_.clear();
  values_.clear();
  present_.clear();
  notes_.clear();
  left_out_ = 0;
}

void CountersetSample::AddInstance(absl::string_view utf16_name,
                                   uint32_t instance_id) {
  instances_.push_back({names_.size(), utf16_name.size(), instance_id});
  names_.append(utf16_name.data(), utf16_name.size());
  values_.resize(values_.size() + columns_, 0);
  present_.push_back(0);
  incomplete_ = 0;
}

void CountersetSample::Note(absl::string_view reason) {
  notes_.emplace_back(reason);
}

absl::string_view CountersetSample::Utf16Name(size_t row) const {
  const Instance& instance = instances_[row];
  return absl::string_view(names_).substr(instance.name_begin,
                                          instance.name_size);
}

}  // namespace fleetperf::agent
