#include "aggregator/peers/peer_calls.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "aggregator/peers/sample_decoder.h"
#include "aggregator/query/ordered_work.h"
#include "base/clock.h"
#include "base/rpc_deadline.h"
#include "base/rpc_error.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "fleetperf/v1/peer.grpc.pb.h"

namespace fleetperf::aggregator {
namespace {

// Users wait for a peer that is down.
constexpr absl::Duration kDescribeTimeout = absl::Seconds(5);
// A read may wait for a disk, and for the caller.
constexpr absl::Duration kReadTimeout = absl::Minutes(2);
// The limit of the instances of all machines of a call.
constexpr size_t kMaxInstancesBytes = 256 << 20;

using Context = std::shared_ptr<grpc::ClientContext>;

Context MakeContext(const grpc::ServerContextBase* parent, PeerChannel* peer,
                    absl::Duration timeout) {
  Context context =
      parent != nullptr
          ? Context(grpc::ClientContext::FromServerContext(*parent))
          : std::make_shared<grpc::ClientContext>();
  context->set_deadline(RpcDeadline(timeout));
  peer->CancelAtStop(context);
  return context;
}

// Adds the name of the peer to an error.
absl::Status Named(const PeerChannel& peer, const absl::Status& error) {
  if (error.ok()) return error;
  return absl::Status(error.code(),
                      absl::StrCat("the aggregator at ", peer.address(), ": ",
                                   error.message()));
}

}  // namespace

absl::Status PeerError(const PeerChannel& peer, const grpc::Status& status,
                       bool has_answered) {
  if (status.ok()) return absl::OkStatus();
  const absl::Status reason = StatusFromRpc(
      status, peer.address(),
      has_answered ? RpcStage::kAnswering : RpcStage::kConnecting);
  if (absl::StrContains(reason.message(), peer.address())) {
    return absl::UnavailableError(reason.message());
  }
  return Named(peer, absl::UnavailableError(reason.message()));
}

namespace {

// Notes whether a peer answers a short call that began at `began`, by
// Clock::Monotonic().
void Remember(PeerChannel* peer, const grpc::Status& status, bool has_answered,
              absl::Duration began) {
  RecentFailure& recent = peer->recent_failure();
  if (status.ok() || has_answered) return recent.Clear();
  const absl::Duration waited = Clock::Real().Monotonic() - began;
  switch (status.error_code()) {
    case grpc::StatusCode::CANCELLED:
      return;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      // The caller's own deadline says nothing of the peer.
      if (waited >= kDescribeTimeout * 0.9) {
        recent.Set(PeerError(*peer, status, has_answered));
      }
      return;
    case grpc::StatusCode::UNAVAILABLE:
      // A failure that comes at once, as while a peer restarts, makes no caller
      // wait.
      if (waited >= kDescribeTimeout * 0.5) {
        return recent.Set(PeerError(*peer, status, has_answered));
      }
      return recent.Clear();
    default:
      return recent.Clear();
  }
}

absl::StatusOr<v1::ListOwnMachinesResponse> ListMachinesOfPeer(
    const grpc::ServerContextBase* parent, PeerChannel* peer,
    const v1::ListMachinesRequest& request) {
  RETURN_IF_ERROR(peer->recent_failure().Check());
  const absl::Duration began = Clock::Real().Monotonic();
  const Context context = MakeContext(parent, peer, kDescribeTimeout);
  v1::ListOwnMachinesResponse response;
  const auto stub = v1::PeerService::NewStub(peer->Get());
  const grpc::Status status =
      stub->ListOwnMachines(context.get(), request, &response);
  Remember(peer, status, /*has_answered=*/false, began);
  RETURN_IF_ERROR(PeerError(*peer, status, /*has_answered=*/false));
  return response;
}

}  // namespace

absl::Status DescribePeer(
    const grpc::ServerContextBase* parent, PeerChannel* peer,
    const v1::DescribeRequest& request,
    absl::FunctionRef<absl::Status(const v1::DescribeResponse&)> use) {
  RETURN_IF_ERROR(peer->recent_failure().Check());
  const absl::Duration began = Clock::Real().Monotonic();
  const Context context = MakeContext(parent, peer, kDescribeTimeout);
  const auto stub = v1::PeerService::NewStub(peer->Get());
  const auto reader = stub->Describe(context.get(), request);
  v1::DescribeResponse response;
  bool has_answered = false;
  absl::Status used;
  while (used.ok() && reader->Read(&response)) {
    has_answered = true;
    used = use(response);
  }
  if (!used.ok()) context->TryCancel();
  const grpc::Status status = reader->Finish();
  Remember(peer, status, has_answered, began);
  return used.ok() ? PeerError(*peer, status, has_answered) : used;
}

absl::Status ReadFromPeer(
    const grpc::ServerContextBase* parent, PeerChannel* peer,
    const ReadableStore::ReadRequest& request,
    std::map<uint32_t, uint64_t>* epochs,
    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
    absl::FunctionRef<void(const Loss&)> on_loss) {
  if (request.selected == nullptr) {
    return absl::InternalError("a read from a peer has no selection");
  }
  ASSIGN_OR_RETURN(
      const auto place, peer->places_of_reads().Take([&]() -> absl::Status {
        return request.on_chunk ? request.on_chunk() : absl::OkStatus();
      }));
  v1::ReadSamplesRequest proto = RequestToPeer(request);
  proto.set_with_epochs(epochs != nullptr);
  const Context context = MakeContext(parent, peer, kReadTimeout);
  const auto stub = v1::PeerService::NewStub(peer->Get());
  const auto reader = stub->ReadSamples(context.get(), proto);
  SampleDecoder decoder(request);
  v1::ReadSamplesResponse response;
  bool has_answered = false;
  const auto use = [&]() -> absl::Status {
    if (request.on_chunk) RETURN_IF_ERROR(request.on_chunk());
    absl::Status passed_on;
    const auto pass_on = [&](const Frame& frame) {
      if (epochs != nullptr && epochs->size() < decoder.epochs().size()) {
        *epochs = decoder.epochs();
      }
      passed_on = on_frame(frame);
      return passed_on;
    };
    const absl::Status decoded = decoder.Decode(response, pass_on, on_loss);
    return passed_on.ok() ? Named(*peer, decoded) : passed_on;
  };
  absl::Status used;
  while (used.ok() && reader->Read(&response)) {
    has_answered = true;
    used = use();
  }
  if (!used.ok()) context->TryCancel();
  const grpc::Status status = reader->Finish();
  return used.ok() ? PeerError(*peer, status, has_answered) : used;
}

std::vector<MachinesOfPeer> ListMachinesOfPeers(
    const grpc::ServerContextBase* parent, const Peers::List& peers,
    const v1::ListMachinesRequest& request) {
  const auto ask = [&](size_t i, bool) {
    return MachinesOfPeer{
        .address = peers[i]->address(),
        .page = ListMachinesOfPeer(parent, peers[i].get(), request)};
  };
  std::vector<MachinesOfPeer> answers;
  OrderedWork<MachinesOfPeer>(peers.size(), peers.size(), ask)
      .Run([&](size_t, MachinesOfPeer answer) {
        answers.push_back(std::move(answer));
        return absl::OkStatus();
      })
      .IgnoreError();
  return answers;
}

std::vector<v1::EnumerateOwnInstancesResponse> EnumerateInstancesOfPeer(
    const grpc::ServerContextBase* parent, PeerChannel* peer,
    const std::vector<std::string>& machines, const perflib::Guid& counterset) {
  std::vector<v1::EnumerateOwnInstancesResponse> found;
  const absl::Duration latest = Clock::Real().Monotonic() + kDescribeTimeout;
  const auto place = peer->places_of_enumerations().Take([&]() -> absl::Status {
    return Clock::Real().Monotonic() < latest
               ? absl::OkStatus()
               : absl::DeadlineExceededError("others ask the peer");
  });
  if (!place.ok()) {
    found.resize(machines.size());
    return found;
  }
  const Context context = MakeContext(parent, peer, kDescribeTimeout);
  v1::EnumerateOwnInstancesRequest request;
  request.mutable_machines()->Add(machines.begin(), machines.end());
  request.set_counterset(counterset.Bytes());
  const auto stub = v1::PeerService::NewStub(peer->Get());
  const auto reader = stub->EnumerateOwnInstances(context.get(), request);
  size_t bytes = 0;
  v1::EnumerateOwnInstancesResponse response;
  while (found.size() < machines.size() && bytes < kMaxInstancesBytes &&
         reader->Read(&response)) {
    bytes += response.ByteSizeLong();
    found.push_back(std::move(response));
    response.Clear();
  }
  if (found.size() < machines.size()) context->TryCancel();
  reader->Finish().ok();
  found.resize(machines.size());
  return found;
}

absl::StatusOr<std::string> GetCatalogueOfPeer(
    const grpc::ServerContextBase* parent, PeerChannel* peer,
    absl::string_view hash) {
  const Context context = MakeContext(parent, peer, kDescribeTimeout);
  v1::GetCatalogueRequest request;
  request.set_hash(std::string(hash));
  v1::GetCatalogueResponse response;
  const auto stub = v1::PeerService::NewStub(peer->Get());
  const grpc::Status status =
      stub->GetCatalogue(context.get(), request, &response);
  RETURN_IF_ERROR(PeerError(*peer, status, /*has_answered=*/false));
  if (Sha256(response.content()) != hash) {
    return Named(*peer, absl::DataLossError(
                            "its answer is not the requested catalogue"));
  }
  return std::move(*response.mutable_content());
}

}  // namespace fleetperf::aggregator
