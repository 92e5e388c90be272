#include "tests/e2e/fleet_viewers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace fleetperf::testing {

using ::testing::HasSubstr;

bool FleetViewer::HaveAll(size_t machines, double last) const {
  return values_.size() == machines &&
         std::all_of(values_.begin(), values_.end(), [last](const auto& entry) {
           return std::count(entry.second.begin(), entry.second.end(), last);
         });
}

void FleetViewer::ExpectContinuous(size_t machines, int first, int last) {
  while (!HaveAll(machines, last)) {
    ASSERT_TRUE(Read()) << "the stream has ended";
  }
  std::vector<double> expected;
  for (int value = first; value <= last; ++value) expected.push_back(value);
  for (const auto& [machine, values] : values_) {
    EXPECT_EQ(values, expected) << machine;
  }
}

void FleetViewer::AwaitUnreachable(const std::set<std::string>& addresses) {
  while (unreachable_ != addresses) {
    ASSERT_TRUE(Read()) << "the stream has ended";
  }
}

namespace {

v1::SubscribeRequest RequestFor(const std::string& path) {
  v1::SubscribeRequest request;
  request.add_paths(path);
  return request;
}

}  // namespace

GrpcViewer::GrpcViewer(const std::string& address, const TlsFiles& tls,
                       const std::string& path)
    : subscriber_(address, tls, RequestFor(path)) {}

bool GrpcViewer::Read() {
  if (!subscriber_.Read()) return false;
  const v1::SubscribeResponse& response = subscriber_.last;
  for (const v1::Series& series : response.series()) {
    AddSeries(series.id(), series.machine());
  }
  for (const v1::Points& points : response.points()) {
    for (const double value : points.values()) {
      AddValue(points.series(), value);
    }
  }
  if (response.has_unreachable()) {
    std::set<std::string> addresses;
    for (const v1::UnreachablePeer& peer : response.unreachable().peers()) {
      addresses.insert(peer.address());
    }
    SetUnreachable(std::move(addresses));
  }
  return true;
}

PageViewer::PageViewer(int port, const TlsFiles& tls, const std::string& path)
    : page_(port, tls) {
  page_.Send("POST", "/api/v1/subscribe", "Content-Type: application/json\r\n",
             nlohmann::json({{"paths", {path}}}).dump());
  EXPECT_THAT(page_.ReadHead(), HasSubstr("200"));
}

bool PageViewer::Read() {
  const std::optional<std::string> line = page_.ReadLine();
  if (!line.has_value()) return false;
  const auto json = nlohmann::json::parse(*line);
  for (const auto& series : json.value("series", nlohmann::json::array())) {
    AddSeries(series["id"].get<uint32_t>(),
              series["machine"].get<std::string>());
  }
  for (const auto& points : json.value("points", nlohmann::json::array())) {
    for (const double value : points["v"]) {
      AddValue(points["series"].get<uint32_t>(), value);
    }
  }
  if (json.contains("unreachable")) {
    std::set<std::string> addresses;
    for (const auto& peer : json["unreachable"]) {
      addresses.insert(peer["address"].get<std::string>());
    }
    SetUnreachable(std::move(addresses));
  }
  return true;
}

}  // namespace fleetperf::testing
