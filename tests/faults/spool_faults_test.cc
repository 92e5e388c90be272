// Each operation on a file of a spool fails once. Each tick is delivered once,
// or reported as lost. Saved batches are lost by a torn write only, which looks
// like a success.

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/deliver/spool.h"
#include "tests/agent/deliver/spool_fixture.h"
#include "tests/faults/fail_once.h"
#include "tests/faults/fault_run.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::agent {
namespace {

using testing::Fault;
using testing::FaultKind;
using testing::Reporter;
using testing::Told;

// The aggregator's last batch of each epoch.
using Received = std::map<uint64_t, uint64_t>;

constexpr size_t kBatchBytes = 5000;

// A process that uses the spool as an agent does.
class Agent {
 public:
  Agent(std::string directory, uint64_t epoch, std::string boot_id,
        const Received& received, Reporter* reporter)
      : epoch_(epoch),
        options_({.epoch = epoch,
                  .directory = std::move(directory),
                  // Segments are full after some batches.
                  .max_bytes = 16 * 4 * kBatchBytes,
                  .clock = clock_.get(),
                  .boot_id = std::move(boot_id)}),
        received_(received),
        reporter_(*reporter) {
    // The spool need not wait before it tries to write again. The thread ends
    // with the process, perhaps after the agent.
    std::thread([clock = clock_] {
      for (;;) {
        clock->AwaitWaiting(absl::Seconds(1));
        clock->Advance(absl::Seconds(1));
      }
    }).detach();
  }

  // Opens the spool and connects to the aggregator. Returns false if the spool
  // cannot be opened.
  bool Start() {
    auto opened = Spool::Open(options_);
    if (!opened.ok()) {
      reporter_.Tell("refused", opened.status().ToString());
      return false;
    }
    spool_ = *std::move(opened);
    for (const Spool::HeldEpoch& held : spool_->HeldEpochs()) {
      spool_->Resume(held.epoch.number, received_[held.epoch.id],
                     /*fingerprint=*/0);
    }
    v1::BatchContent content;
    spool_->dictionary().DefineMachine(absl::StrCat("machine-", epoch_));
    spool_->dictionary().TakePending(1, &content);
    Save();
    return true;
  }
  void End() { spool_.reset(); }

  // Collects ticks of an open batch.
  void Collect(int ticks) {
    for (int i = 0; i < ticks; ++i) {
      const uint64_t tick = ++last_tick_ + epoch_ * 100;
      reporter_.Tell("made", absl::StrCat(tick));
      open_.push_back(tick);
      spool_->AddTick(agent::ContentOf(tick, tick, 0), TicksAt(tick, tick));
      Save();
    }
  }
  // Makes a batch of the collected ticks.
  void Seal() {
    const std::vector<uint64_t> ticks = std::exchange(open_, {});
    spool_->Append(agent::ContentOf(ticks.front(), ticks.back(), kBatchBytes),
                   TicksAt(ticks.front(), ticks.back()));
    if (!Save()) return;
    for (const uint64_t tick : ticks) {
      reporter_.Tell("saved", absl::StrCat(tick));
    }
  }

  // Sends batches and acknowledges them.
  void Deliver(int batches) {
    for (const Spool::HeldEpoch& held : spool_->HeldEpochs()) {
      if (held.first_sequence > held.epoch.last_sequence) continue;
      const auto definitions = spool_->DefinitionsOf(held.epoch.number);
      if (!definitions.ok()) return Note(definitions.status());
    }
    while (batches-- > 0) {
      auto batch = spool_->Take(place_);
      // The stream ends with the error; the next one asks again.
      if (!batch.ok()) {
        Note(batch.status());
        batch = spool_->Take(place_);
      }
      if (!batch.ok()) return Note(batch.status());
      if (!batch->has_value()) return;
      place_ = (*batch)->place;
      Receive(**batch);
      spool_->Acknowledge(place_);
    }
    Save();
  }
  void DeliverAll() { Deliver(1000); }
  // Appends a batch with the losses only.
  void ReportLosses() { spool_->Append({}, {}); }

 private:
  void Note(const absl::Status& status) {
    reporter_.Tell("log", status.ToString());
  }

  bool Save() {
    absl::Status saved = spool_->AwaitSaved();
    if (saved.ok()) return true;
    Note(saved);
    saved = spool_->AwaitSaved();
    if (!saved.ok()) reporter_.Tell("wrong", "one fault fails two saves");
    return saved.ok();
  }

