// Measures the cost of ended epochs: the time to open a store that has them,
// its memory, and its disk space. The baseline is a store with the same samples
// of agents that were never restarted.
//
//   epochs_bench [EPOCHS]

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "aggregator/store/store.h"
#include "aggregator/store/tables/database.h"
#include "base/os/clock.h"
#include "tests/support/many_epochs.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::bench {
namespace {

using aggregator::Database;
using aggregator::Family;
using testing::ManyEpochs;

constexpr int kAgents = 1000;
constexpr int kInstances = 50;
constexpr int kOpenings = 5;

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "%s\n", value.status().ToString().c_str());
  std::exit(1);
}

double HeapBytes() { return static_cast<double>(mallinfo2().uordblks); }

double FileBytes(const std::string& directory) {
  double bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    bytes += static_cast<double>(entry.file_size());
  }
  return bytes;
}

// Returns the size of keys and values that are neither samples nor fingerprints
// of batches.
double RecordBytes(const std::string& directory) {
  const auto database = Must(Database::Open(directory));
  double bytes = 0;
  for (const Family family : {Family::kDefault, Family::kLog, Family::kTimes}) {
    const absl::Status status = database->ForEach(
        family, "", [&](absl::string_view key, absl::string_view value) {
          if (family == Family::kDefault && key[0] == 'f') return;
          bytes += static_cast<double>(key.size() + value.size());
        });
    if (!status.ok()) std::exit(1);
  }
  return bytes;
}

void Report(const char* what, const ManyEpochs& load, int rounds) {
  const testing::TempDirectory temp;
  const std::string directory = temp.File("store");
  {
    const auto store = Must(aggregator::OpenRocksDbStore(directory));
    const absl::Status sent = testing::SendRounds(store.get(), load, 0, rounds);
    if (!sent.ok()) std::exit(1);
  }
  // The first opening does the recovery work that the previous store left.
  Must(aggregator::OpenRocksDbStore(directory));
  absl::Duration fastest = absl::InfiniteDuration();
  double heap = 0;
  for (int i = 0; i < kOpenings; ++i) {
    const double heap_before = HeapBytes();
    const absl::Duration start = Clock::Real().Monotonic();
    const auto store = Must(aggregator::OpenRocksDbStore(directory));
    fastest = std::min(fastest, Clock::Real().Monotonic() - start);
    heap = HeapBytes() - heap_before;
  }
  std::printf("%-34s %8.1f ms %8.1f MB %8.1f MB %8.1f MB\n", what,
              absl::ToDoubleMilliseconds(fastest), heap / 1e6,
              RecordBytes(directory) / 1e6, FileBytes(directory) / 1e6);
}

void Run(int epochs) {
  const int rounds = std::max(epochs / kAgents, 1);
  std::printf("%d agents with %d instances; %d batches\n", kAgents, kInstances,
              kAgents * rounds);
  std::printf("%-34s %11s %11s %11s %11s\n", "", "start", "heap", "records",
              "files");
  ManyEpochs load{.agents = kAgents, .instances = kInstances};
  Report("an epoch for each batch", load, rounds);
  load.restarts = false;
  Report("an epoch for each agent", load, rounds);
}

}  // namespace
}  // namespace fleetperf::bench

int main(int argc, char** argv) {
  fleetperf::bench::Run(argc > 1 ? std::atoi(argv[1]) : 100'000);
  return 0;
}
