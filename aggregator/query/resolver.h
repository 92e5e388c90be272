// From counter paths to the counters that are stored.

#ifndef FLEETPERF_AGGREGATOR_QUERY_RESOLVER_H_
#define FLEETPERF_AGGREGATOR_QUERY_RESOLVER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/formula/counter_formula.h"
#include "aggregator/store/directory.h"
#include "aggregator/store/frame.h"
#include "perflib/path.h"

namespace fleetperf::aggregator {

// The counters of one counterset that a path selects, and of which instances.
struct Selection {
  std::optional<perflib::Pattern> instance;  // nothing: it has no instances
  std::optional<uint32_t> instance_index;
  std::vector<uint32_t> counter_ids;

  bool MatchesInstance(const std::string& name) const;
};

// What the paths select of one counterset of one machine.
struct SelectedCounterset {
  std::shared_ptr<const Schema> schema;
  std::vector<Selection> selections;
};

// Selected countersets by machine.
using Selected = std::map<std::string, std::vector<SelectedCounterset>>;

// The paths of a request, parsed. Thread-compatible.
class PathSet {
 public:
  // Countersets in `directory` are known by name. An InvalidArgument error
  // names the path and the character.
  static absl::StatusOr<PathSet> Parse(const std::vector<std::string>& paths,
                                       const Directory& directory);

  bool MatchesMachine(const std::string& machine) const;

  // What is selected of one machine.
  std::vector<SelectedCounterset> SelectFrom(const std::string& machine,
                                             const Directory& directory) const;

  // What is selected of one counterset of a machine, whichever of its counters
  // are collected; nothing if nothing is.
  std::optional<SelectedCounterset> SelectFrom(
      const std::string& machine,
      const std::shared_ptr<const Schema>& schema) const;

  // What is selected of all machines. A NotFound error if a path selects
  // nothing: it names what is nearest.
  absl::StatusOr<Selected> Select(const Directory& directory) const;

  // NotFound if a path wants instances and none of `instances`, which are all
  // there are, is one of them.
  absl::Status CheckInstances(const std::set<std::string>& instances) const;

 private:
  struct NamedPath {
    std::string text;
    perflib::Path path;
  };

  // What one path selects of a counterset; nothing if it does not.
  static std::optional<Selection> SelectCounters(
      const perflib::Path& path, const CollectedCounterset& counterset);
  static absl::Status ExplainMiss(const NamedPath& path,
                                  const Directory& directory);

  std::vector<NamedPath> paths_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_RESOLVER_H_
