// The aggregators that a command asks. There is no cluster: each answers for
// what it stores, and the command line joins the answers.

#ifndef FLEETPERF_CLI_AGGREGATORS_H_
#define FLEETPERF_CLI_AGGREGATORS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cli/connection.h"
#include "cli/connection_flags.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::cli {

// One or several. Records what they cannot answer, which is reported after the
// command. Thread-compatible.
class Aggregators {
 public:
  // Connects to all that the flags name, at the same time; for at most 3 s.
  // Those that cannot be reached are failures. Returns the error of the first
  // if none can.
  static absl::StatusOr<Aggregators> Open(const ConnectionFlags& flags);

  // Those that were reached, at least one, in the order of the list; then the
  // others.
  absl::Span<const Connection> all() const { return connections_; }
  absl::Span<const Connection> reached() const {
    return all().first(reached_count_);
  }
  bool are_several() const { return connections_.size() > 1; }

  // Calls `ask` for each number in reached(), at the same time on several
  // threads. Returns the Combined results.
  absl::Status Ask(absl::FunctionRef<absl::Status(size_t)> ask) const;

  // Returns the result of a call to all, given that of each in reached():
  // - OK if one has answered. Others may not have what was named. Those that
  //   failed for another reason, such as a missing right, are failures.
  // - Otherwise the first MissingError; otherwise the first error.
  absl::Status Combine(absl::Span<const absl::Status> results) const;

  // Records that an aggregator has failed.
  void AddFailure(const Connection& connection,
                  const absl::Status& status) const;
  // Returns "agg-2:7443: the reason" by address.
  const std::map<std::string, std::string>& failures() const {
    return reports_->failures;
  }

  // Records a path of the command that has no samples. Reported after the
  // command, which goes on.
  void AddMissing(const v1::Missing& missing) const;
  const std::vector<v1::Missing>& missing() const { return reports_->missing; }
  // Same for machines that stopped before the range of a query, by name. They
  // are not missing.
  void AddSilent(const v1::SilentMachine& machine) const {
    reports_->silent.emplace(machine.machine(), machine);
  }
  const std::map<std::string, v1::SilentMachine>& silent() const {
    return reports_->silent;
  }

 private:
  struct Reports {
    std::map<std::string, std::string> failures;
    std::vector<v1::Missing> missing;
    std::map<std::string, v1::SilentMachine> silent;
  };

  std::vector<Connection> connections_;
  size_t reached_count_ = 0;
  std::shared_ptr<Reports> reports_ = std::make_shared<Reports>();
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_AGGREGATORS_H_
