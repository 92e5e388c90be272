#include "aggregator/ingest/instance_requests.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "aggregator/ingest/agent_limits.h"
#include "aggregator/ingest/session.h"

namespace fleetperf::aggregator {
namespace {

// Converts an agent's answer to instance names, or to the error described at
// InstanceRequests::Enumerate.
InstanceRequests::InstanceNames NamesOf(
    bool asked, const std::optional<v1::InstanceList>& answer,
    const std::string& machine) {
  if (!asked) {
    return absl::UnavailableError(
        absl::StrCat("the agent of ", machine, " is not connected"));
  }
  if (!answer.has_value()) {
    return absl::DeadlineExceededError(
        absl::StrCat("the agent of ", machine, " does not answer"));
  }
  if (!answer->error().empty()) {
    return absl::UnavailableError(answer->error());
  }
  std::vector<perflib::InstanceName> names;
  for (const auto& instance : answer->instances()) {
    names.push_back({instance.name(), instance.instance_id()});
  }
  return names;
}

}  // namespace

std::vector<InstanceRequests::InstanceNames> InstanceRequests::Enumerate(
    const std::vector<std::string>& machines, const perflib::Guid& counterset,
    absl::Duration timeout, SessionOf session_of) {
  std::vector<Request> requests(machines.size());
  for (size_t i = 0; i < machines.size(); ++i) {
    const std::shared_ptr<Session> session = session_of(machines[i]);
    if (session != nullptr) {
      Send(machines[i], counterset, *session, &requests[i]);
    }
  }
  {
    absl::MutexLock lock(&mutex_);
    answered_.Await(&mutex_, timeout, [&] {
      return std::all_of(requests.begin(), requests.end(),
                         [](const Request& request) {
                           return request.id == 0 || request.answer.has_value();
                         });
    });
    for (const Request& request : requests) requests_.erase(request.id);
  }
  std::vector<InstanceNames> names;
  for (size_t i = 0; i < machines.size(); ++i) {
    names.push_back(
        NamesOf(requests[i].id != 0, requests[i].answer, machines[i]));
  }
  return names;
}

void InstanceRequests::Send(const std::string& machine,
                            const perflib::Guid& counterset, Session& session,
                            Request* request) {
  request->agent = session.agent();
  {
    absl::MutexLock lock(&mutex_);
    request->id = next_id_++;
    requests_[request->id] = request;
  }
  v1::CollectResponse response;
  response.mutable_enumerate_instances()->set_request_id(request->id);
  response.mutable_enumerate_instances()->set_machine(machine);
  response.mutable_enumerate_instances()->set_counterset(counterset.Bytes());
  session.link().Send(std::move(response));
}

void InstanceRequests::Take(const std::string& agent, v1::InstanceList list) {
  Cut(list.mutable_error(), kMaxReportBytes);
  const absl::Status bounded = CheckInstances(list);
  if (!bounded.ok()) {
    list.clear_instances();
    list.set_error(std::string(bounded.message()));
  }
  absl::MutexLock lock(&mutex_);
  const auto found = requests_.find(list.request_id());
  if (found == requests_.end()) return;       // the deadline has passed
  if (found->second->agent != agent) return;  // asked another agent
  found->second->answer = std::move(list);
  answered_.Notify();
}

}  // namespace fleetperf::aggregator
