// Resolves the small ids in an epoch's batches.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_DICTIONARY_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_DICTIONARY_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "aggregator/samples/frame.h"

namespace fleetperf::v1 {
class CountersetDefinition;
class Definitions;
class InstanceDefinition;
class MachineDefinition;
class QueryDefinition;
}  // namespace fleetperf::v1

namespace fleetperf::aggregator {

// The schemas in use, which machines share. Thread-safe.
class SchemaTable {
 public:
  // Returns the schema with this registration.
  std::shared_ptr<const Schema> Intern(
      perflib::CountersetRegistration registration);

  // The number of schemas in the table, including some that are no longer used.
  size_t size() const {
    absl::MutexLock lock(&mutex_);
    return schemas_.size();
  }

 private:
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::weak_ptr<const Schema>> schemas_
      ABSL_GUARDED_BY(mutex_);
  size_t used_ ABSL_GUARDED_BY(mutex_) = 0;  // size after the last cleanup
};

// Reads definitions that are not in memory.
class DefinitionReader {
 public:
  enum class Kind : uint8_t {
    kMachine = 1,
    kCounterset = 2,
    kQuery = 3,
    kInstance = 4,
  };

  virtual ~DefinitionReader() = default;
  // Returns the serialized definition. NotFound if it does not exist.
  virtual absl::StatusOr<std::string> ReadDefinition(Kind kind,
                                                     uint32_t id) const = 0;
  // Returns a bound on the ids of this kind that can be read, which saves reads
  // of larger ones.
  virtual absl::StatusOr<uint32_t> LastId(Kind /*kind*/) const {
    return std::numeric_limits<uint32_t>::max();
  }
};

// The definitions of an epoch. Thread-safe.
class Dictionary {
 public:
  struct Limits {
    size_t max_machines = 10'000;  // their definitions
    size_t max_countersets = 4096;
    size_t max_columns = 1'000'000;    // of all queries
    size_t max_instances = 1'000'000;  // not retired
  };

  // `epoch_number` must be unique among all dictionaries of the store. It is
  // the upper half of the numbers of lives.
  Dictionary(uint32_t epoch_number, SchemaTable* schemas,
             std::unique_ptr<const DefinitionReader> reader,
             const Limits& limits);

  uint32_t epoch_number() const { return epoch_number_; }

  // Removes the definitions that differ from an earlier one of their id, in
  // memory, for the reader or in `definitions`. An id keeps its first
  // definition: batches that were acknowledged use it. Returns InvalidArgument
  // if there are such definitions, or the error of a read.
  absl::Status RemoveChanged(v1::Definitions* definitions);

  // Adds definitions. Existing definitions are not changed. An error names the
  // first invalid definition; the valid ones are added nevertheless.
  absl::Status Apply(const v1::Definitions& definitions);

  // Drops an instance from memory. It is read again if needed and still stored.
  void Retire(uint32_t instance);
  // The number of instances in memory.
  size_t instances() const;

  // Returns the number of series of these instances: the counters collected of
  // each.
  size_t CountSeries(const v1::Definitions& definitions) const;

  // Returns FailedPrecondition if the id is not defined.
  absl::StatusOr<std::shared_ptr<const CollectedQuery>> FindQuery(uint32_t id);
  // Finds the instances of all `ids`, in order.
  absl::Status FindInstances(
      absl::Span<const uint32_t> ids,
      std::vector<std::shared_ptr<const Instance>>* instances);

  // Resolve the machine and counterset of definitions, for checks.
  absl::StatusOr<std::string> FindMachine(uint32_t id);
  absl::StatusOr<std::shared_ptr<const Schema>> FindCounterset(uint32_t id);

 private:
  using Kind = DefinitionReader::Kind;

  // Return whether the definition is the one that its id has.
  // FailedPrecondition if the id is not defined.
  absl::StatusOr<bool> IsSame(const v1::MachineDefinition& definition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<bool> IsSame(const v1::CountersetDefinition& definition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<bool> IsSame(const v1::QueryDefinition& definition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<bool> IsSame(const v1::InstanceDefinition& definition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  template <typename List>
  absl::Status RemoveChanged(Kind kind, absl::string_view name, List* list)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint32_t LastIdInMemory(Kind kind) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the last id of this kind that may be defined.
  absl::StatusOr<uint32_t*> LastId(Kind kind)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Status AddMachine(const v1::MachineDefinition& definition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status AddCounterset(const v1::CountersetDefinition& definition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status AddQuery(const v1::QueryDefinition& definition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status AddInstance(const v1::InstanceDefinition& definition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Ensure that the definition is in memory, and read it if necessary.
  absl::Status EnsureMachine(uint32_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status EnsureCounterset(uint32_t id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status EnsureQuery(uint32_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status EnsureInstance(uint32_t id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  template <typename Definition>
  absl::StatusOr<Definition> Read(Kind kind, absl::string_view name,
                                  uint32_t id) const;

  // Makes a query whose machine and counterset are in memory.
  absl::StatusOr<CollectedQuery> MakeQuery(
      const v1::QueryDefinition& definition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Instance MakeInstance(const v1::InstanceDefinition& definition) const;

  const uint32_t epoch_number_;
  SchemaTable& schemas_;
  const std::unique_ptr<const DefinitionReader> reader_;
  const Limits limits_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<Kind, uint32_t> last_ids_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint32_t, std::string> machines_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint32_t, std::shared_ptr<const Schema>> countersets_
      ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint32_t, std::shared_ptr<const CollectedQuery>> queries_
      ABSL_GUARDED_BY(mutex_);
  size_t columns_ ABSL_GUARDED_BY(mutex_) = 0;  // of all queries
  // The number of columns of the largest query, by machine and counterset.
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, size_t> columns_of_
      ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint32_t, std::shared_ptr<const Instance>> instances_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_DICTIONARY_H_
