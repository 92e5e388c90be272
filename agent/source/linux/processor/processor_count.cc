#include "agent/source/linux/processor/processor_count.h"

#include "agent/source/linux/sysfs.h"

namespace fleetperf::agent {

void ProcessorCount::Update(const perflib::Clocks& clocks) {
  if (!count_.IsDue(clocks)) return;
  online_ = CountListFile(directory_ + "online", kMaxCpus);
  const auto present = CountListFile(directory_ + "present", kMaxCpus);
  offline_.reset();
  if (online_.has_value() && present >= online_) {
    offline_ = *present - *online_;
  }
}

}  // namespace fleetperf::agent
