// Calls to a peer. All have deadlines.

#ifndef FLEETPERF_AGGREGATOR_PEERS_PEER_CALLS_H_
#define FLEETPERF_AGGREGATOR_PEERS_PEER_CALLS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "aggregator/peers/peers.h"
#include "aggregator/samples/frame.h"
#include "aggregator/store/readable_store.h"
#include "fleetperf/v1/peer.pb.h"
#include "perflib/guid.h"

namespace grpc {
class ServerContextBase;
class Status;
}  // namespace grpc

namespace fleetperf::aggregator {

// Errors name the peer, except those of `use`; a peer that does not answer is
// Unavailable. `parent` is the call that the peer is asked for, whose end
// cancels the calls; nullptr if there is none.

// Returns the error of a call that a peer ended with `status`.
absl::Status PeerError(const PeerChannel& peer, const grpc::Status& status,
                       bool has_answered);

// Passes on each message.
absl::Status DescribePeer(
    const grpc::ServerContextBase* parent, PeerChannel* peer,
    const v1::DescribeRequest& request,
    absl::FunctionRef<absl::Status(const v1::DescribeResponse&)> use);

// See ReadableStore::Read, but frames are never folded. If `epochs` is not
// null, it receives the epochs of the machine's agent, by number, before the
// frames.
absl::Status ReadFromPeer(
    const grpc::ServerContextBase* parent, PeerChannel* peer,
    const ReadableStore::ReadRequest& request,
    std::map<uint32_t, uint64_t>* epochs,
    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
    absl::FunctionRef<void(const Loss&)> on_loss);

// Asks all peers at a time. Returns the answers in their order.
struct MachinesOfPeer {
  std::string address;
  absl::StatusOr<v1::ListOwnMachinesResponse> page;
};
std::vector<MachinesOfPeer> ListMachinesOfPeers(
    const grpc::ServerContextBase* parent, const Peers::List& peers,
    const v1::ListMachinesRequest& request);

// Returns the instances in the order of `machines`. Machines that the peer does
// not get to within some seconds have no answer.
std::vector<v1::EnumerateOwnInstancesResponse> EnumerateInstancesOfPeer(
    const grpc::ServerContextBase* parent, PeerChannel* peer,
    const std::vector<std::string>& machines, const perflib::Guid& counterset);

// The content has the hash.
absl::StatusOr<std::string> GetCatalogueOfPeer(
    const grpc::ServerContextBase* parent, PeerChannel* peer,
    absl::string_view hash);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_PEERS_PEER_CALLS_H_
