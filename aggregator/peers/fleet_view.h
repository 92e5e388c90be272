// The stores of all aggregators as one, for one request.

#ifndef FLEETPERF_AGGREGATOR_PEERS_FLEET_VIEW_H_
#define FLEETPERF_AGGREGATOR_PEERS_FLEET_VIEW_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "aggregator/peers/description.h"
#include "aggregator/peers/peers.h"
#include "aggregator/query/cancellation.h"
#include "aggregator/query/query_context.h"
#include "aggregator/store/readable_store.h"
#include "aggregator/store/store.h"
#include "fleetperf/v1/peer.pb.h"
#include "fleetperf/v1/query.pb.h"

namespace grpc {
class ServerContextBase;
}  // namespace grpc

namespace fleetperf::aggregator {

// The machines of the own store and of those peers that answered when the view
// was made. Their samples are read when they are asked for. Thread-safe.
class FleetView : public ReadableStore {
 public:
  struct Options {
    Store& own;
    ReadableStore& own_samples;  // of that store, wherever they are
    MachineNow now_of;           // for the own machines
    Peers::List peers;
    // For the thread that makes the view.
    IsCancelled is_cancelled = nullptr;
    // The call that the view is for; nullptr if there is none. Its end cancels
    // all waits for peers.
    const grpc::ServerContextBase* parent = nullptr;
  };

  // Makes a view for a request with these paths or expressions, if any, of the
  // machines that `filter` selects by name. Their labels are those of the
  // newest description, so they can be compared with the view's directory only.
  // Waits for each peer for some seconds at most. Returns Cancelled if the
  // caller is gone.
  static absl::StatusOr<std::unique_ptr<FleetView>> Make(
      Options options, v1::DescribeRequest filter,
      const std::vector<std::string>& paths);

  const Directory& directory() const override { return directory_; }
  // Requires ReadRequest::selected. Returns Unavailable if a peer that has
  // samples of the machine cannot be reached any more.
  absl::Status Read(const ReadRequest& request,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                    absl::FunctionRef<void(const Loss&)> on_loss) override;
  absl::StatusOr<std::string> GetCatalogue(
      absl::string_view hash) const override;
  std::vector<StoredMachine> GetMachines() const override;

  // Returns the time by the clock of a machine in the directory.
  absl::Time NowOf(const std::string& machine) const;

  // Returns the peer that has the newest description of a machine; nullptr: the
  // own store.
  PeerChannel* HolderOf(const std::string& machine) const;

  // The peers whose machines are missing.
  const std::vector<v1::UnreachablePeer>& unreachable() const {
    return unreachable_;
  }

 private:
  // A store with samples of a machine.
  struct Holder {
    PeerChannel* peer = nullptr;  // nullptr: the own store
    absl::Time newest_sample;     // InfiniteFuture: unknown
  };
  struct Machine {
    std::vector<Holder> holders;
    PeerChannel* newest = nullptr;
    std::string catalogue_hash;
    absl::Time now;
  };

  explicit FleetView(Options options) : options_(std::move(options)) {}

  // A machine in the own store (nullptr), or in a peer's.
  using HeldMachine = std::pair<PeerChannel*, MachineDescription>;
  struct Found;

  static void AddTo(PeerChannel* peer, Description description, Found* found);

  absl::Status Describe(const v1::DescribeRequest& request);
  void Add(const std::string& name, std::vector<HeldMachine> descriptions);
  absl::Status Join(const ReadRequest& request,
                    const std::vector<Holder>& holders,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                    absl::FunctionRef<void(const Loss&)> on_loss);

  const Options options_;
  Directory directory_;
  std::map<std::string, Machine> machines_;
  std::map<std::string, PeerChannel*> catalogues_;  // of peers, by hash
  std::vector<v1::UnreachablePeer> unreachable_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_PEERS_FLEET_VIEW_H_
