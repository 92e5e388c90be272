// The interface of the sample store, which ingest writes to and queries read
// from.

#ifndef FLEETPERF_AGGREGATOR_STORE_STORE_H_
#define FLEETPERF_AGGREGATOR_STORE_STORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "aggregator/samples/batch_decoder.h"
#include "aggregator/samples/commit.h"
#include "aggregator/samples/dictionary.h"
#include "aggregator/samples/directory.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/resolution.h"
#include "aggregator/samples/unexported.h"
#include "aggregator/store/readable_store.h"
#include "base/os/clock.h"
#include "fleetperf/v1/fleet.pb.h"

namespace fleetperf::v1 {
class Definitions;
}  // namespace fleetperf::v1

namespace fleetperf::aggregator {

// Thread-safe.
class Store : public ReadableStore {
 public:
  // 16 random bytes that identify the store.
  virtual const std::string& id() const = 0;

  // Bytes on disk, without the newest batches.
  virtual uint64_t size() const = 0;

  struct Counts {
    uint64_t recent_bytes = 0;    // of the newest batches in memory, about
    uint64_t logged_batches = 0;  // that Compact has not moved
    // On the disk; std::nullopt if it is unknown.
    std::optional<uint64_t> free_bytes;
  };
  virtual Counts counts() const = 0;

  // Returns the agent's epoch, and creates it if it is new. An epoch, like
  // everything that is stored without a batch, survives the process; it
  // survives a power cut after the next Commit. The epoch ends once its
  // dictionaries are destroyed and Compact has moved all its batches. Its
  // definitions are then removed. Its record is removed once all of its samples
  // have been dropped.
  virtual absl::StatusOr<StoredEpoch> OpenEpoch(
      const std::string& agent, uint64_t epoch,
      const Dictionary::Limits& limits) = 0;

  // Returns the agent's epochs, by their numbers.
  virtual std::map<uint32_t, uint64_t> EpochsOf(
      const std::string& agent) const = 0;

  // Stores the batches and raises the durable sequences of their epochs. The
  // caller holds the dictionaries of these epochs. If the result is OK,
  // everything survives a power cut; otherwise nothing was stored. One caller
  // at a time.
  virtual absl::Status Commit(absl::Span<const BatchToCommit> batches) = 0;

  // Returns ResourceExhausted if there is no space for batches besides the
  // space reserved for compaction and removal. Writes also return
  // ResourceExhausted if the disk is full, and for some seconds after that,
  // until the store has detected that there is space again.
  virtual absl::Status CheckRoom() const = 0;

  // Returns whether the store has this batch. On an error, it may have the
  // batch.
  virtual absl::StatusOr<bool> HasBatch(uint32_t epoch_number,
                                        uint64_t sequence,
                                        uint64_t fingerprint) const = 0;

  // Returns the number of ticks that an agent's machine has lost, by cause.
  // Losses of all of the agent's machines count for each machine.
  virtual std::map<LossCause, uint64_t> LostTicks(
      const std::string& agent, const std::string& machine) const = 0;

  // Stores definitions that arrived without a batch. The caller holds the
  // epoch's dictionary.
  virtual absl::Status KeepDefinitions(uint32_t epoch_number,
                                       const v1::Definitions& definitions) = 0;

  // Whether the store keeps cursors for an export. While it does, samples that
  // arrive are unexported until SetExported has covered them; samples that
  // arrived before and that Compact has moved are not. Ending forgets them.
  virtual absl::Status KeepExportCursors(bool keep) = 0;
  // Reads the unexported samples of a machine, in full resolution. One caller
  // at a time for each machine. Damaged data is skipped and logged.
  virtual absl::Status ReadUnexported(const UnexportedRequest& request,
                                      UnexportedSink* sink) = 0;
  // Stores progress of ReadUnexported. Survives the process.
  virtual absl::Status SetExported(
      absl::Span<const ExportProgress> progress) = 0;

  // Catalogues, by the hash of their contents. A catalogue is removed when the
  // last machine with its hash changes. Catalogues without a machine are
  // removed when the store is opened.
  virtual bool HasCatalogue(absl::string_view hash) const = 0;
  virtual absl::Status PutCatalogue(absl::string_view hash,
                                    absl::string_view content) = 0;

  // The description of a machine's agent that users see. It survives restarts.
  virtual absl::Status PutMachine(const StoredMachine& machine) = 0;
  // Returns std::nullopt if no machine has this name.
  virtual std::optional<StoredMachine> FindMachine(
      const std::string& name) const = 0;
  // Removes the descriptions of machines, all or none, and hides the machines
  // in the directory until PutMachine describes them again. Their samples
  // remain as long as those of others. Survives a power cut. Returns NotFound
  // if there is no such machine.
  virtual absl::Status ForgetMachines(const std::set<std::string>& names) = 0;
  // See Directory. The descriptions keep the labels of agents.
  virtual void SetLabelRules(LabelRules rules) = 0;
  // See Directory. The listener must not call the store.
  virtual void SetLabelsListener(Directory::LabelsListener listener) = 0;
  using ReadableStore::GetMachines;
  // Returns up to `max` machines whose names follow `after`.
  virtual std::vector<StoredMachine> GetMachines(const std::string& after,
                                                 size_t max) const = 0;

  // Copies everything that was committed before to `directory`, an absolute
  // path that must not exist. A store can be opened there. If the result is OK,
  // the directory is complete; otherwise it does not exist. `on_copied` is
  // called as bytes are copied; the copy stops at its first error. Errors:
  // those of AdministrationService.Backup.
  virtual absl::Status Backup(
      const std::string& directory,
      absl::FunctionRef<absl::Status(uint64_t bytes, uint64_t total)>
          on_copied) = 0;

  // Returns the last time of day recorded as right. If none was recorded,
  // returns the time of receipt of the newest data. std::nullopt if there is
  // neither.
  virtual std::optional<absl::Time> KnownTime() const = 0;
  virtual absl::Status PutKnownTime(absl::Time time) = 0;

  // Moves some complete committed data to a compact form that is fast to read.
  // Data is complete once later batches have arrived, or none since
  // `idle_since`. Also removes the definitions of ended epochs. Returns false
  // if there is nothing to do. Compact, Thin, DropBefore and DropTo together
  // allow one caller at a time.
  virtual absl::StatusOr<bool> Compact(absl::Time idle_since) = 0;

  // Reduces some data received before `time` to one sample per minute or hour.
  // Recent data and data that Compact has not moved may be left as it is. Data
  // is thinned to hours only after Thin has handled it for minutes. Longer
  // windows keep their values, except averages, sums and last values of pieces:
  // the formula over the minute or hour then stands for its pieces. Returns
  // false if there is nothing to do.
  virtual absl::StatusOr<bool> Thin(Resolution resolution, absl::Time time) = 0;

  // Removes data received before `time`. The newest part may stay, since the
  // data of an hour is removed together.
  virtual absl::Status DropBefore(absl::Time time) = 0;

  // Removes the data received first until the store uses no more than `size`
  // bytes on disk, or only recent batches, names and definitions are left.
  virtual absl::Status DropTo(uint64_t size) = 0;
};

// Opens the embedded store in `directory`, and creates it if necessary. Only
// one process at a time can have it open. `clock` must outlive the store. At
// most `max_recent_bytes` of the newest batches are also kept in memory, where
// queries find them faster.
absl::StatusOr<std::unique_ptr<Store>> OpenRocksDbStore(
    const std::string& directory, const Clock* clock = &Clock::Real(),
    uint64_t max_recent_bytes = 0);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_STORE_H_
