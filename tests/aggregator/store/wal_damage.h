// A store whose write-ahead log tests damage, and functions that damage it.

#ifndef FLEETPERF_TESTS_AGGREGATOR_STORE_WAL_DAMAGE_H_
#define FLEETPERF_TESTS_AGGREGATOR_STORE_WAL_DAMAGE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "aggregator/store/backup/verify.h"
#include "aggregator/store/store.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/wal_file.h"
#include "base/status_macros.h"
#include "tests/support/log_capture.h"
#include "tests/support/one_disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {

inline constexpr int kBatches = 300;
inline constexpr char kSynced[] = "/fleetperf-synced";

inline std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void WriteAll(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Returns the nonempty logs of the store in `directory`.
inline std::vector<std::string> LogsIn(const std::string& directory) {
  std::vector<std::string> logs;
  const auto files = FindWalFiles(directory);
  EXPECT_OK(files);
  if (!files.ok()) return logs;
  for (const auto& [number, path] : *files) {
    if (std::filesystem::file_size(path) > 0) logs.push_back(path);
  }
  return logs;
}

inline std::vector<std::string> DamageOf(const std::string& directory) {
  const auto report = VerifyStore(directory, [](double) {});
  EXPECT_OK(report);
  return report.ok() ? report->damage : std::vector<std::string>();
}

// Returns the offset of a batch key of the first epoch in the log.
inline size_t PlaceOf(const std::string& log, uint64_t sequence) {
  const size_t place = log.find(LogKey(1, sequence));
  EXPECT_NE(place, log.npos);
  return place;
}

// Flips a bit at the first occurrence of `bytes` in the store's logs. Returns
// false if no log has these bytes.
inline bool FlipIn(const std::string& directory, const std::string& bytes) {
  for (const std::string& path : LogsIn(directory)) {
    std::string log = ReadAll(path);
    const size_t place = log.find(bytes);
    if (place == log.npos) continue;
    log[place] = static_cast<char>(log[place] ^ 1);
    WriteAll(path, log);
    return true;
  }
  return false;
}

inline absl::Status Compact(Store& store) {
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(more, store.Compact(absl::InfiniteFuture()));
  }
  return absl::OkStatus();
}

// A closed store with batches 1 to 300 of web-1. Batch n has the tick at n s.
// Each batch is a commit of its own.
class DamagedWal : public ::testing::Test {
 protected:
  DamagedWal() {
    testing::OneDiskAgent agent(&store_, "web-1");
    for (int i = 1; i <= kBatches; ++i) {
      agent.Tick(i, i);
      EXPECT_OK(agent.Send(testing::kStart + absl::Seconds(i)));
    }
    store_.Close();
    const std::vector<std::string> logs = LogsIn(store_.path());
    EXPECT_THAT(logs, ::testing::SizeIs(1));
    path_ = logs.at(0);
    log_ = ReadAll(path_);
  }

  // Opens the store and returns the log lines of doing so.
  std::vector<std::string> Open() {
    const testing::LogCapture log;
    store_.Open();
    return log.Lines();
  }

  uint64_t Durable() { return store_.Epoch("web-1", 1).durable_sequence; }

  testing::TestStore store_;
  std::string path_;
  std::string log_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_TESTS_AGGREGATOR_STORE_WAL_DAMAGE_H_
