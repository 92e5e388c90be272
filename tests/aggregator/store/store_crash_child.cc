#include "tests/aggregator/store/store_crash_child.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "aggregator/samples/series_run.h"
#include "aggregator/store/backup/backup.h"
#include "aggregator/store/backup/verify.h"
#include "aggregator/store/store.h"
#include "tests/support/batch_writer.h"
#include "tests/support/countersets.h"
#include "tests/support/raw_samples.h"
#include "tests/support/test_store.h"
#include "values/counter_formula.h"

namespace fleetperf::aggregator {
namespace {

using testing::kStart;

constexpr char kMachine[] = "web-1";
// The agent that restarts after each batch.
constexpr char kRestarted[] = "db-1";
// Seconds between ticks. A batch covers five minutes.
constexpr double kTickSeconds = 5;
constexpr int kTicks = 66;
constexpr absl::Duration kFullResolution = absl::Hours(3);

// The batches of an agent. They are identical in every process.
class Batches {
 public:
  explicit Batches(uint64_t seed)
      : random_(seed),
        machine_(writer_.Machine(kMachine)),
        disk_(writer_.Counterset(testing::DiskRegistration())),
        query_(
            writer_.Query(machine_, disk_, absl::Seconds(kTickSeconds),
                          {{testing::kTransfers}, {testing::kQueueLength}})) {}

  struct Made {
    uint64_t sequence;
    absl::Time received;
    v1::BatchContent content;
    std::vector<std::string> ticks;  // in the format of TestStore
  };

  Made Next() {
    ++sequence_;
    if (disks_.empty() || random_() % 4 == 0) {
      names_.push_back(absl::StrCat("disk", sequence_));
      disks_.push_back(writer_.Instance(machine_, disk_, names_.back()));
    }
    Made made{.sequence = sequence_};
    for (int tick = 0; tick < kTicks; ++tick) {
      time_ += kTickSeconds;
      std::vector<testing::BatchWriter::Row> rows;
      for (size_t i = 0; i < disks_.size(); ++i) {
        const uint64_t transfers = random_() >> (random_() % 64);
        const uint64_t queue = random_() % 3;
        rows.push_back({disks_[i], {transfers, queue}});
        made.ticks.push_back(
            absl::StrCat(time_, " ", names_[i], " ", transfers, " ", queue));
      }
      writer_.AddTick(query_, testing::ClocksAt(time_), std::move(rows));
    }
    if (disks_.size() > 3) {
      writer_.Retire(disks_.front());
      disks_.erase(disks_.begin());
      names_.erase(names_.begin());
    }
    made.received = kStart + absl::Seconds(time_);
    made.content = writer_.TakeContent();
    return made;
  }

 private:
  testing::BatchWriter writer_;
  std::mt19937_64 random_;
  const uint32_t machine_, disk_, query_;
  std::vector<uint32_t> disks_;
  std::vector<std::string> names_;
  uint64_t sequence_ = 0;
  double time_ = 0;
};

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

void Print(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

// Returns the complete backups by the last batch acknowledged before them.
std::map<uint64_t, std::string> BackupsOf(const std::string& directory) {
  std::map<uint64_t, std::string> backups;
  std::error_code error;  // no backup exists yet
  for (const auto& entry : std::filesystem::directory_iterator(
           absl::StrCat(directory, ".backups"), error)) {
    uint64_t sequence = 0;
    if (absl::SimpleAtoi(entry.path().filename().string(), &sequence)) {
      backups[sequence] = entry.path().string();
    }
  }
  return backups;
}

// Makes another backup, and removes older ones.
void MakeBackup(Store& store, const std::string& directory, uint64_t sequence) {
  const auto older = BackupsOf(directory);
  if (older.contains(sequence)) return;
  const std::string backups = absl::StrCat(directory, ".backups");
  std::filesystem::create_directory(backups);
  Check(store.Backup(absl::StrCat(backups, "/", sequence),
                     [](uint64_t, uint64_t) {
                       Print("copied");
                       return absl::OkStatus();
                     }));
  for (const auto& [number, path] : older) std::filesystem::remove_all(path);
  Print("backed up");
}

// Commits the only batch of the epoch with this number, unless the store has
// it.
void CommitEpoch(Store& store, uint64_t number, absl::Time received) {
  auto epoch = store.OpenEpoch(kRestarted, number, {});
  Check(epoch.status());
  if (epoch->durable_sequence > 0) return;
  testing::BatchWriter writer;
  const uint32_t machine = writer.Machine(kRestarted);
  const uint32_t disk = writer.Counterset(testing::DiskRegistration());
  // The interval is too long for thinning.
  const uint32_t query =
      writer.Query(machine, disk, absl::Minutes(1), {{testing::kTransfers}});
  const uint32_t c = writer.Instance(machine, disk, "C:");
  writer.AddTick(query, testing::ClocksAt(static_cast<double>(number)),
                 {{c, {number}}});
  const v1::BatchContent content = writer.TakeContent();
  Check(epoch->dictionary->Apply(content.definitions()));
  const auto decoded = testing::Decode(content, epoch->dictionary.get());
  Check(decoded.status());
  const v1::Batch batch = testing::MakeBatch(number, 1, content);
  Check(store.Commit({BatchToCommit{.epoch_number = epoch->number,
                                    .sequence = 1,
                                    .agent = kRestarted,
                                    .fingerprint = number,
                                    .received = received,
                                    .batch = &batch,
                                    .definitions = &content.definitions(),
                                    .decoded = &*decoded}}));
}

}  // namespace

[[noreturn]] void CommitUntilKilled(const std::string& directory,
                                    uint64_t seed) {
  auto opened = OpenRocksDbStore(directory);
  Check(opened.status());
  Store& store = **opened;
  auto epoch = store.OpenEpoch(kMachine, 1, {});
  Check(epoch.status());
  Batches batches(seed);
  for (;;) {
    const Batches::Made made = batches.Next();
    if (made.sequence <= epoch->durable_sequence) continue;
    CommitEpoch(store, made.sequence, made.received);
    Check(epoch->dictionary->Apply(made.content.definitions()));
    const auto decoded = testing::Decode(made.content, epoch->dictionary.get());
    Check(decoded.status());
    const v1::Batch batch = testing::MakeBatch(1, made.sequence, made.content);
    Check(
        store.Commit({BatchToCommit{.epoch_number = epoch->number,
                                    .sequence = made.sequence,
                                    .agent = kMachine,
                                    .fingerprint = made.sequence,
                                    .received = made.received,
                                    .batch = &batch,
                                    .definitions = &made.content.definitions(),
                                    .decoded = &*decoded}}));
    Print(absl::StrCat("acknowledged ", made.sequence));
    if (made.sequence % 3 != 0) continue;
    for (bool more = true; more;) {
      const auto done = store.Compact(made.received - absl::Hours(1));
      Check(done.status());
      more = *done;
      Print("moved");
    }
    for (bool more = true; more;) {
      const auto done =
          store.Thin(Resolution::kMinute, made.received - kFullResolution);
      Check(done.status());
      more = *done;
      if (more) Print("thinned");
    }
    if (made.sequence % 6 == 0) MakeBackup(store, directory, made.sequence);
  }
}

namespace {

// The number and sum of a disk's queue samples in a minute.
struct Minute {
  uint64_t samples = 0;
  uint64_t sum = 0;

