// Where samples are kept: what ingest writes to and queries read from.

#ifndef FLEETPERF_AGGREGATOR_STORE_STORE_H_
#define FLEETPERF_AGGREGATOR_STORE_STORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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
#include "base/clock.h"
#include "fleetperf/v1/fleet.pb.h"

namespace fleetperf::v1 {
class Definitions;
}  // namespace fleetperf::v1

namespace fleetperf::aggregator {

// Thread-safe.
class Store {
 public:
  virtual ~Store() = default;

  // 16 random bytes that tell this store from any other.
  virtual const std::string& id() const = 0;

  virtual const Directory& directory() const = 0;

  // Bytes on disk, without the newest batches.
  virtual uint64_t size() const = 0;

  // The agent's epoch, made if it is new. This, and what else is kept without a
  // batch, survives the process; a power cut only after the next Commit. The
  // epoch ends when its dictionaries are destroyed and Compact has moved all
  // its batches: then its definitions go. What is known of it otherwise goes
  // when all that came of it has been dropped.
  virtual absl::StatusOr<StoredEpoch> OpenEpoch(
      const std::string& agent, uint64_t epoch,
      const Dictionary::Limits& limits) = 0;

  // Keeps the batches and raises the durable sequences of their epochs, whose
  // dictionaries the caller has. When it returns OK, all of it survives a power
  // cut; otherwise nothing was kept. One caller at a time.
  virtual absl::Status Commit(absl::Span<const BatchToCommit> batches) = 0;

  // Whether there is room for batches, besides what is needed to put in order
  // and to remove what is there: else ResourceExhausted. That is also what
  // writing returns if the disk is full, and until the store has noticed that
  // there is room again: some seconds.
  virtual absl::Status CheckRoom() const = 0;

  // Whether it has this batch. An error: it may have.
  virtual absl::StatusOr<bool> HasBatch(uint32_t epoch_number,
                                        uint64_t sequence,
                                        uint64_t fingerprint) const = 0;

  // How many ticks an agent's machine has lost, by cause. Those that are lost
  // to all of an agent's machines count for each.
  virtual std::map<LossCause, uint64_t> LostTicks(
      const std::string& agent, const std::string& machine) const = 0;

  // Keeps definitions that came without a batch. The caller has the epoch's
  // dictionary.
  virtual absl::Status KeepDefinitions(uint32_t epoch_number,
                                       const v1::Definitions& definitions) = 0;

  // The samples of one machine, in order of epochs and sequences: all frames
  // that `filter` takes and that have ticks between `from` and `to`. A frame
  // may reach beyond them. Ends early if `on_frame` returns an error, which it
  // then returns. What is damaged is left out and logged.
  struct ReadRequest {
    std::string machine;
    absl::Time from;
    absl::Time to;
    QueryFilter filter;
    // What is wanted of the queries that `filter` takes: which columns, by
    // number, and which instances. Empty: all. Where that saves nothing, others
    // come, too.
    std::function<std::vector<bool>(const CollectedQuery&)> columns = nullptr;
    std::function<bool(const CollectedQuery&, const Instance&)> instances =
        nullptr;
    // If not empty, called before any frame comes, with each epoch that has
    // such frames: samples of its batches up to `sequence` are in what is read,
    // samples of later batches are not.
    std::function<void(uint32_t epoch_number, uint64_t sequence)> on_epoch =
        nullptr;
  };
  virtual absl::Status Read(
      const ReadRequest& request,
      absl::FunctionRef<absl::Status(const Frame&)> on_frame,
      absl::FunctionRef<void(const Loss&)> on_loss) = 0;

  // Catalogues, by the hash of their contents. One goes when no machine has its
  // hash any more; what was put without a machine, when the store is opened.
  virtual bool HasCatalogue(absl::string_view hash) const = 0;
  virtual absl::Status PutCatalogue(absl::string_view hash,
                                    absl::string_view content) = 0;
  virtual absl::StatusOr<std::string> GetCatalogue(
      absl::string_view hash) const = 0;

  // What people are told of a machine's agent; kept over restarts.
  virtual absl::Status PutMachine(const v1::Machine& machine,
                                  absl::string_view catalogue_hash) = 0;
  struct StoredMachine {
    v1::Machine machine;
    std::string catalogue_hash;
  };
  virtual std::vector<StoredMachine> GetMachines() const = 0;  // by name
  // At most so many of them, those behind `after`.
  virtual std::vector<StoredMachine> GetMachines(const std::string& after,
                                                 size_t most) const = 0;

  // Copies all that was committed before into `directory`, an absolute path of
  // what does not exist; a store can be opened there. It is there when this
  // returns OK, and not at all otherwise. `on_copied` is called now and then;
  // its error ends it. Errors: as AdministrationService.Backup has.
  virtual absl::Status Backup(
      const std::string& directory,
      absl::FunctionRef<absl::Status(uint64_t bytes, uint64_t total)>
          on_copied) = 0;

  // The last time of day that was said to be right, or, in a store that was
  // told of none, the newest at which something was received. Nothing if there
  // is neither.
  virtual std::optional<absl::Time> KnownTime() const = 0;
  virtual absl::Status PutKnownTime(absl::Time time) = 0;

  // Moves some of what has been committed to where it takes little and is read
  // quickly, if that is complete, since later batches have come or none since
  // `idle_since`; and removes what is to go of epochs that have ended. False if
  // there is nothing to do. One caller at a time, of this, Thin, DropBefore and
  // DropTo.
  virtual absl::StatusOr<bool> Compact(absl::Time idle_since) = 0;

  // Leaves one sample a minute, or an hour, of some of what was received before
  // `time`, but for the last of it perhaps, and for what Compact has not moved;
  // only what has one a minute is thinned to hours. The values of longer
  // windows stay as they were, unless they are averages or sums of the values
  // of pieces, or the last: then the formula over the minute, or hour, stands
  // for its pieces. False if there is nothing to do.
  virtual absl::StatusOr<bool> Thin(Resolution resolution, absl::Time time) = 0;

  // Removes what was received before `time`, but for the last of it perhaps:
  // what an hour's samples are in goes when all of it was.
  virtual absl::Status DropBefore(absl::Time time) = 0;

  // Removes what was received first, until the store takes no more than `size`
  // bytes on disk, or all that is left are recent batches, names and
  // definitions.
  virtual absl::Status DropTo(uint64_t size) = 0;
};

// The embedded store, in `directory`, which is made if need be. One process at
// a time can open it. `clock` outlives it.
absl::StatusOr<std::unique_ptr<Store>> OpenRocksDbStore(
    const std::string& directory, const Clock* clock = &Clock::Real());

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_STORE_H_
