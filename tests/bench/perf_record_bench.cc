// Compares the cost of parsing the samples of a ring with a walk over the same
// ring that reads only headers.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <variant>
#include <vector>

#include "driver/perf_event/attributes.h"
#include "driver/perf_event/record_parser.h"
#include "driver/perf_event/ring.h"
#include "tests/bench/measure.h"

namespace fleetperf::bench {
namespace {

using namespace perf_event;

Attributes Sampled() {
  Attributes attributes;
  attributes.sample_type = sample::kIp | sample::kTid | sample::kTime |
                           sample::kAddress | sample::kId | sample::kCpu |
                           sample::kPeriod | sample::kCallchain;
  attributes.flags = flag::kSampleIdAll;
  return attributes;
}

// A ring in memory, filled once. Each pass reads all of it.
class Filled {
 public:
  // Fills `size` bytes with samples whose call chains have `least` to `most`
  // entries.
  Filled(size_t size, size_t least, size_t most) : data_(size / 8) {
    std::mt19937_64 random(1);
    // The records start late, so that one continues at the start of the ring.
    start_ = size / 2 + 8;
    uint64_t head = start_;
    while (true) {
      const std::vector<uint64_t> record =
          SampleOf(least + random() % (most - least + 1), random);
      if (head + record.size() * 8 - start_ > size) break;
      for (const uint64_t word : record) {
        data_[head / 8 % data_.size()] = word;
        head += 8;
      }
      ++records_;
    }
    page_.data_head = head;
  }

  size_t records() const { return records_; }
  RingMemory Rewound() {
    page_.data_tail = start_;
    return {&page_,
            {reinterpret_cast<const char*>(data_.data()),
             data_.size() * sizeof(uint64_t)}};
  }

 private:
  static std::vector<uint64_t> SampleOf(size_t depth, std::mt19937_64& random) {
    const uint64_t size = 8 * (1 + 7 + 1 + depth);
    std::vector<uint64_t> words = {size << 48 | uint64_t{2} << 32 | 9};
    // ip, pid and tid, time, address, id, cpu, period
    for (int i = 0; i < 7; ++i) words.push_back(random());
    words.push_back(depth);
    for (size_t i = 0; i < depth; ++i) words.push_back(random());
    return words;
  }

  MmapPage page_ = {};
  std::vector<uint64_t> data_;
  uint64_t start_ = 0;
  size_t records_ = 0;
};

// The least that any reader does.
uint64_t WalkHeaders(const RingMemory& memory) {
  const uint64_t head =
      __atomic_load_n(&memory.page->data_head, __ATOMIC_ACQUIRE);
  uint64_t tail = memory.page->data_tail;
  const uint64_t mask = memory.data.size() - 1;
  uint64_t samples = 0;
  while (tail < head) {
    RecordHeader header;
    std::memcpy(&header, memory.data.data() + (tail & mask), sizeof(header));
    samples += header.type == 9;
    tail += header.size;
    __atomic_store_n(&memory.page->data_tail, tail, __ATOMIC_RELEASE);
  }
  return samples;
}

uint64_t SumOfFixed(const Sample& sample) {
  return *sample.ip() + sample.thread()->pid + sample.thread()->tid +
         *sample.time() + *sample.address() + *sample.id() + *sample.cpu() +
         *sample.period() + sample.callchain().size();
}

uint64_t SumOf(const Sample& sample) {
  uint64_t sum = SumOfFixed(sample);
  for (const uint64_t address : sample.callchain()) sum += address;
  return sum;
}

// What a reader of exactly these samples would do by hand, without a look at
// sizes.
uint64_t SumByHand(const RingMemory& memory) {
  Ring ring(memory);
  uint64_t sum = 0;
  while (const auto raw = ring.Next()) {
    uint64_t fields[8];
    const char* const body = raw->body().data();
    std::memcpy(fields, body, sizeof(fields));
    sum += fields[0] + static_cast<uint32_t>(fields[1]) + (fields[1] >> 32) +
           fields[2] + fields[3] + fields[4] +
           static_cast<uint32_t>(fields[5]) + fields[6];
    for (uint64_t i = 0; i < fields[7]; ++i) {
      uint64_t address;
      std::memcpy(&address, body + sizeof(fields) + 8 * i, sizeof(address));
      sum += address;
    }
  }
  return sum;
}

template <typename Use>
uint64_t ParseSamples(const RingMemory& memory, const RecordParser& parser,
                      Use use) {
  Ring ring(memory);
  Sample sample;
  uint64_t sum = 0;
  while (const auto raw = ring.Next()) {
    if (parser.ParseSample(*raw, &sample).ok()) sum += use(sample);
  }
  return sum;
}

uint64_t ParseRecords(const RingMemory& memory, const RecordParser& parser) {
  Ring ring(memory);
  Record record;
  uint64_t sum = 0;
  while (const auto raw = ring.Next()) {
    if (!parser.Parse(*raw, &record).ok()) continue;
    if (const auto* sample = std::get_if<Sample>(&record.data)) {
      sum += *sample->ip();
    }
  }
  return sum;
}

void Compare(const char* name, size_t size, size_t least, size_t most) {
  Filled filled(size, least, most);
  const RecordParser parser{RecordLayout(Sampled())};
  std::vector<Candidate> candidates = {
      {"walk over headers", [&] { Keep(WalkHeaders(filled.Rewound())); }},
      {"Ring::Next",
       [&] {
         Ring ring(filled.Rewound());
         uint64_t sum = 0;
         while (const auto raw = ring.Next()) sum += raw->size();
         Keep(sum);
       }},
      {"ParseSample, 1 field",
       [&] {
         Keep(ParseSamples(filled.Rewound(), parser,
                           [](const Sample& sample) { return *sample.ip(); }));
       }},
      {"ParseSample, 9 fields",
       [&] { Keep(ParseSamples(filled.Rewound(), parser, SumOfFixed)); }},
      {"all fields by hand", [&] { Keep(SumByHand(filled.Rewound())); }},
      {"ParseSample, all fields",
       [&] { Keep(ParseSamples(filled.Rewound(), parser, SumOf)); }},
      {"Parse, 1 field", [&] { Keep(ParseRecords(filled.Rewound(), parser)); }},
  };
  Measure(/*rounds=*/100, /*runs=*/static_cast<int>(4e6 / size) + 1,
          &candidates);
  const auto records = static_cast<double>(filled.records());
  std::printf("%s: %zu samples in %zu KiB\n", name, filled.records(),
              size / 1024);
  for (const Candidate& candidate : candidates) {
    std::printf("  %-24s %6.2f ns/record  %5.2f x walk\n",
                candidate.name.c_str(), candidate.nanos / records,
                candidate.nanos / candidates[0].nanos);
  }
}

}  // namespace
}  // namespace fleetperf::bench

int main() {
  fleetperf::bench::Compare("short chains", 512 * 1024, 2, 12);
  fleetperf::bench::Compare("long chains", 512 * 1024, 10, 60);
  fleetperf::bench::Compare("small ring", 32 * 1024, 2, 12);
  fleetperf::bench::Compare("large ring", 16 * 1024 * 1024, 2, 12);
}
