#include "agent/deliver/spool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "fleetperf/v1/collection.pb.h"
#include "proto/conversions.h"
#include "tests/agent/deliver/spool_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

TEST_F(SpoolTest, ReturnsBatchesInOrderUntilAcknowledged) {
  for (const bool in_memory : {true, false}) {
    if (in_memory) {
      spool_ = std::make_unique<Spool>(Spool::Options{.epoch = ++epoch_});
    } else {
      Open();
    }
    EXPECT_THAT(Held(), IsEmpty());
    EXPECT_EQ(spool_->open_sequence(), 1);
    for (uint64_t tick = 1; tick <= 5; ++tick) Append(tick, tick);
    EXPECT_THAT(Held(), ElementsAre("1: 1", "2: 2", "3: 3", "4: 4", "5: 5"));
    testing::Acknowledge(*spool_, 2);
    testing::Acknowledge(*spool_, 1);  // late
    EXPECT_THAT(Held(), ElementsAre("3: 3", "4: 4", "5: 5"));
    spool_->Reject(PlaceOf(epoch_, 4));
    EXPECT_THAT(Held(), ElementsAre("3: 3", "5: 5"));
    EXPECT_THAT(Epochs(), Contains(absl::StrCat(epoch_, " from 3 to 5")));
    testing::Acknowledge(*spool_, 5);
    EXPECT_THAT(Held(), IsEmpty());
    EXPECT_THAT(Epochs(), Contains(absl::StrCat(epoch_, " from 6 to 5")));
    EXPECT_EQ(spool_->rejected().batches, 1);
    EXPECT_EQ(spool_->rejected().ticks, 1);
    EXPECT_TRUE(spool_->AwaitAtMost(0, absl::ZeroDuration()));
  }
}

