// The small ids that stand for machines, countersets, queries and instances in
// the batches of an epoch.

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

// What a file that keeps the definitions has to be told.
struct DictionaryChanges {
  std::unique_ptr<v1::Definitions> added;  // null: none
  std::vector<uint32_t> removed;           // ids of instances
};

// Thread-safe.
class Dictionary {
 public:
  // Whether TakeChanges or TakeAll are called.
  explicit Dictionary(bool is_saved = false);
  ~Dictionary();

  struct Column {
    uint32_t counter_id;
    uint32_t value_size;  // 4 or 8
    bool only_linked;
    bool wraps = false;
  };

  // What is defined a second time keeps its id.
  uint32_t DefineMachine(absl::string_view name);
  uint32_t DefineCounterset(
      const perflib::CountersetRegistration& registration);
  uint32_t DefineQuery(uint32_t machine, uint32_t counterset,
                       absl::Duration interval,
                       const std::vector<Column>& columns);

  // A new id each time: one life of an instance.
  uint32_t DefineInstance(uint32_t machine, uint32_t counterset,
                          absl::string_view name, uint32_t instance_id,
                          uint32_t occurrence);
  // No tick after those that were handed to delivery uses `instance`.
  void RetireInstance(uint32_t instance);

  // Moves what was defined and retired since the last call into the batch
  // `sequence`. False if there was nothing.
  bool TakePending(uint64_t sequence, v1::BatchContent* content);

  // Batches up to `sequence` are settled or lost: what they retired is
  // forgotten.
  void Settle(uint64_t sequence);

  // Everything that unsettled batches may use, in parts of about this size at
  // most. What a definition refers to is in its part or in one before.
  std::vector<v1::Definitions> All(size_t part_bytes = size_t{1} << 20) const;

  // What changed since the last call of one of these.
  DictionaryChanges TakeChanges();
  // Everything, like All.
  std::vector<v1::Definitions> TakeAll(size_t part_bytes);

 private:
  // An id for `key`; `is_new` says whether it was not there yet.
  uint32_t IdOf(std::string key, bool* is_new)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds what stays: all but instances.
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
  // New definitions but instances, new instances, and saved ones that are gone.
  const std::unique_ptr<v1::Definitions> unsaved_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<uint32_t> unsaved_instances_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint32_t> removed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_DICTIONARY_H_
