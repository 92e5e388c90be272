// Compares questions about the last minute of a fleet between two stores: one
// keeps the newest batches in memory, and the other reads them from its log.
// Both receive the same batches in turn.
//
//   last_minute_bench [MACHINES [SERIES [SECONDS [TICKS_PER_BATCH]]]]

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "aggregator/query/range_query.h"
#include "aggregator/store/store.h"
#include "tests/bench/fleet_workload.h"
#include "tests/bench/measure.h"
#include "tests/bench/number_argument.h"
#include "tests/bench/workload_agent.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::bench {
namespace {

using aggregator::BatchToCommit;
using aggregator::DecodedBatch;
using aggregator::StoredEpoch;

// 2026-01-01, in the middle of an hour.
const absl::Time kStart = absl::FromUnixSeconds(1'767'227'400);
constexpr uint64_t kMemory = uint64_t{4} << 30;
// Batches of one commit. A batch is generated before it is measured.
constexpr size_t kCommitted = 500;

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "last_minute_bench: %s\n", status.ToString().c_str());
  std::exit(1);
}

template <typename T>
T Must(absl::StatusOr<T> value) {
  Check(value.status());
  return *std::move(value);
}

// A store, and the cost of its ingest.
class Subject {
 public:
  Subject(std::string name, uint64_t memory)
      : name_(std::move(name)),
        store_(Must(aggregator::OpenRocksDbStore(directory_.path(),
                                                 &Clock::Real(), memory))) {}

  const std::string& name() const { return name_; }
  aggregator::Store& store() { return *store_; }
  double nanos() const { return nanos_; }

  void OpenEpoch(const std::string& agent) {
    epochs_.push_back(Must(store_->OpenEpoch(agent, 1, {})));
  }

  // Decodes and commits the batches of agents from number `first` on.
  void Commit(size_t first, const std::vector<v1::Batch>& batches,
              absl::Time received) {
    const double start = CpuNanos();
    std::vector<aggregator::BatchContents> contents;
    std::vector<DecodedBatch> decoded;
    for (size_t i = 0; i < batches.size(); ++i) {
      aggregator::Dictionary* dictionary = epochs_[first + i].dictionary.get();
      contents.push_back(Must(aggregator::ParseBatch(batches[i], {})));
      if (contents.back().definitions != nullptr) {
        Check(dictionary->Apply(*contents.back().definitions));
      }
      decoded.push_back(Must(
          aggregator::DecodeBatch(contents.back(), {}, nullptr, dictionary)));
    }
    std::vector<BatchToCommit> to_commit;
    for (size_t i = 0; i < batches.size(); ++i) {
      to_commit.push_back({.epoch_number = epochs_[first + i].number,
                           .sequence = batches[i].sequence(),
                           .agent = "agent",
                           .received = received,
                           .batch = &batches[i],
                           .definitions = contents[i].definitions.get(),
                           .decoded = &decoded[i]});
    }
    Check(store_->Commit(to_commit));
    contents.clear();
    decoded.clear();
    nanos_ += CpuNanos() - start;
  }

 private:
  const std::string name_;
  testing::TempDirectory directory_;
  std::unique_ptr<aggregator::Store> store_;
  std::vector<StoredEpoch> epochs_;
  double nanos_ = 0;
};

class Bench {
 public:
  Bench(size_t machines, int series, int seconds, int ticks)
      : seconds_(seconds), ticks_(ticks), workload_(series) {
    subjects_.push_back(std::make_unique<Subject>("from the log", 0));
    subjects_.push_back(std::make_unique<Subject>("from memory", kMemory));
    for (size_t i = 0; i < machines; ++i) {
      agents_.push_back(
          std::make_unique<WorkloadAgent>(std::make_unique<FleetMachine>(
              workload_, absl::StrCat("host-", i), 1 + i, kStart)));
      for (const auto& subject : subjects_) {
        subject->OpenEpoch(agents_.back()->machine());
      }
    }
  }

  void Run() {
    for (int second = 0; second < seconds_; second += ticks_) Ingest(second);
    const double samples = static_cast<double>(workload_.series()) * seconds_ *
                           static_cast<double>(agents_.size());
    std::printf("%zu machines with %zu series, %d s: %.0f samples\n",
                agents_.size(), workload_.series(), seconds_, samples);
    std::printf("%-34s", "decode and commit, CPU");
    for (const auto& subject : subjects_) {
      std::printf(" %8.2f ns %-13s", subject->nanos() / samples,
                  subject->name().c_str());
    }
    std::printf("\n");
    const std::string of_all = "\\Processor Information(0,1)\\User Time";
    Query("top 10 by average", {.paths = {of_all}, .choice = {.top = 10}});
    Query("average of all",
          {.paths = {of_all}, .aggregation = aggregator::Aggregation{}});
    Query("average of all, step 10 s",
          {.paths = {of_all},
           .step = absl::Seconds(10),
           .aggregation = aggregator::Aggregation{}});
    Query("one series, raw", {.paths = {absl::StrCat("\\\\host-1", of_all)},
                              .step = absl::Seconds(1)});
  }

 private:
  void Ingest(int second) {
    const int ticks = std::min(ticks_, seconds_ - second);
    const absl::Time received = kStart + absl::Seconds(second + ticks);
    const uint64_t sequence = 1 + static_cast<uint64_t>(second / ticks_);
    for (size_t first = 0; first < agents_.size(); first += kCommitted) {
      std::vector<v1::Batch> batches;
      const size_t end = std::min(first + kCommitted, agents_.size());
      for (size_t i = first; i < end; ++i) {
        batches.push_back(
            PackBatch(agents_[i]->NextBatch(ticks), /*epoch=*/1, sequence));
      }
      for (const auto& subject : subjects_) {
        subject->Commit(first, batches, received);
      }
    }
  }

  void Query(const char* what, aggregator::RangeRequest request) {
    request.start = kStart;
    request.end = kStart + absl::Seconds(seconds_);
    std::printf("%-34s", what);
    for (const auto& subject : subjects_) {
      const aggregator::QueryContext context{
          .store = subject->store(),
          .now_of = [](const std::string&) { return absl::Now(); }};
      double cpu = 1e300;
      double elapsed = 1e300;
      for (int round = 0; round < 3; ++round) {
        const double start = CpuNanos();
        const absl::Time began = absl::Now();
        size_t results = 0;
        Check(aggregator::RunRangeQuery(request, context,
                                        [&](const aggregator::SeriesResult&) {
                                          ++results;
                                          return absl::OkStatus();
                                        }));
        Keep(results);
        cpu = std::min(cpu, CpuNanos() - start);
        elapsed =
            std::min(elapsed, absl::ToDoubleNanoseconds(absl::Now() - began));
      }
      std::printf(" %8.1f ms (CPU %.1f)", elapsed / 1e6, cpu / 1e6);
      std::fflush(stdout);
    }
    std::printf("\n");
  }

  const int seconds_;
  const int ticks_;
  const FleetWorkload workload_;
  std::vector<std::unique_ptr<Subject>> subjects_;
  std::vector<std::unique_ptr<WorkloadAgent>> agents_;
};

}  // namespace
}  // namespace fleetperf::bench

int main(int argc, char** argv) {
  using fleetperf::bench::NumberArgument;
  fleetperf::bench::Bench(
      static_cast<size_t>(NumberArgument(argc, argv, 1, 10'000)),
      NumberArgument(argc, argv, 2, 100), NumberArgument(argc, argv, 3, 60),
      NumberArgument(argc, argv, 4, 10))
      .Run();
  return 0;
}
