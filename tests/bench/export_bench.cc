// Measures the CPU time of exporting a sample, without the engine: of new
// batches, which are in memory, and of a backlog, which is in chunks; and that
// of a scrape. The row "raw" is what raw series cost in addition.
//
//   export_bench [MACHINES [SECONDS [TICKS_PER_BATCH]]]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/export/exported_schema.h"
#include "aggregator/export/exposition.h"
#include "aggregator/export/machine_encoder.h"
#include "aggregator/export/raw_epochs.h"
#include "aggregator/export/scrape.h"
#include "aggregator/export/write_request.h"
#include "aggregator/store/store.h"
#include "tests/bench/fleet_workload.h"
#include "tests/bench/measure.h"
#include "tests/bench/number_argument.h"
#include "tests/bench/workload_agent.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::bench {
namespace {

using aggregator::ExportSample;

constexpr int kSeries = 1000;
constexpr size_t kMaxRequest = 1 << 20;
const absl::Time kStart = absl::FromUnixSeconds(1'767'225'600);

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "export_bench: %s\n", status.ToString().c_str());
  std::exit(1);
}

// The part of the export to run.
enum class Steps { kRead, kCalculate, kEncode, kCompress };

class Sink : public aggregator::UnexportedSink {
 public:
  Sink(const std::string& machine, Steps steps,
       aggregator::ExportedSchemas* schemas, aggregator::RawEpochs* raw)
      : encoder(machine, {{"machine", machine}}, nullptr, schemas, raw),
        steps_(steps) {}

  void Begin(absl::Time, uint64_t) override {}
  absl::Status BeginFrame(const aggregator::Frame& frame,
                          uint32_t first_new) override {
    if (steps_ > Steps::kRead) encoder.BeginFrame(frame, first_new);
    return absl::OkStatus();
  }
  absl::Status AddTicks(uint32_t begin, uint32_t end) override {
    if (steps_ == Steps::kRead) return absl::OkStatus();
    return encoder.AddTicks(
        begin, end,
        [&](absl::string_view labels, absl::Span<const ExportSample> values) {
          samples += values.size();
          if (steps_ < Steps::kEncode) return absl::OkStatus();
          request_.Add(labels, values);
          if (request_.size() >= kMaxRequest) Flush();
          return absl::OkStatus();
        });
  }
  void Advance(aggregator::ExportProgress progress) override {
    all.push_back(std::move(progress));
  }
  void Flush() {
    bytes += request_.size();
    if (steps_ == Steps::kCompress) {
      compressed += request_.Take().size();
    } else {
      request_ = {};
    }
  }

  aggregator::MachineEncoder encoder;
  std::vector<aggregator::ExportProgress> all;
  double samples = 0;
  double bytes = 0;
  double compressed = 0;

 private:
  const Steps steps_;
  aggregator::WriteRequestBuilder request_;
};

class Bench {
 public:
  Bench(int machines, int seconds, int ticks)
      : seconds_(seconds), ticks_(ticks), workload_(kSeries) {
    auto store = aggregator::OpenRocksDbStore(directory_.path(), &Clock::Real(),
                                              uint64_t{1} << 30);
    Check(store.status());
    store_ = *std::move(store);
    epochs_of_agents_.emplace(store_.get());
    Check(store_->KeepExportCursors(true));
    for (int i = 0; i < machines; ++i) {
      agents_.push_back(
          std::make_unique<WorkloadAgent>(std::make_unique<FleetMachine>(
              workload_, absl::StrCat("host-", i), 1 + i, kStart)));
      auto epoch = store_->OpenEpoch(agents_.back()->machine(), 1, {});
      Check(epoch.status());
      epochs_.push_back(*std::move(epoch));
    }
  }

  void Run() {
    for (int i = 0; i < 6; ++i) Ingest();
    Export(Steps::kCompress, /*keep=*/true);
    Ingest();
    Report("a new batch");
    ReportScrape();
    Export(Steps::kCompress, /*keep=*/true);
    while (second_ < seconds_) Ingest();
    for (bool more = true; more;) {
      const auto done = store_->Compact(absl::InfiniteFuture());
      Check(done.status());
      more = *done;
    }
    Report("a backlog in chunks");
  }

 private:
  struct Result {
    double nanos = 0;
    double samples = 0;
    double bytes = 0;
    double compressed = 0;
  };

