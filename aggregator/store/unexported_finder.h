// Finds the samples of a machine that an export has not taken, and the older
// ones that their first pieces begin with.

#ifndef FLEETPERF_AGGREGATOR_STORE_UNEXPORTED_FINDER_H_
#define FLEETPERF_AGGREGATOR_STORE_UNEXPORTED_FINDER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator/samples/unexported.h"
#include "aggregator/store/export_reader.h"
#include "aggregator/store/recent/recent_batches.h"
#include "aggregator/store/tables/chunk_table.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/export_table.h"
#include "aggregator/store/tables/log_index.h"

namespace fleetperf::aggregator {

// Where samples of a machine are.
struct UnexportedSamples {
  struct FoundChunk {
    StoredChunk chunk;
    bool is_listed = false;  // otherwise, only its last ticks may be needed
  };
  struct Epoch {
    ExportCursor cursor;
    std::vector<LogSegment> segments;
    // Sequences in the log that are not exported: after the first one, up to
    // the last one.
    uint64_t after = 0;
    uint64_t last = 0;
    bool has_new() const { return last > after; }
    // The chunks with samples that are not exported, also those that are gone.
    std::map<ChunkKey, UnexportedChunk> listed;
    uint64_t last_listed = 0;  // sequence; later batches are not in `listed`
    // The last hour with the beginning of something that is not exported.
    uint32_t last_hour = 0;
    std::vector<FoundChunk> chunks;  // to read, by order
  };

  bool empty() const { return oldest == absl::InfiniteFuture(); }
  // Whether a piece of a query with this interval may begin at a time.
  bool MayBegin(absl::Duration interval, absl::Time time) const;

  uint32_t machine = 0;
  std::unique_ptr<const Snapshot> snapshot;
  std::map<uint32_t, Epoch> epochs;  // by number
  // The oldest unexported samples, by the machine's clock and by receipt.
  absl::Time oldest = absl::InfiniteFuture();
  absl::Time received = absl::InfiniteFuture();
  absl::Time earliest;  // of the samples that serve as older ones
  std::vector<absl::Duration> intervals;  // of the request, sorted
  RecentBatches::Found recent;
  uint64_t lost = 0;  // values of listed chunks that are gone
};

absl::StatusOr<UnexportedSamples> FindUnexported(
    const ExportReader::Parts& parts, const UnexportedRequest& request);

// Logs that damaged samples of a machine are not exported.
void LogUnexportedDamage(const std::string& machine,
                         const absl::Status& status);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_UNEXPORTED_FINDER_H_
