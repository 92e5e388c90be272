// Selects machines by their names and labels.

#ifndef FLEETPERF_AGGREGATOR_QUERY_MACHINE_FILTER_H_
#define FLEETPERF_AGGREGATOR_QUERY_MACHINE_FILTER_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "aggregator/samples/directory.h"
#include "aggregator/samples/labels.h"
#include "perflib/path.h"

namespace fleetperf::aggregator {

// Thread-safe.
class MachineFilter {
 public:
  // Matches every machine.
  MachineFilter() = default;

  // Returns the filter of a request with the fields `machine` and `labels`.
  // `directory` must outlive the filter.
  template <typename Request>
  static MachineFilter Of(const Request& request, const Directory& directory) {
    return MachineFilter(request.machine(),
                         {request.labels().begin(), request.labels().end()},
                         directory);
  }

  bool is_of_all() const { return machine_.empty() && labels_.empty(); }

  // Whether the labels of a machine, which may change, affect the selection.
  bool uses_labels() const { return !labels_.empty(); }

  // Whether the name matches, and the machine has all labels.
  bool Matches(const std::string& machine) const;
  // Same for a caller that has the machine's labels.
  bool Matches(const std::string& machine, const Labels& labels) const;

  // Returns NotFound, with the selection, if no machine matches.
  absl::Status CheckMatches() const;

  // Returns "machine \"web-*\" with label role=web".
  std::string Text() const;

 private:
  MachineFilter(const std::string& machine,
                const std::map<std::string, std::string>& labels,
                const Directory& directory);

  bool HasAllLabels(const Labels& labels) const;

  std::string machine_;
  perflib::Pattern name_;
  std::map<std::string, perflib::Pattern> labels_;
  const Directory* directory_ = nullptr;  // nullptr: matches every machine
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_MACHINE_FILTER_H_
