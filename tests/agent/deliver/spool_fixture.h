// A fixture for tests of the spool: kills and restarts its process, and fills
// it with numbered ticks.

#ifndef FLEETPERF_TESTS_AGENT_DELIVER_SPOOL_FIXTURE_H_
#define FLEETPERF_TESTS_AGENT_DELIVER_SPOOL_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/deliver/spool.h"
#include "base/os/files.h"
#include "fleetperf/v1/collection.pb.h"
#include "tests/agent/deliver/batch_content.h"
#include "tests/support/gate.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::agent {

inline absl::Time At(uint64_t seconds) {
  return absl::FromUnixSeconds(1'800'000'000 + static_cast<int64_t>(seconds));
}

inline TickRange TicksAt(uint64_t first, uint64_t last) {
  return {.ticks = last - first + 1, .start = At(first), .end = At(last)};
}

// The contents of a batch with the numbers of its ticks and about `bytes` of
// padding.
inline v1::BatchContent ContentOf(uint64_t first, uint64_t last, size_t bytes) {
  v1::BatchContent content;
  for (uint64_t tick = first; tick <= last; ++tick) {
    content.add_retired_instances(static_cast<uint32_t>(tick));
  }
  if (bytes > 0) {
    uint64_t state = first;
    v1::BlockColumns* block = content.add_blocks();
    for (size_t size = 0; size < bytes; size += 10) {  // does not compress
      state = state * 6364136223846793005 + 1442695040888963407;
      block->add_perf_freq(static_cast<int64_t>(state));
    }
  }
  return content;
}

// "3: 7 8 9, lost 2 SPOOL_FULL": the batch's sequence, its ticks, its losses.
inline std::string TextOf(const SpooledBatch& batch) {
  const v1::BatchContent content = testing::ContentOf(*batch.batch);
  std::string text = absl::StrCat(batch.place.sequence, ":");
  for (const uint32_t tick : content.retired_instances()) {
    absl::StrAppend(&text, " ", tick);
  }
  for (const v1::Loss& loss : content.losses()) {
    absl::StrAppend(&text, ", lost ", loss.ticks(), " ",
                    v1::LossCause_Name(loss.cause()).substr(11));
  }
  return text;
}

class SpoolTest : public ::testing::Test {
 protected:
  void Open() {
    spool_.reset();
    auto opened = Spool::Open(Options());
    ASSERT_OK(opened.status());
    spool_ = *std::move(opened);
  }
  Spool::Options Options() {
    return {.epoch = ++epoch_,
            .directory = directory_,
            .max_bytes = max_bytes_,
            .max_age = max_age_,
            .clock = &clock_,
            .boot_id = boot_id_,
            .before_seal = [this] { seal_gate_.Pass(); },
            .before_file_use = [this] { file_gate_.Pass(); }};
  }
  // The batches that the next process would find if this one were killed once
  // all is written.
  std::vector<std::string> HeldAfterAKillNow() {
    EXPECT_OK(spool_->AwaitSaved());
    const std::string copy = temp_.File(absl::StrCat("now-", epoch_));
    std::filesystem::copy(directory_, copy);
    auto spool = Spool::Open(
        {.epoch = ++epoch_, .directory = copy, .boot_id = boot_id_});
    EXPECT_OK(spool.status());
    return HeldBy(**spool);
  }
  // Continues as the next process after a kill, with a copy of the files as
  // written so far. `between` may change the copy.
  void Kill(const std::function<void()>& between = [] {}) {
    ASSERT_OK(spool_->AwaitSaved());
    const std::string next = temp_.File(absl::StrCat("after-", epoch_));
    std::filesystem::copy(directory_, next);
    directory_ = next;
    between();
    Open();
  }

  void AddTicks(uint64_t first, uint64_t last) {
    for (uint64_t tick = first; tick <= last; ++tick) {
      spool_->AddTick(ContentOf(tick, tick, 0), TicksAt(tick, tick));
    }
  }
  void Append(uint64_t first, uint64_t last, size_t bytes = 0) {
    spool_->Append(ContentOf(first, last, bytes), TicksAt(first, last));
  }
  void AppendSaved(uint64_t first, uint64_t last, size_t bytes = 0) {
    Append(first, last, bytes);
    ASSERT_OK(spool_->AwaitSaved());
  }
  static std::vector<std::string> HeldBy(Spool& spool) {
    std::vector<std::string> texts;
    for (const auto& batch : testing::SpooledBatchesOf(spool)) {
      texts.push_back(TextOf(batch));
    }
    return texts;
  }
  std::vector<std::string> Held() { return HeldBy(*spool_); }
  // The epochs that Hello would name: "1 from 3 to 5".
  std::vector<std::string> Epochs() {
    std::vector<std::string> texts;
    for (const Spool::HeldEpoch& held : spool_->HeldEpochs()) {
      texts.push_back(absl::StrCat(held.epoch.id, " from ", held.first_sequence,
                                   " to ", held.epoch.last_sequence));
    }
    return texts;
  }
  // The files whose names end in `ending`, sorted.
  std::vector<std::string> Files(const std::string& ending) const {
    std::vector<std::string> paths;
    for (const auto& file : std::filesystem::directory_iterator(directory_)) {
      if (file.path().string().ends_with(ending)) paths.push_back(file.path());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  uint64_t BytesOnDisk() const {
    uint64_t bytes = 0;
    for (const std::string& path : Files("")) {
      bytes += std::filesystem::file_size(path);
    }
    return bytes;
  }
  uint32_t NumberOf(uint64_t epoch) const {
    return spool_->NumberOf(epoch).value();
  }
  BatchPlace PlaceOf(uint64_t epoch, uint64_t sequence) const {
    return {.epoch = NumberOf(epoch), .sequence = sequence};
  }

  testing::TempDirectory temp_;
  testing::SimulatedClock clock_;
  testing::Gate seal_gate_;  // passed before a batch is compressed
  testing::Gate file_gate_;  // passed before a file is used
  std::string directory_ = temp_.File("state");
  uint64_t max_bytes_ = uint64_t{256} << 20;
  absl::Duration max_age_ = absl::Hours(24);
  std::string boot_id_ = "first";
  uint64_t epoch_ = 0;
  std::unique_ptr<Spool> spool_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_TESTS_AGENT_DELIVER_SPOOL_FIXTURE_H_
