// Marks that number the store's commits, so that missing commits are detected
// and counted.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_COMMIT_MARK_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_COMMIT_MARK_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/logging.h"

namespace fleetperf::aggregator {

// The state of the store after a commit. Each commit writes its mark.
struct CommitMark {
  uint64_t commits = 0;                        // number of commits so far
  uint64_t batches = 0;                        // number of batches in them
  absl::Time received = absl::InfinitePast();  // by the last commit
};

std::string EncodeCommitMark(const CommitMark& mark);
// Returns false if `bytes` is not a mark.
bool ParseCommitMark(absl::string_view bytes, CommitMark* mark);

// The last commit known to have been synced, in a file next to the database.
// The file is overwritten after each commit but not synced, because a second
// sync would double the cost of a commit; the system syncs it after some 30 s.
// The mark survives the process. After a power cut it may lag behind, but it is
// never ahead. Thread-compatible.
class SyncedMark {
 public:
  explicit SyncedMark(const std::string& directory);
  ~SyncedMark();  // syncs the file
  SyncedMark(const SyncedMark&) = delete;
  SyncedMark& operator=(const SyncedMark&) = delete;

  void Set(const CommitMark& mark);

  // Returns a mark without commits if the file does not exist or is not valid.
  static CommitMark Read(const std::string& directory);

 private:
  const std::string path_;
  int file_ = -1;
  LogOncePerCause log_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_COMMIT_MARK_H_
