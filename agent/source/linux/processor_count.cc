#include "agent/source/linux/processor_count.h"

#include "agent/source/linux/sys_values.h"

namespace fleetperf::agent {
namespace {

constexpr int64_t kLifetime = 10 * perflib::kLinuxPerfFreq;

}  // namespace

void ProcessorCount::Update(const perflib::Clocks& clocks) {
  const int64_t now = clocks.perf_time_stamp;
  if (counted_at_.has_value() && now - *counted_at_ < kLifetime) return;
  counted_at_ = now;
  online_ = CountListFile(directory_ + "online", kMaxCpus);
  const auto present = CountListFile(directory_ + "present", kMaxCpus);
  offline_.reset();
  if (online_.has_value() && present >= online_) {
    offline_ = *present - *online_;
  }
}

}  // namespace fleetperf::agent
