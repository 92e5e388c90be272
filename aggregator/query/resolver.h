// Resolves counter paths to stored counters.

#ifndef FLEETPERF_AGGREGATOR_QUERY_RESOLVER_H_
#define FLEETPERF_AGGREGATOR_QUERY_RESOLVER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "aggregator/query/cancellation.h"
#include "aggregator/query/machine_filter.h"
#include "aggregator/samples/directory.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/selection.h"
#include "perflib/path.h"
#include "values/counter_formula.h"

namespace fleetperf::aggregator {

// Selected countersets by machine.
using Selected = std::map<std::string, std::vector<SelectedCounterset>>;

// Returns the path of an error of PathSet::Select, whose reason is that the
// path selects no collected counter; std::nullopt for other errors.
std::optional<std::string> MissedPath(const absl::Status& status);

// Returns the advice for a path that is not collected: `add it to "plans" ...,
// or collect it for a while, as an operator: fleetperf query '...' --collect
// 60s`.
std::string CollectAdvice(const std::string& path);

// Returns NotFound if the path names an instance and the counterset has none,
// or the reverse. The message has the correct form of the path. `text` is the
// path.
absl::Status CheckHasInstance(
    const std::string& text, const perflib::Path& path,
    const perflib::CountersetRegistration& registration);

// The paths of a request, parsed. Thread-compatible.
class PathSet {
 public:
  // Parses paths. `directory` provides the names of countersets. An
  // InvalidArgument error names the path and the position.
  static absl::StatusOr<PathSet> Parse(const std::vector<std::string>& paths,
                                       const Directory& directory);
  static absl::StatusOr<PathSet> Parse(
      const std::vector<std::string>& paths,
      const std::vector<std::string>& known_countersets);

  // Limits all paths to the machines that match.
  void LimitTo(MachineFilter filter) { filter_ = std::move(filter); }

  bool MatchesMachine(const std::string& machine) const;
  // Same for a caller that has the machine's labels.
  bool MatchesMachine(const std::string& machine, const Labels& labels) const;
  // See MachineFilter::uses_labels.
  bool uses_labels() const { return filter_.uses_labels(); }
  // The number of different patterns of machines that have wildcards. Each
  // costs MatchesMachine a comparison; names do not.
  size_t machine_patterns() const { return machine_patterns_.size(); }
  // Whether a path has the machine's name, not just a matching pattern.
  bool NamesMachine(const std::string& machine) const;

  // Returns the selections on one machine.
  std::vector<SelectedCounterset> SelectFrom(const std::string& machine,
                                             const Directory& directory) const;

  // Returns the selections in one counterset of a machine, collected or not;
  // std::nullopt if none. The machine must match the filter, whose labels may
  // change at any time.
  std::optional<SelectedCounterset> SelectFrom(
      const std::string& machine,
      const std::shared_ptr<const Schema>& schema) const;
  // The same in two steps, for many machines with the same countersets: the
  // numbers of the machine's paths, and the selections of such paths.
  std::vector<size_t> NumbersFor(const std::string& machine) const;
  std::optional<SelectedCounterset> SelectFrom(
      const std::vector<size_t>& paths,
      const std::shared_ptr<const Schema>& schema) const;

  // Returns the selections on all machines. Returns NotFound with the nearest
  // names if a path selects nothing; MissedPath returns that path.
  absl::StatusOr<Selected> Select(const Directory& directory,
                                  const IsCancelled& is_cancelled = {}) const;
  // Same, but adds the errors of such paths to `missed`. Returns NotFound if no
  // machine matches the filter.
  absl::StatusOr<Selected> Select(const Directory& directory,
                                  std::vector<absl::Status>* missed,
                                  const IsCancelled& is_cancelled = {}) const;

 private:
  friend class PathCheck;

  struct NamedPath {
    std::string text;
    perflib::Path path;
  };

  // Returns a path's selection in a counterset; std::nullopt if none.
  static std::optional<Selection> SelectCounters(
      const perflib::Path& path, const CollectedCounterset& counterset);
  // Returns the numbers of the paths that select from the machine.
  std::vector<size_t> PathsOf(const std::string& machine) const;
  // Returns the selections of these paths in countersets.
  std::vector<SelectedCounterset> SelectFrom(
      const std::vector<size_t>& paths,
      const CountersetList& countersets) const;
  bool MatchesMachine(const NamedPath& path, const std::string& machine) const {
    return path.path.machine.Matches(machine) && filter_.Matches(machine);
  }
  // Returns the machines of all paths, and perhaps others, ordered by name.
  std::vector<std::string> Candidates(const Directory& directory) const;
  // Whether the path selects a counter of one of the machines.
  absl::StatusOr<bool> SelectsAny(const NamedPath& path,
                                  const std::vector<std::string>& machines,
                                  const Directory& directory,
                                  const IsCancelled& is_cancelled) const;
  // Returns NotFound with the reason why the path selects nothing, or
  // Cancelled.
  absl::Status ExplainMiss(const NamedPath& path, const Directory& directory,
                           const IsCancelled& is_cancelled) const;
  // Returns the different lists of countersets of the path's machines, which
  // are some of `machines`. Empty if there is no such machine.
  absl::StatusOr<std::vector<CountersetList>> ListsOf(
      const NamedPath& path, const std::vector<std::string>& machines,
      const Directory& directory, const IsCancelled& is_cancelled) const;

  void AddMachine(const perflib::Pattern& machine);
  // Whether a path matches the machine, regardless of the filter.
  bool HasPathOf(const std::string& machine) const;

  std::vector<NamedPath> paths_;
  // The machines of `paths_`: names in lower case, and patterns, each once.
  absl::flat_hash_set<std::string> machine_names_;
  std::vector<perflib::Pattern> machine_patterns_;
  MachineFilter filter_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_RESOLVER_H_
