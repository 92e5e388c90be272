// Exports a machine of a store with one of the encoders, for tests.

#ifndef FLEETPERF_TESTS_AGGREGATOR_EXPORT_ENCODER_SINK_H_
#define FLEETPERF_TESTS_AGGREGATOR_EXPORT_ENCODER_SINK_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "aggregator/export/write_request.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/unexported.h"
#include "aggregator/store/store.h"
#include "tests/support/disk_agent.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {

// Returns "3=7" for 7 at 3 s after kStart, or "3=end" for a staleness marker.
inline std::string TextOf(const ExportSample& sample) {
  const double seconds =
      static_cast<double>(sample.unix_millis -
                          absl::ToUnixMillis(testing::kStart)) /
      1000;
  const bool is_end = std::bit_cast<uint64_t>(sample.value) ==
                      std::bit_cast<uint64_t>(StaleMarker());
  if (is_end) return absl::StrFormat("%g=end", seconds);
  return sample.value == std::floor(sample.value)
             ? absl::StrFormat("%g=%.0f", seconds, sample.value)
             : absl::StrFormat("%g=%g", seconds, sample.value);
}

template <typename Encoder>
class EncoderSink : public UnexportedSink {
 public:
  void Begin(absl::Time, uint64_t) override {}
  absl::Status BeginFrame(const Frame& frame, uint32_t first_new) override {
    encoder_->BeginFrame(frame, first_new);
    return absl::OkStatus();
  }
  absl::Status AddTicks(uint32_t begin, uint32_t end) override {
    return encoder_->AddTicks(begin, end,
                              [this](absl::string_view labels,
                                     absl::Span<const ExportSample> samples) {
                                return Add(labels, samples);
                              });
  }
  void Advance(ExportProgress progress) override {
    progress_.push_back(std::move(progress));
  }

  bool ends = false;  // whether the machine ends after a read

 protected:
  // Passes to Add what has arrived of web-1 since the last call.
  void ReadFrom(Store& store, Encoder* encoder,
                std::function<bool(const CollectedQuery&)> filter = nullptr) {
    encoder_ = encoder;
    progress_.clear();
    EXPECT_OK(store.ReadUnexported({.machine = "web-1",
                                    .filter = std::move(filter),
                                    .columns =
                                        [&](const CollectedQuery& query) {
                                          return encoder->WantedColumns(query);
                                        },
                                    .intervals = {absl::Seconds(1)}},
                                   this));
    if (ends) {
      EXPECT_OK(encoder->End([this](absl::string_view labels,
                                    absl::Span<const ExportSample> samples) {
        return Add(labels, samples);
      }));
    }
    EXPECT_OK(store.SetExported(progress_));
  }

  virtual absl::Status Add(absl::string_view labels,
                           absl::Span<const ExportSample> samples) = 0;

 private:
  Encoder* encoder_ = nullptr;
  std::vector<ExportProgress> progress_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_TESTS_AGGREGATOR_EXPORT_ENCODER_SINK_H_
