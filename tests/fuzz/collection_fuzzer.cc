// Batches as an agent may send them: decoded or refused, and what is decoded is
// no larger than a small multiple of the input.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "aggregator/store/batch_decoder.h"
#include "aggregator/store/dictionary.h"
#include "fleetperf/v1/collection.pb.h"
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
  const auto content = ParseBatch(request.batch(), limits);
  if (!content.ok()) return;
  dictionary.Apply((*content)->definitions()).IgnoreError();
  const auto batch = DecodeBatch(**content, limits, nullptr, &dictionary);
  if (!batch.ok()) return;
  size_t values = 0;
  for (const Frame& frame : batch->frames) {
    Touch(frame);
    for (const FrameColumn& column : frame.columns) {
      values += column.values.size();
    }
  }
  FUZZ_CHECK(values <= request.batch().content_size());
  for (const uint32_t id : (*content)->retired_instances()) {
    dictionary.Retire(id);
  }
}

}  // namespace
}  // namespace fleetperf::aggregator

// The first byte says whether the rest is a whole request or the contents of a
// batch, which the framing of a request would hide from the fuzzer.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  fleetperf::v1::CollectRequest request;
  if (data[0] % 2 == 0) {
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
