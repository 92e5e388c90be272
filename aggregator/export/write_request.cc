#include "aggregator/export/write_request.h"

#include <snappy.h>

#include <bit>
#include <cstring>

namespace fleetperf::aggregator {
namespace {

// Messages are serialized by hand, because protobuf would make an object of
// each sample. Tags are from
//   message WriteRequest { repeated TimeSeries timeseries = 1; }
//   message TimeSeries { repeated Label labels = 1;
//                        repeated Sample samples = 2; }
//   message Label { string name = 1; string value = 2; }
//   message Sample { double value = 1; int64 timestamp = 2; }
constexpr char kTimeSeries = 0x0A, kLabel = 0x0A, kSample = 0x12;
constexpr char kLabelName = 0x0A, kLabelValue = 0x12;
constexpr char kSampleValue = 0x09, kSampleTimestamp = 0x10;

constexpr size_t kMaxVarintSize = 10;

size_t VarintSize(uint64_t number) {
  return number == 0 ? 1 : (std::bit_width(number) + size_t{6}) / 7;
}

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

// Takes the bytes that AppendBytes has appended, without their tag and size.
absl::string_view TakeBytes(absl::string_view* from) {
  size_t size = 0;
  size_t at = 1;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>((*from)[at++]);
    size |= size_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) break;
  }
  const absl::string_view bytes = from->substr(at, size);
  from->remove_prefix(at + size);
  return bytes;
}

// Negative times take ten bytes, as protobuf's int64 does.
uint64_t Timestamp(const ExportSample& sample) {
  return static_cast<uint64_t>(sample.unix_millis);
}

// The size of a Sample, which is less than 128.
size_t SampleSize(const ExportSample& sample) {
  return 1 + sizeof sample.value + 1 + VarintSize(Timestamp(sample));
}

void AppendSample(const ExportSample& sample, std::string* out) {
  static_assert(std::endian::native == std::endian::little);
  char buffer[2 + 1 + sizeof sample.value + 1 + kMaxVarintSize];
  char* end = buffer;
  *end++ = kSample;
  *end++ = static_cast<char>(SampleSize(sample));
  *end++ = kSampleValue;
  std::memcpy(end, &sample.value, sizeof sample.value);
  end += sizeof sample.value;
  *end++ = kSampleTimestamp;
  uint64_t number = Timestamp(sample);
  for (; number >= 0x80; number >>= 7)
    *end++ = static_cast<char>(number | 0x80);
  *end++ = static_cast<char>(number);
  out->append(buffer, static_cast<size_t>(end - buffer));
}

}  // namespace

double StaleMarker() { return std::bit_cast<double>(0x7FF0000000000002); }

std::string EncodeLabels(const Labels& labels) {
  std::string encoded;
  // A map has the order that the protocol asks for: that of the names' bytes.
  for (const auto& [name, value] : labels) {
    if (value.empty()) continue;
    std::string label;
    AppendBytes(kLabelName, name, &label);
    AppendBytes(kLabelValue, value, &label);
    AppendBytes(kLabel, label, &encoded);
  }
  return encoded;
}

void ForEachLabel(
    absl::string_view encoded,
    absl::FunctionRef<void(absl::string_view name, absl::string_view value)>
        use) {
  while (!encoded.empty()) {
    absl::string_view label = TakeBytes(&encoded);
    const absl::string_view name = TakeBytes(&label);
    use(name, TakeBytes(&label));
  }
}

void WriteRequestBuilder::Add(absl::string_view encoded_labels,
                              absl::Span<const ExportSample> samples) {
  if (samples.empty()) return;
  size_t size = encoded_labels.size();
  for (const ExportSample& sample : samples) size += 2 + SampleSize(sample);
  request_.push_back(kTimeSeries);
  AppendVarint(size, &request_);
  request_.append(encoded_labels.data(), encoded_labels.size());
  for (const ExportSample& sample : samples) AppendSample(sample, &request_);
  series_.push_back({.end = request_.size(),
                     .samples = this->samples() + samples.size(),
                     .machine = machine_});
}

std::string WriteRequestBuilder::Encode(size_t begin, size_t end) const {
  const size_t start = EndBefore(begin);
  std::string body;
  snappy::Compress(request_.data() + start, EndBefore(end) - start, &body);
  return body;
}

void WriteRequestBuilder::Clear() {
  request_.clear();
  series_.clear();
}

std::string WriteRequestBuilder::Take() {
  std::string body = Encode(0, series());
  Clear();
  return body;
}

}  // namespace fleetperf::aggregator
