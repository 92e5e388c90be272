#include "aggregator/store/batch_reader.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "aggregator/samples/batch_decoder.h"
#include "aggregator/store/read_range.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// Returns a filter that refers to `request`.
QueryFilter FilterOf(const ReadableStore::ReadRequest& request) {
  return [&request](const CollectedQuery& query) {
    return query.machine == request.machine &&
           (!request.filter || request.filter(query));
  };
}

}  // namespace

BatchReader::BatchReader(Log* log, const ReadableStore::ReadRequest* request,
                         OnFrame on_frame, OnLoss on_loss)
    : log_(*log),
      request_(*request),
      on_frame_(on_frame),
      on_loss_(on_loss),
      selector_({.queries = FilterOf(*request),
                 .columns = request->columns,
                 .instances = request->instances}) {}

absl::Status BatchReader::ReadRecent(const RecentBatches::Found& recent) {
  if (request_.on_epoch) {
    for (const RecentBatches::Found::OfEpoch& epoch : recent.epochs) {
      if (recent.HasBatchOf(epoch.number)) {
        request_.on_epoch(epoch.number, epoch.last_sequence);
      }
    }
  }
  for (const auto& batch : recent.batches) {
    RETURN_IF_ERROR(ReadBatch(*batch));
  }
  return absl::OkStatus();
}

absl::Status BatchReader::ReadSegment(const LogSegment& segment,
                                      const Snapshot& snapshot,
                                      const RecentBatches::Found& recent) {
  const uint64_t held = recent.FirstSequence(segment.epoch_number);
  if (segment.first_sequence < held) {
    LogSegment logged = segment;
    logged.last_sequence = std::min(logged.last_sequence, held - 1);
    RETURN_IF_ERROR(ReadLogged(logged, snapshot));
  }
  for (const auto& batch : recent.batches) {
    if (batch->epoch_number() != segment.epoch_number ||
        batch->sequence() < segment.first_sequence ||
        batch->sequence() > segment.last_sequence) {
      continue;
    }
    RETURN_IF_ERROR(ReadBatch(*batch));
  }
  return absl::OkStatus();
}

absl::Status BatchReader::ReadLogged(const LogSegment& segment,
                                     const Snapshot& snapshot) {
  return log_.Read(
      segment, request_.from, request_.to, FilterOf(request_), &snapshot,
      [&](LoggedBatch batch) -> absl::Status {
        for (Frame& frame : batch.decoded.frames) {
          if (RemoveRunsOutside(request_.from, request_.to, &frame)) {
            RETURN_IF_ERROR(on_frame_(frame));
          }
        }
        ReportLosses(batch.decoded.losses);
        return absl::OkStatus();
      },
      [&](uint64_t, const BatchTimes& times, const absl::Status& damage) {
        LogSkipped(request_.machine, damage);
        if (absl::IsDataLoss(damage)) {
          on_loss_(DamagedBetween(times.oldest, times.newest));
        }
        return absl::OkStatus();
      });
}

absl::Status BatchReader::ReadBatch(const RecentBatch& batch) {
  const bool is_inside = batch.times().oldest >= request_.from &&
                         batch.times().newest <= request_.to;
  RETURN_IF_ERROR(batch.Read(&selector_, [&](Frame frame) -> absl::Status {
    if (frame.clocks->empty() ||
        (!is_inside &&
         !RemoveRunsOutside(request_.from, request_.to, &frame))) {
      return absl::OkStatus();
    }
    return on_frame_(frame);
  }));
  ReportLosses(batch.losses());
  return absl::OkStatus();
}

void BatchReader::ReportLosses(const std::vector<Loss>& losses) {
  for (const Loss& loss : losses) {
    if (loss.machine.empty() || loss.machine == request_.machine) {
      on_loss_(loss);
    }
  }
}

}  // namespace fleetperf::aggregator
