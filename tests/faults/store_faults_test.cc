// Each operation on a file of a store or of its backup fails once. After a
// restart, all acknowledged batches are there, also after a power cut, and
// batches that are sent again are there once. Only a torn write, which looks
// like a success, may cost data, and the store reports it.

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "aggregator/store/backup/backup.h"
#include "aggregator/store/backup/repair.h"
#include "aggregator/store/backup/verify.h"
#include "aggregator/store/store.h"
#include "fleetperf/v1/fleet.pb.h"
#include "tests/faults/fail_once.h"
#include "tests/faults/fault_run.h"
#include "tests/support/batch_writer.h"
#include "tests/support/countersets.h"
#include "tests/support/raw_samples.h"
#include "tests/support/temp_directory.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::Fault;
using testing::FaultKind;
using testing::Reporter;
using testing::Told;

const std::vector<std::string> kAgents = {"web-1", "web-2"};
constexpr int kTicksPerBatch = 3;

// The number of stored batches of each agent.
using Stored = std::map<std::string, uint64_t>;

// The batches of an agent. They are the same in each process.
class AgentBatches {
 public:
  explicit AgentBatches(const std::string& agent)
      : machine_(writer_.Machine(agent)),
        disk_(writer_.Counterset(testing::DiskRegistration())),
        query_(writer_.Query(machine_, disk_, absl::Seconds(1),
                             {{testing::kTransfers}})) {}

  v1::BatchContent Next() {
    ++sequence_;
    const std::string name = absl::StrCat("disk", sequence_);
    disks_.push_back(writer_.Instance(machine_, disk_, name));
    for (int tick = 0; tick < kTicksPerBatch; ++tick) {
      std::vector<testing::BatchWriter::Row> rows;
      for (const uint32_t disk : disks_) rows.push_back({disk, {++value_}});
      writer_.AddTick(query_, testing::ClocksAt(++time_), std::move(rows));
    }
    return writer_.TakeContent();
  }
  const v1::Definitions& definitions() const { return writer_.definitions(); }
  uint64_t sequence() const { return sequence_; }

 private:
  testing::BatchWriter writer_;
  const uint32_t machine_, disk_, query_;
  std::vector<uint32_t> disks_;
  uint64_t sequence_ = 0;
  uint64_t value_ = 0;
  double time_ = 0;
};

