// A standby: all machines are at the first aggregator that agents list, and at
// the second while the first is down. The command line joins the samples of
// both. The page of the first has a gap, and leads to that of the second.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/text/units.h"
#include "perflib/clocks.h"
#include "tests/e2e/many_aggregators.h"
#include "tests/e2e/ticks.h"
#include "tests/support/patience.h"
#include "values/clock_check.h"

namespace fleetperf::testing {
namespace {

using perflib::PerfTime100NSecFromTime;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kSwitches[] = "\\\\m-000\\System\\Context Switches/sec";
constexpr absl::Duration kWindow = absl::Seconds(4);

// The environment variable FLEETPERF_OUTAGE names another length, such as 5m.
absl::Duration OutageLength() {
  absl::Duration length = 4 * kWindow;
  if (const char* text = std::getenv("FLEETPERF_OUTAGE")) {
    EXPECT_TRUE(absl::ParseDuration(text, &length)) << text;
  }
  return length;
}

class Standby : public ManyAggregators {
 protected:
  Standby() : ManyAggregators(1) {}

  // By hash, the agent prefers the aggregator that is listed as the second.
  void StartBoth() {
    for (const std::string name : {"a", "b"}) StartOne(name);
    second_ = Choose(0);
    first_ = second_ == "a" ? "b" : "a";
    for (const std::string& name : {first_, second_}) Kill(name);
    StartOne(second_, absl::StrCat(PageSection(second_),
                                   "agents: {reconnect_after: 1s}\n"));
    StartFirst();
  }
  void StartFirst() {
    StartOne(first_,
             absl::StrCat(PageSection(first_), "others: [{aggregator: '",
                          AddressOf(second_), "', page: 'https://",
                          PageOf(second_), "'}]\n"));
  }

  void WriteAgentConfig(const std::string& order) {
    Deployment::Write(
        deployment_.File("agent.yaml"),
        absl::StrCat("name: ", AgentName(0), "\naggregators: ['",
                     AddressOf(first_), "', '", AddressOf(second_), "']\n",
                     order,
                     "state_directory: state\n"
                     "queries: [{counterset: System}]\n"
                     "delivery: {batch_period: 1s}\ncapture: {directory: ",
                     capture_, "}\n", Deployment::TlsSection(agents_tls_)));
  }
  std::string ConnectedTo(const std::string& name) {
    return absl::StrCat("connected to the aggregator at ", AddressOf(name));
  }

  // Returns the ticks in a store, each once.
  Ticks StoredTicks(const std::string& name) {
    const Stored stored =
        ReadStored(deployment_, AgentName(0), "\\System\\Processes",
                   absl::Now() - absl::Hours(1), absl::Now() + absl::Hours(1),
                   AddressOf(name));
    EXPECT_THAT(stored.repeated, IsEmpty());
    return stored.ticks;
  }
  // Waits until a store has a tick that is later than `time`, which may be in
  // the future. Returns false kPatience after it.
  bool AwaitTickAfter(int64_t time, const std::string& name) {
    const absl::Time deadline =
        std::max(absl::Now(), perflib::TimeFromPerfTime100NSec(time)) +
        kPatience;
    while (absl::Now() < deadline) {
      const Ticks ticks = StoredTicks(name);
      if (!ticks.empty() && *ticks.rbegin() > time) return true;
    }
    return false;
  }
  bool AwaitTicksFor(absl::Duration time, const std::string& name) {
    return AwaitTickAfter(PerfTime100NSecFromTime(absl::Now() + time), name);
  }

  // Returns the windows of the last 15 minutes, from the first value on.
  std::vector<nlohmann::json> Windows(const std::vector<std::string>& names,
                                      absl::Duration step = kWindow) {
    std::vector<std::string> arguments = {
        "query",    kSwitches, "--since",
        "15m",      "--step",  absl::FormatDuration(step),
        "--format", "json"};
    for (const std::string& name : names) {
      arguments.insert(arguments.end(), {"--aggregator", AddressOf(name)});
    }
    const Result result = deployment_.Fleetperf(arguments);
    EXPECT_EQ(result.status, 0) << result.error;
    std::vector<nlohmann::json> windows;
    for (const std::string& line : LinesOf(result.output)) {
      nlohmann::json window = nlohmann::json::parse(line);
      if (windows.empty() && window["value"].is_null()) continue;
      windows.push_back(std::move(window));
    }
    return windows;
  }

  // Whether the store has a piece in the window (start, end]: two ticks that
  // are not too far apart, the second one in the window. An agent may leave out
  // ticks if it is late.
  static bool HasPiece(const Ticks& stored, absl::Time start, absl::Time end) {
    const auto is_piece = [&](int64_t older, int64_t newer) {
      const absl::Time at = perflib::TimeFromPerfTime100NSec(newer);
      return at > start && at <= end &&
             newer - older <= kMaxIntervalsApart * perflib::k100NSecPerSecond;
    };
    for (auto tick = stored.begin(); tick != stored.end(); ++tick) {
      if (tick == stored.begin()) continue;
      if (is_piece(*std::prev(tick), *tick)) return true;
    }
    return false;
  }
  static absl::Time EndOf(const nlohmann::json& window) {
    absl::Time end;
    std::string error;
    EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, std::string(window["time"]),
                                &end, &error))
        << error;
    return end;
  }

