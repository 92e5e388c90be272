// Calls of the aggregators' services that have one answer.

#ifndef FLEETPERF_CLI_CALLS_H_
#define FLEETPERF_CLI_CALLS_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/rpc/rpc_deadline.h"
#include "base/status_macros.h"
#include "cli/aggregators.h"
#include "cli/connection.h"
#include "cli/machine_flags.h"
#include "fleetperf/v1/fleet.grpc.pb.h"

namespace fleetperf::cli {

// A method of a service, such as &v1::FleetService::Stub::Find.
template <typename Stub, typename Request, typename Response>
using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&,
                                      Response*);

// Calls a method of one aggregator.
template <typename Stub, typename Request, typename Response>
absl::Status Call(const Connection& connection,
                  Method<Stub, Request, Response> method,
                  const Request& request, Response* response,
                  absl::Duration deadline = kCallDeadline) {
  grpc::ClientContext context;
  context.set_deadline(RpcDeadline(deadline));
  Stub stub(connection.channel());
  return connection.Explain((stub.*method)(&context, request, response));
}

// Calls a method of all aggregators at the same time. Returns the answer of
// each, all pages of a list in one message; empty if it has failed.
template <typename Stub, typename Request, typename Response>
absl::StatusOr<std::vector<Response>> CallEach(
    const Aggregators& aggregators, Method<Stub, Request, Response> method,
    const Request& request, absl::Duration deadline = kCallDeadline) {
  std::vector<Response> answers(aggregators.reached().size());
  const absl::Status status = aggregators.Ask([&](size_t i) -> absl::Status {
    const Connection& connection = aggregators.reached()[i];
    if constexpr (!requires { request.page_token(); }) {
      return Call(connection, method, request, &answers[i], deadline);
    } else {
      Request next = request;
      do {
        Response page;
        RETURN_IF_ERROR(Call(connection, method, next, &page, deadline));
        const bool is_first = next.page_token().empty();
        next.set_page_token(page.next_page_token());
        if (is_first) {
          answers[i].Swap(&page);
        } else {
          answers[i].MergeFrom(page);
        }
      } while (!next.page_token().empty());
      return absl::OkStatus();
    }
  });
  RETURN_IF_ERROR(status);
  return answers;
}

// Returns the machines of each aggregator.
absl::StatusOr<std::vector<v1::ListMachinesResponse>> MachinesOfEach(
    const Aggregators& aggregators, const MachineFlags& machines,
    bool with_plan_reports = false);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_CALLS_H_
