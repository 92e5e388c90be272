#include "cli/aggregators.h"

#include <thread>

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

absl::StatusOr<Aggregators> Aggregators::Open(const ConnectionFlags& flags) {
  ASSIGN_OR_RETURN(const std::vector<Connection> connections,
                   Connection::MakeAll(flags));
  const std::vector<absl::Status> results = RunAll(
      connections.size(), [&](size_t i) { return connections[i].Connect(); });
  Aggregators aggregators;
  for (size_t i = 0; i < connections.size(); ++i) {
    if (results[i].ok()) aggregators.connections_.push_back(connections[i]);
  }
  aggregators.reached_count_ = aggregators.connections_.size();
  for (size_t i = 0; i < connections.size(); ++i) {
    if (results[i].ok()) continue;
    aggregators.connections_.push_back(connections[i]);
    aggregators.AddFailure(connections[i], results[i]);
  }
  if (aggregators.reached_count_ > 0) return aggregators;
  return absl::Status(results.front().code(),
                      absl::StrJoin(aggregators.failures(), "; ",
                                    [](std::string* out, const auto& failure) {
                                      out->append(failure.second);
                                    }));
}

absl::Status Aggregators::Ask(
    absl::FunctionRef<absl::Status(size_t)> ask) const {
  return Combine(RunAll(reached_count_, ask));
}

absl::Status Aggregators::Combine(
    absl::Span<const absl::Status> results) const {
  // One that refuses an argument does not have what it names.
  const auto has_failed = [](const absl::Status& result) {
    return !result.ok() && !IsMissing(result) &&
           !absl::IsInvalidArgument(result);
  };
  const auto rank = [](const absl::Status& result) {
    return result.ok() ? 0 : IsMissing(result) ? 1 : 2;
  };
  size_t chosen = 0;
  for (size_t i = 1; i < results.size(); ++i) {
    if (rank(results[i]) < rank(results[chosen])) chosen = i;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (i == chosen || !has_failed(results[i])) continue;
    AddFailure(connections_[i], results[i]);
  }
  if (!are_several() || !has_failed(results[chosen])) return results[chosen];
  return absl::Status(results[chosen].code(),
                      NamedMessage(connections_[chosen], results[chosen]));
}

void Aggregators::AddFailure(const Connection& connection,
                             const absl::Status& status) const {
  reports_->failures[connection.address()] = NamedMessage(connection, status);
}

void Aggregators::AddMissing(const v1::Missing& missing) const {
  for (const v1::Missing& known : reports_->missing) {
    if (known.path() == missing.path()) return;  // by another query
  }
  reports_->missing.push_back(missing);
}

}  // namespace fleetperf::cli
