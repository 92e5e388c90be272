#include "aggregator/ingest/expected_machines.h"

#include <algorithm>
#include <iterator>

namespace fleetperf::aggregator {

void ExpectedMachines::Set(Names names) {
  auto replacement = std::make_shared<const Names>(std::move(names));
  absl::MutexLock lock(&mutex_);
  names_ = std::move(replacement);
}

std::shared_ptr<const ExpectedMachines::Names> ExpectedMachines::names() const {
  absl::MutexLock lock(&mutex_);
  return names_;
}

std::vector<std::string> ExpectedMachines::Missing() const {
  std::vector<std::string> missing;
  if (has_others_) return missing;
  const auto expected = names();
  std::copy_if(
      expected->begin(), expected->end(), std::back_inserter(missing),
      [&](const std::string& name) { return !ingest_.IsConnected(name); });
  return missing;
}

}  // namespace fleetperf::aggregator
