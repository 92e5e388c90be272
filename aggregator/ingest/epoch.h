// The state of an agent's epoch, which ingest keeps across streams.
//
// Batches have consecutive sequence numbers within an epoch. `received` is the
// last sequence taken from a stream and `durable` the last one on disk, so
// durable <= received. Once an epoch is broken, none of its later batches is
// committed.

#ifndef FLEETPERF_AGGREGATOR_INGEST_EPOCH_H_
#define FLEETPERF_AGGREGATOR_INGEST_EPOCH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/store/store.h"

namespace fleetperf::aggregator {

class Session;

// Thread-safe.
class Epoch {
 public:
  Epoch(std::string agent, uint64_t id, StoredEpoch stored)
      : agent_(std::move(agent)),
        id_(id),
        number_(stored.number),
        dictionary_(std::move(stored.dictionary)),
        received_(stored.durable_sequence),
        durable_(stored.durable_sequence),
        durable_fingerprint_(stored.durable_fingerprint) {}

  const std::string& agent() const { return agent_; }
  uint64_t id() const { return id_; }
  uint32_t number() const { return number_; }
  Dictionary& dictionary() { return *dictionary_; }

  // Held while handling a message that changes the epoch. If an agent has two
  // streams, only the newer one, which owns the epoch, can change it.
  absl::Mutex& taking_mutex() { return taking_mutex_; }

  // Returns whether the batch was not received before.
  bool IsNew(uint64_t sequence) const {
    absl::MutexLock lock(&mutex_);
    return sequence > received_;
  }
  // Batches arrive in sequence order.
  void SetReceived(uint64_t sequence) {
    absl::MutexLock lock(&mutex_);
    received_ = sequence;
  }

  // Marks the batches up to `sequence` as durable.
  void SetDurable(uint64_t sequence, uint64_t fingerprint) {
    absl::MutexLock lock(&mutex_);
    durable_ = sequence;
    durable_fingerprint_ = fingerprint;
  }

  // Marks the epoch as broken because a batch could not be committed. No later
  // batch may be committed: its acknowledgment would tell the agent that all
  // earlier batches are durable too. The next stream gets a new Epoch.
  void SetBroken() {
    absl::MutexLock lock(&mutex_);
    broken_ = true;
  }
  bool broken() const {
    absl::MutexLock lock(&mutex_);
    return broken_;
  }

  uint64_t durable() const {
    absl::MutexLock lock(&mutex_);
    return durable_;
  }
  // The fingerprint of the last durable batch; 0 if unknown.
  uint64_t durable_fingerprint() const {
    absl::MutexLock lock(&mutex_);
    return durable_fingerprint_;
  }
  uint64_t received() const {
    absl::MutexLock lock(&mutex_);
    return received_;
  }

  // The session that owns the epoch and sends its acknowledgments. May be
  // null.
  void SetSession(std::weak_ptr<Session> session) {
    absl::MutexLock lock(&mutex_);
    session_ = std::move(session);
  }
  std::shared_ptr<Session> session() const {
    absl::MutexLock lock(&mutex_);
    return session_.lock();
  }

 private:
  const std::string agent_;
  const uint64_t id_;
  const uint32_t number_;
  const std::unique_ptr<Dictionary> dictionary_;
  absl::Mutex taking_mutex_;
  mutable absl::Mutex mutex_;
  uint64_t received_ ABSL_GUARDED_BY(mutex_);
  uint64_t durable_ ABSL_GUARDED_BY(mutex_);
  uint64_t durable_fingerprint_ ABSL_GUARDED_BY(mutex_);
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  std::weak_ptr<Session> session_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_INGEST_EPOCH_H_
