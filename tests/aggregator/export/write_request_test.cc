#include "aggregator/export/write_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <snappy.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// A decoder of protobuf's wire format, after its specification.
// https://protobuf.dev/programming-guides/encoding/
class Decoder {
 public:
  explicit Decoder(absl::string_view bytes) : bytes_(bytes) {}

  bool AtEnd() const { return bytes_.empty(); }

  uint64_t Varint() {
    uint64_t number = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(Take(1)[0]);
      number |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return number;
    }
  }
  double Double() {
    double value;
    std::memcpy(&value, Take(8).data(), 8);
    return value;
  }
  // Reads the key of a field, and checks it.
  void Expect(uint64_t field, uint64_t wire_type) {
    EXPECT_EQ(Varint(), field << 3 | wire_type);
  }
  absl::string_view Bytes(uint64_t field) {
    Expect(field, 2);
    const uint64_t size = Varint();
    return Take(size);
  }
  // The number of the field that comes next.
  uint64_t NextField() const { return static_cast<uint8_t>(bytes_[0]) >> 3; }

 private:
  absl::string_view Take(size_t size) {
    if (size > bytes_.size()) ADD_FAILURE() << "the message is cut off";
    const absl::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(taken.size());
    return taken.size() == size ? taken
                                : absl::string_view("\0\0\0\0\0\0\0\0", 8);
  }

  absl::string_view bytes_;
};

struct TimeSeries {
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<ExportSample> samples;
};

std::vector<TimeSeries> Decode(const std::string& body) {
  std::string message;
  EXPECT_TRUE(snappy::Uncompress(body.data(), body.size(), &message));
  std::vector<TimeSeries> all;
  for (Decoder request(message); !request.AtEnd();) {
    Decoder encoded(request.Bytes(1));
    TimeSeries& series = all.emplace_back();
    while (!encoded.AtEnd() && encoded.NextField() == 1) {
      Decoder label(encoded.Bytes(1));
      const std::string name(label.Bytes(1));
      series.labels.emplace_back(name, label.Bytes(2));
      EXPECT_TRUE(label.AtEnd());
    }
    while (!encoded.AtEnd()) {
      Decoder sample(encoded.Bytes(2));
      sample.Expect(1, 1);
      const double value = sample.Double();
      sample.Expect(2, 0);
      const auto time = static_cast<int64_t>(sample.Varint());
      series.samples.push_back({time, value});
      EXPECT_TRUE(sample.AtEnd());
    }
  }
  return all;
}

TEST(EncodeLabels, SortsByTheBytesOfTheNames) {
  WriteRequestBuilder builder;
  const std::string labels = EncodeLabels(
      {{"role", "web"}, {"__name__", "m"}, {"Rack", "7"}, {"empty", ""}});
  builder.Add(labels, {{.unix_millis = 1, .value = 2}});
  EXPECT_THAT(Decode(builder.Take()).at(0).labels,
              ElementsAre(Pair("Rack", "7"), Pair("__name__", "m"),
                          Pair("role", "web")));
}

TEST(WriteRequestBuilder, KeepsEveryBitOfSamples) {
  const std::vector<ExportSample> samples = {
      {0, 0.0},
      {127, -0.0},
      {128, 1e-300},
      {1'764'257'122'345, 42.5},
      {-1, std::numeric_limits<double>::infinity()},
      {std::numeric_limits<int64_t>::max(), StaleMarker()},
  };
  const std::string labels =
      EncodeLabels({{"__name__", "m"}, {"machine", std::string(300, 'x')}});
  WriteRequestBuilder builder;
  builder.Add(labels, samples);
  builder.Add(labels, {});
  builder.Add(EncodeLabels({{"__name__", "n"}}), {{5, 6}});
  EXPECT_EQ(builder.samples(), 7u);
  const size_t size = builder.size();
  const std::string body = builder.Take();
  size_t uncompressed = 0;
  ASSERT_TRUE(
      snappy::GetUncompressedLength(body.data(), body.size(), &uncompressed));
  EXPECT_EQ(uncompressed, size);
  const std::vector<TimeSeries> all = Decode(body);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].labels.at(1).second.size(), 300u);
  ASSERT_EQ(all[0].samples.size(), samples.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(all[0].samples[i].unix_millis, samples[i].unix_millis);
    EXPECT_EQ(std::bit_cast<uint64_t>(all[0].samples[i].value),
              std::bit_cast<uint64_t>(samples[i].value));
  }
  EXPECT_EQ(all[1].samples.at(0).unix_millis, 5);
}

TEST(WriteRequestBuilder, BeginsAgainAfterTake) {
  WriteRequestBuilder builder;
  builder.Add(EncodeLabels({{"__name__", "m"}}), {{1, 1}});
  builder.Take();
  EXPECT_EQ(builder.size(), 0u);
  EXPECT_EQ(builder.samples(), 0u);
  EXPECT_THAT(Decode(builder.Take()), ::testing::IsEmpty());
}

// https://prometheus.io/docs/specs/prw/remote_write_spec/ gives the bits.
TEST(StaleMarker, IsTheNaNOfTheSpecification) {
  EXPECT_EQ(std::bit_cast<uint64_t>(StaleMarker()), 0x7FF0000000000002);
  EXPECT_TRUE(std::isnan(StaleMarker()));
}

TEST(EncodedLabels, AreReadInOrder) {
  const Labels labels = {{"Zone", "n"},
                         {"__name__", std::string(200, 'x')},
                         {std::string(130, 'y'), std::string(70'000, 'z')}};
  Labels read;
  std::string last;
  ForEachLabel(EncodeLabels(labels),
               [&](absl::string_view name, absl::string_view value) {
                 EXPECT_LT(last, name);
                 last = std::string(name);
                 read[last] = std::string(value);
               });
  EXPECT_EQ(read, labels);
}

}  // namespace
}  // namespace fleetperf::aggregator
