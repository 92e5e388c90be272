// Runs the queries of one query handle: requests a block, parses it and
// converts it to samples.

#ifndef FLEETPERF_AGENT_COLLECT_COLLECTOR_H_
#define FLEETPERF_AGENT_COLLECT_COLLECTOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/collect/capture.h"
#include "agent/collect/instance_tracker.h"
#include "agent/collect/resolve.h"
#include "agent/collect/table.h"
#include "agent/deliver/dictionary.h"
#include "agent/deliver/samples.h"
#include "agent/source/source.h"
#include "perflib/block_reader.h"

namespace fleetperf::agent {

// The instances of one machine, shared by all its collectors.
// Thread-compatible.
class MachineInstances {
 public:
  MachineInstances(std::string machine, Dictionary* dictionary);
  ~MachineInstances();

  // Returns the tracker of a counterset; creates it on first use.
  InstanceTracker& Tracker(const perflib::CountersetRegistration& registration);

  uint32_t machine_definition() const { return machine_; }
  Dictionary& dictionary() { return dictionary_; }

 private:
  struct Followed;

  Dictionary& dictionary_;
  const uint32_t machine_;
  absl::flat_hash_map<uint32_t, std::unique_ptr<Followed>> followed_;
};

// Returns why a query returned no samples: the dwStatus of its result.
std::string FailureText(const perflib::CountersetRegistration& registration,
                        const QuerySamples& samples);

// Thread-compatible.
class Collector {
 public:
  // Opens a handle for `queries`, which must have the same interval and
  // different countersets. Counters that the source refuses are left out and
  // named in `warnings`. `capture`, if not null, records the blocks. It must
  // outlive the collector.
  static absl::StatusOr<std::unique_ptr<Collector>> Open(
      Source* source, uint32_t handle_number,
      std::vector<ResolvedQuery> queries, MachineInstances* instances,
      std::vector<std::string>* warnings, Capture* capture = nullptr);

  ~Collector();

  absl::Duration interval() const { return interval_; }
  bool IsHanging() const { return handle_->IsHanging(); }
  // Replaces the patience that fits the interval; see QueryHandle.
  void SetPatience(absl::Duration patience) { handle_->SetPatience(patience); }

  // Takes one tick. Returns an error if there is no block. Defects inside a
  // block are added to `problems`; the intact part is in `samples`.
  absl::Status Collect(BlockSamples* samples,
                       std::vector<std::string>* problems);

 private:
  struct Query {
    Query(ResolvedQuery resolved_query, std::vector<uint32_t> ids);

    ResolvedQuery resolved;
    InstanceTracker* tracker = nullptr;
    std::vector<uint32_t> counter_ids;  // the table's columns
    std::optional<size_t> start_column;
    std::optional<size_t> clock_column;  // of the clock of starts
    Table table;
    std::vector<Table::Part> parts;
    std::vector<Dictionary::Column> columns;  // as defined by `definition`
    uint32_t definition = 0;                  // 0: not defined yet
    std::optional<uint64_t> last_clock;       // see InstanceTracker::Observe
    // Per tick: the rows to send, and all rows.
    std::vector<size_t> kept_rows;
    std::vector<InstanceTracker::Instance> observed;
    std::vector<uint32_t> observed_definitions;
  };
  // The query and counter that a result of a block belongs to.
  struct Owner {
    size_t query;
    uint32_t counter_id;
  };

  Collector(uint32_t handle_number, std::unique_ptr<QueryHandle> handle,
            MachineInstances* instances)
      : handle_number_(handle_number),
        handle_(std::move(handle)),
        instances_(*instances) {}

  absl::Status AddCounters(std::vector<std::string>* warnings);
  absl::StatusOr<std::vector<perflib::CounterIdentifier>> FindOwners();
  absl::Status BeginCapture(
      Capture* capture,
      const std::vector<perflib::CounterIdentifier>& identifiers);
  void DistributeResults(std::vector<std::string>* problems);
  // Returns a defect of the result, or "" if its type fits the owner's query.
  std::string TypeDefect(const perflib::QueryResult& result,
                         const Owner& owner) const;
  void AddSamples(Query& query, QuerySamples* samples,
                  std::vector<std::string>* problems);
  void FindKeptRows(Query& query, std::vector<std::string>* problems) const;
  void DefineQuery(Query& query);

  const uint32_t handle_number_;
  const std::unique_ptr<QueryHandle> handle_;
  MachineInstances& instances_;
  absl::Duration interval_;
  std::vector<Query> queries_;
  std::vector<std::optional<Owner>> owners_;  // by position in the block
  std::string bytes_;
  perflib::ParsedBlock block_;
  Capture* capture_ = nullptr;
  size_t capture_number_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_COLLECTOR_H_
