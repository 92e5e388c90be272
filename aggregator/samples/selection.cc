#include "aggregator/samples/selection.h"

#include <algorithm>

#include "perflib/aggregates.h"

namespace fleetperf::aggregator {
namespace {

bool NamesAggregate(const perflib::Pattern& instance) {
  return !instance.has_wildcards() || perflib::EndsInAggregate(instance.text());
}

}  // namespace

bool Selection::MatchesInstance(const std::string& name) const {
  return !instance.has_value() || instance->Matches(name) || IsLiteral(name);
}

bool Selection::IsLiteral(const std::string& name) const {
  return literal_instance.has_value() && literal_instance->Matches(name);
}

bool Selection::Selects(uint32_t counter_id, const std::string& name,
                        uint32_t index) const {
  return MatchesInstance(name) &&
         (instance_index.value_or(index) == index || IsLiteral(name)) &&
         std::count(counter_ids.begin(), counter_ids.end(), counter_id) > 0;
}

bool SelectedCounterset::NamesAggregate(uint32_t counter_id,
                                        const std::string& instance,
                                        uint32_t index) const {
  return std::any_of(selections.begin(), selections.end(),
                     [&](const Selection& selection) {
                       return selection.instance.has_value() &&
                              aggregator::NamesAggregate(*selection.instance) &&
                              selection.Selects(counter_id, instance, index);
                     });
}

bool SelectedCounterset::Selects(uint32_t counter_id,
                                 const std::string& instance,
                                 uint32_t index) const {
  return std::any_of(selections.begin(), selections.end(),
                     [&](const Selection& selection) {
                       return selection.Selects(counter_id, instance, index);
                     });
}

}  // namespace fleetperf::aggregator
