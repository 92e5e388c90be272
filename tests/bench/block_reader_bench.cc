// Compares the cost of reading a block with copying it, and with a loop like
// the sample published by Microsoft, which steps through the block by the
// structures' sizes and adds up the values.

#include <cstdio>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "perflib/block_reader.h"
#include "perflib/block_writer.h"
#include "perflib/bytes.h"
#include "perflib/counter_type.h"
#include "perflib/utf16.h"
#include "perflib/v1/data_reader.h"
#include "tests/bench/measure.h"
#include "tests/support/v1_bytes.h"

namespace fleetperf::bench {
namespace {

using namespace perflib;

// One query for all counters of all instances.
std::string Block(int instances, int counters) {
  std::string bytes;
  BlockWriter writer({1, 2, 3}, &bytes);
  std::vector<uint32_t> ids;
  for (int i = 0; i < counters; ++i) ids.push_back(static_cast<uint32_t>(i));
  writer.BeginResult(HeaderType::kCounterset, ids);
  for (int i = 0; i < instances; ++i) {
    writer.BeginInstance(Utf16FromUtf8(absl::StrCat("process name:", 1000 + i)),
                         static_cast<uint32_t>(i));
    for (int c = 0; c < counters; ++c) {
      if (c % 4 == 0) {
        writer.AddValue32(static_cast<uint32_t>(i * c));
      } else {
        writer.AddValue64(static_cast<uint64_t>(i * c));
      }
    }
  }
  writer.EndResult();
  writer.Finish();
  return bytes;
}

// The same values as PerfLib V1 returns them.
std::string V1Block(int instances, int counters) {
  testing::V1ObjectBytes object = {.name_index = 230};
  for (int c = 0; c < counters; ++c) {
    object.counters.push_back({.name_index = static_cast<uint32_t>(2 * c + 2),
                               .type = kPerfCounterLargeRawcount,
                               .size = c % 4 == 0 ? 4u : 8u});
  }
  for (int i = 0; i < instances; ++i) {
    testing::V1InstanceBytes instance = {
        .name = absl::StrCat("process name:", 1000 + i)};
    for (int c = 0; c < counters; ++c) {
      instance.values.push_back(static_cast<uint64_t>(i * c));
    }
    object.instances.push_back(instance);
  }
  return testing::V1Data({}, {testing::MakeV1Object(object)});
}

// Reads all values, as a translation into a block does.
uint64_t SumOfV1(const std::string& bytes, ParsedV1Data* data) {
  ReadV1Data(bytes, data);
  uint64_t sum = 0;
  for (const V1Object& object : data->objects) {
    const auto counters = data->Counters(object);
    for (const V1Instance& instance : data->Instances(object)) {
      for (const PerfCounterDefinition& counter : counters) {
        sum += data->ValueOf(instance, counter).value;
      }
    }
  }
  return sum;
}

// Does the same steps and checks as the published loop, for blocks of the type
// above.
uint64_t SumBySampleLoop(const char* block) {
  const auto* data = reinterpret_cast<const PerfDataHeader*>(block);
  const char* position = block + sizeof(PerfDataHeader);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < data->num_counters; ++i) {
    const auto* header = reinterpret_cast<const PerfCounterHeader*>(position);
    if (header->type == static_cast<uint32_t>(HeaderType::kCounterset)) {
      const auto* counters =
          reinterpret_cast<const PerfMultiCounters*>(header + 1);
      const auto* instances = reinterpret_cast<const PerfMultiInstances*>(
          reinterpret_cast<const char*>(counters) + counters->size);
      const char* at = reinterpret_cast<const char*>(instances + 1);
      uint32_t left = instances->total_size - sizeof(PerfMultiInstances);
      for (uint32_t n = 0; n < instances->num_instances; ++n) {
        const auto* instance = reinterpret_cast<const PerfInstanceHeader*>(at);
        if (left < sizeof(PerfInstanceHeader) || left < instance->size) {
          return 0;
        }
        left -= instance->size;
        at += instance->size;
        for (uint32_t c = 0; c < counters->num_counters; ++c) {
          const auto* value = reinterpret_cast<const PerfCounterData*>(at);
          if (left < sizeof(PerfCounterData) + 8 || left < value->size ||
              value->size < sizeof(PerfCounterData) + 8 ||
              value->size - sizeof(PerfCounterData) < value->data_size) {
            return 0;
          }
          if (value->data_size == 4) {
            sum += *reinterpret_cast<const uint32_t*>(value + 1);
          } else if (value->data_size == 8) {
            sum += *reinterpret_cast<const uint64_t*>(value + 1);
          }
          left -= value->size;
          at += value->size;
        }
      }
    }
    position += header->size;
  }
  return sum;
}

void Compare(const char* name, int instances, int counters) {
  const std::string bytes = Block(instances, counters);
  const double values = instances * counters;
  std::string copy(bytes.size(), '\0');
  ParsedBlock block;
  const std::string v1_bytes = V1Block(instances, counters);
  ParsedV1Data v1_data;
  std::vector<Candidate> candidates = {
      {"memcpy of the block",
       [&] {
         std::memcpy(copy.data(), bytes.data(), bytes.size());
         Keep(copy.data());
       }},
      {"published sample loop", [&] { Keep(SumBySampleLoop(bytes.data())); }},
      {"ReadBlock",
       [&] {
         ReadBlock(bytes, &block);
         Keep(block.values.data());
       }},
      {"ReadV1Data and its values", [&] { Keep(SumOfV1(v1_bytes, &v1_data)); }},
  };
  Measure(/*rounds=*/200, /*runs=*/static_cast<int>(2e5 / values) + 1,
          &candidates);
  const double copying = candidates[0].nanos;
  const double allowed = 2 * copying + 2 * values;
  std::printf("%s: %d instances x %d counters, %zu bytes\n", name, instances,
              counters, bytes.size());
  for (const Candidate& candidate : candidates) {
    std::printf("  %-26s %8.0f ns  %6.2f ns/value  %5.2f x memcpy\n",
                candidate.name.c_str(), candidate.nanos,
                candidate.nanos / values, candidate.nanos / copying);
  }
  std::printf("  ReadBlock takes %.2f of 2 x memcpy + 2 ns a value\n",
              candidates[2].nanos / allowed);
}

}  // namespace
}  // namespace fleetperf::bench

int main() {
  fleetperf::bench::Compare("processors", 34, 32);
  fleetperf::bench::Compare("processes", 300, 20);
  fleetperf::bench::Compare("many processes", 5000, 20);
}
