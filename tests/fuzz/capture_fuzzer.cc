// Fuzzes captures from untrusted sources. A capture is rejected or played, and
// an aggregator accepts every batch that playing it produces.

#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>
#include <spdlog/spdlog.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "agent/collect/player.h"
#include "aggregator/samples/batch_decoder.h"
#include "base/os/files.h"
#include "fleetperf/v1/collection.pb.h"
#include "perflib/bytes.h"
#include "tests/fuzz/check.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::agent {
namespace {

constexpr size_t kMaxBlocks = 4;

// Removes a part, preceded by its size in 2 bytes, from the front of `rest` and
// returns it. The last part may be truncated.
absl::string_view TakePart(absl::string_view* rest) {
  uint16_t size = 0;
  if (rest->size() < sizeof size) return std::exchange(*rest, {});
  size = perflib::LoadAt<uint16_t>(*rest, 0);
  rest->remove_prefix(sizeof size);
  const absl::string_view part = rest->substr(0, size);
  rest->remove_prefix(part.size());
  return part;
}

void Write(const std::string& path, absl::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Converts a serialized Capture to JSON. Returns "" on failure. Mutating the
// message produces valid JSON far more often than mutating the JSON.
std::string ToJson(absl::string_view message) {
  v1::Capture capture;
  std::string json;
  if (!capture.ParseFromString(std::string(message)) ||
      !google::protobuf::util::MessageToJsonString(capture, &json).ok()) {
    return "";
  }
  return json;
}

// Writes a capture's JSON and up to kMaxBlocks block files to a directory.
void WriteCapture(const std::string& directory, const std::string& json,
                  absl::string_view blocks) {
  std::filesystem::create_directory(directory);
  Write(ResolvePath(directory, kCaptureFile), json);
  for (size_t i = 0; i < kMaxBlocks; ++i) {
    const std::string path =
        ResolvePath(directory, absl::StrCat(i, kBlockEnding));
    if (blocks.empty()) {
      std::filesystem::remove(path);
    } else {
      Write(path, TakePart(&blocks));
    }
  }
}

// An aggregator that decodes every batch of a spool and fails the check if one
// cannot be decoded.
class Aggregator {
 public:
  explicit Aggregator(Spool* spool) : spool_(*spool) {}

  void TakeBatches() {
    while (const auto batch = spool_.Next(taken_).value()) {
      taken_ = batch->place;
      const auto contents = aggregator::ParseBatch(*batch->batch, {});
      FUZZ_CHECK(contents.ok());
      if (contents->definitions != nullptr) {
        FUZZ_CHECK(dictionary_.Apply(*contents->definitions).ok());
      }
      FUZZ_CHECK(
          aggregator::DecodeBatch(*contents, {}, nullptr, &dictionary_).ok());
      for (const uint32_t id : contents->retired_instances) {
        dictionary_.Retire(id);
      }
    }
    spool_.Acknowledge(taken_);
  }

 private:
  Spool& spool_;
  BatchPlace taken_;
  aggregator::SchemaTable schemas_;
  aggregator::Dictionary dictionary_{1, &schemas_, nullptr, {}};
};

void Check(const std::string& directory) {
  auto recordings = ReadRecordings(directory);
  if (!recordings.ok()) return;
  Delivery delivery({.epoch = 1});
  Aggregator aggregator(&delivery.spool());
  delivery.SetBatchListener([&] { aggregator.TakeBatches(); });
  const auto player = Player::Open(*std::move(recordings),
                                   {.machine = "m", .delivery = &delivery});
  if (player.ok()) (*player)->Play().IgnoreError();
}

}  // namespace
}  // namespace fleetperf::agent

// The first byte selects the form of the next part: the text of capture.json,
// or a serialized Capture to convert to it. The remaining parts are blocks.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fleetperf::testing::TempDirectory directory;
  spdlog::set_level(spdlog::level::off);
  google::protobuf::SetLogHandler(nullptr);
  if (size == 0) return 0;
  absl::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const absl::string_view capture = fleetperf::agent::TakePart(&rest);
  fleetperf::agent::WriteCapture(directory.File("1"),
                                 data[0] % 2 == 0
                                     ? std::string(capture)
                                     : fleetperf::agent::ToJson(capture),
                                 rest);
  fleetperf::agent::Check(directory.path());
  return 0;
}
