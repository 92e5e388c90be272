// Batches as an agent may send them: decoded or refused, and what is decoded is
// no larger than a small multiple of the input. And plans as an agent may get
// them: resolved or refused.

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/collect/resolve.h"
#include "aggregator/store/batch_decoder.h"
#include "aggregator/store/dictionary.h"
#include "fleetperf/v1/collection.pb.h"
#include "fleetperf/v1/configuration.pb.h"
#include "perflib/counter_type.h"
#include "tests/fuzz/check.h"

namespace fleetperf::aggregator {
namespace {

// What may reach a decoded value of a frame, and does.
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

void CheckSame(const Frame& a, const Frame& b) {
  FUZZ_CHECK(a.query == b.query);
  FUZZ_CHECK(*a.clocks == *b.clocks);
  FUZZ_CHECK(std::equal(
      a.runs.begin(), a.runs.end(), b.runs.begin(), b.runs.end(),
      [](const Frame::Run& c, const Frame::Run& d) {
        return c.instance == d.instance && c.first_tick == d.first_tick &&
               c.tick_count == d.tick_count;
      }));
  FUZZ_CHECK(std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(),
                        b.columns.end(),
                        [](const FrameColumn& c, const FrameColumn& d) {
                          return c.constant == d.constant &&
                                 c.values == d.values && c.missing == d.missing;
                        }));
  FUZZ_CHECK(std::equal(a.failures.begin(), a.failures.end(),
                        b.failures.begin(), b.failures.end(),
                        [](const Frame::Failure& c, const Frame::Failure& d) {
                          return c.tick == d.tick && c.status == d.status;
                        }));
}

// What protobuf makes of the blocks, where it can read them, has the same
// samples.
void CheckProtobufReadsTheSame(const BatchContents& contents,
                               const DecodedBatch& decoded,
                               const BatchLimits& limits,
                               Dictionary* dictionary) {
  BatchContents rewritten;
  std::vector<std::string> messages;
  messages.reserve(contents.blocks.size());
  for (const absl::string_view bytes : contents.blocks) {
    v1::BlockColumns blocks;
    if (!blocks.ParseFromString(std::string(bytes))) return;
    messages.push_back(blocks.SerializeAsString());
    rewritten.blocks.push_back(messages.back());
  }
  const auto again = DecodeBatch(rewritten, limits, nullptr, dictionary);
  FUZZ_CHECK(again.ok());
  FUZZ_CHECK(again->frames.size() == decoded.frames.size());
  for (size_t i = 0; i < decoded.frames.size(); ++i) {
    CheckSame(decoded.frames[i], again->frames[i]);
  }
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
  CheckProtobufReadsTheSame(*contents, *batch, limits, &dictionary);
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

// What plans are resolved against.
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
    FUZZ_CHECK(query.planned < plan->queries.size());
    FUZZ_CHECK(query.interval >= absl::Seconds(1));
    FUZZ_CHECK(!query.counters.empty());
  }
}

}  // namespace
}  // namespace fleetperf::agent

// The first byte says whether the rest is a whole request, the contents of a
// batch, which the framing of a request would hide from the fuzzer, or a plan.
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
