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
#include "aggregator/samples/directory.h"
#include "aggregator/samples/frame.h"
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

  // Whether a series is selected; `index` is which of the instances of its name
  // it is of.
  bool Selects(uint32_t counter_id, const std::string& instance,
               uint32_t index) const;
  // Whether a path names this instance and not a pattern that it matches.
  bool Names(const std::string& instance) const;
};

// Selected countersets by machine.
using Selected = std::map<std::string, std::vector<SelectedCounterset>>;

// The path that an error of PathSet::Select is about; nothing of others.
std::optional<std::string> MissedPath(const absl::Status& status);

// NotFound if a path with an instance meets a counterset without them, or the
// other way round: it says how to write the path. `text` is the path.
absl::Status CheckHasInstance(
    const std::string& text, const perflib::Path& path,
    const perflib::CountersetRegistration& registration);

// The paths of a request, parsed. Thread-compatible.
class PathSet {
 public:
  // Countersets in `directory` are known by name. An InvalidArgument error
  // names the path and the character.
  static absl::StatusOr<PathSet> Parse(const std::vector<std::string>& paths,
                                       const Directory& directory);
  static absl::StatusOr<PathSet> Parse(
      const std::vector<std::string>& paths,
      const std::vector<std::string>& known_countersets);

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
  // nothing: it names what is nearest, and MissedPath tells the path.
  absl::StatusOr<Selected> Select(const Directory& directory) const;

 private:
  friend class InstanceCheck;

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

// Whether there are instances of all the names that paths want.
// Thread-compatible.
class InstanceCheck {
 public:
  explicit InstanceCheck(const PathSet& paths);

  // All instances of a machine.
  void Add(const std::set<std::string>& instances);

  // NotFound if there were instances and none of them is one that a path wants.
  absl::Status Finish() const;

 private:
  std::vector<PathSet::NamedPath> missing_;
  std::set<std::string> seen_;  // some of them, to suggest
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_QUERY_RESOLVER_H_
