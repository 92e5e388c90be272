#include "aggregator/subscribe/series_names.h"

#include "aggregator/query/series.h"

namespace fleetperf::aggregator {

std::shared_ptr<const v1::Series> SeriesNames::Get(uint32_t counter_id,
                                                   const Instance& instance,
                                                   uint32_t index) {
  absl::MutexLock lock(&mutex_);
  // Removes unused names: processes come and go.
  if (names_.size() > clean_above_) {
    std::erase_if(names_,
                  [](const auto& name) { return name.second.expired(); });
    clean_above_ = 2 * names_.size() + 1000;
  }
  std::weak_ptr<const v1::Series>& known = names_[{
      counter_id, instance.name, instance.instance_id, instance.occurrence}];
  if (auto name = known.lock()) return name;
  auto name = std::make_shared<v1::Series>(DescribeSeries(
      machine_, *schema_, *schema_->registration.FindCounter(counter_id),
      instance, index));
  name->set_id(next_id_++);
  known = name;
  return name;
}

}  // namespace fleetperf::aggregator
