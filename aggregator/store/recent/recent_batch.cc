#include "aggregator/store/recent/recent_batch.h"

#include <algorithm>
#include <utility>

#include "aggregator/samples/batch_decoder.h"
#include "aggregator/samples/column_decoder.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// The instances and ticks, not the instances' reference counts, are compared.
bool AreSame(const std::vector<Frame::Run>& a,
             const std::vector<Frame::Run>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Frame::Run& x, const Frame::Run& y) {
                      return x.instance.get() == y.instance.get() &&
                             x.first_tick == y.first_tick &&
                             x.tick_count == y.tick_count;
                    });
}

}  // namespace

RecentBatch::RecentBatch(const BatchToCommit& batch, const BatchTimes& times,
                         const RecentBatch* last)
    : epoch_number_(batch.epoch_number),
      sequence_(batch.sequence),
      times_(times),
      losses_(batch.decoded->losses),
      content_(batch.decoded->content) {
  const DecodedBatch& decoded = *batch.decoded;
  size_ = sizeof *this + (content_ != nullptr ? content_->capacity() : 0) +
          decoded.frames.size() *
              (sizeof(EncodedFrame) + sizeof(queries_.front())) +
          losses_.size() * sizeof(Loss);
  const std::vector<perflib::Clocks>* clocks = nullptr;
  queries_.reserve(decoded.frames.size());
  frames_.reserve(decoded.frames.size());
  for (const Frame& frame : decoded.frames) {
    SharedRuns runs = ShareRuns(frame, frames_.size(), last);
    if (runs.use_count() == 1) size_ += runs->size() * sizeof(Frame::Run);
    if (frame.clocks.get() != clocks) {
      clocks = frame.clocks.get();
      size_ += clocks->size() * sizeof(perflib::Clocks);
    }
    size_ += frame.failures.size() * sizeof(Frame::Failure);
    queries_.push_back(frame.query);
    frames_.push_back({.clocks = frame.clocks,
                       .runs = std::move(runs),
                       .encoded = decoded.encoded[frames_.size()],
                       .failures = frame.failures});
  }
}

size_t RecentBatch::SizeSharedWith(const RecentBatch& last) const {
  size_t size = 0;
  const size_t frames = std::min(frames_.size(), last.frames_.size());
  for (size_t i = 0; i < frames; ++i) {
    if (frames_[i].runs != last.frames_[i].runs) continue;
    size += frames_[i].runs->size() * sizeof(Frame::Run);
  }
  return size;
}

SharedRuns RecentBatch::ShareRuns(const Frame& frame, size_t number,
                                  const RecentBatch* last) {
  if (last != nullptr && number < last->frames_.size()) {
    const SharedRuns& before = last->frames_[number].runs;
    if (last->queries_[number] == frame.query && AreSame(*before, frame.runs)) {
      return before;
    }
  }
  return std::make_shared<const std::vector<Frame::Run>>(frame.runs);
}

void RecentBatch::ForEachMachine(
    absl::FunctionRef<void(const std::string&)> use) const {
  const std::string* last = nullptr;
  for (const auto& query : queries_) {
    const std::string& machine = query->machine;
    if (last != nullptr && *last == machine) continue;
    last = &machine;
    use(machine);
  }
}

absl::Status RecentBatch::Read(
    Selector* selector,
    absl::FunctionRef<absl::Status(Frame frame)> use) const {
  for (size_t i = 0; i < frames_.size(); ++i) {
    const std::vector<bool>* columns = selector->ColumnsOf(queries_[i]);
    if (columns == nullptr) continue;
    const EncodedFrame& encoded = frames_[i];
    Frame frame{.query = queries_[i],
                .clocks = encoded.clocks,
                .failures = encoded.failures,
                .epoch_number = epoch_number_};
    const auto& runs = selector->RunsOf(*frame.query, encoded.runs);
    RETURN_IF_ERROR(
        DecodeColumns(encoded.encoded, *encoded.runs, runs, *columns, &frame));
    RETURN_IF_ERROR(use(std::move(frame)));
  }
  return absl::OkStatus();
}

const std::vector<bool>* RecentBatch::Selector::ColumnsOf(
    const std::shared_ptr<const CollectedQuery>& query) {
  for (const Columns& known : columns_) {
    if (known.query == query) {
      return known.columns.has_value() ? &*known.columns : nullptr;
    }
  }
  Columns& found = columns_.emplace_back(Columns{.query = query});
  if (!selection_.queries(*query)) return nullptr;
  found.columns = selection_.columns
                      ? selection_.columns(*query)
                      : std::vector<bool>(query->columns.size(), true);
  return &*found.columns;
}

const std::vector<uint32_t>& RecentBatch::Selector::RunsOf(
    const CollectedQuery& query, const SharedRuns& runs) {
  for (const Runs& known : runs_) {
    if (known.all == runs) return known.selected;
  }
  Runs& found = runs_.emplace_back(Runs{.all = runs});
  for (uint32_t number = 0; number < runs->size(); ++number) {
    if (!selection_.instances ||
        selection_.instances(query, *(*runs)[number].instance)) {
      found.selected.push_back(number);
    }
  }
  return found.selected;
}

}  // namespace fleetperf::aggregator