  // Returns the windows of a page: why they have no value, or "".
  std::map<absl::Time, std::string> WindowsOfPage(const std::string& name,
                                                  absl::Time from,
                                                  absl::Time to) {
    HttpsClient browser = BrowserOf(name);
    browser.Send("POST", "/api/v1/query", "Content-Type: application/json\r\n",
                 nlohmann::json({{"paths", {kSwitches}},
                                 {"startTime", FormatUtc(from)},
                                 {"endTime", FormatUtc(to)},
                                 {"step", absl::FormatDuration(kWindow)}})
                     .dump());
    EXPECT_THAT(browser.ReadHead(), HasSubstr(" 200 "));
    std::map<absl::Time, std::string> windows;
    while (const auto line = browser.ReadLine()) {
      const auto part = nlohmann::json::parse(*line);
      if (!part.contains("points")) continue;
      const auto& points = part["points"];
      for (size_t i = 0; i < points["v"].size(); ++i) {
        std::string& cause =
            windows[absl::FromUnixMillis(points["t"][i].get<int64_t>())];
        if (!points["v"][i].is_null()) continue;
        cause = points["causes"][absl::StrCat(i)].get<std::string>();
      }
    }
    return windows;
  }

  const std::string capture_ = deployment_.File("capture");
  std::string first_;
  std::string second_;
};

TEST_F(Standby, HasTheSamplesOfAnOutage) {
  StartBoth();
  WriteAgentConfig("");
  Process agent({Deployment::Executable("fleetperf-agent"), "--config",
                 deployment_.File("agent.yaml")});
  ASSERT_TRUE(agent.WaitForError(ConnectedTo(second_))) << agent.error();
  WriteAgentConfig("aggregators_order: listed\n");
  agent.Signal(SIGHUP);
  ASSERT_TRUE(agent.WaitForError(ConnectedTo(first_))) << agent.error();
  ASSERT_TRUE(AwaitTicksFor(2 * kWindow, first_));

  const std::vector<std::string> parts =
      absl::StrSplit(agent.error(), ConnectedTo(second_));
  const absl::Time killed_at = absl::Now();
  Kill(first_);
  // One more time than before.
  ASSERT_TRUE(
      agent.WaitForError(ConnectedTo(second_), static_cast<int>(parts.size())))
      << agent.error();
  ASSERT_TRUE(AwaitTickAfter(
      PerfTime100NSecFromTime(killed_at + OutageLength()), second_));

  StartFirst();
  ASSERT_TRUE(agent.WaitForError(ConnectedTo(first_), 2)) << agent.error();
  const absl::Time returned_at = absl::Now();
  const Ticks taken = ReadTaken(capture_);
  ASSERT_FALSE(taken.empty());
  // Batches are sent in order, so all of these have been acknowledged then.
  ASSERT_TRUE(AwaitTickAfter(*taken.rbegin(), first_));
  ASSERT_TRUE(AwaitTicksFor(2 * kWindow, first_));
  Stored both{.ticks = StoredTicks(first_)};
  both.ticks.merge(StoredTicks(second_));
  EXPECT_THAT(FindMissing(taken, both), IsEmpty());

  // Together, they have a value of each window of which one of them has a
  // piece, wherever the windows end.
  const Ticks at_first = StoredTicks(first_);
  const Ticks at_second = StoredTicks(second_);
  for (int seconds = 2; seconds <= 7; ++seconds) {
    const absl::Duration step = absl::Seconds(seconds);
    const auto windows = Windows({first_, second_}, step);
    EXPECT_GE(windows.size(), (returned_at - killed_at) / step);
    absl::Time start = absl::InfinitePast();  // the first has a value
    for (const auto& window : windows) {
      const absl::Time end = EndOf(window);
      if (HasPiece(at_first, start, end) || HasPiece(at_second, start, end)) {
        EXPECT_TRUE(window["value"].is_number()) << step << ": " << window;
      }
      start = end;
    }
  }
  // The first has none of the outage.
  size_t missing = 0;
  for (const auto& window : Windows({first_})) {
    if (window["value"].is_number()) continue;
    EXPECT_EQ(window["cause"], "no_samples") << window;
    ++missing;
  }
  EXPECT_GE(missing, OutageLength() / kWindow - 1);
  RecordProperty("windows_missing_at_the_first", std::to_string(missing));

  // The page links a gap of this cause to the same time of the second's page,
  // which has its values.
  std::vector<absl::Time> gap;
  for (const auto& [time, cause] :
       WindowsOfPage(first_, killed_at - kWindow, returned_at)) {
    if (cause == "GAP_CAUSE_NO_SAMPLES") gap.push_back(time);
  }
  ASSERT_GE(gap.size(), OutageLength() / kWindow - 1);
  const auto linked = WindowsOfPage(second_, gap.front(), gap.back() - kWindow);
  EXPECT_THAT(linked, SizeIs(Ge(gap.size() - 2)));
  for (const auto& [end, cause] : linked) {
    if (!HasPiece(at_second, end - kWindow, end)) continue;
    EXPECT_EQ(cause, "") << end;
  }
  EXPECT_THAT(
      BrowserOf(first_).Ask("POST", "/api/v1/others",
                            "Content-Type: application/json\r\n", "{}"),
      HasSubstr(absl::StrCat("\"page\":\"https://", PageOf(second_), "\"")));
}

}  // namespace
}  // namespace fleetperf::testing
