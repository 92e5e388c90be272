// Fuzzes batches from agents and plans for agents. A batch is decoded or
// rejected, and has no more values than its content has bytes. Decoding agrees
// with protobuf's. A plan is resolved or rejected.

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/collect/resolve.h"
#include "aggregator/samples/batch_decoder.h"
#include "aggregator/samples/dictionary.h"
#include "fleetperf/v1/collection.pb.h"
#include "fleetperf/v1/configuration.pb.h"
#include "perflib/counter_type.h"
#include "tests/fuzz/check.h"

namespace fleetperf::aggregator {
namespace {

// Reads the first and the last value of every run of every column.
void Touch(const Frame& frame) {
  for (const FrameColumn& column : frame.columns) {
    for (size_t run = 0; run < frame.runs.size(); ++run) {
      frame.Value(column, run, 0);
      frame.Value(column, run, frame.runs[run].tick_count - 1);
    }
  }
  for (const Frame::Run& run : frame.runs) {
    FUZZ_CHECK(run.instance != nullptr);
    FUZZ_CHECK(run.first_tick + run.tick_count <= frame.clocks->size());
  }
}

// The functions below compare decoded frames with messages parsed by protobuf.

void CheckClocks(const v1::BlockColumns& blocks, const Frame& frame) {
  FUZZ_CHECK(std::ssize(*frame.clocks) == blocks.perf_time_100nsec_size());
  uint64_t time_100nsec = 0;
  uint64_t time_stamp = 0;
  uint64_t freq = 0;
  for (int i = 0; i < blocks.perf_time_100nsec_size(); ++i) {
    const perflib::Clocks& clocks = (*frame.clocks)[static_cast<size_t>(i)];
    time_100nsec += static_cast<uint64_t>(blocks.perf_time_100nsec(i));
    time_stamp += static_cast<uint64_t>(blocks.perf_time_stamp(i));
    freq += static_cast<uint64_t>(blocks.perf_freq(i));
    FUZZ_CHECK(static_cast<uint64_t>(clocks.perf_time_100nsec) == time_100nsec);
    FUZZ_CHECK(static_cast<uint64_t>(clocks.perf_time_stamp) == time_stamp);
    FUZZ_CHECK(static_cast<uint64_t>(clocks.perf_freq) == freq);
  }
}

void CheckRuns(const v1::QueryColumns& query, const Frame& frame) {
  FUZZ_CHECK(std::ssize(frame.runs) == query.instances_size());
  uint32_t id = 0;
  uint32_t begin = 0;
  for (int i = 0; i < query.instances_size(); ++i) {
    const Frame::Run& run = frame.runs[static_cast<size_t>(i)];
    id += static_cast<uint32_t>(query.instances(i));
    FUZZ_CHECK(DefinitionOfLife(run.instance->life) == id);
    const bool is_whole = query.first_block_size() == 0;
    FUZZ_CHECK(run.first_tick == (is_whole ? 0 : query.first_block(i)));
    FUZZ_CHECK(run.tick_count ==
               (is_whole ? frame.clocks->size() : query.block_count(i)));
    FUZZ_CHECK(run.begin == begin);
    begin += run.tick_count;
  }
}

void CheckColumn(const v1::Column& column, const Frame& frame,
                 const FrameColumn& decoded) {
  int difference = 0;
  for (int i = 0; i < column.first_size(); ++i) {
    uint64_t value = column.first(i);
    for (uint32_t t = 0; t < frame.runs[static_cast<size_t>(i)].tick_count;
         ++t) {
      if (t > 0 && column.differences_size() > 0) {
        value += static_cast<uint64_t>(column.differences(difference++));
      }
      FUZZ_CHECK(frame.Value(decoded, static_cast<size_t>(i), t) == value);
    }
  }
  FUZZ_CHECK(difference == column.differences_size());
  FUZZ_CHECK(std::equal(decoded.missing.begin(), decoded.missing.end(),
                        column.missing().begin(), column.missing().end()));
}

void CheckQuery(const v1::QueryColumns& query, const Frame& frame) {
  CheckRuns(query, frame);
  FUZZ_CHECK(std::ssize(frame.columns) == query.columns_size());
  for (int i = 0; i < query.columns_size(); ++i) {
    CheckColumn(query.columns(i), frame, frame.columns[static_cast<size_t>(i)]);
  }
  FUZZ_CHECK(std::equal(
      frame.failures.begin(), frame.failures.end(), query.failures().begin(),
      query.failures().end(),
      [](const Frame::Failure& decoded, const v1::QueryFailure& failure) {
        return decoded.tick == failure.block() &&
               decoded.status == failure.status();
      }));
}

void CheckFrames(const BatchContents& contents, const DecodedBatch& decoded) {
  size_t frame = 0;
  for (const absl::string_view bytes : contents.blocks) {
    v1::BlockColumns blocks;
    // The decoder accepts longer field numbers and sizes than protobuf does.
    if (!blocks.ParseFromString(std::string(bytes))) return;
    for (const v1::QueryColumns& query : blocks.queries()) {
      FUZZ_CHECK(frame < decoded.frames.size());
      CheckClocks(blocks, decoded.frames[frame]);
      CheckQuery(query, decoded.frames[frame++]);
    }
  }
  FUZZ_CHECK(frame == decoded.frames.size());
}

void Check(const v1::CollectRequest& request) {
  const BatchLimits limits = {.max_payload_bytes = 1 << 20,
                              .max_content_bytes = 1 << 20,
                              .max_values = 1 << 20};
  SchemaTable schemas;
  Dictionary dictionary(1, &schemas, nullptr, {});
  if (request.has_dictionary()) {
    dictionary.Apply(request.dictionary().definitions()).IgnoreError();
  }
  if (!request.has_batch()) return;
  const auto contents = ParseBatch(request.batch(), limits);
  if (!contents.ok()) return;
  if (contents->definitions != nullptr) {
    dictionary.Apply(*contents->definitions).IgnoreError();
  }
  const auto batch = DecodeBatch(*contents, limits, nullptr, &dictionary);
  if (!batch.ok()) return;
  CheckFrames(*contents, *batch);
  size_t values = 0;
  for (const Frame& frame : batch->frames) {
    Touch(frame);
    for (const FrameColumn& column : frame.columns) {
      values += column.values.size();
    }
  }
  FUZZ_CHECK(values <= request.batch().content_size());
  for (const uint32_t id : contents->retired_instances) {
    dictionary.Retire(id);
  }
}

}  // namespace
}  // namespace fleetperf::aggregator

