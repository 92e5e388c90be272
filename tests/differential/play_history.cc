// Plays histories into a store and asks questions about them, as told on
// standard input: one JSON array per line, the first element of which names the
// command. Writes one JSON object per question to standard output. Times are in
// 100 ns since kStart. differential.py writes the commands.
//
//   ["store"]                                starts an empty store
//   ["agent", machine, epoch, labels]        starts a process of an agent
//   ["counterset", handle, name, guid, has_instances, counters]
//   ["query", handle, counterset, interval, columns]
//   ["instance", handle, counterset, name, id, occurrence, is_born]
//   ["retire", instance]
//   ["tick", query, clocks, rows]            rows: [instance, values]
//   ["failure", query, clocks, status]
//   ["loss", start, end, ticks, cause]
//   ["send"]                                 commits what was added
//   ["compact"], ["thin", "minute"]
//   ["ask", question]                        with 1, 2 and 7 threads

#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "aggregator/query/range_query.h"
#include "base/status_macros.h"
#include "fleetperf/v1/fleet.pb.h"
#include "nlohmann/json.hpp"
#include "perflib/clocks.h"
#include "perflib/guid.h"
#include "perflib/registration.h"
#include "proto/condition.h"
#include "tests/support/query_results.h"
#include "tests/support/raw_samples.h"
#include "tests/support/test_store.h"

