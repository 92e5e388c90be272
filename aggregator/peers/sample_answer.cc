#include "aggregator/peers/sample_answer.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/query/sample_feed.h"
#include "aggregator/store/machine_epochs.h"
#include "base/status_macros.h"
#include "perflib/clocks.h"

namespace fleetperf::aggregator {
namespace {

// Only decides what is read.
class NoSink : public SampleSink {
 public:
  size_t AddSeries(const Instance&, const CounterFormula&,
                   std::vector<uint32_t>) override {
    return 0;
  }
  void AddRun(size_t, const SeriesRun&) override {}
};

SelectedCounterset SelectionOf(const v1::ReadSamplesRequest::Counterset& proto,
                               const std::shared_ptr<const Schema>& schema) {
  SelectedCounterset selected{.schema = schema};
  for (const v1::ReadSamplesRequest::Selection& selection :
       proto.selections()) {
    Selection& to = selected.selections.emplace_back();
    if (selection.has_instance()) to.instance.emplace(selection.instance());
    to.counter_ids = {selection.counters().begin(), selection.counters().end()};
  }
  return selected;
}

// The countersets of a request.
class Reader {
 public:
  Reader(const v1::ReadSamplesRequest& request, const Directory& directory) {
    const CountersetList collected = directory.Countersets(request.machine());
    for (const auto& proto : request.countersets()) {
      const auto known = std::find_if(
          collected.begin(), collected.end(), [&](const auto& counterset) {
            return counterset->schema->hash == proto.schema_hash();
          });
      if (known == collected.end()) {
        schemas_.push_back(nullptr);
        continue;
      }
      const auto& schema = (*known)->schema;
      schemas_.push_back(schema);
      selected_.push_back(SelectionOf(proto, schema));
      feeds_.emplace_back(selected_.back(), &sink_);
    }
  }

  const std::vector<std::shared_ptr<const Schema>>& schemas() const {
    return schemas_;
  }

  const std::vector<SelectedCounterset>& selected() const { return selected_; }

  SampleFeed* FeedOf(const CollectedQuery& query) {
    const auto feed = std::find_if(
        feeds_.begin(), feeds_.end(),
        [&](const auto& one) { return one.schema() == query.schema; });
    return feed != feeds_.end() ? &*feed : nullptr;
  }

 private:
  NoSink sink_;
  std::vector<std::shared_ptr<const Schema>> schemas_;
  std::vector<SelectedCounterset> selected_;  // without unknown ones
  std::deque<SampleFeed> feeds_;
};

}  // namespace

absl::Status AnswerReadSamples(const Store& store, ReadableStore& samples,
                               const v1::ReadSamplesRequest& request,
                               const IsCancelled& is_cancelled,
                               SampleEncoder::Send send) {
  Reader reader(request, store.directory());
  SampleEncoder encoder(reader.schemas(), std::move(send));
  if (request.with_epochs()) {
    RETURN_IF_ERROR(
        encoder.SendEpochs(EpochsOfMachine(store, request.machine())));
  }
  RETURN_IF_ERROR(samples.Read(
      {.machine = request.machine(),
       .from = perflib::TimeFromPerfTime100NSec(request.from()),
       .to = perflib::TimeFromPerfTime100NSec(request.to()),
       .filter =
           [&](const CollectedQuery& query) {
             return reader.FeedOf(query) != nullptr;
           },
       .columns =
           [&](const CollectedQuery& query) {
             return reader.FeedOf(query)->WantedColumns(query);
           },
       .instances =
           [&](const CollectedQuery& query, const Instance& instance) {
             return reader.FeedOf(query)->Wants(instance);
           },
       .selected = &reader.selected(),
       .on_chunk = [&] { return CheckNotCancelled(is_cancelled); }},
      [&](const Frame& frame) { return encoder.Add(frame); },
      [&](const Loss& loss) { encoder.Add(loss); }));
  return encoder.Finish();
}

}  // namespace fleetperf::aggregator
