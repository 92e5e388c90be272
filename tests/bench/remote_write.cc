#include "tests/bench/remote_write.h"

#include <bit>
#include <utility>

#include "absl/strings/ascii.h"

namespace fleetperf::bench {

std::string MetricName(absl::string_view counter) {
  std::string name(counter);
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

RemoteWriter::RemoteWriter(std::unique_ptr<MachineWorkload> machine)
    : machine_(std::move(machine)) {
  for (const WorkloadCounterset& counterset : machine_->countersets()) {
    for (const std::string& instance : counterset.instances) {
      for (const std::string& counter : counterset.counters) {
        Series& series = series_.emplace_back();
        series.is_real = counterset.is_real;
        series.labels =
            aggregator::EncodeLabels({{"__name__", MetricName(counter)},
                                      {"counterset", counterset.name},
                                      {"instance", instance},
                                      {"machine", machine_->name()}});
      }
    }
  }
}

std::string RemoteWriter::NextRequest(int ticks) {
  for (int i = 0; i < ticks; ++i) {
    const WorkloadTick& tick = machine_->Tick();
    const int64_t time = absl::ToUnixMillis(tick.time);
    for (size_t place = 0; place < series_.size(); ++place) {
      if (!tick.values[place].has_value()) continue;
      const uint64_t value = *tick.values[place];
      series_[place].samples.push_back(
          {.unix_millis = time,
           .value = series_[place].is_real ? std::bit_cast<double>(value)
                                           : static_cast<double>(value)});
      ++samples_;
    }
  }
  for (Series& series : series_) {
    request_.Add(series.labels, series.samples);
    series.samples.clear();
  }
  return request_.Take();
}

}  // namespace fleetperf::bench
