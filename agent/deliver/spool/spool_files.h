// The files of a spool, in its directory:
//
//   spool.lock                    locked by the process that uses the spool
//   spool.NUMBER.log              a segment of the log: the whole state, then
//                                 each change. Payloads follow the record that
//                                 adds them.
//   spool.ticks                   records of open batches. Overwritten from its
//                                 start once all its ticks are in batches.
//   spool.NUMBER.definitions      a former epoch's v1::Dictionary records
//   spool.held                    counts of held ticks. Overwritten from its
//                                 start after each save.
//
// Invariants:
// - A change is one record and one write. After a crash the record is whole or
//   cut off.
// - A new segment begins when the last one is full, and after each error.
// - The newest complete segment is enough to recover everything but payloads.
//   Older segments are needed only for payloads, and are deleted when none of
//   these is held.
// - Each payload is checked against its batch's fingerprint when it is read.
// - The counts include written ticks only. So a crash makes them too small at
//   worst, and counted ticks that the files lack were lost.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_SPOOL_FILES_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_SPOOL_FILES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/deliver/spool/held_batch.h"
#include "agent/deliver/spool/recovered_spool.h"
#include "base/logging.h"
#include "base/os/append_file.h"
#include "base/os/directory_lock.h"
#include "fleetperf/v1/spool.pb.h"

namespace fleetperf::agent {

// Functions that are not marked thread-safe must be called from one thread.
// After an error of a function that writes, the next write must be
// BeginSegment.
class SpoolFiles {
 public:
  struct Options {
    std::string directory;
    uint64_t segment_bytes = uint64_t{4} << 20;
    // Hook for tests, called before a file is used.
    std::function<void()> before_use = [] {};
  };

  // Creates the directory if needed. Returns FailedPrecondition if another
  // process uses it.
  static absl::StatusOr<std::unique_ptr<SpoolFiles>> Open(
      const Options& options);

  // Reads the files, checks every payload, and compares the result with the
  // counts. `boot_id` tells a power cut from damage. Copies damaged files to
  // files whose names end in ".damaged". Renames files of a later version in
  // the same way and counts their contents as lost. Returns an error if a file
  // cannot be read.
  absl::StatusOr<RecoveredSpool> Recover(absl::string_view boot_id);

  // Begins a segment with the whole state and `batches`, and empties the file
  // of ticks. This and the next two functions sync the batches, and set the
  // places of their payloads; dropped batches have none.
  absl::Status BeginSegment(std::vector<v1::SpoolRecord> state,
                            uint32_t process, std::vector<HeldBatch>* batches);
  absl::Status Append(v1::SpoolRecord record, uint32_t process,
                      std::vector<HeldBatch>* batches);
  absl::Status AppendTicks(const v1::SpoolRecord& record);
  void RewindTicks() { rewinds_ticks_ = true; }
  // Replaces the counts, after what they count is written. Logs errors, which
  // do not affect the samples.
  void WriteCounts(v1::SpoolRecord counts);
  // Writes the definitions of a former epoch.
  absl::Status WriteDefinitions(uint32_t epoch,
                                const std::vector<v1::Definitions>& parts);
  // Whether a segment should begin: the last one is full, or most of the file
  // of ticks is obsolete.
  bool needs_segment(uint64_t needed_tick_bytes) const;

  // Deletes all other segments, except the last one, and all other epochs'
  // definitions. The log on the disk must not refer to them.
  void KeepOnly(const std::set<uint32_t>& segments,
                const std::set<uint32_t>& epochs);
  // Replaces all other segments by a record of a few bytes, which tells
  // recovery that their payloads were released. No batch in them is held, but
  // the log cannot be written, perhaps because these segments fill the disk.
  void ReleaseOthers(const std::set<uint32_t>& segments);

  // The sizes of the files with definitions, by epoch.
  const std::map<uint32_t, uint64_t>& definition_bytes() const {
    return definitions_;
  }

  // Thread-safe. Returns DataLoss or NotFound if the payload is damaged, and
  // copies its segment like Recover.
  absl::StatusOr<std::string> ReadPayload(const HeldBatch& batch) const;
  // Thread-safe.
  absl::StatusOr<std::vector<v1::Definitions>> ReadDefinitions(
      uint32_t epoch) const;

 private:
  explicit SpoolFiles(const Options& options) : options_(options) {}

  std::string PathOf(absl::string_view name) const;
  std::string SegmentPath(uint32_t number) const;
  std::string DefinitionsPath(uint32_t number) const;
  absl::Status FindFiles();
  absl::StatusOr<SpoolRecovery> ReadRecords();
  absl::Status CheckPayloads(RecoveredSpool* recovered) const;
  absl::Status Release(uint32_t segment) const;
  absl::Status CheckDefinitions(RecoveredSpool* recovered) const;
  absl::Status SetAllAside();
  void CopyAside(const std::string& path) const;
  absl::Status AddRecord(v1::SpoolRecord record, uint32_t process,
                         std::vector<HeldBatch>* batches, std::string* bytes);
  absl::Status OpenSegment();
  absl::Status Write(const std::string& bytes, bool syncs);

  const Options options_;
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<DirectoryLock> directory_lock_;
  // The existing files.
  std::set<uint32_t> segments_;
  std::map<uint32_t, uint64_t> definitions_;  // sizes by epoch
  std::unique_ptr<AppendFile> segment_;       // nullptr: one must begin
  uint32_t last_segment_ = 0;                 // the highest number so far
  uint32_t complete_segment_ = 0;             // the last complete one; 0: none
  uint32_t records_ = 0;                      // in segment_
  uint32_t definition_records_ = 0;           // in segment_
  uint64_t full_size_ = 0;                    // of segment_
  std::unique_ptr<AppendFile> ticks_;
  uint32_t tick_records_ = 0;
  bool rewinds_ticks_ = false;  // before the next record
  std::unique_ptr<AppendFile> counts_;
  LogOncePerCause log_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_SPOOL_FILES_H_
