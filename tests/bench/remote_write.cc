#include "tests/bench/remote_write.h"

#include <snappy.h>

#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"

namespace fleetperf::bench {
namespace {

// Messages are serialized by hand, because serializing millions of small
// messages with protobuf would take longer than the servers need. Tags are from
//   message WriteRequest { repeated TimeSeries timeseries = 1; }
//   message TimeSeries { repeated Label labels = 1;
//                        repeated Sample samples = 2; }
//   message Label { string name = 1; string value = 2; }
//   message Sample { double value = 1; int64 timestamp = 2; }
constexpr char kTimeSeries = 0x0A, kLabel = 0x0A, kSample = 0x12;
constexpr char kLabelName = 0x0A, kLabelValue = 0x12;
constexpr char kSampleValue = 0x09, kSampleTimestamp = 0x10;

void AppendVarint(uint64_t number, std::string* out) {
  for (; number >= 0x80; number >>= 7) {
    out->push_back(static_cast<char>(number | 0x80));
  }
  out->push_back(static_cast<char>(number));
}

void AppendBytes(char tag, absl::string_view bytes, std::string* out) {
  out->push_back(tag);
  AppendVarint(bytes.size(), out);
  out->append(bytes.data(), bytes.size());
}

void AppendLabel(absl::string_view name, absl::string_view value,
                 std::string* out) {
  if (value.empty()) return;  // an empty label equals an absent one
  std::string label;
  AppendBytes(kLabelName, name, &label);
  AppendBytes(kLabelValue, value, &label);
  AppendBytes(kLabel, label, out);
}

void AppendSample(double value, int64_t timestamp, std::string* out) {
  std::string sample(1, kSampleValue);
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  sample.append(bytes, sizeof bytes);
  sample.push_back(kSampleTimestamp);
  AppendVarint(static_cast<uint64_t>(timestamp), &sample);
  AppendBytes(kSample, sample, out);
}

}  // namespace

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
        // Labels have to be sorted by name.
        AppendLabel("__name__", MetricName(counter), &series.labels);
        AppendLabel("counterset", counterset.name, &series.labels);
        AppendLabel("instance", instance, &series.labels);
        AppendLabel("machine", machine_->name(), &series.labels);
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
      AppendSample(series_[place].is_real ? std::bit_cast<double>(value)
                                          : static_cast<double>(value),
                   time, &series_[place].samples);
      ++samples_;
    }
  }
  std::string request;
  for (Series& series : series_) {
    if (series.samples.empty()) continue;
    request.push_back(kTimeSeries);
    AppendVarint(series.labels.size() + series.samples.size(), &request);
    request += series.labels;
    request += series.samples;
    series.samples.clear();
  }
  std::string compressed;
  snappy::Compress(request.data(), request.size(), &compressed);
  return compressed;
}

}  // namespace fleetperf::bench
