// Fuzzes the files of a spool.
//
// Invariants:
// - A file is opened or rejected. An opened spool works like any other.
// - Batches are returned in order.
// - No batches remain once all are acknowledged.
// - A batch that was added is still there after a restart.

#include <google/protobuf/stubs/logging.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/deliver/batch_builder.h"
#include "agent/deliver/spool.h"
#include "agent/deliver/spool/record_log.h"
#include "base/os/files.h"
#include "base/sha256.h"
#include "fleetperf/v1/collection.pb.h"
#include "fleetperf/v1/spool.pb.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/input.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::agent {
namespace {

constexpr int kMaxSteps = 64;
constexpr int kMaxRestarts = 2;

// The directory of the spool, shared by all inputs and removed at exit.
const testing::TempDirectory& Directory() {
  static const testing::TempDirectory directory;
  return directory;
}

std::string LogPath() { return Directory().File("spool.000001.log"); }

void RemoveFiles() {
  for (const auto& file :
       std::filesystem::directory_iterator(Directory().path())) {
    std::filesystem::remove(file.path());
  }
}

// Writes a log with correct checksums and records from the input.
void WriteRecords(Input* input) {
  std::string log;
  uint32_t number = 0;
  for (int records = input->Byte() % 32; records > 0; --records) {
    v1::SpoolRecord record;
    if (!record.ParseFromString(std::string(input->Bytes()))) record.Clear();
    const absl::string_view payload = input->Bytes();
    for (v1::SpoolBatch& batch : *record.mutable_batches()) {
      if (batch.segment() != 0 || batch.offset() > payload.size()) continue;
      batch.set_fingerprint(
          Fingerprint(payload.substr(batch.offset(), batch.size())));
    }
    AppendRecord(++number, record, static_cast<uint32_t>(payload.size()), &log);
    absl::StrAppend(&log, payload);
  }
  FUZZ_CHECK(WriteFile(LogPath(), log).ok());
}

// Returns the batches that are held and can be read, oldest first.
std::vector<SpooledBatch> Walk(Spool& spool) {
  std::vector<SpooledBatch> held;
  BatchPlace place;
  for (;;) {
    auto next = spool.Next(place);
    if (!next.ok() || !next->has_value()) return held;
    FUZZ_CHECK((*next)->place > place);
    FUZZ_CHECK((*next)->batch != nullptr);
    place = (*next)->place;
    held.push_back(**std::move(next));
  }
}

class User {
 public:
  explicit User(Input input) : input_(input) {
    const uint8_t kind = input_.Byte();
    max_bytes_ = kind % 2 == 0 ? uint64_t{256} << 20 : 40'000;
    ends_with_restart_ = kind / 2 % 2 == 0;
  }

  void Use() {
    if (!Open()) return;
    Walk(*spool_);
    ReadDefinitions();
    Mark();
    AddTick();
    for (int step = 0; step < kMaxSteps && !input_.empty(); ++step) {
      Step();
      if (spool_ == nullptr) return;
    }
    spool_->AwaitSaved().IgnoreError();
    AcknowledgeAll();
    if (ends_with_restart_) Restart();
  }

 private:
  bool Open() {
    auto opened = Spool::Open({.epoch = ++epoch_,
                               .directory = Directory().path(),
                               .max_bytes = max_bytes_,
                               .clock = &clock_,
                               .boot_id = "boot"});
    // Files that this fuzzer's spool wrote can always be opened.
    FUZZ_CHECK(opened.ok() || epoch_ == kFirstEpoch);
    if (!opened.ok()) return false;
    spool_ = *std::move(opened);
    return true;
  }

  // Appends a batch that is still there after a restart.
  void Mark() {
    v1::BatchContent content;
    content.add_retired_instances(++marks_);
    spool_->Append(std::move(content), Tick());
    const std::vector<SpooledBatch> held = Walk(*spool_);
    FUZZ_CHECK(!held.empty() && held.back().place.epoch == kThisProcess);
    FUZZ_CHECK(held.back().place.sequence == spool_->open_sequence() - 1);
    mark_ = held.back().batch->payload();
    marked_epoch_ = spool_->epoch();
  }

