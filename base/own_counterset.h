// A counterset with one instance, in which a process counts its own activity.

#ifndef FLEETPERF_BASE_OWN_COUNTERSET_H_
#define FLEETPERF_BASE_OWN_COUNTERSET_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "perflib/registration.h"

namespace fleetperf {

// Thread-safe if the functions of its groups are.
class OwnCounterset {
 public:
  // std::nullopt: the value is unknown.
  using Values = std::vector<std::optional<uint64_t>>;

  // Counters that are read together.
  struct Group {
    std::vector<perflib::CounterSpec> counters;
    // Returns one value per counter, in the same order.
    std::function<Values()> read;
  };

  OwnCounterset(absl::string_view guid, absl::string_view name,
                absl::string_view help, std::vector<Group> groups);

  const perflib::CountersetRegistration& registration() const {
    return registration_;
  }

  // Returns the current values, in the order of the registration's counters.
  Values Read() const;

 private:
  const std::vector<Group> groups_;
  const perflib::CountersetRegistration registration_;
};

// Counters of the process's resource usage, named as in the counterset Process,
// and of its log. Ids start at 100.
OwnCounterset::Group ProcessCounters();

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OWN_COUNTERSET_H_
