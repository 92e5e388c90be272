#include <grpcpp/server_context.h>

#include "aggregator/services/admission.h"
#include "aggregator/services/fleet_lists.h"
#include "aggregator/services/services.h"
#include "base/rpc/rpc_error.h"
#include "base/server/working_call.h"
#include "fleetperf/v1/fleet.grpc.pb.h"

namespace fleetperf::aggregator {
namespace {

class FleetService : public v1::FleetService::Service {
 public:
  explicit FleetService(const FleetLists& lists) : lists_(lists) {}

  grpc::Status ListMachines(grpc::ServerContext* context,
                            const v1::ListMachinesRequest* request,
                            v1::ListMachinesResponse* response) override {
    return Answer(context, &FleetLists::ListMachines, *request, response);
  }

  grpc::Status ListCountersets(grpc::ServerContext* context,
                               const v1::ListCountersetsRequest* request,
                               v1::ListCountersetsResponse* response) override {
    return Answer(context, &FleetLists::ListCountersets, *request, response);
  }

  grpc::Status ListCounters(grpc::ServerContext* context,
                            const v1::ListCountersRequest* request,
                            v1::ListCountersResponse* response) override {
    return Answer(context, &FleetLists::ListCounters, *request, response);
  }

  grpc::Status ListInstances(grpc::ServerContext* context,
                             const v1::ListInstancesRequest* request,
                             v1::ListInstancesResponse* response) override {
    return Answer(context, &FleetLists::ListInstances, *request, response);
  }

  grpc::Status Find(grpc::ServerContext* context,
                    const v1::FindRequest* request,
                    v1::FindResponse* response) override {
    return Answer(context, &FleetLists::Find, *request, response);
  }

 private:
  template <typename Request, typename Response>
  grpc::Status Answer(grpc::ServerContext* context,
                      absl::Status (FleetLists::*list)(const Request&,
                                                       const Caller&, Response*)
                          const,
                      const Request& request, Response* response) {
    WorkingCall call(context);
    const auto caller = ReaderOf(&call);
    if (!caller.ok()) return RpcFromStatus(caller.status());
    return RpcFromStatus((lists_.*list)(request, *caller, response));
  }

  const FleetLists lists_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFleetService(const FleetLists& lists) {
  return std::make_unique<FleetService>(lists);
}

}  // namespace fleetperf::aggregator