  void Ingest() {
    for (size_t i = 0; i < agents_.size(); ++i) {
      const v1::BatchContent content = agents_[i]->NextBatch(ticks_);
      const v1::Batch batch =
          PackBatch(content, /*epoch=*/1, 1 + second_ / ticks_);
      const auto parsed = aggregator::ParseBatch(batch, {});
      Check(parsed.status());
      if (parsed->definitions != nullptr) {
        Check(epochs_[i].dictionary->Apply(*parsed->definitions));
      }
      const auto decoded = aggregator::DecodeBatch(*parsed, {}, nullptr,
                                                   epochs_[i].dictionary.get());
      Check(decoded.status());
      Check(store_->Commit({aggregator::BatchToCommit{
          .epoch_number = epochs_[i].number,
          .sequence = batch.sequence(),
          .agent = agents_[i]->machine(),
          .received = kStart + absl::Seconds(second_),
          .batch = &batch,
          .definitions =
              content.has_definitions() ? &content.definitions() : nullptr,
          .decoded = &*decoded}}));
    }
    second_ += ticks_;
  }

  Result Export(Steps steps, bool keep, bool raw = false) {
    Result result;
    const double start = CpuNanos();
    for (const auto& agent : agents_) {
      Sink sink(agent->machine(), steps, &schemas_,
                raw ? &*epochs_of_agents_ : nullptr);
      Check(store_->ReadUnexported(
          {.machine = agent->machine(),
           .filter =
               [&](const aggregator::CollectedQuery& query) {
                 return sink.encoder.Selects(query);
               },
           .columns =
               [&](const aggregator::CollectedQuery& query) {
                 return sink.encoder.WantedColumns(query);
               },
           .intervals = {absl::Seconds(1)}},
          &sink));
      sink.Flush();
      if (keep) Check(store_->SetExported(sink.all));
      result.samples += sink.samples;
      result.bytes += sink.bytes;
      result.compressed += sink.compressed;
    }
    result.nanos = CpuNanos() - start;
    return result;
  }

  void Report(const char* what) {
    const Result all = Export(Steps::kCompress, false);
    std::printf("%s: %.0f values, %.1f bytes each, compressed %.1f\n", what,
                all.samples, all.bytes / all.samples,
                all.compressed / all.samples);
    double before = 0;
    for (const auto& [name, steps] :
         {std::pair("read", Steps::kRead),
          std::pair("calculate", Steps::kCalculate),
          std::pair("encode", Steps::kEncode),
          std::pair("compress", Steps::kCompress)}) {
      double least = 1e300;
      for (int i = 0; i < 3; ++i) {
        least = std::min(least, Export(steps, false).nanos);
      }
      std::printf("  %-10s %8.1f ns a value\n", name,
                  (least - before) / all.samples);
      before = least;
    }
    std::printf("  %-10s %8.1f ns a value\n", "all", before / all.samples);
    Result with_raw;
    with_raw.nanos = 1e300;
    for (int i = 0; i < 3; ++i) {
      const Result result = Export(Steps::kCompress, false, /*raw=*/true);
      if (result.nanos < with_raw.nanos) with_raw = result;
    }
    const double more = with_raw.samples - all.samples;
    std::printf(
        "  %-10s %8.1f ns a value, of %.0f more, %.1f bytes each, compressed "
        "%.1f\n",
        "raw", (with_raw.nanos - before) / more, more,
        (with_raw.bytes - all.bytes) / more,
        (with_raw.compressed - all.compressed) / more);
  }

  void ReportScrape() {
    const aggregator::ScrapeRequest request{
        .format = aggregator::ExpositionFormat::kOpenMetrics,
        .now_of = [this](const std::string&) {
          return kStart + absl::Seconds(second_);
        }};
    const auto series = static_cast<double>(agents_.size()) * kSeries;
    double bytes = 0;
    double least = 1e300;
    for (int i = 0; i < 3; ++i) {
      const double start = CpuNanos();
      auto text = aggregator::Scrape(request, store_.get());
      Check(text.status());
      bytes = 0;
      Check(text->Write([&](const std::string& part) {
        bytes += static_cast<double>(part.size());
        return absl::OkStatus();
      }));
      least = std::min(least, CpuNanos() - start);
    }
    std::printf("a scrape: %.0f series, %.1f bytes and %.1f ns each\n", series,
                bytes / series, least / series);
  }

  const int seconds_;
  const int ticks_;
  int second_ = 0;
  const FleetWorkload workload_;
  testing::TempDirectory directory_;
  std::unique_ptr<aggregator::Store> store_;
  std::vector<std::unique_ptr<WorkloadAgent>> agents_;
  std::vector<aggregator::StoredEpoch> epochs_;
  aggregator::ExportedSchemas schemas_;
  std::optional<aggregator::RawEpochs> epochs_of_agents_;
};

}  // namespace
}  // namespace fleetperf::bench

int main(int argc, char** argv) {
  using fleetperf::bench::NumberArgument;
  fleetperf::bench::Bench(NumberArgument(argc, argv, 1, 20),
                          NumberArgument(argc, argv, 2, 1200),
                          NumberArgument(argc, argv, 3, 10))
      .Run();
  return 0;
}