namespace fleetperf::testing {
namespace {

using aggregator::AggregateFunction;
using aggregator::RangeRequest;
using aggregator::Resolution;
using aggregator::SeriesResult;
using nlohmann::json;

absl::Duration ToDuration(int64_t ticks) {
  return absl::Nanoseconds(100) * ticks;
}
absl::Time ToTime(int64_t ticks) { return kStart + ToDuration(ticks); }
int64_t ToTicks(absl::Time time) {
  return (time - kStart) / absl::Nanoseconds(100);
}

template <typename T>
T OneOf(const std::map<std::string, T>& names, const json& name) {
  return names.at(name.get<std::string>());
}

Over OverOf(const json& name) {
  return OneOf<Over>({{"", Over::kFormula},
                      {"avg", Over::kAverage},
                      {"min", Over::kMinimum},
                      {"max", Over::kMaximum},
                      {"last", Over::kLast},
                      {"sum", Over::kSum}},
                     name);
}

AggregateFunction FunctionOf(const json& name) {
  return OneOf<AggregateFunction>({{"auto", AggregateFunction::kAuto},
                                   {"avg", AggregateFunction::kAverage},
                                   {"sum", AggregateFunction::kSum},
                                   {"min", AggregateFunction::kMinimum},
                                   {"max", AggregateFunction::kMaximum},
                                   {"count", AggregateFunction::kCount},
                                   {"p50", AggregateFunction::kP50},
                                   {"p90", AggregateFunction::kP90},
                                   {"p95", AggregateFunction::kP95},
                                   {"p99", AggregateFunction::kP99}},
                                  name);
}

Comparison ComparisonOf(const json& name) {
  return OneOf<Comparison>({{">", Comparison::kGreater},
                            {">=", Comparison::kGreaterOrEqual},
                            {"<", Comparison::kLess},
                            {"<=", Comparison::kLessOrEqual},
                            {"=", Comparison::kEqual},
                            {"!=", Comparison::kNotEqual}},
                           name);
}

v1::LossCause CauseOf(const json& name) {
  return OneOf<v1::LossCause>({{"spool_full", v1::LOSS_CAUSE_SPOOL_FULL},
                               {"overrun", v1::LOSS_CAUSE_OVERRUN},
                               {"power_cut", v1::LOSS_CAUSE_POWER_CUT}},
                              name);
}

perflib::Clocks ClocksOf(const json& clocks) {
  return {.perf_time_stamp = clocks[0],
          .perf_time_100nsec = perflib::PerfTime100NSecFromTime(kStart) +
                               clocks[1].get<int64_t>(),
          .perf_freq = clocks[2]};
}

perflib::CountersetRegistration RegistrationOf(const json& command) {
  perflib::CountersetRegistration registration{
      .guid = *perflib::ParseGuid(command[3].get<std::string>()),
      .name = command[2],
      .instance_type = command[4].get<bool>()
                           ? perflib::kCountersetMultipleInstances
                           : perflib::kCountersetSingleInstance};
  for (const json& counter : command[5]) {
    registration.counters.push_back(
        {.counter_id = counter.at("id"),
         .type = counter.at("type"),
         .base_counter_id = counter.value("base", perflib::kNoCounter),
         .perf_time_id = counter.value("time", perflib::kNoCounter),
         .perf_freq_id = counter.value("freq", perflib::kNoCounter),
         .multi_id = counter.value("multi", perflib::kNoCounter),
         .aggregate_function = counter.value("aggregate", 0u),
         .name = counter.value("name", "")});
  }
  return registration;
}

std::vector<BatchWriter::Column> ColumnsOf(const json& columns) {
  std::vector<BatchWriter::Column> result;
  for (const json& column : columns) {
    result.push_back({.counter_id = column.at("id"),
                      .value_size = column.at("size"),
                      .only_linked = column.at("only_linked"),
                      .wraps = column.at("wraps")});
  }
  return result;
}

aggregator::Aggregation AggregationOf(const json& question) {
  aggregator::Aggregation aggregation{.function =
                                          FunctionOf(question.at("agg"))};
  const std::set<std::string> by = question.at("by");
  aggregation.across_counters =
      by.contains("counterset") && !by.contains("counter");
  for (const std::string& name : by) {
    if (name == "machine") aggregation.by_machine = true;
    if (name == "instance") aggregation.by_instance = true;
    if (name == "name") aggregation.by_name = true;
    if (name == "label:role") aggregation.labels.push_back("role");
  }
  return aggregation;
}

RangeRequest RequestOf(const json& question) {
  RangeRequest request{.paths = question.at("paths"),
                       .start = ToTime(question.at("start")),
                       .end = ToTime(question.at("end")),
                       .step = ToDuration(question.at("step")),
                       .over = OverOf(question.at("over"))};
  request.choice.top = question.value("top", 0u);
  request.choice.bottom = question.value("bottom", 0u);
  if (question.contains("where")) {
    request.choice.where = {.comparison = ComparisonOf(question.at("where")[0]),
                            .number = question.at("where")[1]};
  }
  if (question.contains("agg")) request.aggregation = AggregationOf(question);
  return request;
}

uint32_t DefineInstance(testing::TestAgent* agent, uint32_t machine,
                        uint32_t counterset, const json& command) {
  return agent->Instance(machine, counterset, command[3], command[4],
                         command[5], command[6]);
}

json ToJson(absl::Time time, const WindowValue& value) {
  return {ToTicks(time),      std::string(StatusName(value.result.status)),
          value.result.value, std::string(NameOf(value.result.cause)),
          value.breaks,       value.coverage,
          value.presence};
}

json ToJson(const SeriesResult& result, absl::Time end) {
  json series = {{"machine", result.series.machine()},
                 {"path", result.series.path()},
                 {"unit", result.series.unit()},
                 {"labels", json::object()},
                 {"points", json::array()},
                 {"total", ToJson(end, result.total)}};
  for (const auto& [name, value] : result.series.labels()) {
    series["labels"][name] = value;
  }
  if (result.series.has_instance()) {
    series["instance"] = result.series.instance();
  }
  for (const aggregator::Point& point : result.points) {
    series["points"].push_back(ToJson(point.time, point.value));
  }
  return series;
}

class Player {
 public:
  absl::Status Play(const json& command) {
    const std::string name = command[0];
    if (name == "store") {
      agent_ = nullptr;
      store_ = std::make_unique<TestStore>();
    } else if (name == "agent") {
      return StartAgent(command);
    } else if (name == "counterset") {
      ids_[command[1]] = agent_->Counterset(RegistrationOf(command));
    } else if (name == "query") {
      ids_[command[1]] =
          agent_->Query(machine_id_, ids_.at(command[2]),
                        ToDuration(command[3]), ColumnsOf(command[4]));
    } else if (name == "instance") {
      ids_[command[1]] = DefineInstance(agent_.get(), machine_id_,
                                        ids_.at(command[2]), command);
    } else if (name == "retire") {
      agent_->Retire(ids_.at(command[1]));
    } else if (name == "tick") {
      AddTick(command);
    } else if (name == "failure") {
      const uint32_t query = ids_.at(command[1]);
      agent_->AddBlock(query, ClocksOf(command[2]),
                       {{query, {}, command[3].get<uint32_t>()}});
    } else if (name == "loss") {
      agent_->Lose(machine_, ToTime(command[1]), ToTime(command[2]), command[3],
                   CauseOf(command[4]));
    } else if (name == "send") {
      return agent_->Send();
    } else if (name == "compact") {
      return store_->Compact();
    } else if (name == "thin") {
      return store_->Thin(command[1] == "minute" ? Resolution::kMinute
                                                 : Resolution::kHour);
    } else if (name == "ask") {
      Ask(command[1]);
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", name, "\" is not a command"));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status StartAgent(const json& command) {
    machine_ = command[1];
    agent_ = std::make_unique<TestAgent>(store_.get(), machine_, command[2]);
    ids_.clear();
    machine_id_ = agent_->Machine(machine_);
    v1::Machine machine;
    machine.set_name(machine_);
    machine.set_agent(machine_);
    for (const auto& [name, value] : command[3].items()) {
      (*machine.mutable_labels())[name] = value.get<std::string>();
    }
    return (*store_)->PutMachine({machine});
  }

