// Measures the CPU time of making frames of an engine's answer, without HTTP
// and the engine: an hour of a machine, one tick a second.
//
//   history_bench [INSTANCES]

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/history/engine_frames.h"
#include "aggregator/history/engine_question.h"
#include "aggregator/history/engine_series.h"
#include "aggregator/history/matrix_reader.h"
#include "tests/aggregator/history/fake_engine.h"
#include "tests/bench/measure.h"
#include "tests/bench/number_argument.h"
#include "tests/support/countersets.h"
#include "tests/support/raw_samples.h"

namespace fleetperf::bench {
namespace {

using aggregator::CollectedQuery;
using aggregator::Frame;
using aggregator::Instance;
using aggregator::Schema;
using aggregator::SelectedCounterset;

constexpr int kTicks = 3600;

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "history_bench: %s\n", status.ToString().c_str());
  std::exit(1);
}

// Returns an hour of a rate, of which nearly each tick has another value.
Frame MakeFrame(const std::shared_ptr<const Schema>& schema, int instances) {
  auto query = std::make_shared<CollectedQuery>();
  query->schema = schema;
  query->interval = absl::Seconds(1);
  query->columns = {{.counter_id = testing::kTransfers, .value_size = 8}};
  Frame frame{.query = std::move(query), .epoch_number = 1};
  std::vector<perflib::Clocks> clocks;
  for (int tick = 0; tick < kTicks; ++tick) {
    clocks.push_back(testing::ClocksAt(tick));
  }
  frame.clocks =
      std::make_shared<const std::vector<perflib::Clocks>>(std::move(clocks));
  frame.columns.resize(1);
  for (int i = 0; i < instances; ++i) {
    const auto number = static_cast<uint32_t>(i);
    frame.runs.push_back({.instance = std::make_shared<const Instance>(
                              Instance{.name = absl::StrCat("disk ", i),
                                       .life = MakeLife(1, number + 1)}),
                          .tick_count = kTicks,
                          .begin = number * kTicks});
    uint64_t value = uint64_t{1} << 40;
    for (uint64_t tick = 0; tick < kTicks; ++tick) {
      frame.columns[0].values.push_back(value += tick * 7919 % 10'007);
    }
  }
  return frame;
}

void Run(int instances) {
  const auto schema = std::make_shared<const Schema>(Schema{
      .hash = "registration", .registration = testing::DiskRegistration()});
  const std::vector<SelectedCounterset> selected = {
      {.schema = schema,
       .selections = {{.instance = perflib::Pattern("*"),
                       .counter_ids = {testing::kTransfers}}}}};
  testing::FakeEngine engine;
  engine.Add("web-1", /*epoch=*/5, MakeFrame(schema, instances));
  const aggregator::EngineQuestion question("web-1", selected);
  const auto answer = engine.Query(
      absl::StrCat(question.selectors()[0], "[", kTicks * 1000, "ms]"),
      testing::At(kTicks), nullptr);
  Check(answer.status());
  const aggregator::ReadableStore::ReadRequest request = {
      .machine = "web-1", .selected = &selected};
  size_t values = 0;
  std::vector<Candidate> candidates = {
      {"read",
       [&] {
         aggregator::EngineSeries series(&question);
         Check(aggregator::ReadMatrix(*answer, &series));
       }},
      {"read and make frames", [&] {
         values = 0;
         aggregator::EngineSeries series(&question);
         Check(aggregator::ReadMatrix(*answer, &series));
         aggregator::EngineFrames frames(&request, {{1, 5}});
         Check(frames.Make(0, INT64_MAX, &series, [&](const Frame& frame) {
           values += frame.columns[0].values.size();
           return absl::OkStatus();
         }));
       }}};
  Measure(/*rounds=*/10, /*runs=*/1, &candidates);
  std::printf(
      "%zu values, %.1f bytes each\n", values,
      static_cast<double>(answer->size()) / static_cast<double>(values));
  for (const Candidate& candidate : candidates) {
    std::printf("  %-21s %6.1f ns a value\n", candidate.name.c_str(),
                candidate.nanos / static_cast<double>(values));
  }
}

}  // namespace
}  // namespace fleetperf::bench

int main(int argc, char** argv) {
  fleetperf::bench::Run(fleetperf::bench::NumberArgument(argc, argv, 1, 50));
  return 0;
}
