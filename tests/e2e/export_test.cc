// Tests that an engine gets every value by remote write, whatever ends and
// starts again meanwhile, and the newest values by scrapes. Skipped without the
// engines, which deploy/install-deps test unpacks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/os/files.h"
#include "perflib/clocks.h"
#include "tests/bench/http_client.h"
#include "tests/bench/peer_executable.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/engine.h"
#include "tests/e2e/fake_agent.h"
#include "tests/e2e/https_client.h"
#include "tests/e2e/process.h"
#include "tests/support/batch_writer.h"
#include "tests/support/countersets.h"
#include "tests/support/patience.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Values by series, which is the metric and the instance, and by time in
// milliseconds since 1970.
using Values = std::map<std::string, std::map<int64_t, double>>;

// Returns all values of metrics of the counterset "Disk", which match a
// pattern.
Values GetValues(Engine& engine, const std::string& metrics, absl::Time end) {
  Values values;
  for (const auto& series : engine.Query(
           absl::StrCat("{__name__=~\"fleetperf_disk_", metrics, "\"}[1d]"),
           end)) {
    const auto& labels = series["metric"];
    EXPECT_EQ(labels["machine"], "box");
    auto& of_series =
        values[absl::StrCat(labels["__name__"].get<std::string>(), " ",
                            labels["instance"].get<std::string>())];
    for (const auto& value : series["values"]) {
      double number = 0;
      EXPECT_TRUE(absl::SimpleAtod(value[1].get<std::string>(), &number));
      if (std::isnan(number)) continue;  // a staleness marker
      of_series[static_cast<int64_t>(
          std::llround(value[0].get<double>() * 1000))] = number;
    }
  }
  return values;
}

// Returns the values of a query without windows, as an engine has them.
Values StoredValues(const Deployment& deployment, absl::Time from,
                    absl::Time to) {
  const std::map<std::string, std::string> metrics = {
      {"Transfers/sec", "fleetperf_disk_transfers_per_second"},
      {"Queue Length", "fleetperf_disk_queue_length"}};
  Values values;
  for (const auto& [counter, metric] : metrics) {
    for (const std::string instance : {"C:", "D:", "E:"}) {
      for (const auto& line : deployment.Json(
               {"query",
                absl::StrCat("\\\\box\\Disk(", instance, ")\\", counter),
                "--from",
                absl::FormatTime(absl::RFC3339_sec, from, absl::UTCTimeZone()),
                "--to",
                absl::FormatTime(absl::RFC3339_sec, to, absl::UTCTimeZone()),
                "--step", "1s"})) {
        if (line["status"] != "ok") continue;
        values[absl::StrCat(metric, " ", instance)]
              [absl::ToUnixMillis(TimeOf(line))] = line["value"].get<double>();
      }
    }
  }
  return values;
}

// An agent of "box" with three disks, of which D: ends, with one tick a second.
// A double cannot have the transfers of E:.
class DiskSource : public BatchWriter {
 public:
  static constexpr int kTicksOfBatch = 10;
  static constexpr int kEndOfD = 25;  // its last tick

  explicit DiskSource(absl::Time start)
      : start_(start),
        machine_(Machine("box")),
        disk_(Counterset(DiskRegistration())),
        query_(Query(machine_, disk_, absl::Seconds(1),
                     {{kTransfers}, {kQueueLength, 4}})),
        instances_{Instance(machine_, disk_, "C:"),
                   Instance(machine_, disk_, "D:"),
                   Instance(machine_, disk_, "E:")} {}

  uint64_t batches() const { return batches_; }
  absl::Time TimeOfTick(int tick) const { return start_ + absl::Seconds(tick); }
  absl::Time newest() const { return TimeOfTick(ticks_); }
  int ticks() const { return ticks_; }
  // A rate of another value in each second.
  static uint64_t Transfers(size_t disk, int tick) {
    const auto number = static_cast<uint64_t>(tick);
    const uint64_t first = disk == 2 ? (uint64_t{1} << 60) - 1000 : 0;
    return first + (disk + 1) * number * (number + 1);
  }

  v1::CollectRequest NextBatch() {
    for (int i = 0; i < kTicksOfBatch; ++i) {
      const auto tick = static_cast<uint64_t>(++ticks_);
      std::vector<Row> rows;
      for (size_t disk = 0; disk < 3; ++disk) {
        if (disk == 1 && ticks_ > kEndOfD) continue;
        rows.push_back(
            {instances_[disk], {Transfers(disk, ticks_), (tick + disk) % 7}});
      }
      AddTick(query_,
              perflib::LinuxClocks(absl::Hours(9) + absl::Seconds(ticks_),
                                   newest()),
              rows);
    }
    v1::CollectRequest request;
    *request.mutable_batch() =
        MakeSealedBatch(kEpoch, ++batches_, TakeContent());
    return request;
  }

