#include "driver/perf_event/group.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace fleetperf::perf_event {
namespace {

Builder ForGroup(Builder builder) {
  builder.ReadFormat(builder.attributes().read_format | read_format::kGroup);
  return builder;
}

}  // namespace

absl::StatusOr<Group> Group::Create(Builder leader) {
  ASSIGN_OR_RETURN(Counter counter, ForGroup(std::move(leader)).Build());
  return Group(std::move(counter));
}

absl::StatusOr<size_t> Group::Add(Builder member) {
  member = ForGroup(std::move(member));
  member.Enabled();
  ASSIGN_OR_RETURN(Counter counter, member.BuildWithGroup(events_.front()));
  events_.push_back(std::move(counter));
  return events_.size() - 1;
}

absl::Status Group::Read(GroupValues* values) const {
  RETURN_IF_ERROR(events_.front().ReadGroup(values));
  if (values->size() < events_.size()) {
    return absl::DataLossError(
        absl::StrCat(events_.front().name(), ": the group has ", values->size(),
                     " events instead of ", events_.size()));
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::perf_event
