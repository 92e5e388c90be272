#include "agent/collect/plan_in_force.h"

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/source/missing.h"
#include "base/log.h"
#include "base/os/files.h"

namespace fleetperf::agent {
namespace {

v1::Plan OwnPlan() {
  v1::Plan plan;
  plan.set_includes_own(true);
  return plan;
}

// Returns std::nullopt if the file cannot be read or is damaged.
std::optional<v1::Plan> ReadKeptPlan(const std::string& file) {
  const auto bytes = ReadFile(file);
  v1::Plan plan;
  if (bytes.ok() && plan.ParseFromString(*bytes)) return plan;
  return std::nullopt;
}

void WarnOfMissingRights(const Plan& plan) {
  std::set<std::string> countersets;
  for (const PlannedQuery& query : plan.queries) {
    countersets.insert(query.counterset);
  }
  for (const std::string& counterset : countersets) {
    const std::string missing = MissingRights(counterset);
    if (!missing.empty()) LogWarning(counterset, ": ", missing);
  }
}

}  // namespace

PlanInForce::PlanInForce(Plan own, std::string file, Machines* machines)
    : own_(std::move(own)),
      file_(std::move(file)),
      machines_(*machines),
      lasting_(OwnPlan()),
      plan_(own_) {
  if (FileExists(file_)) {
    const auto kept = ReadKeptPlan(file_);
    auto plan = kept.has_value() ? PlanFromProto(*kept, own_)
                                 : absl::DataLossError("the file is damaged");
    if (plan.ok()) {
      lasting_ = *kept;
      plan_ = *std::move(plan);
    } else {
      LogWarning("the plan in ", file_,
                 " is not used: ", plan.status().message());
    }
  }
  WarnOfMissingRights(plan_);
  machines_.Apply(plan_);
}

void PlanInForce::SetOwn(Plan own) {
  own_ = std::move(own);
  auto plan = PlanFromProto(lasting_, own_);
  // It was valid with another plan of the agent's own.
  if (plan.ok()) Run(*std::move(plan));
}

v1::PlanReport PlanInForce::Apply(const v1::Plan* proto) {
  const v1::Plan wanted = proto != nullptr ? *proto : OwnPlan();
  auto plan = PlanFromProto(wanted, own_);
  if (!plan.ok()) {
    reported_.reset();
    v1::PlanReport report;
    report.set_version(wanted.version());
    const std::string error(plan.status().message());
    LogWarning("the aggregator's plan ", wanted.version(),
               " is invalid: ", error);
    report.add_queries()->set_error(error);
    return report;
  }
  Run(*std::move(plan));
  Keep(wanted);
  const v1::PlanReport report = MakeReport();
  reported_ = report.SerializeAsString();
  return report;
}

std::optional<v1::PlanReport> PlanInForce::ChangedReport() {
  if (!reported_.has_value()) return std::nullopt;
  v1::PlanReport report = MakeReport();
  std::string bytes = report.SerializeAsString();
  if (bytes == *reported_) return std::nullopt;
  reported_ = std::move(bytes);
  return report;
}

v1::PlanReport PlanInForce::MakeReport() {
  v1::PlanReport report;
  report.set_version(plan_.version);
  for (const QueryReport& query : machines_.Reports()) {
    v1::QueryReport* to = report.add_queries();
    to->set_query(static_cast<uint32_t>(query.query));
    to->set_name(plan_.NameOf(query.query));
    to->set_counterset(query.counterset);
    to->set_error(query.error);
  }
  return report;
}

void PlanInForce::EndTemporaryQueries() {
  Plan rest = plan_;
  std::erase_if(rest.queries,
                [](const PlannedQuery& query) { return query.meanwhile; });
  Run(std::move(rest));
}

// A plan with the same queries but another version changes nothing.
void PlanInForce::Run(Plan plan) {
  const bool changed =
      plan.queries != plan_.queries || plan.rules != plan_.rules;
  plan_ = std::move(plan);
  if (!changed) return;
  LogInfo("collecting with ",
          plan_.version == 0
              ? "the agent's own configuration"
              : absl::StrCat("the aggregator's plan ", plan_.version));
  WarnOfMissingRights(plan_);
  machines_.Apply(plan_);
}

void PlanInForce::Keep(v1::Plan proto) {
  v1::Plan kept = proto;
  kept.clear_queries();
  for (v1::PlannedQuery& query : *proto.mutable_queries()) {
    if (!query.meanwhile()) *kept.add_queries() = std::move(query);
  }
  const std::string bytes = kept.SerializeAsString();
  if (is_saved_ && bytes == lasting_.SerializeAsString()) return;
  lasting_ = std::move(kept);
  const absl::Status status = WriteFile(file_, bytes);
  is_saved_ = status.ok();
  if (is_saved_) return;
  LogWarning("cannot save the aggregator's plan for the next start: ",
             status.message());
}

}  // namespace fleetperf::agent
