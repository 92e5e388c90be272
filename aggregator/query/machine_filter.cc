#include "aggregator/query/machine_filter.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text/excerpt.h"

namespace fleetperf::aggregator {

MachineFilter::MachineFilter(const std::string& machine,
                             const std::map<std::string, std::string>& labels,
                             const Directory& directory)
    : machine_(machine),
      name_(machine.empty() ? "*" : machine),
      directory_(&directory) {
  for (const auto& [name, value] : labels) {
    labels_[name] = perflib::Pattern(value);
  }
}

bool MachineFilter::Matches(const std::string& machine) const {
  if (is_of_all()) return true;
  if (!name_.Matches(machine)) return false;
  return labels_.empty() || HasAllLabels(directory_->LabelsOf(machine));
}

bool MachineFilter::Matches(const std::string& machine,
                            const Labels& labels) const {
  return is_of_all() || (name_.Matches(machine) && HasAllLabels(labels));
}

bool MachineFilter::HasAllLabels(const Labels& labels) const {
  return std::all_of(labels_.begin(), labels_.end(), [&](const auto& label) {
    const auto found = labels.find(label.first);
    return found != labels.end() && label.second.Matches(found->second);
  });
}

absl::Status MachineFilter::CheckMatches() const {
  if (is_of_all()) return absl::OkStatus();
  const std::vector<std::string> machines = directory_->Machines();
  if (std::any_of(machines.begin(), machines.end(),
                  [&](const std::string& name) { return Matches(name); })) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(
      absl::StrCat("there is no ", Text(), "; see: fleetperf machines"));
}

std::string MachineFilter::Text() const {
  std::string text = "machine";
  if (!machine_.empty()) absl::StrAppend(&text, " \"", Excerpt(machine_), "\"");
  for (const auto& [name, value] : labels_) {
    absl::StrAppend(&text,
                    name == labels_.begin()->first ? " with label " : " and ",
                    name, "=", value.text());
  }
  return Excerpt(text, 2 * kMaxExcerpt);
}

}  // namespace fleetperf::aggregator