  void Restart() {
    Mark();
    ++restarts_;
    spool_.reset();
    if (!Open()) return;
    const std::vector<SpooledBatch> held = Walk(*spool_);
    const auto number = spool_->NumberOf(marked_epoch_);
    FUZZ_CHECK(number.has_value());
    FUZZ_CHECK(std::any_of(held.begin(), held.end(), [&](const auto& batch) {
      return batch.place.epoch == number && batch.batch->payload() == mark_;
    }));
  }

  void AcknowledgeAll() {
    for (const SpooledBatch& batch : Walk(*spool_)) {
      spool_->Acknowledge(batch.place);
    }
    const auto next = spool_->Next({});
    FUZZ_CHECK(!next.ok() || !next->has_value());
  }

  void ReadDefinitions() {
    for (const Spool::HeldEpoch& held : spool_->HeldEpochs()) {
      const auto parts = spool_->DefinitionsOf(held.epoch.number);
      FUZZ_CHECK(!parts.ok() || !parts->empty());
    }
  }

  TickRange Tick() const {
    return {.ticks = 1, .start = clock_.Now(), .end = clock_.Now()};
  }

  void AddTick() {
    v1::BatchContent content;
    content.add_losses()->set_ticks(1);
    spool_->AddTick(content, Tick());
  }

  // Returns a place in a held epoch; the sequence may or may not exist.
  BatchPlace Place() {
    const std::vector<Spool::HeldEpoch> held = spool_->HeldEpochs();
    const Spool::HeldEpoch& chosen = held[input_.Byte() % held.size()];
    const uint8_t offset = input_.Byte();
    return {.epoch = chosen.epoch.number,
            .sequence = offset < 0x80 ? chosen.first_sequence + offset
                                      : chosen.epoch.last_sequence};
  }

  void Step() {
    switch (input_.Byte() % 12) {
      case 0:
        spool_->Append({}, Tick());
        break;
      case 1:
        AddTick();
        break;
      case 2:
        spool_->AddLoss("web-1", LossCause::kOverrun, Tick());
        break;
      case 3:
        // Only batches that were made can have been sent.
        if (const BatchPlace place = Place(); WasMade(place)) {
          spool_->Acknowledge(place);
        }
        break;
      case 4:
        if (const BatchPlace place = Place(); WasMade(place)) {
          spool_->Reject(place);
        }
        break;
      case 5:
        if (const auto next = spool_->Next(Place());
            next.ok() && next->has_value()) {
          spool_->Refuse(**next);
        }
        break;
      case 6: {
        const BatchPlace place = Place();
        if (!spool_->Resume(place.epoch, place.sequence, input_.Number())) {
          spool_->Fork();
        }
        break;
      }
      case 7:
        spool_->Take(Place()).status().IgnoreError();
        break;
      case 8:
        clock_.Advance(absl::Hours(input_.Byte()));
        break;
      case 9:
        spool_->AwaitSaved().IgnoreError();
        break;
      case 10:
        Walk(*spool_);
        ReadDefinitions();
        break;
      case 11:
        if (restarts_ < kMaxRestarts) Restart();
        break;
    }
  }

  bool WasMade(BatchPlace place) const {
    return place.epoch != kThisProcess ||
           place.sequence < spool_->open_sequence();
  }

  static constexpr uint64_t kFirstEpoch = 1'000'001;

  Input input_;
  uint64_t max_bytes_ = 0;
  bool ends_with_restart_ = false;  // takes as long as all other steps
  testing::SimulatedClock clock_;
  uint64_t epoch_ = kFirstEpoch - 1;
  int restarts_ = 0;
  uint32_t marks_ = 0;
  uint64_t marked_epoch_ = 0;
  std::string mark_;  // payload
  std::unique_ptr<Spool> spool_;
};

}  // namespace
}  // namespace fleetperf::agent

// The first byte selects the meaning of the rest: a whole file, or the records
// of one followed by a list of steps on the spool.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  spdlog::set_level(spdlog::level::off);
  google::protobuf::SetLogHandler(nullptr);
  fleetperf::Input input(data, size);
  if (size == 0) return 0;
  fleetperf::agent::RemoveFiles();
  if (input.Byte() % 2 == 0) {
    FUZZ_CHECK(
        fleetperf::WriteFile(fleetperf::agent::LogPath(), input.rest()).ok());
    input = fleetperf::Input("");
  } else {
    fleetperf::agent::WriteRecords(&input);
  }
  fleetperf::agent::User(input).Use();
  return 0;
}