  void Receive(const SpooledBatch& batch) {
    uint64_t epoch = epoch_;
    for (const Spool::HeldEpoch& held : spool_->HeldEpochs()) {
      if (held.epoch.number == batch.place.epoch) epoch = held.epoch.id;
    }
    reporter_.Tell("received", absl::StrCat(epoch, " ", batch.place.sequence));
    const v1::BatchContent content = testing::ContentOf(*batch.batch);
    for (const uint32_t tick : content.retired_instances()) {
      reporter_.Tell("delivered", absl::StrCat(tick));
    }
    for (const v1::Loss& loss : content.losses()) {
      reporter_.Tell("lost", absl::StrCat(loss.ticks(), " ",
                                          v1::LossCause_Name(loss.cause())));
    }
  }

  const uint64_t epoch_;
  const std::shared_ptr<testing::SimulatedClock> clock_ =
      std::make_shared<testing::SimulatedClock>(
          testing::SimulatedClock::Waits::kSimulated);
  const Spool::Options options_;
  Received received_;
  Reporter& reporter_;
  std::unique_ptr<Spool> spool_;
  BatchPlace place_;
  std::vector<uint64_t> open_;
  uint64_t last_tick_ = 0;
};

class SpoolFaults : public ::testing::Test {
 protected:
  // Runs a process of the agent.
  void RunAgent(uint64_t epoch, const std::string& boot_id,
                const std::function<void(Agent&)>& use) {
    told_.Append(testing::RunProcess([&](Reporter& reporter) {
      Agent agent(directory_ + "/spool", epoch, boot_id, ReceivedSoFar(),
                  &reporter);
      if (agent.Start()) use(agent);
    }));
  }

  Received ReceivedSoFar() const {
    Received received;
    for (const std::string& text : told_.Of("received")) {
      const std::vector<std::string> parts = absl::StrSplit(text, ' ');
      received[std::stoull(parts[0])] = std::stoull(parts[1]);
    }
    return received;
  }

  std::vector<std::string> Run(const Fault* fault) {
    told_ = {};
    RunAgent(1, "boot-1", [](Agent& agent) {
      for (int batch = 0; batch < 5; ++batch) {
        agent.Collect(2);
        agent.Seal();
      }
      agent.Deliver(2);
      agent.Collect(1);
      agent.End();
    });
    RunAgent(2, "boot-1", [](Agent& agent) {
      agent.Collect(1);
      agent.Deliver(1);
      agent.Seal();
      for (int batch = 0; batch < 5; ++batch) {
        agent.Collect(1);
        agent.Seal();
      }
      agent.Deliver(3);
      agent.Collect(1);
      testing::EndByPowerCut();
    });
    RunAgent(3, "boot-2", [](Agent& agent) {
      agent.Collect(2);
      agent.Deliver(1);
      agent.Seal();
      agent.End();
    });
    testing::StopWatchingFiles();
    RunAgent(4, "boot-2", [](Agent& agent) {
      agent.ReportLosses();
      agent.DeliverAll();
    });
    return Check(fault != nullptr && fault->kind == FaultKind::kTorn);
  }

  std::vector<std::string> Check(bool may_lose) const {
    std::vector<std::string> wrong = told_.Of("wrong");
    const std::vector<std::string> made = told_.Of("made");
    const std::vector<std::string> delivered = told_.Of("delivered");
    const std::set<std::string> once(delivered.begin(), delivered.end());
    if (once.size() != delivered.size()) {
      wrong.push_back("delivered twice: " + absl::StrJoin(delivered, " "));
    }
    const std::vector<std::string> saved = told_.Of("saved");
    for (const std::string& tick : saved) {
      if (!once.contains(tick) && !may_lose) {
        wrong.push_back(absl::StrCat("saved tick ", tick, " is lost"));
      }
    }
    uint64_t lost = 0;
    bool is_reported = told_.Has("log") || told_.Has("refused");
    for (const std::string& text : told_.Of("lost")) {
      const uint64_t ticks = std::stoull(text);
      if (ticks == 0) is_reported = true;  // an unknown number
      lost += ticks;
    }
    const uint64_t missing = made.size() - once.size();
    if (missing != lost && !(missing > lost && is_reported)) {
      wrong.push_back(absl::StrCat(missing, " ticks of ", made.size(),
                                   " are missing, ", lost,
                                   " are reported as lost"));
    }
    if (!wrong.empty()) {
      for (const char* key : {"log", "lost", "refused"}) {
        for (const std::string& text : told_.Of(key)) {
          wrong.push_back(absl::StrCat(key, ": ", text));
        }
      }
    }
    return wrong;
  }

  testing::TempDirectory temp_;
  const std::string directory_ = temp_.File("files");
  Told told_;
};

TEST_F(SpoolFaults, LoseNoTickSilently) {
  testing::TryFaults(directory_,
                     [&](const Fault* fault) { return Run(fault); });
}

}  // namespace
}  // namespace fleetperf::agent