  bool operator==(const Minute&) const = default;
};

struct Contents {
  std::vector<std::string> ticks;  // samples that are not thinned, by time
  // Thinned samples by disk and minute, and the time at which they end.
  std::map<std::pair<std::string, int>, Minute> minutes;
  double thinned_to = 0;
};

void Sort(std::vector<std::string>* ticks) {
  // Within a tick, the order of the disks does not matter.
  std::vector<std::pair<double, std::string>> timed;
  for (std::string& tick : *ticks) {
    const double time = std::atof(tick.c_str());
    timed.emplace_back(time, std::move(tick));
  }
  std::sort(timed.begin(), timed.end());
  ticks->clear();
  for (auto& [time, tick] : timed) ticks->push_back(std::move(tick));
}

int MinuteOf(double time) { return static_cast<int>(std::ceil(time / 60)); }

double SecondsOf(const perflib::Clocks& clocks) {
  return absl::ToDoubleSeconds(perflib::TimeOf(clocks) - kStart);
}

void AddThinned(const Frame& frame, Contents* contents) {
  const perflib::CountersetRegistration& disk =
      frame.query->schema->registration;
  const CounterFormula queue =
      FormulaOf(disk, *disk.FindCounter(testing::kQueueLength));
  const auto columns = FindSeriesColumns(*frame.query, queue);
  for (size_t i = 0; i < frame.runs.size(); ++i) {
    const SeriesRun run(frame, i, columns.value());
    const std::vector<Summary> summaries = run.Summaries(queue);
    for (uint32_t tick = 0; tick < run.ticks(); ++tick) {
      const double time = SecondsOf(run.clocks(tick));
      contents->thinned_to = std::max(contents->thinned_to, time);
      Minute& minute =
          contents->minutes[{frame.runs[i].instance->name, MinuteOf(time)}];
      minute.samples += summaries[tick].pieces;
      minute.sum += absl::Uint128Low64(summaries[tick].growth.value);
    }
  }
}

Contents ReadAll(Store& store, const std::string& machine) {
  Contents contents;
  Check(store.Read(
      {.machine = machine,
       .from = absl::InfinitePast(),
       .to = absl::InfiniteFuture(),
       .filter = {}},
      [&](const Frame& frame) {
        if (frame.query->is_thinned()) {
          AddThinned(frame, &contents);
          return absl::OkStatus();
        }
        for (std::string& tick : testing::ToText(frame)) {
          contents.ticks.push_back(std::move(tick));
        }
        return absl::OkStatus();
      },
      [](const Loss&) {}));
  Sort(&contents.ticks);
  return contents;
}

// Returns the expected contents for these ticks if the ticks up to `thinned_to`
// are thinned.
Contents Expect(std::vector<std::string> ticks, double thinned_to) {
  Contents contents{.thinned_to = thinned_to};
  for (std::string& tick : ticks) {
    const std::vector<std::string> words = absl::StrSplit(tick, ' ');
    const double time = std::atof(words[0].c_str());
    if (time > thinned_to) {
      contents.ticks.push_back(std::move(tick));
      continue;
    }
    Minute& minute = contents.minutes[{words[1], MinuteOf(time)}];
    ++minute.samples;
    minute.sum += std::strtoull(words[3].c_str(), nullptr, 10);
  }
  Sort(&contents.ticks);
  return contents;
}

// Describes the first difference. Empty if there is none.
std::string Difference(const Contents& stored, const Contents& expected) {
  for (size_t i = 0; i < std::max(stored.ticks.size(), expected.ticks.size());
       ++i) {
    const std::string is =
        i < stored.ticks.size() ? stored.ticks[i] : "nothing";
    const std::string should_be =
        i < expected.ticks.size() ? expected.ticks[i] : "nothing";
    if (is != should_be) {
      return absl::StrCat("\"", is, "\" instead of \"", should_be, "\"");
    }
  }
  if (stored.minutes.size() != expected.minutes.size()) {
    return absl::StrCat(stored.minutes.size(), " minutes of disks instead of ",
                        expected.minutes.size());
  }
  for (const auto& [key, minute] : expected.minutes) {
    const auto found = stored.minutes.find(key);
    if (found != stored.minutes.end() && found->second == minute) continue;
    return absl::StrCat("minute ", key.second, " of ", key.first,
                        " does not match the summary of its ", minute.samples,
                        " samples");
  }
  return "";
}

// Checks the epochs with one batch each. Returns an error, or an empty string.
std::string CheckEpochs(Store& store, uint64_t epochs) {
  std::vector<std::string> stored = ReadAll(store, kRestarted).ticks;
  for (uint64_t i = 1; i <= epochs; ++i) {
    const auto epoch = store.OpenEpoch(kRestarted, i, {});
    Check(epoch.status());
    if (epoch->durable_sequence != 1 ||
        !store.HasBatch(epoch->number, 1, i).value()) {
      return absl::StrCat("epoch ", i, " is unknown");
    }
    const std::string tick = absl::StrCat(i, " C: ", i);
    if (i > stored.size() || stored[i - 1] != tick) {
      return absl::StrCat("\"", tick, "\" is missing");
    }
  }
  // One more may have arrived before the process was killed.
  return stored.size() > epochs + 1 ? "a sample is stored twice" : "";
}

}  // namespace

int CheckStore(const std::string& directory, uint64_t seed,
               uint64_t acknowledged) {
  uint64_t durable = 0;
  Contents stored;
  {
    const auto store = OpenRocksDbStore(directory);
    Check(store.status());
    const auto epoch = (*store)->OpenEpoch(kMachine, 1, {});
    Check(epoch.status());
    durable = epoch->durable_sequence;
    stored = ReadAll(**store, kMachine);
    const std::string wrong = CheckEpochs(**store, durable);
    if (!wrong.empty()) {
      std::fprintf(stderr, "%s\n", wrong.c_str());
      return 1;
    }
    for (uint64_t i = 1; i <= durable; ++i) {
      if ((*store)->HasBatch(epoch->number, i, i).value()) continue;
      std::fprintf(stderr, "batch %llu is unknown\n",
                   static_cast<unsigned long long>(i));
      return 1;
    }
  }
  if (durable < acknowledged) {
    std::fprintf(stderr, "only %llu batches of %llu\n",
                 static_cast<unsigned long long>(durable),
                 static_cast<unsigned long long>(acknowledged));
    return 1;
  }
  Batches batches(seed);
  std::vector<std::string> ticks;
  for (uint64_t i = 0; i < durable; ++i) {
    const Batches::Made made = batches.Next();
    ticks.insert(ticks.end(), made.ticks.begin(), made.ticks.end());
  }
  const std::string wrong =
      Difference(stored, Expect(std::move(ticks), stored.thinned_to));
  if (!wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    return 1;
  }
  const auto report = VerifyStore(directory, [](double) {});
  Check(report.status());
  for (const std::string& damage : report->damage) {
    std::fprintf(stderr, "%s\n", damage.c_str());
  }
  std::printf("%llu batches, %llu chunks, thinned to the %.0fth hour\n",
              static_cast<unsigned long long>(durable),
              static_cast<unsigned long long>(report->chunks),
              stored.thinned_to / 3600);
  return report->damage.empty() ? 0 : 1;
}

int CheckBackup(const std::string& directory, uint64_t seed) {
  // Some of the older backups may have been removed.
  const std::map<uint64_t, std::string> backups = BackupsOf(directory);
  if (backups.empty()) return 0;
  const auto& [sequence, backup] = *backups.rbegin();
  const std::string restored = absl::StrCat(directory, ".restored");
  std::filesystem::remove_all(restored);
  Check(RestoreStore(backup, restored,
                     [](uint64_t, uint64_t) { return absl::OkStatus(); }));
  std::printf("backup: ");
  return CheckStore(restored, seed, sequence);
}

}  // namespace fleetperf::aggregator