 private:
  const absl::Time start_;
  int ticks_ = 0;
  uint64_t batches_ = 0;
  const uint32_t machine_, disk_, query_;
  const std::vector<uint32_t> instances_;
};

void Deliver(const Deployment& deployment, const TlsFiles& tls, int batches,
             DiskSource* source) {
  const uint64_t first = source->batches() + 1;
  FakeAgent agent(deployment.address(), tls,
                  MakeHello("box", kEpoch, first, first));
  ASSERT_TRUE(agent.Receive().has_value());
  for (int i = 0; i < batches; ++i) {
    ASSERT_TRUE(agent.Send(source->NextBatch()));
  }
  ASSERT_TRUE(agent.ReceiveAck(source->batches()));
}

// Waits until the engine has the newest values.
void WaitForNewest(Engine& engine, const DiskSource& source) {
  const auto has_newest = [&] {
    const auto result =
        engine.Query("timestamp(fleetperf_disk_queue_length{instance=\"E:\"})",
                     source.newest());
    return !result.empty() &&
           result[0]["value"][1] ==
               absl::StrCat(absl::ToUnixSeconds(source.newest()));
  };
  bool has = false;
  Retry([&] { return has = has_newest(); });
  EXPECT_TRUE(has);
}

// The raw counters are exact, also beyond what a double can have.
void CheckRaw(Engine& engine, const DiskSource& source) {
  const std::string metric = "fleetperf_disk_transfers_raw";
  Values raw = GetValues(engine, "transfers_raw(_high)?",
                         source.newest() + absl::Hours(1));
  EXPECT_EQ(raw.size(), 3 + 1);
  const auto& low = raw[metric + " E:"];
  const auto& high = raw[metric + "_high E:"];
  ASSERT_EQ(low.size(), source.ticks());
  ASSERT_EQ(high.size(), source.ticks());
  for (int tick = 1; tick <= source.ticks(); ++tick) {
    const int64_t time = absl::ToUnixMillis(source.TimeOfTick(tick));
    ASSERT_TRUE(low.contains(time) && high.contains(time)) << tick;
    ASSERT_EQ((static_cast<uint64_t>(high.at(time)) << 50) +
                  static_cast<uint64_t>(low.at(time)),
              DiskSource::Transfers(2, tick));
  }
  // The low part begins again at the 18th tick. docs/tasks/export.md has this
  // query.
  const std::string x = metric + "{instance=\"E:\"}";
  const std::string difference =
      absl::StrCat("round(", x, " - ", x, " offset 30s)");
  const auto growth = engine.Query(
      absl::StrCat(difference, " + 2^50 * (", difference, " < bool 0)"),
      source.TimeOfTick(40));
  ASSERT_EQ(growth.size(), 1);
  EXPECT_EQ(growth[0]["value"][1], absl::StrCat(3 * (40 * 41 - 10 * 11)));
}

