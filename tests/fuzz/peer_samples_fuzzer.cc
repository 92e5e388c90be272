// Fuzzes what a peer answers: samples, descriptions and live values. Any bytes
// are decoded or rejected; samples that are accepted can be read, cut and
// joined, and live values ranked and sent on.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/peers/description.h"
#include "aggregator/peers/frame_join.h"
#include "aggregator/peers/frame_slice.h"
#include "aggregator/peers/live_merge.h"
#include "aggregator/peers/sample_decoder.h"
#include "aggregator/query/sample_feed.h"
#include "aggregator/subscribe/outbox.h"
#include "fleetperf/v1/peer.pb.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/input.h"
#include "tests/support/countersets.h"

namespace fleetperf::aggregator {
namespace {

// Reads all samples.
class Reader : public SampleSink {
 public:
  size_t AddSeries(const Instance&, const CounterFormula& formula,
                   std::vector<uint32_t>) override {
    formulas_.push_back(formula);
    return formulas_.size() - 1;
  }
  void AddRun(size_t series, const SeriesRun& run) override {
    for (uint32_t tick = 0; tick < run.ticks(); ++tick) {
      sum += run.Sample(tick).value.value;
    }
    if (!run.is_thinned()) return;
    for (const Summary& summary : run.Summaries(formulas_[series])) {
      sum += summary.pieces;
    }
  }

  uint64_t sum = 0;

 private:
  std::vector<CounterFormula> formulas_;
};

void Use(const std::vector<Frame>& frames, SampleFeed* feed) {
  FrameJoin join;
  const std::map<uint32_t, uint64_t> epochs[] = {{{1, 5}}, {{2, 5}}};
  for (const auto& of_store : epochs) {
    join.BeginStore(&of_store);
    for (const Frame& frame : frames) {
      if (!join.Add(frame).ok()) return;  // too large
    }
  }
  FUZZ_CHECK(join.Run([&](const Frame& frame) {
                   const auto ticks =
                       static_cast<uint32_t>(frame.clocks->size());
                   FUZZ_CHECK(ticks > 0);
                   feed->Add(Slice(frame, ticks / 2, ticks));
                   feed->Add(frame);
                   return absl::OkStatus();
                 })
                 .ok());
}

void DecodeSamples(Input input) {
  const auto schema = std::make_shared<const Schema>(
      Schema{.hash = "hash", .registration = testing::DiskRegistration()});
  const std::vector<SelectedCounterset> selected = {
      {.schema = schema,
       .selections = {
           {.instance = perflib::Pattern("*"),
            .counter_ids = {testing::kTransfers, testing::kQueueLength}}}}};
  Reader sink;
  SampleFeed feed(selected.front(), &sink);
  const ReadableStore::ReadRequest request = {
      .machine = "web-1",
      .columns =
          [&](const CollectedQuery& query) {
            return feed.WantedColumns(query);
          },
      .selected = &selected};
  SampleDecoder decoder(request);
  while (!input.empty()) {
    v1::ReadSamplesResponse response;
    const absl::string_view bytes = input.Bytes();
    if (!response.ParseFromArray(bytes.data(),
                                 static_cast<int>(bytes.size()))) {
      return;
    }
    std::vector<Frame> frames;
    const auto keep = [&](const Frame& frame) {
      frames.push_back(frame);
      return absl::OkStatus();
    };
    if (!decoder.Decode(response, keep, [](const Loss&) {}).ok()) return;
    Use(frames, &feed);
  }
}

void ReadDescription(Input input) {
  Schemas schemas;
  DescriptionReader reader(&schemas);
  while (!input.empty()) {
    v1::DescribeResponse response;
    const absl::string_view bytes = input.Bytes();
    if (!response.ParseFromArray(bytes.data(),
                                 static_cast<int>(bytes.size()))) {
      return;
    }
    if (!reader.Add(response).ok()) return;
  }
  Directory directory;
  for (MachineDescription& machine : reader.Take().machines) {
    if (directory.Describe(machine.name).has_value()) continue;
    directory.Add(machine.name, std::move(machine.entry));
    for (const auto& counterset : directory.Countersets(machine.name)) {
      directory.Collecting(machine.name, *counterset);
    }
  }
}

void MergeLiveValues(Input input) {
  LiveMerge merge;
  LiveMerge::Stream streams[] = {merge.Begin(), merge.Begin()};
  Outbox all(Choice{});
  Outbox top(Choice{.top = 2});
  for (size_t i = 0; !input.empty(); ++i) {
    v1::SubscribeResponse response;
    const absl::string_view bytes = input.Bytes();
    if (!response.ParseFromArray(bytes.data(),
                                 static_cast<int>(bytes.size()))) {
      return;
    }
    auto update = merge.Add(response, &streams[i % 2]);
    if (!update.ok()) return;
    const auto shared = std::make_shared<const FeedUpdate>(*std::move(update));
    for (Outbox* const outbox : {&all, &top}) {
      outbox->AddPaced(shared);
      Outbox::Message message;
      while (outbox->Take(&message)) continue;
    }
  }
}

}  // namespace
}  // namespace fleetperf::aggregator

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const fleetperf::Input input(data + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      fleetperf::aggregator::DecodeSamples(input);
      break;
    case 1:
      fleetperf::aggregator::ReadDescription(input);
      break;
    default:
      fleetperf::aggregator::MergeLiveValues(input);
  }
  return 0;
}
