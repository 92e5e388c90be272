// A fixture for tests of the hub: runs its work step by step, and prints the
// messages of subscribers.

#ifndef FLEETPERF_TESTS_AGGREGATOR_SUBSCRIBE_HUB_FIXTURE_H_
#define FLEETPERF_TESTS_AGGREGATOR_SUBSCRIBE_HUB_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "aggregator/subscribe/hub.h"
#include "tests/support/disk_agent.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {

// Reads a subscriber's messages: "+1 web-1 \Disk(C:)\Queue Length", "1@5=2" for
// a value 5 s after the start, "1@5=2*0.5" with its presence if any of the
// values has one, "1@5 gap", "1@5 raw 2", "-1", "history sent". Series have the
// numbers in the order of their first mention.
class Reader {
 public:
  explicit Reader(std::shared_ptr<Subscription> subscription)
      : subscription_(std::move(subscription)) {}

  const std::shared_ptr<Subscription>& subscription() const {
    return subscription_;
  }

  // Returns all messages since the last call.
  std::vector<std::string> Read() {
    std::vector<std::string> notes;
    Outbox::Message message;
    while (subscription_->outbox()->Take(&message)) {
      ++messages_;
      v1::SubscribeResponse response = message.response;
      for (const auto& part : message.encoded_values) {
        v1::SubscribeResponse values;
        EXPECT_TRUE(values.ParseFromString(*part));
        response.MergeFrom(values);
      }
      Note(response, &notes);
    }
    return notes;
  }

  int messages() const { return messages_; }
  // The messages that say that all that was stored has been sent.
  int histories() const { return histories_; }
  uint64_t lagged() const { return lagged_; }
  const v1::LiveMachines& live_machines() const { return live_machines_; }

 private:
  void Note(const v1::SubscribeResponse& response,
            std::vector<std::string>* notes) {
    lagged_ += response.lagged();
    if (response.has_live_machines()) {
      live_machines_ = response.live_machines();
    }
    for (const v1::Series& series : response.series()) {
      notes->push_back(absl::StrCat("+", NumberOf(series.id()), " ",
                                    series.machine(), " ", series.path()));
    }
    for (const v1::Points& points : response.points()) {
      int64_t nanos = 0;
      for (int i = 0; i < points.values_size(); ++i) {
        nanos += points.time_unix_nanos(i);
        std::string& note = notes->emplace_back(
            absl::StrFormat("%d@%g", NumberOf(points.series()),
                            absl::ToDoubleSeconds(absl::FromUnixNanos(nanos) -
                                                  testing::kStart)));
        const bool is_gap = !points.statuses().empty() &&
                            points.statuses(i) == v1::VALUE_STATUS_GAP;
        absl::StrAppend(
            &note, is_gap ? " gap" : absl::StrFormat("=%g", points.values(i)));
        if (!points.presence().empty()) {
          absl::StrAppendFormat(&note, "*%g", points.presence(i));
        }
      }
    }
    for (const v1::RawSamples& raw : response.raw_samples()) {
      for (const v1::RawSample& sample : raw.samples()) {
        notes->push_back(absl::StrFormat(
            "%d@%g raw %d", NumberOf(raw.series()),
            absl::ToDoubleSeconds(
                perflib::TimeFromPerfTime100NSec(sample.perf_time_100nsec()) -
                testing::kStart),
            sample.value()));
      }
    }
    for (const uint32_t id : response.ended()) {
      notes->push_back(absl::StrCat("-", NumberOf(id)));
    }
    if (response.history_sent()) ++histories_;
  }

  int NumberOf(uint32_t id) {
    return numbers_.try_emplace(id, static_cast<int>(numbers_.size()) + 1)
        .first->second;
  }

  const std::shared_ptr<Subscription> subscription_;
  std::map<uint32_t, int> numbers_;
  int messages_ = 0;
  int histories_ = 0;
  uint64_t lagged_ = 0;
  v1::LiveMachines live_machines_;
};

class HubTest : public ::testing::Test {
 protected:
  explicit HubTest(const HubLimits& limits = {})
      : hub_(&*store_, limits, /*threads=*/0) {}

  struct Wanted {
    absl::Duration interval;
    bool raw = false;
    Choice choice;
    std::optional<absl::Time> start;
  };
  // Returns nullptr and reports a failure if the hub refuses the subscription.
  std::unique_ptr<Reader> Subscribe(const std::vector<std::string>& paths) {
    return Subscribe(paths, Wanted());
  }
  std::unique_ptr<Reader> Subscribe(const std::vector<std::string>& paths,
                                    const Wanted& wanted) {
    auto parsed = PathSet::Parse(paths, store_->directory());
    EXPECT_OK(parsed);
    auto reader = std::make_unique<Reader>(std::make_shared<Subscription>(
        SubscriptionRequest{
            .paths = *std::move(parsed),
            .form = {.interval = wanted.interval, .raw = wanted.raw},
            .choice = wanted.choice,
            .start = wanted.start},
        &clock_));
    EXPECT_OK(hub_.Add(reader->subscription()));
    Work();
    return reader;
  }

  void Work() {
    while (hub_.WorkOnce()) {
    }
  }

  // Delivers the agent's next batch.
  void Offer(testing::DiskAgent& agent) {
    const auto batch = agent.TakeBatch();
    ASSERT_OK(batch);
    hub_.OnBatch(*batch);
  }
  void Arrive(testing::DiskAgent& agent) {
    Offer(agent);
    Work();
  }

  testing::TestStore store_;
  testing::SimulatedClock clock_;
  Hub hub_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_TESTS_AGGREGATOR_SUBSCRIBE_HUB_FIXTURE_H_
