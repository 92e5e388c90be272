// The numeric ids of machines, countersets, queries and instances in the
// batches of an epoch.
//
// Invariants:
// - Ids are never reused within an epoch.
// - Machines, countersets and queries stay defined. An instance stays defined
//   until the batch that retires it is settled.
// - A definition follows the definitions that it refers to, and precedes the
//   batches that use it.
// - If the dictionary is saved, TakeChanges() returns each change once. The
//   caller calls PutBack() if it could not save them.

#ifndef FLEETPERF_AGENT_DELIVER_DICTIONARY_H_
#define FLEETPERF_AGENT_DELIVER_DICTIONARY_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "perflib/registration.h"

namespace fleetperf::v1 {
class BatchContent;
class Definitions;
}  // namespace fleetperf::v1

namespace fleetperf::agent {

class DefinitionSet;

// The changes since the last save to a file.
struct DictionaryChanges {
  std::unique_ptr<v1::Definitions> added;  // null: none
  std::vector<uint32_t> removed;           // ids of instances
};

// Thread-safe.
class Dictionary {
 public:
  // `is_saved`: whether a caller saves the changes with TakeChanges() and
  // TakeAll().
  explicit Dictionary(bool is_saved = false);
  ~Dictionary();

  struct Column {
    uint32_t counter_id;
    uint32_t value_size;  // 4 or 8
    bool only_linked;
    bool wraps = false;
  };

  // Returns the same id for equal arguments.
  uint32_t DefineMachine(absl::string_view name);
  uint32_t DefineCounterset(
      const perflib::CountersetRegistration& registration);
  uint32_t DefineQuery(uint32_t machine, uint32_t counterset,
                       absl::Duration interval,
                       const std::vector<Column>& columns);

  // Returns a new id on every call: each call is one life of an instance.
  // `is_born`: InstanceDefinition.is_born.
  uint32_t DefineInstance(uint32_t machine, uint32_t counterset,
                          absl::string_view name, uint32_t instance_id,
                          uint32_t occurrence, bool is_born = false);
  // Declares that no tick after the ones already delivered uses `instance`.
  void RetireInstance(uint32_t instance);

  // Moves the definitions and retirements since the last call into the batch
  // `sequence`. Returns false if there were none.
  bool TakePending(uint64_t sequence, v1::BatchContent* content);

  // Declares that batches up to `sequence` are settled or lost. Forgets the
  // instances that they retired.
  void Settle(uint64_t sequence);

  // Returns all definitions that unsettled batches may use, in parts of at most
  // about `part_bytes`. A definition refers only to its own part or to earlier
  // ones.
  std::vector<v1::Definitions> All(size_t part_bytes = size_t{1} << 20) const;

  // Returns the changes since the last call of TakeChanges() or TakeAll().
  DictionaryChanges TakeChanges();
  // Returns all definitions, like All(), and forgets the changes.
  std::vector<v1::Definitions> TakeAll(size_t part_bytes);

 private:
  // Returns the id of `key` and sets `is_new` if the key is new.
  uint32_t IdOf(std::string key, bool* is_new)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds definitions other than instances.
  void AddLasting(const v1::Definitions& added)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  uint32_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  absl::flat_hash_map<std::string, uint32_t> ids_ ABSL_GUARDED_BY(mutex_);
  const std::unique_ptr<DefinitionSet> definitions_ ABSL_GUARDED_BY(mutex_);
  const std::unique_ptr<v1::Definitions> pending_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint32_t> pending_retired_ ABSL_GUARDED_BY(mutex_);
  // (sequence of the batch that retires it, instance)
  std::deque<std::pair<uint64_t, uint32_t>> retired_ ABSL_GUARDED_BY(mutex_);

  const bool is_saved_;
  // The unsaved definitions except instances, the unsaved instances, and the
  // saved instances that were removed.
  const std::unique_ptr<v1::Definitions> unsaved_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<uint32_t> unsaved_instances_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint32_t> removed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_DICTIONARY_H_
