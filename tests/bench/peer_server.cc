#include "tests/bench/peer_server.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "tests/bench/remote_write.h"

namespace fleetperf::bench {
namespace {

constexpr char kTimer[] =
    R"(User_Time{counterset="Processor Information",instance="0,0"})";
constexpr char kGauge[] =
    R"(Thread_Count{counterset="Process",instance="0,1"})";

std::string Seconds(absl::Duration duration) {
  return absl::StrCat(absl::ToInt64Seconds(duration), "s");
}

std::string UnixSeconds(absl::Time time) {
  return absl::StrCat(absl::ToUnixSeconds(time));
}

double NumberOf(const nlohmann::json& text) {
  double number = 0;
  if (!absl::SimpleAtod(text.get<std::string>(), &number)) return 0;
  return number;
}

struct Request {
  std::string path;
  HttpClient::Parameters parameters;
};

Request At(absl::Time time, const std::string& query) {
  return {"/api/v1/query", {{"query", query}, {"time", UnixSeconds(time)}}};
}

Request RequestOf(Question question, const Scope& scope,
                  absl::Duration rate_surplus) {
  const std::string range = Seconds(scope.end - scope.start);
  if (question == Question::kRawSeries) {
    std::string series = kTimer;
    series.insert(series.size() - 1,
                  absl::StrCat(",machine=\"", scope.machine, "\""));
    return At(scope.end, absl::StrCat(series, "[", range, "]"));
  }
  if (question == Question::kTopMachines) {
    return At(scope.end, absl::StrCat("topk(", kTop, ",avg_over_time(", kGauge,
                                      "[", range, "]))"));
  }
  // Converts a rate in 100 ns per second to percent of a processor.
  return {
      "/api/v1/query_range",
      {{"query", absl::StrCat("avg(rate(", kTimer, "[",
                              Seconds(scope.step + rate_surplus), "]))/1e5")},
       {"start", UnixSeconds(scope.start + scope.step)},
       {"end", UnixSeconds(scope.end)},
       {"step", Seconds(scope.step)}}};
}

}  // namespace

PeerServer::PeerServer(std::string name, absl::Duration rate_surplus)
    : name_(std::move(name)),
      rate_surplus_(rate_surplus),
      port_(FreePort()),
      client_(port_) {}

absl::Status PeerServer::Run(const std::vector<std::string>& command,
                             const std::string& path) {
  process_ = std::make_unique<testing::Process>(command);
  const absl::Time deadline = absl::Now() + testing::kPatience;
  while (true) {
    const absl::Status status = client_.Get(path).status();
    if (status.ok()) return status;
    if (absl::Now() > deadline) {
      return absl::UnavailableError(absl::StrCat("cannot start ", name_, ": ",
                                                 status.message(), "\n",
                                                 process_->error()));
    }
    absl::SleepFor(absl::Milliseconds(20));
  }
}

absl::Status PeerServer::Prepare(const Workload& workload,
                                 int ticks_per_message) {
  workload_ = workload;
  std::vector<RemoteWriter> writers;
  for (size_t i = 0; i < workload.machines; ++i) {
    writers.emplace_back(workload.make_machine(i));
  }
  const auto max_ticks = static_cast<size_t>(ticks_per_message);
  for (size_t done = 0; done < workload.ticks; done += max_ticks) {
    const size_t ticks = std::min(max_ticks, workload.ticks - done);
    for (size_t i = 0; i < writers.size(); ++i) {
      requests_[i % kConnections].push_back(
          writers[i].NextRequest(static_cast<int>(ticks)));
    }
  }
  for (const RemoteWriter& writer : writers) samples_ += writer.samples();
  return absl::OkStatus();
}

absl::Status PeerServer::Send() {
  std::array<absl::Status, kConnections> results;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kConnections; ++i) {
    threads.emplace_back([&, i] {
      const std::vector<std::string> headers = {
          "Content-Encoding: snappy", "Content-Type: application/x-protobuf",
          "X-Prometheus-Remote-Write-Version: 0.1.0"};
      HttpClient client(port_);
      for (const std::string& request : requests_[i]) {
        results[i].Update(
            client.Post("/api/v1/write", headers, request).status());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  requests_ = {};
  for (const absl::Status& result : results) RETURN_IF_ERROR(result);
  return absl::OkStatus();
}

absl::StatusOr<nlohmann::json> PeerServer::Get(
    const std::string& path, const HttpClient::Parameters& parameters,
    absl::Duration* took) {
  const absl::Time begin = absl::Now();
  ASSIGN_OR_RETURN(const std::string body, client_.Get(path, parameters));
  *took = absl::Now() - begin;
  const nlohmann::json answer =
      nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object() || !answer.contains("data")) {
    return absl::InternalError(
        absl::StrCat("invalid answer of ", name_, ": ", body.substr(0, 200)));
  }
  return answer["data"]["result"];
}

absl::StatusOr<uint64_t> PeerServer::CountSamples() {
  // Counts each metric separately: without metric names, several series would
  // have the same labels.
  std::set<std::string> metrics;
  for (size_t i = 0; i < workload_.machines; ++i) {
    for (const auto& counterset : workload_.make_machine(i)->countersets()) {
      for (const std::string& counter : counterset.counters) {
        metrics.insert(MetricName(counter));
      }
    }
  }
  uint64_t samples = 0;
  for (const std::string& metric : metrics) {
    const Request request =
        At(workload_.end(),
           absl::StrCat("sum(count_over_time({__name__=\"", metric, "\"}[",
                        Seconds(workload_.end() - workload_.start), "]))"));
    absl::Duration took;
    ASSIGN_OR_RETURN(const nlohmann::json result,
                     Get(request.path, request.parameters, &took));
    if (result.empty()) continue;
    samples += static_cast<uint64_t>(NumberOf(result[0]["value"][1]));
  }
  return samples;
}

absl::StatusOr<Answer> PeerServer::Ask(Question question, const Scope& scope) {
  Request request = RequestOf(question, scope, rate_surplus_);
  request.parameters.emplace_back("nocache", "1");  // Prometheus has no cache
  Answer answer;
  ASSIGN_OR_RETURN(const nlohmann::json result,
                   Get(request.path, request.parameters, &answer.took));
  for (const nlohmann::json& series : result) {
    if (question == Question::kTopMachines) {
      answer.machines.push_back(series["metric"]["machine"]);
      answer.values.push_back(NumberOf(series["value"][1]));
      continue;
    }
    for (const nlohmann::json& value : series["values"]) {
      answer.values.push_back(NumberOf(value[1]));
    }
  }
  return answer;
}

}  // namespace fleetperf::bench
