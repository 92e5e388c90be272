// Lists of the aggregator, which it returns in pages.

#ifndef FLEETPERF_CLI_PAGES_H_
#define FLEETPERF_CLI_PAGES_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <future>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "base/rpc/rpc_deadline.h"
#include "base/status_macros.h"
#include "cli/connection.h"
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

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_PAGES_H_
