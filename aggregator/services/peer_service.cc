#include "aggregator/services/peer_service.h"

#include <grpcpp/server_context.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/peers/description.h"
#include "aggregator/peers/sample_answer.h"
#include "aggregator/query/request_limits.h"
#include "aggregator/rpc/access.h"
#include "aggregator/rpc/working_call.h"
#include "base/rpc_error.h"
#include "base/status_macros.h"
#include "fleetperf/v1/peer.grpc.pb.h"
#include "perflib/guid.h"

namespace fleetperf::aggregator {
namespace {

class PeerService : public v1::PeerService::Service {
 public:
  PeerService(Store* store, ReadableStore* samples, const OwnMachines* own,
              MachineNow now_of, const Peers* peers)
      : store_(*store),
        samples_(*samples),
        own_(*own),
        now_of_(std::move(now_of)),
        peers_(*peers) {}

  grpc::Status Describe(
      grpc::ServerContext* context, const v1::DescribeRequest* request,
      grpc::ServerWriter<v1::DescribeResponse>* writer) override {
    WorkingCall call(context);
    return RpcFromStatus(Describe(*request, &call, writer));
  }

  grpc::Status ReadSamples(
      grpc::ServerContext* context, const v1::ReadSamplesRequest* request,
      grpc::ServerWriter<v1::ReadSamplesResponse>* writer) override {
    WorkingCall call(context);
    return RpcFromStatus(ReadSamples(*request, &call, writer));
  }

  grpc::Status ListOwnMachines(grpc::ServerContext* context,
                               const v1::ListMachinesRequest* request,
                               v1::ListOwnMachinesResponse* response) override {
    WorkingCall call(context);
    const absl::Status allowed = CheckPeer(*context);
    if (!allowed.ok()) return RpcFromStatus(allowed);
    const absl::Status valid = CheckFilter(*request);
    if (!valid.ok()) return RpcFromStatus(valid);
    auto page = own_.List(*request, [&] { return call.IsCancelled(); });
    if (!page.ok()) return RpcFromStatus(page.status());
    response->set_store_id(store_.id());
    *response->mutable_page() = *std::move(page);
    return grpc::Status::OK;
  }

  grpc::Status EnumerateOwnInstances(
      grpc::ServerContext* context,
      const v1::EnumerateOwnInstancesRequest* request,
      grpc::ServerWriter<v1::EnumerateOwnInstancesResponse>* writer) override {
    WorkingCall call(context);
    return RpcFromStatus(EnumerateInstances(*request, &call, writer));
  }

  grpc::Status GetCatalogue(grpc::ServerContext* context,
                            const v1::GetCatalogueRequest* request,
                            v1::GetCatalogueResponse* response) override {
    const absl::Status allowed = CheckPeer(*context);
    if (!allowed.ok()) return RpcFromStatus(allowed);
    auto content = store_.GetCatalogue(request->hash());
    if (!content.ok()) return RpcFromStatus(content.status());
    response->set_content(*std::move(content));
    return grpc::Status::OK;
  }

 private:
  absl::Status CheckPeer(const grpc::ServerContextBase& context) const {
    RETURN_IF_ERROR(CheckAccess(context, {Role::kAggregator}).status());
    const absl::Status has_peers = peers_.CheckAny();
    if (!has_peers.ok()) ReportDenial(context, has_peers);
    return has_peers;
  }

  absl::Status Describe(const v1::DescribeRequest& request, WorkingCall* call,
                        grpc::ServerWriter<v1::DescribeResponse>* writer) {
    RETURN_IF_ERROR(CheckPeer(call->context()));
    RETURN_IF_ERROR(CheckFilterSize(/*labels=*/0, request.machine().size()));
    ASSIGN_OR_RETURN(const Description description,
                     DescribeStore(store_, now_of_, request,
                                   [call] { return call->IsCancelled(); }));
    return SendDescription(description, [&](const auto& response) {
      return call->Write(response, writer);
    });
  }

  absl::Status ReadSamples(
      const v1::ReadSamplesRequest& request, WorkingCall* call,
      grpc::ServerWriter<v1::ReadSamplesResponse>* writer) {
    RETURN_IF_ERROR(CheckPeer(call->context()));
    return AnswerReadSamples(
        store_, samples_, request, [call] { return call->IsCancelled(); },
        [&](const auto& response) { return call->Write(response, writer); });
  }

  absl::Status EnumerateInstances(
      const v1::EnumerateOwnInstancesRequest& request, WorkingCall* call,
      grpc::ServerWriter<v1::EnumerateOwnInstancesResponse>* writer) {
    RETURN_IF_ERROR(CheckPeer(call->context()));
    const auto guid = perflib::GuidFromBytes(request.counterset());
    if (!guid.has_value()) {
      return absl::InvalidArgumentError("counterset is not a GUID");
    }
    if (static_cast<size_t>(request.machines_size()) > kMaxMachinesAsked) {
      return absl::InvalidArgumentError(
          absl::StrCat("more than ", kMaxMachinesAsked, " machines"));
    }
    for (const MachineInstances& machine : own_.Instances(
             {request.machines().begin(), request.machines().end()}, *guid)) {
      v1::EnumerateOwnInstancesResponse response;
      response.set_answered(machine.is_answered);
      for (const perflib::InstanceName& instance : machine.instances) {
        response.add_names(instance.name);
        response.add_instance_ids(instance.instance_id);
      }
      RETURN_IF_ERROR(call->Write(response, writer));
    }
    return absl::OkStatus();
  }

  Store& store_;
  ReadableStore& samples_;
  const OwnMachines& own_;
  const MachineNow now_of_;
  const Peers& peers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakePeerService(Store* store,
                                               ReadableStore* samples,
                                               const OwnMachines* own,
                                               MachineNow now_of,
                                               const Peers* peers) {
  return std::make_unique<PeerService>(store, samples, own, std::move(now_of),
                                       peers);
}

}  // namespace fleetperf::aggregator
