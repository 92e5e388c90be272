// How far the store's commits have come, so that those that are missing later
// are noticed and counted.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_COMMIT_MARK_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_COMMIT_MARK_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/logging.h"

namespace fleetperf::aggregator {

// What the store has once a commit is in it. Each commit writes it, too.
struct CommitMark {
  uint64_t commits = 0;                        // so far
  uint64_t batches = 0;                        // in them
  absl::Time received = absl::InfinitePast();  // the last commit's newest batch
};

std::string EncodeCommitMark(const CommitMark& mark);
// False if it is none.
bool ParseCommitMark(absl::string_view bytes, CommitMark* mark);

// The last commit that is known to be synced, in a file beside the database.
// The file is overwritten after each commit and left for the system to sync,
// which takes it some 30 s: a second sync would double what a commit costs. So
// it survives the process, and after a power cut it may be somewhat behind, but
// never ahead. Thread-compatible.
class SyncedMark {
 public:
  explicit SyncedMark(const std::string& directory);
  ~SyncedMark();  // syncs it
  SyncedMark(const SyncedMark&) = delete;
  SyncedMark& operator=(const SyncedMark&) = delete;

  void Set(const CommitMark& mark);

  // No commits if there is no such file, or what is in it is no mark.
  static CommitMark Read(const std::string& directory);

 private:
  const std::string path_;
  int file_ = -1;
  LogOncePerCause log_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_COMMIT_MARK_H_