// The samples of an agent's first batches as text, sorted.
std::vector<std::string> SamplesOf(uint64_t batches) {
  std::vector<std::string> samples;
  uint64_t value = 0;
  int time = 0;
  for (uint64_t batch = 1; batch <= batches; ++batch) {
    for (int tick = 0; tick < kTicksPerBatch; ++tick) {
      ++time;
      for (uint64_t disk = 1; disk <= batch; ++disk) {
        samples.push_back(absl::StrCat(time, " disk", disk, " ", ++value));
      }
    }
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

// Tells whether a store holds exactly the samples of `stored`.
void CheckSamples(Store& store, const Stored& stored, Reporter& reporter) {
  for (const auto& [agent, batches] : stored) {
    std::vector<std::string> samples;
    const absl::Status read = store.Read(
        {.machine = agent,
         .from = absl::InfinitePast(),
         .to = absl::InfiniteFuture(),
         .filter = {}},
        [&](const Frame& frame) {
          for (std::string& tick : testing::ToText(frame)) {
            samples.push_back(std::move(tick));
          }
          return absl::OkStatus();
        },
        [&](const Loss&) { reporter.Tell("loss", agent); });
    if (!read.ok()) {
      reporter.Tell("log", read.ToString());
      continue;
    }
    std::sort(samples.begin(), samples.end());
    const std::vector<std::string> expected = SamplesOf(batches);
    if (samples == expected) continue;
    const bool are_part = std::includes(expected.begin(), expected.end(),
                                        samples.begin(), samples.end());
    reporter.Tell(are_part ? "lacks" : "wrong",
                  absl::StrCat(agent, " has ", samples.size(), " samples of ",
                               expected.size()));
  }
}

// A process that uses the store as an aggregator does.
class Aggregator {
 public:
  Aggregator(const std::string& directory, Reporter* reporter)
      : directory_(directory), reporter_(*reporter) {}

  // Returns false if the store cannot be opened.
  bool Open() {
    auto opened = OpenRocksDbStore(directory_ + "/store");
    if (!opened.ok()) {
      reporter_.Tell("refused", opened.status().ToString());
      return false;
    }
    store_ = *std::move(opened);
    return true;
  }
  void Close() { store_.reset(); }
  Store& store() { return *store_; }

  // Receives the batches of all agents up to a number. A failed commit ends an
  // agent's stream, so it connects again.
  void Receive(uint64_t batches) {
    for (const std::string& agent : kAgents) {
      if (!ReceiveFrom(agent, batches)) ReceiveFrom(agent, batches);
    }
    CheckSamples(*store_, stored_, reporter_);
  }

  void Compact() {
    for (int attempt = 0; attempt < 2; ++attempt) {
      absl::StatusOr<bool> more = true;
      while (more.ok() && *more) {
        more = store_->Compact(absl::InfiniteFuture());
      }
      if (more.ok()) break;
      reporter_.Tell("log", more.status().ToString());
    }
    CheckSamples(*store_, stored_, reporter_);
  }

  // Stores and forgets an agent process, whose definitions Compact removes.
  void ReceiveEnded(uint64_t epoch) { ReceiveFrom("db-1", 1, epoch); }

  void Describe(const std::string& version) {
    for (const std::string& agent : kAgents) {
      v1::Machine machine;
      machine.set_name(agent);
      machine.set_agent(agent);
      const std::string hash(32, version[0]);
      Note(store_->PutCatalogue(hash, "catalogue " + version));
      Note(store_->PutMachine({machine, hash}));
    }
  }

  void Backup() {
    const std::string backup = directory_ + "/backup";
    const absl::Status made = store_->Backup(
        backup, [](uint64_t, uint64_t) { return absl::OkStatus(); });
    if (made.ok()) {
      for (const auto& [agent, batches] : stored_) {
        reporter_.Tell("backup", absl::StrCat(agent, " ", batches));
      }
    } else if (std::filesystem::exists(backup)) {
      reporter_.Tell("wrong", absl::StrCat("an incomplete backup exists: ",
                                           made.ToString()));
    }
    Note(made);
  }

 private:
  void Note(const absl::Status& status) {
    if (!status.ok()) reporter_.Tell("log", status.ToString());
  }

  bool ReceiveFrom(const std::string& agent, uint64_t batches,
                   uint64_t epoch = 1) {
    auto opened = store_->OpenEpoch(agent, epoch, {});
    if (!opened.ok()) {
      Note(opened.status());
      return false;
    }
    if (epoch == 1) {
      stored_[agent] = opened->durable_sequence;
      reporter_.Tell("durable",
                     absl::StrCat(agent, " ", opened->durable_sequence));
    }
    AgentBatches sent(agent);
    while (sent.sequence() < batches) {
      const v1::BatchContent content = sent.Next();
      if (sent.sequence() <= opened->durable_sequence) continue;
      const absl::Status committed =
          Commit(agent, epoch, sent, content, &*opened);
      if (!committed.ok()) {
        Note(committed);
        return false;
      }
      opened->lacks_definitions = false;
      if (epoch != 1) continue;
      stored_[agent] = sent.sequence();
      reporter_.Tell("committed", absl::StrCat(agent, " ", sent.sequence()));
    }
    return true;
  }

  absl::Status Commit(const std::string& agent, uint64_t epoch,
                      const AgentBatches& sent, const v1::BatchContent& content,
                      StoredEpoch* stored) {
    const v1::Definitions& definitions =
        stored->lacks_definitions ? sent.definitions() : content.definitions();
    absl::Status status;
    if (stored->lacks_definitions) {
      status = store_->KeepDefinitions(stored->number, definitions);
    }
    status.Update(stored->dictionary->Apply(definitions));
    if (!status.ok()) return status;
    const auto decoded = testing::Decode(content, stored->dictionary.get());
    if (!decoded.ok()) return decoded.status();
    const v1::Batch batch = testing::MakeBatch(epoch, sent.sequence(), content);
    return store_->Commit(
        {BatchToCommit{.epoch_number = stored->number,
                       .sequence = sent.sequence(),
                       .agent = agent,
                       .fingerprint = sent.sequence(),
                       .received = testing::kStart + absl::Seconds(1),
                       .batch = &batch,
                       .definitions = &content.definitions(),
                       .decoded = &*decoded}});
  }

  const std::string directory_;
  Reporter& reporter_;
  std::unique_ptr<Store> store_;
  Stored stored_;
};

// The largest number of batches told with a key, by agent.
Stored LargestOf(const Told& told, const std::string& key) {
  Stored largest;
  for (const std::string& text : told.Of(key)) {
    const size_t space = text.find(' ');
    uint64_t& of_agent = largest[text.substr(0, space)];
    of_agent = std::max<uint64_t>(of_agent, std::stoull(text.substr(space)));
  }
  return largest;
}

class StoreFaults : public ::testing::Test {
 protected:
  // Runs the processes of an aggregator, with the fault in one of them, and
  // tells what they say.
  Told RunWithFault() {
    Told told = testing::RunProcess([&](Reporter& reporter) {
      Aggregator aggregator(directory_, &reporter);
      if (!aggregator.Open()) return;
      aggregator.Describe("1");
      aggregator.Receive(3);
      aggregator.ReceiveEnded(2);
      aggregator.Compact();
      aggregator.Receive(5);
      aggregator.Close();
    });
    told.Append(testing::RunProcess([&](Reporter& reporter) {
      Aggregator aggregator(directory_, &reporter);
      if (!aggregator.Open()) return;
      aggregator.Describe("2");
      aggregator.Compact();
      aggregator.Receive(7);
      aggregator.Backup();
      aggregator.Receive(8);
      testing::EndByPowerCut();
    }));
    told.Append(testing::RunProcess([&](Reporter& reporter) {
      Aggregator aggregator(directory_, &reporter);
      if (!aggregator.Open()) return;
      aggregator.ReceiveEnded(3);
      aggregator.Receive(9);
      aggregator.Compact();
      aggregator.Close();
    }));
    return told;
  }

  // Starts the aggregator once more, without a fault.
  Told RunAfterFault() {
    return testing::RunProcess([&](Reporter& reporter) {
      Aggregator aggregator(directory_, &reporter);
      if (!aggregator.Open()) {
        Repair(reporter);
        if (!aggregator.Open()) {
          return reporter.Tell("wrong", "a repaired store cannot be opened");
        }
      }
      aggregator.Receive(10);
      aggregator.Compact();
      aggregator.Close();
      const auto report =
          VerifyStore(directory_ + "/store", [](double /*done*/) {});
      if (!report.ok())
        return reporter.Tell("wrong", report.status().message());
      for (const std::string& damage : report->damage) {
        reporter.Tell("damage", damage);
      }
    });
  }

  void Repair(Reporter& reporter) {
    const auto report = RepairStore(directory_ + "/store", &Clock::Real(),
                                    [](uint64_t /*chunks*/) {});
    if (!report.ok()) return reporter.Tell("wrong", report.status().message());
    for (const std::string& lost : report->lost) reporter.Tell("lost", lost);
  }

  Told RunRestored(const Stored& stored) {
    return testing::RunProcess([&](Reporter& reporter) {
      const std::string restored = directory_ + "/restored";
      const absl::Status status =
          RestoreStore(directory_ + "/backup", restored,
                       [](uint64_t, uint64_t) { return absl::OkStatus(); });
      if (!status.ok()) return reporter.Tell("refused", status.ToString());
      const auto store = OpenRocksDbStore(restored);
      if (!store.ok()) {
        return reporter.Tell("refused", store.status().ToString());
      }
      CheckSamples(**store, stored, reporter);
    });
  }

  std::vector<std::string> Run(const Fault* fault) {
    const Told during = RunWithFault();
    testing::StopWatchingFiles();
    const bool may_lose = fault != nullptr && fault->kind == FaultKind::kTorn;
    Told after = RunAfterFault();
    const Stored committed = LargestOf(during, "committed");
    const Stored durable = LargestOf(after, "durable");
    std::vector<std::string> wrong = during.Of("wrong");
    const auto add = [&](const std::string& text) { wrong.push_back(text); };
    for (const auto& [agent, batches] : committed) {
      const auto found = durable.find(agent);
      if (found == durable.end() || found->second < batches) {
        after.Add("lacks", absl::StrCat("an acknowledged batch of ", agent));
      }
    }
    const Stored in_backup = LargestOf(during, "backup");
    // Other faults leave backups as the first run has them.
    const bool may_affect_backup =
        fault == nullptr || absl::StrContains(fault->call, " backup");
    if (may_affect_backup && !in_backup.empty()) {
      after.Append(RunRestored(in_backup));
    }
    for (const std::string& text : after.Of("wrong")) add(text);
    const bool is_reported = during.Has("log") || after.Has("log") ||
                             after.Has("lost") || after.Has("damage") ||
                             after.Has("refused") || during.Has("refused");
    if (during.Has("lacks") && !is_reported) {
      add("not reported: " + during.Of("lacks").front());
    }
    for (const std::string key : {"lacks", "refused", "damage", "lost"}) {
      if (may_lose && is_reported) break;
      for (const std::string& text : after.Of(key)) {
        add(absl::StrCat(key, ": ", text));
      }
    }
    // An operator must not repair what is not damaged.
    for (const std::string& text : during.Of("refused")) {
      if (!may_lose && absl::StrContains(text, "repair")) {
        add("refused: " + text);
      }
    }
    if (!wrong.empty()) {
      for (const std::string& line : during.Of("log")) add("log: " + line);
      for (const std::string& line : after.Of("log")) {
        add("log afterwards: " + line);
      }
      for (const std::string& line : during.Of("refused")) {
        add("refused before: " + line);
      }
    }
    return wrong;
  }

  testing::TempDirectory temp_;
  const std::string directory_ = temp_.File("files");
};

TEST_F(StoreFaults, LoseNoAcknowledgedBatchSilently) {
  testing::TryFaults(directory_,
                     [&](const Fault* fault) { return Run(fault); });
}

}  // namespace
}  // namespace fleetperf::aggregator
