// Fuzzes the store's encodings of samples: number sequences and chunks. Any
// numbers survive encoding and decoding; any bytes are decoded or rejected.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "aggregator/store/codec/chunk.h"
#include "aggregator/store/codec/chunk_builder.h"
#include "aggregator/store/codec/number_codec.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/input.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMaxNumbers = 1000;
constexpr uint32_t kEpoch = 3;

void EncodeAndDecode(Input input) {
  std::vector<uint64_t> numbers = {input.Number()};
  while (!input.empty() && numbers.size() < kMaxNumbers) {
    // Most numbers derive from the previous one.
    const uint8_t step = input.Byte();
    const uint64_t last = numbers.back();
    switch (step % 4) {
      case 0:
        numbers.insert(numbers.end(), 1 + step / 4, last);
        break;
      case 1:
        numbers.push_back(last + step / 4);
        break;
      case 2:
        numbers.push_back(last - input.Number());
        break;
      default:
        numbers.push_back(input.Number());
        break;
    }
  }
  std::string bytes;
  EncodeChanges(numbers, &bytes);
  std::vector<uint64_t> decoded(numbers.size());
  decoded[0] = numbers[0];
  FUZZ_CHECK(DecodeChanges(bytes, absl::MakeSpan(decoded)));
  FUZZ_CHECK(decoded == numbers);
}

// Numbers that decode survive encoding and decoding again.
void DecodeNumbers(Input input) {
  std::vector<uint64_t> numbers(1 + input.Number() % kMaxNumbers);
  if (!DecodeChanges(input.rest(), absl::MakeSpan(numbers))) return;
  std::string bytes;
  EncodeChanges(numbers, &bytes);
  std::vector<uint64_t> again(numbers.size());
  FUZZ_CHECK(DecodeChanges(bytes, absl::MakeSpan(again)));
  FUZZ_CHECK(again == numbers);
}

absl::StatusOr<Chunk> Open(absl::string_view head, absl::string_view body) {
  return Chunk::Open(
      head, kEpoch,
      [body](uint64_t offset,
             uint64_t size) -> absl::StatusOr<absl::string_view> {
        if (offset > body.size() || size > body.size() - offset) {
          return absl::DataLossError("read past the end of the body");
        }
        return body.substr(offset, size);
      });
}

std::shared_ptr<const CollectedQuery> QueryOf(uint32_t shape) {
  auto query = std::make_shared<CollectedQuery>();
  query->columns.resize(shape % 8);
  return query;
}

// Checks that every value belongs to an instance and a tick.
void CheckFrame(const Frame& frame) {
  size_t values = 0;
  for (const Frame::Run& run : frame.runs) {
    FUZZ_CHECK(run.instance != nullptr && run.begin == values);
    FUZZ_CHECK(EpochOfLife(run.instance->life) == kEpoch);
    FUZZ_CHECK(run.tick_count > 0 && run.first_tick < frame.clocks->size());
    FUZZ_CHECK(run.tick_count <= frame.clocks->size() - run.first_tick);
    values += run.tick_count;
  }
  for (const FrameColumn& column : frame.columns) {
    FUZZ_CHECK(column.values.empty() ||
               column.values.size() ==
                   (column.constant ? frame.runs.size() : values));
    for (const uint32_t position : column.missing) {
      FUZZ_CHECK(position < values);
    }
  }
  for (const Frame::Failure& failure : frame.failures) {
    FUZZ_CHECK(failure.tick < frame.clocks->size());
  }
}

// Opens a chunk with arbitrary head and body. The frames that can be read from
// it can be encoded into another chunk and read from that one.
void ReadChunk(Input input) {
  const uint8_t every = input.Byte();
  const std::string head(input.Bytes());
  auto chunk = Open(head, input.rest());
  if (!chunk.ok()) return;
  std::vector<std::shared_ptr<const Frame>> frames;
  for (size_t section = 0; section < chunk->sections(); ++section) {
    const auto query = QueryOf(chunk->ShapeOf(section));
    const std::vector<bool> all(query->columns.size(), true);
    const auto wants = [&](const Instance& instance) {
      return every == 0 || instance.life % every == 0;
    };
    if (chunk->ends() != nullptr) {
      const auto folded =
          chunk->ReadFolded(section, query, all, every % 2 == 0, wants);
      if (folded.ok() && folded->has_value()) CheckFrame(**folded);
    }
    const auto frame = chunk->Read(section, query, all, {}, wants);
    if (!frame.ok()) continue;
    CheckFrame(*frame);
    frames.push_back(std::make_shared<const Frame>(*frame));
  }
  const auto clocks = chunk->ReadClocks();
  if (frames.empty() || !clocks.ok() || (*clocks)->empty()) return;
  ChunkBuilder builder;
  builder.Add(frames, 0, static_cast<uint32_t>((*clocks)->size()));
  const EncodedChunk encoded = builder.Finish([](const CollectedQuery& query) {
    return static_cast<uint32_t>(query.columns.size());
  });
  auto again = Open(encoded.head, encoded.body);
  FUZZ_CHECK(again.ok() && again->sections() == frames.size());
  for (size_t section = 0; section < again->sections(); ++section) {
    const auto& query = frames[section]->query;
    const auto frame = again->Read(
        section, query, std::vector<bool>(query->columns.size(), true), {},
        nullptr);
    FUZZ_CHECK(frame.ok());
    CheckFrame(*frame);
  }
}

}  // namespace
}  // namespace fleetperf::aggregator

// The first byte selects the check; the rest is its input.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fleetperf::Input input(data, size);
  switch (input.Byte() % 3) {
    case 0:
      fleetperf::aggregator::EncodeAndDecode(input);
      break;
    case 1:
      fleetperf::aggregator::DecodeNumbers(input);
      break;
    default:
      fleetperf::aggregator::ReadChunk(input);
      break;
  }
  return 0;
}
