// Lists of the aggregator, which it returns in pages.

#ifndef FLEETPERF_CLI_PAGES_H_
#define FLEETPERF_CLI_PAGES_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <future>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/rpc/rpc_deadline.h"
#include "base/status_macros.h"
#include "cli/aggregators.h"
#include "cli/connection.h"
#include "cli/machine_flags.h"
#include "cli/output.h"
#include "fleetperf/v1/fleet.grpc.pb.h"

namespace fleetperf::cli {

// Requests a list page by page and calls `use` for each page, while the next
// page is on its way. Stops when the output has failed. Returns the error of
// the first page that fails.
template <typename Request, typename Response>
absl::Status ForEachPage(const Connection& connection,
                         grpc::Status (v1::FleetService::Stub::*list)(
                             grpc::ClientContext*, const Request&, Response*),
                         Request request,
                         absl::FunctionRef<void(const Response&)> use) {
  struct Page {
    grpc::Status status;
    Response response;
  };
  const auto stub = v1::FleetService::NewStub(connection.channel());
  const auto fetch = [&stub, list](const Request& of_page) {
    grpc::ClientContext context;
    context.set_deadline(RpcDeadline(kCallDeadline));
    Page page;
    page.status = ((*stub).*list)(&context, of_page, &page.response);
    return page;
  };
  std::future<Page> next = std::async(std::launch::async, fetch, request);
  do {
    const Page page = next.get();
    RETURN_IF_ERROR(connection.Explain(page.status));
    request.set_page_token(page.response.next_page_token());
    if (!request.page_token().empty()) {
      next = std::async(std::launch::async, fetch, request);
    }
    use(page.response);
  } while (!request.page_token().empty() && !HasOutputFailed());
  return absl::OkStatus();
}

// Requests a list of all aggregators at the same time. Returns the list of
// each, all pages in one message; empty if it has none.
template <typename Request, typename Response>
absl::StatusOr<std::vector<Response>> ListOfEach(
    const Aggregators& aggregators,
    grpc::Status (v1::FleetService::Stub::*list)(grpc::ClientContext*,
                                                 const Request&, Response*),
    const Request& request) {
  std::vector<Response> lists(aggregators.reached().size());
  RETURN_IF_ERROR(aggregators.Ask([&](size_t i) {
    return ForEachPage<Request, Response>(
        aggregators.reached()[i], list, request,
        [&](const Response& page) { lists[i].MergeFrom(page); });
  }));
  return lists;
}

// Requests the machines of all aggregators.
absl::StatusOr<std::vector<v1::ListMachinesResponse>> MachinesOfEach(
    const Aggregators& aggregators, const MachineFlags& machines,
    bool with_plan_reports = false);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_PAGES_H_
