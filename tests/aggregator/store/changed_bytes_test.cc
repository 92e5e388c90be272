// Each byte of each file of a store matters or does not: with one byte changed,
// the store has the same samples, or reports the damage and the rest is
// unchanged. A store that cannot be opened can be repaired.
//
// A seeded sample of the bytes is tried; with the environment variable
// FLEETPERF_EVERY_BYTE, every byte.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "aggregator/store/backup/repair.h"
#include "aggregator/store/store.h"
#include "base/os/files.h"
#include "base/status_macros.h"
#include "tests/support/log_capture.h"
#include "tests/support/one_disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

namespace fs = std::filesystem;

using testing::OneDiskAgent;
using testing::TempDirectory;
using testing::TestStore;

constexpr size_t kSampledBytes = 20;  // of each file
const std::vector<std::string> kNames = {"web-1", "web-2"};

// Samples by machine, as text.
using Samples = std::map<std::string, std::vector<std::string>>;

absl::StatusOr<Samples> ReadAll(Store& store) {
  Samples samples;
  for (const std::string& machine : kNames) {
    const absl::Status read = store.Read(
        {.machine = machine,
         .from = absl::InfinitePast(),
         .to = absl::InfiniteFuture(),
         .filter = {}},
        [&](const Frame& frame) {
          for (std::string& tick : testing::ToText(frame)) {
            samples[machine].push_back(std::move(tick));
          }
          return absl::OkStatus();
        },
        [](const Loss&) {});
    if (!read.ok()) return read;
  }
  return samples;
}

absl::StatusOr<Samples> Open(const std::string& directory) {
  ASSIGN_OR_RETURN(const auto store, OpenRocksDbStore(directory));
  return ReadAll(*store);
}

// Whether all of `samples` are in `all`, once and in order.
bool ArePartOf(const Samples& samples, const Samples& all) {
  return std::all_of(samples.begin(), samples.end(), [&](const auto& machine) {
    const std::vector<std::string>& whole = all.at(machine.first);
    auto next = whole.begin();
    return std::all_of(machine.second.begin(), machine.second.end(),
                       [&](const std::string& tick) {
                         next = std::find(next, whole.end(), tick);
                         return next++ != whole.end();
                       });
  });
}

// A closed store with samples in chunks, in the log's files, and in RocksDB's
// write-ahead log.
class ChangedBytes : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const int part : {0, 1, 2}) {
      for (const std::string& machine : kNames) {
        OneDiskAgent agent(&store_, machine, /*epoch=*/part + 1);
        for (int tick = 0; tick < 5; ++tick) {
          agent.Tick(part * 10 + tick, part * 100 + tick);
          ASSERT_OK(agent.Send(testing::kStart + absl::Seconds(part)));
        }
      }
      if (part == 0) {
        ASSERT_OK(store_.Compact());
      }
      if (part < 2) store_.Reopen();
    }
    const auto samples = ReadAll(*store_);
    ASSERT_OK(samples);
    all_ = *samples;
    store_.Close();
  }

  // Copies the store with `bytes` as the contents of a file, or without it.
  std::string CopyWith(const std::string& name, const std::string* bytes) {
    const std::string copy = directory_.File("copy");
    fs::remove_all(copy);
    fs::copy(store_.path(), copy);
    fs::remove(copy + "/" + name);
    if (bytes != nullptr) {
      EXPECT_OK(WriteFile(copy + "/" + name, *bytes));
    }
    return copy;
  }

  // Opens the changed store and checks what it has.
  void Check(const std::string& name, const std::string* bytes,
             const std::string& change) {
    SCOPED_TRACE(absl::StrCat(name, " ", change));
    const std::string copy = CopyWith(name, bytes);
    const testing::LogCapture log;
    absl::StatusOr<Samples> samples = Open(copy);
    if (samples.ok()) {
      EXPECT_TRUE(ArePartOf(*samples, all_));
      EXPECT_TRUE(*samples == all_ || !log.Lines().empty()) << "silent loss";
      ++(*samples == all_ ? same_ : reported_);
      return;
    }
    ++refused_;
    EXPECT_TRUE(absl::IsDataLoss(samples.status())) << samples.status();
    const auto report =
        RepairStore(copy, &Clock::Real(), [](uint64_t /*chunks*/) {});
    ASSERT_OK(report) << samples.status();
    samples = Open(copy);
    ASSERT_OK(samples);
    EXPECT_TRUE(ArePartOf(*samples, all_));
    EXPECT_TRUE(*samples == all_ || !report->lost.empty())
        << "silent loss in repair of: " << absl::StrJoin(report->done, "; ");
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& file : fs::directory_iterator(store_.path())) {
      if (file.is_regular_file() && file.file_size() > 0) {
        names.push_back(file.path().filename());
      }
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  TempDirectory directory_;
  TestStore store_;
  Samples all_;
  int same_ = 0;
  int reported_ = 0;
  int refused_ = 0;
};

TEST_F(ChangedBytes, AreHarmlessOrReported) {
  std::mt19937 random(22);
  const bool every_byte = std::getenv("FLEETPERF_EVERY_BYTE") != nullptr;
  for (const std::string& name : Names()) {
    const std::string bytes = ReadFile(store_.path() + "/" + name).value();
    std::vector<size_t> offsets(bytes.size());
    for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = i;
    if (!every_byte && offsets.size() > kSampledBytes) {
      std::shuffle(offsets.begin(), offsets.end(), random);
      offsets.resize(kSampledBytes);
    }
    for (const size_t offset : offsets) {
      std::string changed = bytes;
      changed[offset] = static_cast<char>(changed[offset] ^ (1 << offset % 8));
      Check(name, &changed, absl::StrCat("changed at ", offset));
    }
  }
  RecordProperty("same", same_);
  RecordProperty("reported", reported_);
  RecordProperty("refused", refused_);
  EXPECT_GT(same_, 0);
  EXPECT_GT(reported_, 0);
  EXPECT_GT(refused_, 0);
}

TEST_F(ChangedBytes, MissingAndCutFilesAreHarmlessOrReported) {
  std::mt19937 random(23);
  for (const std::string& name : Names()) {
    const std::string bytes = ReadFile(store_.path() + "/" + name).value();
    Check(name, nullptr, "is missing");
    for (const size_t size : {size_t{0}, bytes.size() / 2, bytes.size() - 1,
                              random() % bytes.size()}) {
      const std::string cut = bytes.substr(0, size);
      Check(name, &cut, absl::StrCat("is cut to ", size));
    }
  }
}

}  // namespace
}  // namespace fleetperf::aggregator
