// Measures the cost of the store with a simulated fleet: CPU time of each step
// from a received batch to an hour's chunks, bytes on disk, and queries.
//
//   store_bench [MACHINES [SECONDS [TICKS_PER_BATCH]]]

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/query/range_query.h"
#include "aggregator/store/store.h"
#include "tests/bench/directory_size.h"
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

constexpr int kSeries = 1000;
// 2026-01-01, at the start of an hour.
const absl::Time kStart = absl::FromUnixSeconds(1'767'225'600);

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "store_bench: %s\n", status.ToString().c_str());
  std::exit(1);
}

class Bench {
 public:
  Bench(int machines, int seconds, int ticks)
      : seconds_(seconds), ticks_(ticks), workload_(kSeries) {
    Open();
    for (int i = 0; i < machines; ++i) {
      agents_.push_back(
          std::make_unique<WorkloadAgent>(std::make_unique<FleetMachine>(
              workload_, absl::StrCat("host-", i), 1 + i, kStart)));
    }
  }

  void Run() {
    for (size_t i = 0; i < agents_.size(); ++i) {
      auto epoch = store_->OpenEpoch(agents_[i]->machine(), 1, {});
      Check(epoch.status());
      epochs_.push_back(*std::move(epoch));
    }
    for (int second = 0; second < seconds_; second += ticks_) {
      Ingest(second);
      if (second % 300 == 0) Compact(absl::InfinitePast(), &transpose_);
    }
    Compact(absl::InfinitePast(), &transpose_);
    Compact(absl::InfiniteFuture(), &merge_);
    Report();
    epochs_.clear();
    store_.reset();
    Open();  // writes out data that is only in RocksDB's own log
    store_.reset();
    std::printf("%-28s %8.3f bytes a sample\n", "on disk",
                static_cast<double>(SizeOf(directory_.path())) / samples_);
    Open();
    Query("one series, raw",
          {.paths = {"\\\\host-1\\Processor Information(0,1)\\User Time"},
           .step = absl::Seconds(1)});
    const std::string of_all = "\\Processor Information(0,1)\\User Time";
    Query("average rate, step 10s", {.paths = {of_all},
                                     .step = absl::Seconds(10),
                                     .aggregation = aggregator::Aggregation{}});
    Query("top 10 by average", {.paths = {of_all}, .choice = {.top = 10}});
    const double start = CpuNanos();
    for (bool more = true; more;) {
      const auto done =
          store_->Thin(aggregator::Resolution::kMinute, absl::InfiniteFuture());
      Check(done.status());
      more = *done;
    }
    std::printf("%-28s %8.2f ns a sample\n", "thin to minutes",
                (CpuNanos() - start) / samples_);
    Query("average rate of minutes",
          {.paths = {of_all},
           .step = absl::Minutes(10),
           .aggregation = aggregator::Aggregation{}});
  }

 private:
  void Open() {
    auto store = aggregator::OpenRocksDbStore(directory_.path());
    Check(store.status());
    store_ = *std::move(store);
  }

  void Ingest(int second) {
    const int ticks = std::min(ticks_, seconds_ - second);
    std::vector<v1::Batch> batches;
    std::vector<std::unique_ptr<v1::BatchContent>> contents;
    for (size_t i = 0; i < agents_.size(); ++i) {
      contents.push_back(
          std::make_unique<v1::BatchContent>(agents_[i]->NextBatch(ticks)));
      batches.push_back(
          PackBatch(*contents.back(), /*epoch=*/1, 1 + second / ticks_));
      wire_ += batches.back().payload().size();
      samples_ += static_cast<double>(workload_.series()) * ticks;
    }
    double start = CpuNanos();
    std::vector<DecodedBatch> decoded;
    for (size_t i = 0; i < agents_.size(); ++i) {
      const auto parsed = aggregator::ParseBatch(batches[i], {});
      Check(parsed.status());
      if (parsed->definitions != nullptr) {
        Check(epochs_[i].dictionary->Apply(*parsed->definitions));
      }
      auto frames = aggregator::DecodeBatch(*parsed, {}, nullptr,
                                            epochs_[i].dictionary.get());
      Check(frames.status());
      decoded.push_back(*std::move(frames));
    }
    decode_ += CpuNanos() - start;
    start = CpuNanos();
    std::vector<BatchToCommit> to_commit;
    for (size_t i = 0; i < agents_.size(); ++i) {
      to_commit.push_back({.epoch_number = epochs_[i].number,
                           .sequence = batches[i].sequence(),
                           .agent = agents_[i]->machine(),
                           .received = kStart + absl::Seconds(second),
                           .batch = &batches[i],
                           .definitions = contents[i]->has_definitions()
                                              ? &contents[i]->definitions()
                                              : nullptr,
                           .decoded = &decoded[i]});
    }
    Check(store_->Commit(to_commit));
    log_ += CpuNanos() - start;
  }

  void Compact(absl::Time idle_since, double* nanos) {
    const double start = CpuNanos();
    for (bool more = true; more;) {
      const auto done = store_->Compact(idle_since);
      Check(done.status());
      more = *done;
    }
    *nanos += CpuNanos() - start;
  }

  void Report() const {
    const auto print = [&](const char* what, double nanos) {
      std::printf("%-28s %8.2f ns a sample\n", what, nanos / samples_);
    };
    std::printf("%.0f samples, %d a message\n", samples_, kSeries * ticks_);
    print("decode", decode_);
    print("log", log_);
    print("transpose", transpose_);
    print("rest and merge", merge_);
    std::printf("%-28s %8.3f bytes a sample\n", "on the wire",
                wire_ / samples_);
  }

  void Query(const char* what, aggregator::RangeRequest request) {
    request.start = kStart;
    request.end = kStart + absl::Seconds(seconds_);
    const aggregator::QueryContext context{
        .store = *store_,
        .now_of = [](const std::string&) { return absl::Now(); }};
    const auto run = [&] {
      size_t results = 0;
      Check(aggregator::RunRangeQuery(request, context,
                                      [&](const aggregator::SeriesResult&) {
                                        ++results;
                                        return absl::OkStatus();
                                      }));
      Keep(results);
    };
    std::vector<Candidate> candidates = {{what, run}};
    Measure(300, 1, &candidates);
    std::printf("%-28s %8.3f ms\n", what, candidates[0].nanos / 1e6);
  }

  const int seconds_;
  const int ticks_;
  const FleetWorkload workload_;
  testing::TempDirectory directory_;
  std::unique_ptr<aggregator::Store> store_;
  std::vector<std::unique_ptr<WorkloadAgent>> agents_;
  std::vector<StoredEpoch> epochs_;
  double samples_ = 0;
  double wire_ = 0;
  double decode_ = 0, log_ = 0, transpose_ = 0, merge_ = 0;
};

}  // namespace
}  // namespace fleetperf::bench

int main(int argc, char** argv) {
  using fleetperf::bench::NumberArgument;
  fleetperf::bench::Bench(NumberArgument(argc, argv, 1, 20),
                          NumberArgument(argc, argv, 2, 3600),
                          NumberArgument(argc, argv, 3, 10))
      .Run();
  return 0;
}
