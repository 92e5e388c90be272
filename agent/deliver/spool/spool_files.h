// The files of a spool, in its directory:
//
//   spool.lock                    held by the process that uses the spool
//   spool.NUMBER.log              a segment of the log: all of the state, then
//                                 each change; payloads follow the records that
//                                 add them
//   spool.ticks                   records of open batches; overwritten from its
//                                 front when all ticks in it are in batches
//   spool.NUMBER.definitions      of a former epoch: v1::Dictionary records
//
// A change is one record, written at once: it is whole, or a crash cut it off.
// A new segment begins when one is full, and after each error. Older ones are
// needed for their payloads alone, and deleted when none of these is held.

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
#include "base/append_file.h"
#include "fleetperf/v1/spool.pb.h"

namespace fleetperf::agent {

// Used by one thread, but for what says otherwise. After an error of a function
// that writes, BeginSegment comes before all else.
class SpoolFiles {
 public:
  struct Options {
    std::string directory;
    uint64_t segment_bytes = uint64_t{4} << 20;
    // For tests, which stop threads there: called before files are used.
    std::function<void()> before_use = [] {};
  };

  // Makes the directory, if need be. FailedPrecondition if another process uses
  // it.
  static absl::StatusOr<std::unique_ptr<SpoolFiles>> Open(
      const Options& options);

  // Whether there is a complete segment.
  bool has_log() const;
  // What the files hold, with every payload checked. What is damaged is copied
  // to a file with ".damaged" at its name's end. Files of a later version are
  // renamed like that, and everything in them is counted as lost. Errors: files
  // that cannot be read.
  absl::StatusOr<RecoveredSpool> Recover();
  const std::string& directory() const { return options_.directory; }

  // Begins a segment with all of the state and batches, and empties the file of
  // ticks. All of these functions sync batches, and say in them where their
  // payloads are; those that were dropped have none.
  absl::Status BeginSegment(std::vector<v1::SpoolRecord> state,
                            uint32_t process, std::vector<HeldBatch>* batches);
  absl::Status Append(v1::SpoolRecord record, uint32_t process,
                      std::vector<HeldBatch>* batches);
  // Before the first segment of a spool that is imported.
  absl::Status AppendImported(std::vector<HeldBatch>* batches);
  absl::Status AppendTicks(const v1::SpoolRecord& record);
  void RewindTicks() { rewinds_ticks_ = true; }
  // Of a former epoch.
  absl::Status WriteDefinitions(uint32_t epoch,
                                const std::vector<v1::Definitions>& parts);
  // Whether a segment should begin: the last one is full, or the file of ticks
  // has much more than the ones that are needed.
  bool needs_segment(uint64_t needed_tick_bytes) const;

  // The log, on the disk, refers to no others: they are deleted, except for the
  // last segment.
  void KeepOnly(const std::set<uint32_t>& segments,
                const std::set<uint32_t>& epochs);
  // Nothing in other segments is held, but the log cannot be told, perhaps for
  // want of the room that they take: they become empty, which says so.
  void EmptyOthers(const std::set<uint32_t>& segments);

  // The sizes of files with definitions, by epoch.
  const std::map<uint32_t, uint64_t>& definition_bytes() const {
    return definitions_;
  }

  // Thread-safe. DataLoss or NotFound if the payload is damaged; then its
  // segment is copied like at the start.
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
  void CheckDefinitions(RecoveredSpool* recovered) const;
  absl::Status SetAllAside();
  void CopyAside(const std::string& path) const;
  absl::Status AddRecord(v1::SpoolRecord record, uint32_t process,
                         std::vector<HeldBatch>* batches, std::string* bytes);
  absl::Status OpenSegment();
  absl::Status Write(const std::string& bytes, bool syncs);

  const Options options_;
  std::unique_ptr<FileLock> lock_;
  // The files that there are.
  std::set<uint32_t> segments_;
  std::map<uint32_t, uint64_t> definitions_;  // sizes, by epoch
  std::unique_ptr<AppendFile> segment_;       // null: one has to begin
  uint32_t last_segment_ = 0;                 // its number, or that of the last
  uint32_t complete_segment_ = 0;             // the last that is, 0: none
  uint32_t records_ = 0;                      // in segment_
  uint32_t definition_records_ = 0;
  uint64_t full_size_ = 0;  // of segment_
  std::unique_ptr<AppendFile> ticks_;
  uint32_t tick_records_ = 0;
  bool rewinds_ticks_ = false;  // before the next record
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_SPOOL_FILES_H_
