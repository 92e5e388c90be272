// What ingest knows of an agent's epoch, from one stream to the next.

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

  // Held while a message is taken that changes the epoch, so that of two
  // streams of one agent only the newer one, which has it, can.
  absl::Mutex& taking_mutex() { return taking_mutex_; }

  // Whether a batch was not received before.
  bool IsNew(uint64_t sequence) const {
    absl::MutexLock lock(&mutex_);
    return sequence > received_;
  }
  // Batches come in the order of their sequences.
  void SetReceived(uint64_t sequence) {
    absl::MutexLock lock(&mutex_);
    received_ = sequence;
  }

  // Batches up to this one are on disk.
  void SetDurable(uint64_t sequence, uint64_t fingerprint) {
    absl::MutexLock lock(&mutex_);
    durable_ = sequence;
    durable_fingerprint_ = fingerprint;
  }

  // A batch could not be put on disk. None after it may be: the agent would
  // take it for durable with all before it. The next stream has a new Epoch.
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
  // Of the last durable batch; 0 if it is not known.
  uint64_t durable_fingerprint() const {
    absl::MutexLock lock(&mutex_);
    return durable_fingerprint_;
  }
  uint64_t received() const {
    absl::MutexLock lock(&mutex_);
    return received_;
  }

  // The session that has the epoch and gets the acknowledgements; may be null.
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
