// Fuzzes what an engine answers: any bytes are read or refused, and frames made
// of them can be read and cut.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/history/engine_frames.h"
#include "aggregator/history/engine_question.h"
#include "aggregator/history/engine_series.h"
#include "aggregator/history/frame_slice.h"
#include "aggregator/history/matrix_reader.h"
#include "aggregator/query/sample_feed.h"
#include "aggregator/samples/walker.h"
#include "tests/fuzz/check.h"
#include "tests/support/countersets.h"

namespace fleetperf::aggregator {
namespace {

// Reads all samples.
class Reader : public SampleSink {
 public:
  size_t AddSeries(const Instance&, const CounterFormula&,
                   std::vector<uint32_t>) override {
    return 0;
  }
  void AddRun(size_t, const SeriesRun& run) override {
    for (uint32_t tick = 0; tick < run.ticks(); ++tick) {
      sum += run.Sample(tick).value.value;
    }
  }

  uint64_t sum = 0;
};

void Read(std::string json) {
  const auto schema = std::make_shared<const Schema>(Schema{
      .hash = "registration", .registration = testing::DiskRegistration()});
  const std::vector<SelectedCounterset> selected = {
      {.schema = schema,
       .selections = {
           {.instance = perflib::Pattern("*"),
            .counter_ids = {testing::kTransfers, testing::kBytesPerRead}}}}};
  Reader sink;
  SampleFeed feed(selected.front(), &sink);
  const ReadableStore::ReadRequest request = {
      .machine = "web-1",
      .columns =
          [&](const CollectedQuery& query) {
            return feed.WantedColumns(query);
          },
      .selected = &selected};
  const EngineQuestion question("web-1", selected);
  EngineSeries series(&question);
  if (!ReadMatrix(std::move(json), &series).ok()) return;
  EngineFrames frames(&request, {{1, 5}, {2, 6}});
  Walker walker;
  FUZZ_CHECK(frames
                 .Make(0, INT64_MAX, &series,
                       [&](const Frame& frame) {
                         const auto ticks =
                             static_cast<uint32_t>(frame.clocks->size());
                         FUZZ_CHECK(ticks > 0);
                         walker.BeginFrame(frame);
                         feed.Add(Slice(frame, ticks / 2, ticks));
                         feed.Add(frame);
                         return absl::OkStatus();
                       })
                 .ok());
}

}  // namespace
}  // namespace fleetperf::aggregator

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fleetperf::aggregator::Read(
      std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
