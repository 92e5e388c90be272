#include "tests/hostile/message_fuzzer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "base/zstd.h"
#include "fleetperf/v1/collection.pb.h"
#include "tests/fixtures/messages.h"
#include "tests/hostile/http2_connection.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::testing {
namespace {

constexpr char kRecorded[] = FLEETPERF_FIXTURES "/v1/stream/requests-";
constexpr uint32_t kStreamsPerConnection = 50;
constexpr size_t kMaxRange = 16;
// Epochs cost the certificate's budget, so that only a few new ones are used.
constexpr uint64_t kMaxEpochs = 16;

// Damaged frames may have the certificate locked out for 10 s.
constexpr uint64_t kCallsPerDamagedCall = 32;

using Random = std::mt19937_64;
using Messages = std::vector<v1::CollectRequest>;

bool OneIn(uint64_t n, Random* random) { return (*random)() % n == 0; }

std::vector<Messages> ReadRecorded() {
  std::vector<Messages> streams;
  for (const char* number : {"1", "2"}) {
    auto messages = fixtures::ReadMessages<v1::CollectRequest>(
        absl::StrCat(kRecorded, number));
    EXPECT_OK(messages);
    if (messages.ok()) streams.push_back(*std::move(messages));
  }
  return streams;
}

// Changes one byte, or a range of bytes.
void MutateOnce(Random* random, std::string* bytes) {
  if (bytes->empty()) bytes->push_back('\0');
  const size_t at = (*random)() % bytes->size();
  const size_t size = std::min((*random)() % kMaxRange, bytes->size() - at);
  constexpr char kExtremes[] = {'\0', '\x01', '\x7f', '\x80', '\xff'};
  const char extreme = kExtremes[(*random)() % sizeof kExtremes];
  switch ((*random)() % 6) {
    case 0:
      (*bytes)[at] = static_cast<char>((*random)());
      break;
    case 1:
      (*bytes)[at] = extreme;
      break;
    case 2:
      bytes->insert(at, size, extreme);
      break;
    case 3:
      bytes->erase(at, size);
      break;
    case 4:
      bytes->insert(at, bytes->substr(at, size));
      break;
    default:
      if (OneIn(8, random)) bytes->resize(at);
  }
}

void Mutate(Random* random, std::string* bytes) {
  do {
    MutateOnce(random, bytes);
  } while (OneIn(2, random));
}

// Moves a message to one of a few epochs, so that the aggregator does not know
// its batches.
void ChangeEpoch(uint64_t difference, v1::CollectRequest* request) {
  if (request->has_hello()) {
    v1::Hello& hello = *request->mutable_hello();
    hello.set_epoch(hello.epoch() ^ difference);
    for (v1::HeldEpoch& held : *hello.mutable_held_epochs()) {
      held.set_epoch(held.epoch() ^ difference);
    }
  } else if (request->has_batch()) {
    request->mutable_batch()->set_epoch(request->batch().epoch() ^ difference);
  } else if (request->has_dictionary()) {
    request->mutable_dictionary()->set_epoch(request->dictionary().epoch() ^
                                             difference);
  }
}

// Changes what a batch contains. Changes of compressed bytes would not get
// further than the decompression.
void MutateContent(Random* random, v1::Batch* batch) {
  std::string content = batch->payload();
  if (batch->compression() == v1::COMPRESSION_ZSTD) {
    EXPECT_OK(
        ZstdDecompress(batch->payload(), batch->content_size(), &content));
  }
  Mutate(random, &content);
  batch->set_compression(v1::COMPRESSION_NONE);
  batch->set_content_size(static_cast<uint32_t>(content.size()));
  batch->set_payload(std::move(content));
  batch->set_fingerprint(Fingerprint(batch->payload()));
}

// Returns the frames of a call with the messages of a recorded stream.
std::string MakeCall(const Messages& recorded, uint32_t stream,
                     Random* random) {
  const uint64_t epoch = (*random)() % kMaxEpochs;
  std::vector<std::string> messages;
  for (v1::CollectRequest request : recorded) {
    if (OneIn(16, random)) continue;
    ChangeEpoch(epoch, &request);
    if (request.has_batch() && OneIn(4, random)) {
      MutateContent(random, request.mutable_batch());
    }
    messages.push_back(request.SerializeAsString());
    if (OneIn(8, random)) Mutate(random, &messages.back());
    if (OneIn(16, random)) messages.push_back(messages.back());
  }
  std::string call = CallFrame(stream, kCollect);
  for (const std::string& message : messages) {
    const bool is_last = &message == &messages.back();
    call += MessageFrame(stream, message, is_last ? kEndsStream : 0);
  }
  if (OneIn(kCallsPerDamagedCall, random)) Mutate(random, &call);
  return call;
}

}  // namespace

uint64_t FuzzMessages(const Target& target, const Stop& stop) {
  const std::vector<Messages> recorded = ReadRecorded();
  if (recorded.empty()) return 0;
  Random random(target.seed);
  uint64_t sent = 0;
  while (!stop()) {
    Http2Connection connection(target.port, target.agent);
    for (uint32_t i = 0; i < kStreamsPerConnection && !stop(); ++i) {
      const Messages& messages = recorded[random() % recorded.size()];
      if (!connection.Send(MakeCall(messages, 2 * i + 1, &random))) break;
      ++sent;
      if (!connection.ReadAndAcknowledge()) break;
    }
  }
  return sent;
}

}  // namespace fleetperf::testing