void TestExportTo(const std::string& package) {
  const auto executable = bench::PeerExecutable(package);
  if (!executable.ok()) GTEST_SKIP() << executable.status().message();
  Engine engine(package, *executable);
  engine.Start();
  Deployment deployment;
  const std::string section =
      absl::StrCat("export: {url: '", engine.url(),
                   "', raw: true, paths: '\\Disk(*)\\*', interval: 1s}\n");
  auto aggregator = deployment.StartAggregator(section);
  const TlsFiles tls = deployment.Issue("agent", {"box"});
  DiskSource source(absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now())) -
                    absl::Hours(3));
  Deliver(deployment, tls, 4, &source);
  WaitForNewest(engine, source);
  // The engine does not return the last value of a disk that has ended.
  const std::string queue = "fleetperf_disk_queue_length";
  const auto of_d = [&](int tick) {
    return engine.Query(queue + "{instance=\"D:\"}", source.TimeOfTick(tick));
  };
  EXPECT_FALSE(of_d(DiskSource::kEndOfD).empty());
  EXPECT_TRUE(of_d(DiskSource::kEndOfD + 1).empty());

  // Hours of the engine's absence, in which the data moves to chunks, and the
  // aggregator is killed.
  engine.Stop();
  Deliver(deployment, tls, 200, &source);
  EXPECT_TRUE(aggregator->WaitForError("of the export waits: "));
  aggregator->Signal(SIGKILL);
  aggregator->Wait();
  aggregator = deployment.StartAggregator(section);
  Deliver(deployment, tls, 200, &source);
  EXPECT_TRUE(aggregator->WaitForError("of the export waits: "));
  engine.Start();
  EXPECT_TRUE(aggregator->WaitForError("of the export goes on"));
  Deliver(deployment, tls, 10, &source);
  WaitForNewest(engine, source);

  const Values stored =
      StoredValues(deployment, source.TimeOfTick(0), source.newest());
  const Values exported =
      GetValues(engine, "(transfers_per_second|queue_length)",
                source.newest() + absl::Hours(1));
  ASSERT_EQ(stored.size(), 6);
  ASSERT_EQ(exported.size(), 6);
  for (const auto& [series, values] : stored) {
    const bool is_of_d = absl::EndsWith(series, "D:");
    ASSERT_GE(values.size(), is_of_d ? 24 : 4139) << series;
    const auto& engines = exported.at(series);
    ASSERT_EQ(engines.size(), values.size()) << series;
    for (const auto& [time, value] : values) {
      ASSERT_TRUE(engines.contains(time)) << series << " at " << time;
      ASSERT_DOUBLE_EQ(engines.at(time), value) << series << " at " << time;
    }
  }
  CheckRaw(engine, source);
}

TEST(Export, PrometheusScrapesTheNewestValues) {
  const auto prometheus = bench::PeerExecutable("prometheus");
  if (!prometheus.ok()) GTEST_SKIP() << prometheus.status().message();
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator(
      "web: {listen: '127.0.0.1:0', address_file: page}\n");
  // Ticks of the last 40 seconds; D: has ended.
  DiskSource source(absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now())) -
                    absl::Seconds(40));
  Deliver(deployment, deployment.Issue("agent", {"box"}), 4, &source);
  const std::string page(
      absl::StripSuffix(*ReadFile(deployment.File("page")), "\n"));
  const TlsFiles tls = deployment.Issue("reader", {"prometheus"});
  Engine engine("prometheus", *prometheus);
  engine.Start(absl::StrCat(
      "scrape_configs:\n"
      "  - job_name: fleetperf\n"
      "    scheme: https\n"
      "    scrape_interval: 1s\n"
      "    honor_labels: true\n"
      "    params: {path: ['\\Disk(*)\\*']}\n"
      "    tls_config: {ca_file: ",
      tls.authority, ", cert_file: ", tls.certificate, ", key_file: ", tls.key,
      "}\n    static_configs: [{targets: ['", page, "']}]\n"));
  WaitForNewest(engine, source);
  const int64_t newest = absl::ToUnixMillis(source.newest());
  Values expected;
  for (const auto& [series, values] :
       StoredValues(deployment, source.TimeOfTick(0), source.newest())) {
    if (values.contains(newest)) expected[series][newest] = values.at(newest);
  }
  EXPECT_EQ(expected.size(), 4);
  EXPECT_EQ(GetValues(engine, "(transfers_per_second|queue_length)",
                      source.newest() + absl::Hours(1)),
            expected);

  // The text format.
  int port = 0;
  ASSERT_TRUE(absl::SimpleAtoi(absl::StripPrefix(page, "127.0.0.1:"), &port));
  const std::string answer = HttpsClient(port, tls).Ask("GET", "/metrics");
  const size_t body = answer.find("\r\n\r\n") + 4;
  EXPECT_THAT(answer.substr(body),
              HasSubstr("fleetperf_disk_queue_length{instance=\"C:\","));
  Deployment::Write(deployment.File("metrics"), answer.substr(body));
  const Result checked = RunCommand(
      {"sh", "-c",
       absl::StrCat("'", absl::StripSuffix(*prometheus, "prometheus"),
                    "promtool' check metrics <'", deployment.File("metrics"),
                    "'")});
  // 3: it is valid, but has no help texts, and units as people expect them.
  EXPECT_EQ(checked.status, 3) << checked.error;

  const TlsFiles agent = deployment.Issue("agent", {"other"});
  EXPECT_THAT(HttpsClient(port, agent).Ask("GET", "/metrics"),
              StartsWith("HTTP/1.1 401"));
}

TEST(Export, VictoriaMetricsHasEachValue) { TestExportTo("victoria-metrics"); }

TEST(Export, PrometheusHasEachValue) { TestExportTo("prometheus"); }

}  // namespace
}  // namespace fleetperf::testing
