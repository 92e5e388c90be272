#include "cli/aggregators.h"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace fleetperf::cli {
namespace {

// Calls `run` for each number below `count`, at the same time.
std::vector<absl::Status> RunAll(size_t count,
                                 absl::FunctionRef<absl::Status(size_t)> run) {
  std::vector<absl::Status> results(count);
  std::vector<std::thread> threads;
  for (size_t i = 1; i < count; ++i) {
    threads.emplace_back([&results, run, i] { results[i] = run(i); });
  }
  if (count > 0) results[0] = run(0);
  for (std::thread& thread : threads) thread.join();
  return results;
}

// Returns the message, with the aggregator's address.
std::string NamedMessage(const Connection& connection,
                         const absl::Status& status) {
  if (absl::StrContains(status.message(), connection.address())) {
    return std::string(status.message());
  }
  return absl::StrCat(connection.address(), ": ", status.message());
}

}  // namespace

struct Aggregators::Reports {
  std::vector<std::pair<std::string, std::string>> failures;  // by address
  std::vector<v1::Missing> missing;
  std::vector<v1::SilentMachine> silent;
  std::set<std::string> silent_names;
};

Aggregators::Aggregators() : reports_(std::make_shared<Reports>()) {}

absl::StatusOr<Aggregators> Aggregators::Open(const ConnectionFlags& flags) {
  ASSIGN_OR_RETURN(const std::vector<Connection> connections,
                   Connection::MakeAll(flags));
  const std::vector<absl::Status> results = RunAll(
      connections.size(), [&](size_t i) { return connections[i].Connect(); });
  Aggregators aggregators;
  for (size_t i = 0; i < connections.size(); ++i) {
    const bool is_reached = results[i].ok();
    (is_reached ? aggregators.reached_ : aggregators.unreached_)
        .push_back(connections[i]);
    if (!is_reached) aggregators.AddFailure(connections[i], results[i]);
  }
  if (!aggregators.reached_.empty()) return aggregators;
  return absl::Status(results.front().code(),
                      absl::StrJoin(aggregators.failures(), "; "));
}

absl::Status Aggregators::Ask(
    absl::FunctionRef<absl::Status(size_t)> ask) const {
  return Combine(RunAll(reached_.size(), ask));
}

absl::Status Aggregators::Combine(
    absl::Span<const absl::Status> results) const {
  // One that refuses an argument does not have what it names.
  const auto has_failed = [](const absl::Status& result) {
    return !result.ok() && !IsMissing(result) &&
           !absl::IsInvalidArgument(result);
  };
  auto end = std::find_if(results.begin(), results.end(),
                          [](const auto& result) { return result.ok(); });
  if (end == results.end()) {
    end = std::find_if(results.begin(), results.end(), IsMissing);
  }
  const size_t chosen =
      end == results.end() ? 0 : static_cast<size_t>(end - results.begin());
  for (size_t i = 0; i < results.size(); ++i) {
    if (i != chosen && has_failed(results[i])) {
      AddFailure(reached_[i], results[i]);
    }
  }
  if (!are_several() || !has_failed(results[chosen])) return results[chosen];
  return absl::Status(results[chosen].code(),
                      NamedMessage(reached_[chosen], results[chosen]));
}

void Aggregators::AddFailure(const Connection& connection,
                             const absl::Status& status) const {
  RemoveFailure(connection);
  reports_->failures.emplace_back(connection.address(),
                                  NamedMessage(connection, status));
}

void Aggregators::RemoveFailure(const Connection& connection) const {
  std::erase_if(reports_->failures, [&](const auto& failure) {
    return failure.first == connection.address();
  });
}

std::vector<std::string> Aggregators::failures() const {
  std::vector<std::string> failures;
  for (const auto& [address, reason] : reports_->failures) {
    failures.push_back(reason);
  }
  return failures;
}

const std::vector<v1::Missing>& Aggregators::missing() const {
  return reports_->missing;
}

const std::vector<v1::SilentMachine>& Aggregators::silent() const {
  return reports_->silent;
}

void Aggregators::AddMissing(const v1::Missing& missing) const {
  for (const v1::Missing& known : reports_->missing) {
    if (known.path() == missing.path()) return;  // by another query
  }
  reports_->missing.push_back(missing);
}

void Aggregators::AddSilent(const v1::SilentMachine& machine) const {
  if (!reports_->silent_names.insert(machine.machine()).second) return;
  reports_->silent.push_back(machine);
}

}  // namespace fleetperf::cli