namespace fleetperf::agent {
namespace {

// The registrations that plans are resolved against.
std::vector<perflib::CountersetRegistration> Registrations() {
  perflib::CountersetRegistration disk;
  disk.guid = *perflib::ParseGuid("{b4fc721a-0378-476f-89ba-a5a79f810b36}");
  disk.name = "Disk";
  disk.instance_type = perflib::kCountersetMultipleInstances;
  disk.counters = {{.counter_id = 1,
                    .type = perflib::kPerfAverageBulk,
                    .base_counter_id = 2,
                    .name = "Average"},
                   {.counter_id = 2, .type = perflib::kPerfAverageBase},
                   {.counter_id = 3, .name = "Reads (all)/sec"}};
  return {disk};
}

void CheckPlan(const v1::Plan& proto) {
  static const auto& registrations =
      *new std::vector<perflib::CountersetRegistration>(Registrations());
  const auto plan = PlanFromProto(proto, Plan());
  if (!plan.ok()) return;
  const Resolution resolution = ResolvePlan(*plan, "web-1", registrations);
  for (const ResolvedQuery& query : resolution.queries) {
    FUZZ_CHECK(!query.planned.empty());
    FUZZ_CHECK(query.planned.back() < plan->queries.size());
    FUZZ_CHECK(!query.filters.empty());
    FUZZ_CHECK(query.interval >= absl::Seconds(1));
    FUZZ_CHECK(!query.counters.empty());
  }
}

}  // namespace
}  // namespace fleetperf::agent

// The first byte selects the meaning of the rest: a whole request, the content
// of a batch, which the framing of a request would hide from the fuzzer, or a
// plan.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  google::protobuf::SetLogHandler(nullptr);
  if (size == 0) return 0;
  const std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 3 == 2) {
    fleetperf::v1::Plan plan;
    if (plan.ParseFromString(rest)) fleetperf::agent::CheckPlan(plan);
    return 0;
  }
  fleetperf::v1::CollectRequest request;
  if (data[0] % 3 == 0) {
    if (!request.ParseFromString(rest)) return 0;
  } else {
    request.mutable_batch()->set_compression(fleetperf::v1::COMPRESSION_NONE);
    request.mutable_batch()->set_payload(rest);
    request.mutable_batch()->set_content_size(
        static_cast<uint32_t>(rest.size()));
  }
  fleetperf::aggregator::Check(request);
  return 0;
}