TEST_F(SpoolTest, DropsOldestInMemoryWhenFull) {
  spool_ = std::make_unique<Spool>(
      Spool::Options{.epoch = 1, .max_bytes = 3500, .clock = &clock_});
  for (uint64_t tick = 1; tick <= 5; ++tick) Append(tick, tick, 1000);
  EXPECT_THAT(Held(), ElementsAre("3: 3", "4: 4", "5: 5, lost 1 SPOOL_FULL"));
  // The newest batch stays, regardless of its size. The losses that a dropped
  // batch reported move to a later batch.
  Append(6, 6, 10'000);
  Append(7, 7);
  EXPECT_THAT(Held(), ElementsAre("7: 7, lost 4 SPOOL_FULL"));
  spool_->Append({}, {});
  EXPECT_THAT(Held(),
              ElementsAre("7: 7, lost 4 SPOOL_FULL", "8:, lost 2 SPOOL_FULL"));
}

TEST_F(SpoolTest, UsageTellsTheBacklog) {
  Open();
  EXPECT_EQ(spool_->usage().batches, 0);
  EXPECT_EQ(spool_->usage().backlog, absl::ZeroDuration());
  AppendSaved(1, 1);
  clock_.Advance(absl::Seconds(30));
  AppendSaved(2, 2);
  clock_.Advance(absl::Seconds(5));
  EXPECT_EQ(spool_->usage().batches, 2);
  EXPECT_EQ(spool_->usage().backlog, absl::Seconds(35));
  EXPECT_EQ(spool_->usage().unsaved_bytes, 0);
  testing::Acknowledge(*spool_, 1);
  EXPECT_EQ(spool_->usage().batches, 1);
  EXPECT_EQ(spool_->usage().backlog, absl::Seconds(5));
  EXPECT_EQ(spool_->usage().failed_saves, 0);
}

TEST_F(SpoolTest, KilledProcessLosesNothing) {
  Open();
  Append(1, 3);
  Append(4, 6);
  AddTicks(7, 8);
  spool_->AddLoss("web-1", LossCause::kOverrun, TicksAt(9, 10));
  Kill();
  EXPECT_THAT(Held(),
              ElementsAre("1: 1 2 3", "2: 4 5 6", "3: 7 8, lost 2 OVERRUN"));
  EXPECT_THAT(Epochs(), ElementsAre("1 from 1 to 3", "2 from 1 to 0"));
  Append(11, 12);
  AddTicks(13, 13);
  Kill();
  EXPECT_THAT(Held(),
              ElementsAre("1: 1 2 3", "2: 4 5 6", "3: 7 8, lost 2 OVERRUN",
                          "1: 11 12", "2: 13"));
  EXPECT_THAT(Epochs(),
              ElementsAre("1 from 1 to 3", "2 from 1 to 2", "3 from 1 to 0"));
}

TEST_F(SpoolTest, DiscardsTicksOfSealedBatch) {
  Open();
  AddTicks(1, 2);
  ASSERT_OK(spool_->AwaitSaved());
  AddTicks(3, 3);
  Append(1, 3);
  AddTicks(4, 4);
  Kill();
  EXPECT_THAT(Held(), ElementsAre("1: 1 2 3", "2: 4"));
}

TEST_F(SpoolTest, AcknowledgedBatchesDoNotReturn) {
  Open();
  for (uint64_t tick = 1; tick <= 4; ++tick) AppendSaved(tick, tick);
  testing::Acknowledge(*spool_, 2);
  spool_->Reject(PlaceOf(1, 3));
  Kill();
  EXPECT_THAT(Held(), ElementsAre("4: 4"));
  EXPECT_THAT(Epochs(), ElementsAre("1 from 4 to 4", "2 from 1 to 0"));
  spool_->Acknowledge(PlaceOf(1, 4));
  EXPECT_THAT(Held(), IsEmpty());
  Append(5, 5);
  // The previous process's epoch stays, which tells the aggregator that the
  // process has ended. Earlier epochs are forgotten.
  Kill();
  EXPECT_THAT(Epochs(), ElementsAre("2 from 1 to 1", "3 from 1 to 0"));
  Kill();
  Kill();
  EXPECT_THAT(Epochs(),
              ElementsAre("2 from 1 to 1", "4 from 1 to 0", "5 from 1 to 0"));
}

TEST_F(SpoolTest, RemembersAcknowledgmentOfWholeFormerEpoch) {
  Open();
  AppendSaved(1, 1);
  Kill();
  AppendSaved(2, 2);
  Kill();
  AppendSaved(3, 3);
  spool_->Acknowledge(PlaceOf(/*epoch=*/1, /*sequence=*/1));
  AppendSaved(4, 4);
  Kill();
  EXPECT_THAT(Held(), ElementsAre("1: 2", "1: 3", "2: 4"));
  EXPECT_THAT(Epochs(),
              ElementsAre("2 from 1 to 1", "3 from 1 to 2", "4 from 1 to 0"));
  Append(5, 5);
  EXPECT_THAT(Held().back(), "1: 5") << "no loss is reported";
}

TEST_F(SpoolTest, KeepsDefinitionsOfHeldBatches) {
  Open();
  Dictionary& dictionary = spool_->dictionary();
  const uint32_t machine = dictionary.DefineMachine("web-1");
  const uint32_t sda = dictionary.DefineInstance(machine, 1, "sda", 8, 0);
  const uint32_t sdb = dictionary.DefineInstance(machine, 1, "sdb", 9, 0);
  v1::BatchContent content;
  dictionary.TakePending(1, &content);
  AppendSaved(1, 1);
  dictionary.RetireInstance(sda);
  dictionary.TakePending(2, &content);
  AppendSaved(2, 2);
  const auto instances = [&](uint64_t epoch) {
    std::vector<uint32_t> ids;
    const auto parts = spool_->DefinitionsOf(NumberOf(epoch)).value();
    for (const auto& part : parts) {
      for (const auto& instance : part.instances())
        ids.push_back(instance.id());
    }
    return ids;
  };
  Kill();
  EXPECT_THAT(instances(1), ElementsAre(sda, sdb));
  EXPECT_THAT(instances(2), IsEmpty());
  EXPECT_EQ(spool_->DefinitionsOf(NumberOf(1)).value()[0].machines(0).name(),
            "web-1");
  spool_->Acknowledge(PlaceOf(1, 2));
  Append(3, 3);
  Kill();
  EXPECT_FALSE(spool_->NumberOf(1).has_value());
}

TEST_F(SpoolTest, ForgetsUnusedDefinitions) {
  Open();
  Dictionary& dictionary = spool_->dictionary();
  const uint32_t sda = dictionary.DefineInstance(1, 1, "sda", 8, 0);
  v1::BatchContent content;
  dictionary.TakePending(1, &content);
  AppendSaved(1, 1);
  dictionary.RetireInstance(sda);
  dictionary.TakePending(2, &content);
  AppendSaved(2, 2);
  AppendSaved(3, 3);
  testing::Acknowledge(*spool_, 2);
  Kill();
  EXPECT_EQ(spool_->DefinitionsOf(NumberOf(1)).value()[0].instances_size(), 0);
}

// Each tick is in a held batch or counted as lost.
TEST_F(SpoolTest, DropsAndCountsOldestWhenFilesAreFull) {
  constexpr uint64_t kBatches = 400;
  max_bytes_ = 1 << 20;
  Open();
  for (uint64_t tick = 1; tick <= kBatches; ++tick) {
    AppendSaved(tick, tick, 10'000);
    if (tick == 5) {
      spool_->AddLoss("web-1", LossCause::kOverrun, TicksAt(1, 7));
    }
  }
  spool_->Append({}, {});
  Kill();
  std::map<std::string, uint64_t> lost;
  const auto batches = testing::ContentsOf(*spool_);
  for (const auto& content : batches) {
    for (const auto& loss : content.losses()) {
      lost[v1::LossCause_Name(loss.cause())] += loss.ticks();
    }
  }
  EXPECT_GT(batches.size(), 80);
  EXPECT_LT(batches.size(), 125);
  EXPECT_EQ(batches.size() - 1 + lost["LOSS_CAUSE_SPOOL_FULL"], kBatches);
  EXPECT_EQ(lost["LOSS_CAUSE_OVERRUN"], 7);
  EXPECT_LT(BytesOnDisk(), (1 << 20) + 100'000);
}

TEST_F(SpoolTest, ExpiresBatchesByMonotonicClock) {
  max_age_ = absl::Hours(1);
  Open();
  AppendSaved(1, 1);
  clock_.Step(absl::Hours(100));
  AppendSaved(2, 2);
  clock_.Step(absl::Hours(-100));
  clock_.Advance(absl::Minutes(50));
  AppendSaved(3, 3);
  EXPECT_THAT(Held(), ElementsAre("1: 1", "2: 2", "3: 3"));
  clock_.Advance(absl::Minutes(11));
  AppendSaved(4, 4);
  Append(5, 5);
  EXPECT_THAT(Held(),
              ElementsAre("3: 3", "4: 4", "5: 5, lost 2 SPOOL_EXPIRED"));
  // Batches do not age while no agent runs.
  Kill([&] { clock_.Advance(absl::Hours(50)); });
  AppendSaved(0, 0);
  EXPECT_THAT(Held()[0], "3: 3");
  clock_.Advance(absl::Minutes(50));
  AppendSaved(6, 6);
  EXPECT_TRUE(spool_->Resume(NumberOf(1), 2, 0));
  Append(7, 7);
  EXPECT_THAT(Held(), ElementsAre("4: 4", "5: 5, lost 2 SPOOL_EXPIRED", "1: 0",
                                  "2: 6", "3: 7, lost 1 SPOOL_EXPIRED"));
}

// The aggregator has the batch, but its acknowledgment arrives after the drop.
TEST_F(SpoolTest, DroppedBatchThatArrivedIsNotLost) {
  max_bytes_ = 1 << 20;
  Open();
  for (uint64_t tick = 1; tick <= 10; ++tick) AppendSaved(tick, tick, 100'000);
  spool_->Take(PlaceOf(1, 3)).value();
  for (uint64_t tick = 11; tick <= 18; ++tick) AppendSaved(tick, tick, 100'000);
  const std::string first = Held().front();
  const uint64_t kept = std::stoull(first);
  ASSERT_GT(kept, 5);
  EXPECT_EQ(spool_->usage().batches, Held().size());
  // Batches dropped before they are sent count as lost at once.
  const auto lost = [&] {
    uint64_t ticks = 0;
    for (const auto& content : testing::ContentsOf(*spool_)) {
      for (const auto& loss : content.losses()) ticks += loss.ticks();
    }
    return ticks;
  };
  spool_->Append({}, {});
  EXPECT_EQ(lost(), kept - 5);
  Kill();  // the remains of dropped batches survive
  EXPECT_TRUE(spool_->Resume(NumberOf(1), 3, 0));
  spool_->Append({}, {});
  // Batches 1 to 3 arrived. The definitions' file may have cost another batch.
  EXPECT_EQ(lost(), std::stoull(Held().front()) - 1 - 3);
}

// Each tick is held, acknowledged or reported as lost, whenever its batch was
// dropped.
TEST_F(SpoolTest, CountsDropsDuringStream) {
  max_bytes_ = 1 << 20;
  Open();
  for (uint64_t tick = 1; tick <= 10; ++tick) AppendSaved(tick, tick, 100'000);
  Kill();
  EXPECT_TRUE(spool_->Resume(NumberOf(1), 0, 0));
  EXPECT_TRUE(spool_->Resume(kThisProcess, 0, 0));
  // A batch in flight is dropped, and some others.
  const auto first = spool_->Take({}).value();
  ASSERT_EQ(first->place, PlaceOf(1, 1));
  for (uint64_t tick = 11; tick <= 16; ++tick) AppendSaved(tick, tick, 100'000);
  const auto next = spool_->Take(first->place).value();
  ASSERT_GT(next->place.sequence, 3);
  spool_->Acknowledge(next->place);
  spool_->Append({}, {});
  std::set<uint64_t> held = {1, next->place.sequence};
  uint64_t lost = 0;
  for (const auto& content : testing::ContentsOf(*spool_)) {
    held.insert(content.retired_instances().begin(),
                content.retired_instances().end());
    for (const auto& loss : content.losses()) lost += loss.ticks();
  }
  EXPECT_EQ(held.size() + lost, 16);
}

TEST_F(SpoolTest, ReleasesDiskSpace) {
  Open();
  for (uint64_t tick = 1; tick <= 80; ++tick) AppendSaved(tick, tick, 200'000);
  testing::Acknowledge(*spool_, 80);
  for (uint64_t tick = 81; tick <= 180; ++tick) AppendSaved(tick, tick);
  spool_.reset();
  EXPECT_LT(BytesOnDisk(), 6'000'000);
  Open();
  EXPECT_EQ(Held().size(), 100);
}

TEST_F(SpoolTest, AcceptsAnyAcknowledgment) {
  Open();
  AppendSaved(1, 1);
  Kill();
  spool_->Acknowledge(PlaceOf(1, UINT64_MAX));
  AppendSaved(2, 2);
  Kill();
  EXPECT_THAT(Held(), ElementsAre("1: 2"));
}

TEST_F(SpoolTest, RefusesSecondProcess) {
  Open();
  EXPECT_THAT(Spool::Open(Options()).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is in use by another process")));
#ifndef _WIN32  // where an open file cannot be removed
  std::filesystem::remove(directory_ + "/spool.lock");
  EXPECT_THAT(Spool::Open(Options()).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is in use by another process")));
#endif
}

TEST_F(SpoolTest, NamesUnusableDirectory) {
  std::ofstream(temp_.File("file")) << "no directory";
  directory_ = temp_.File("file");
  EXPECT_THAT(Spool::Open(Options()).status().message(), HasSubstr(directory_));
}

// The limit of file sizes makes writes fail like a full disk.
TEST_F(SpoolTest, KeepsUnwritableBatchesInMemory) {
  std::signal(SIGXFSZ, SIG_IGN);
  max_bytes_ = 4 << 20;
  Open();
  AppendSaved(1, 1);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit full = {.rlim_cur = 1, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  // Collection continues, and the batches in memory can be sent.
  Append(2, 2);
  AddTicks(3, 3);
  EXPECT_FALSE(spool_->AwaitSaved().ok());
  EXPECT_GT(spool_->usage().failed_saves, 0);
  EXPECT_GT(spool_->usage().unsaved_bytes, 0);
  EXPECT_THAT(Held(), ElementsAre("1: 1", "2: 2"));
  // Memory is bounded.
  for (uint64_t tick = 3; tick <= 20; ++tick) Append(tick, tick, 100'000);
  const auto held = Held();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_LT(held.size(), 14);
  spool_->Append({}, {});
  ASSERT_OK(spool_->AwaitSaved());
  Kill();
  uint64_t ticks = 0;
  for (const auto& content : testing::ContentsOf(*spool_)) {
    ticks += static_cast<uint64_t>(content.retired_instances_size());
    for (const auto& loss : content.losses()) {
      EXPECT_EQ(loss.cause(), v1::LOSS_CAUSE_DISK_FULL);
      ticks += loss.ticks();
    }
  }
  EXPECT_EQ(ticks, 20);
}

TEST_F(SpoolTest, ForksEpochUsedByAnotherProcess) {
  Open();
  for (uint64_t tick = 1; tick <= 3; ++tick) AppendSaved(tick, tick);
  const auto fingerprint_of = [&](uint64_t sequence) {
    const auto batch =
        spool_->Next({.epoch = kThisProcess, .sequence = sequence - 1}).value();
    return Fingerprint(batch->batch->payload());
  };
  const uint64_t second = fingerprint_of(2);
  EXPECT_FALSE(spool_->Resume(kThisProcess, 2, second + 1));
  EXPECT_FALSE(spool_->Resume(kThisProcess, 4, 0));
  EXPECT_TRUE(spool_->Resume(kThisProcess, 2, second));
  EXPECT_THAT(Held(), ElementsAre("3: 3"));
  // The fingerprint of the last acknowledged batch is also known.
  EXPECT_FALSE(spool_->Resume(kThisProcess, 2, second + 1));
  // A store that was set back has fewer batches.
  EXPECT_TRUE(spool_->Resume(kThisProcess, 1, 77));

  EXPECT_FALSE(spool_->Resume(kThisProcess, 3, 77));
  spool_->Fork();
  const uint64_t forked = spool_->epoch();
  EXPECT_NE(forked, 1);
  EXPECT_EQ(spool_->HeldEpochs().back().epoch.forked_from, 1);
  Append(4, 4);
  EXPECT_THAT(Held(), ElementsAre("3: 3", "4: 4"));
  Kill();
  EXPECT_THAT(Held(), ElementsAre("3: 3", "4: 4"));
  EXPECT_EQ(spool_->HeldEpochs().front().epoch.id, forked);
  EXPECT_EQ(spool_->HeldEpochs().front().epoch.forked_from, 1);
  // A former process makes no more batches, so the aggregator may have more of
  // its epoch than the spool.
  EXPECT_TRUE(spool_->Resume(NumberOf(forked), 9, 77));
}

TEST_F(SpoolTest, ReportsPowerCut) {
  Open();
  AddTicks(7, 7);
  Append(7, 7);
  ASSERT_OK(spool_->AwaitSaved());
  Kill();
  spool_->Append({}, {});
  EXPECT_THAT(Held(), ElementsAre("1: 7", "1:"));
  boot_id_ = "second";
  Kill();
  spool_->Append({}, {});
  const v1::BatchContent cut = testing::ContentsOf(*spool_).back();
  ASSERT_EQ(cut.losses_size(), 1);
  EXPECT_EQ(cut.losses(0).cause(), v1::LOSS_CAUSE_POWER_CUT);
  EXPECT_EQ(cut.losses(0).ticks(), 0);
  EXPECT_EQ(FromProto(cut.losses(0).start()), At(7));
  EXPECT_EQ(FromProto(cut.losses(0).end()), clock_.Now());
  spool_.reset();  // it ends in order
  boot_id_ = "third";
  Open();
  spool_->Append({}, {});
  EXPECT_EQ(testing::ContentsOf(*spool_).back().losses_size(), 0);
}

TEST(TickRange, ExtendCoversBothRanges) {
  TickRange range;
  range.Extend({.ticks = 2, .start = At(10), .end = At(20)});
  range.Extend({});
  range.Extend({.ticks = 1, .start = At(5), .end = At(5)});
  range.Extend({.ticks = 3, .start = At(15), .end = At(30)});
  EXPECT_EQ(range.ticks, 6);
  EXPECT_EQ(range.start, At(5));
  EXPECT_EQ(range.end, At(30));
}

}  // namespace
}  // namespace fleetperf::agent
