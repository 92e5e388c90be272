// Exports the samples of some machines, on a thread of its own.
//
// At an interval, the thread reads the samples that were not exported yet,
// machine by machine, and sends them in requests of bounded size. The samples
// of a request are stored as exported once the engine has them. After an error,
// the thread forgets the request, waits, and reads the samples again. A machine
// with many samples gives way to the others after a minute.
//
// The series of a machine end with staleness markers once nothing has arrived
// of it for six minutes, or longer than its intervals explain, once it was
// forgotten, or when its labels change. Each pass also sends a value of the
// series of each expected machine (machine_series.h).

#ifndef FLEETPERF_AGGREGATOR_EXPORT_EXPORT_SHARD_H_
#define FLEETPERF_AGGREGATOR_EXPORT_EXPORT_SHARD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "aggregator/export/active_machine.h"
#include "aggregator/export/exported_schema.h"
#include "aggregator/export/machine_encoder.h"
#include "aggregator/export/machine_series.h"
#include "aggregator/export/raw_epochs.h"
#include "aggregator/export/remote_write_client.h"
#include "aggregator/export/write_request.h"
#include "aggregator/samples/unexported.h"
#include "aggregator/store/store.h"
#include "base/backoff.h"
#include "base/logging.h"
#include "base/os/clock.h"
#include "base/wakeup.h"

namespace fleetperf::aggregator {

// The work of a shard since the start.
struct ExportCounts {
  uint64_t samples = 0;   // that the engine has
  uint64_t requests = 0;  // that the engine has
  uint64_t failures = 0;  // of requests and reads, which are tried again
  uint64_t refused = 0;   // samples that the engine refused for good
  uint64_t lost = 0;      // values, about: removed or thinned before
  // Since the oldest sample was received that was found, but not exported.
  absl::Duration lag;
};

// Thread-safe.
class ExportShard {
 public:
  struct Options {
    EngineTarget target;
    std::vector<std::string> paths;  // empty: all counters
    bool raw = false;                // whether raw series are sent, too
    absl::Duration interval;         // between two looks at the store
    ExportedMachines machines;
    size_t number = 0;  // of `count` shards
    size_t count = 1;
    // Of one machine, before others get their turns.
    uint64_t samples_of_turn = 1'000'000;
  };
  // Exports until destruction. The pointers must outlive the shard.
  ExportShard(const Options& options, Store* store, const Clock* clock);
  ~ExportShard();

  // Makes the thread stop soon. Destruction waits for its end.
  void Stop();

  ExportCounts counts() const;

 private:
  class Machine;

  void Run();
  // Exports everything that the machines have.
  absl::Status ExportAll();
  absl::Status ExportMachines(const std::vector<std::string>& machines,
                              const PathSet* paths);
  absl::Status Export(const std::string& machine, const PathSet* paths);
  // Sends the series of expected machines, and ends those of machines that are
  // no longer expected or have other labels.
  absl::Status ExportExpected(const PathSet* paths);
  bool IsOwn(const std::string& machine) const;
  // Ends the series of machines that have gone by the start of a pass, and
  // sends the request.
  absl::Status EndSilent(absl::Duration start, const PathSet* paths);
  // Ends the series of a machine whose labels are others now.
  absl::Status EndRelabelled(const std::string& machine, const Labels& labels,
                             const std::string& info, const PathSet* paths);
  // Ends the series fleetperf_machine_info.
  absl::Status EndInfo(const ActiveMachine& activity);
  absl::Status End(const std::string& machine, const ActiveMachine& activity,
                   const PathSet* paths);
  absl::Status Add(absl::string_view labels,
                   absl::Span<const ExportSample> samples);
  // For raw series: see MachineEncoder.
  RawEpochs* raw() { return options_.raw ? &epochs_ : nullptr; }
  // Drops samples that were read and not sent.
  void Forget();
  // Sends the request, and stores what it had as exported.
  absl::Status Flush();
  absl::Status Send();
  absl::Status StoreProgress();
  // Logs an error after which the thread waits.
  void NoteFailure(const absl::Status& status);
  void NoteSuccess();
  bool IsStopping();

  const Options options_;
  Store& store_;
  const Clock& clock_;
  RemoteWriteClient client_;
  LogOncePerCause log_;

  // Used only by the thread.
  ExportedSchemas schemas_;
  RawEpochs epochs_;
  WriteRequestBuilder request_;
  // Of machines whose samples are all in the request, or were sent.
  std::vector<ExportProgress> progress_;
  std::string next_;       // the machine to begin with
  absl::Status not_sent_;  // the error of Flush that ended a read
  // Whether each machine has requests of its own: after the engine has failed,
  // until it has taken everything.
  bool is_each_alone_ = false;
  absl::Status
      passed_over_;          // the last error of a machine that others overtook
  bool is_sent_ = false;     // whether the engine has all that progress_ is of
  uint64_t found_lost_ = 0;  // by the reads that progress_ is of
  absl::flat_hash_map<std::string, ActiveMachine> active_;
  std::map<std::string, std::string> expected_;  // the series that were sent
  // Whether a machine has more samples than its turn had time for.
  bool is_any_left_ = false;
  // As oldest_, of machines of which this pass leaves samples.
  int64_t left_ = INT64_MAX;
  // The receipt of the oldest sample of the machine being read, as oldest_.
  int64_t received_;
  bool is_failing_ = false;
  Backoff backoff_;

  std::atomic<uint64_t> samples_ = 0;
  std::atomic<uint64_t> requests_ = 0;
  std::atomic<uint64_t> failures_ = 0;
  std::atomic<uint64_t> refused_ = 0;
  std::atomic<uint64_t> lost_ = 0;
  // The receipt of the oldest sample that was found and is not exported, in
  // nanoseconds since 1970; INT64_MAX if there is none.
  std::atomic<int64_t> oldest_;

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Wakeup stopped_;
  std::thread thread_;  // last: it uses the other members
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_EXPORT_SHARD_H_