  void AddTick(const json& command) {
    std::vector<BatchWriter::Row> rows;
    for (const json& from : command[3]) {
      BatchWriter::Row& row = rows.emplace_back();
      row.instance = ids_.at(from[0]);
      for (const json& value : from[1]) {
        row.values.push_back(value.is_null() ? std::nullopt
                                             : std::optional<uint64_t>(value));
      }
    }
    agent_->AddTick(ids_.at(command[1]), ClocksOf(command[2]), std::move(rows));
  }

  void Ask(const json& question) {
    std::string answer = Answer(question, /*threads=*/1);
    for (const size_t threads : {2, 7}) {
      const std::string other = Answer(question, threads);
      if (other == answer) continue;
      answer = json{{"error", "THREADS"},
                    {"message", absl::StrCat(other, " with ", threads,
                                             " threads, ", answer)}}
                   .dump();
    }
    std::cout << answer << std::endl;
  }

  std::string Answer(const json& question, size_t threads) {
    const RangeRequest request = RequestOf(question);
    const auto results = CollectRangeQuery(
        request, {.store = **store_,
                  .now_of = [&](const std::string&) { return *request.end; },
                  .threads = threads});
    json answer = json::object();
    if (!results.ok()) {
      answer["error"] = absl::StatusCodeToString(results.status().code());
      answer["message"] = results.status().message();
    } else {
      answer["series"] = json::array();
      for (const SeriesResult& result : *results) {
        answer["series"].push_back(ToJson(result, *request.end));
      }
    }
    return answer.dump();
  }

  std::unique_ptr<TestStore> store_;
  std::unique_ptr<TestAgent> agent_;
  std::string machine_;
  uint32_t machine_id_ = 0;
  std::map<std::string, uint32_t> ids_;  // by handle, of the agent's process
};

int Main() {
  Player player;
  for (std::string line; std::getline(std::cin, line);) {
    const absl::Status status = player.Play(json::parse(line));
    if (status.ok()) continue;
    std::cerr << "play_history: " << status << " at " << line << std::endl;
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace fleetperf::testing

int main() { return fleetperf::testing::Main(); }
