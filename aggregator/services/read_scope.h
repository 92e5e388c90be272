// The data that a call reads: the own store, or those of all aggregators.

#ifndef FLEETPERF_AGGREGATOR_SERVICES_READ_SCOPE_H_
#define FLEETPERF_AGGREGATOR_SERVICES_READ_SCOPE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/peers/fleet_view.h"
#include "aggregator/peers/peers.h"
#include "aggregator/query/fleet.h"
#include "aggregator/services/admission.h"
#include "aggregator/store/store.h"
#include "fleetperf/v1/query.pb.h"

namespace fleetperf::aggregator {

class ReadScope {
 public:
  // Of the own store. The pointers must outlive the object, like the next ones.
  ReadScope(ReadableStore* store, Fleet* fleet, MachineNow now_of)
      : store_(*store), fleet_(*fleet), now_of_(std::move(now_of)) {}
  // Of a view.
  ReadScope(std::unique_ptr<FleetView> view,
            std::shared_ptr<CatalogueCache> catalogues)
      : view_(std::move(view)),
        of_view_(std::make_unique<Fleet>(view_.get(), std::move(catalogues))),
        store_(*view_),
        fleet_(*of_view_),
        now_of_([view = view_.get()](const std::string& machine) {
          return view->NowOf(machine);
        }) {}

  ReadableStore& store() const { return store_; }
  Fleet& fleet() const { return fleet_; }
  const MachineNow& now_of() const { return now_of_; }

  // Returns the peer that has the newest samples of a machine; nullptr: the own
  // store.
  PeerChannel* HolderOf(const std::string& machine) const {
    return view_ != nullptr ? view_->HolderOf(machine) : nullptr;
  }

  // Adds the peers whose machines are missing.
  void AddUnreachable(
      google::protobuf::RepeatedPtrField<v1::UnreachablePeer>* to) const {
    if (view_ == nullptr) return;
    to->Add(view_->unreachable().begin(), view_->unreachable().end());
  }

 private:
  std::unique_ptr<FleetView> view_;  // nullptr: the own store
  std::unique_ptr<Fleet> of_view_;
  ReadableStore& store_;
  Fleet& fleet_;
  MachineNow now_of_;
};

// The stores that calls read. The pointers must outlive the object.
// Thread-safe.
class ReadScopes {
 public:
  // `samples` are those of the store, wherever they are; nullptr: in the store.
  ReadScopes(Store* store, Fleet* fleet, MachineNow now_of, const Peers* peers,
             ReadableStore* samples = nullptr)
      : store_(*store),
        samples_(samples != nullptr ? *samples : *store),
        fleet_(*fleet),
        now_of_(std::move(now_of)),
        peers_(*peers) {}

  const Store& own_store() const { return store_; }
  Peers::List peers() const { return peers_.list(); }

  // Returns the scope of a request with the field `machine`, and these paths,
  // if any. Its directory has the labels, which are not compared. Returns
  // Cancelled if the caller is gone.
  template <typename Request>
  absl::StatusOr<std::unique_ptr<ReadScope>> Of(
      const Request& request, const std::vector<std::string>& paths,
      const Caller& caller) const {
    Peers::List peers = this->peers();
    if (peers.empty()) {
      return std::make_unique<ReadScope>(&samples_, &fleet_, now_of_);
    }
    v1::DescribeRequest filter;
    filter.set_machine(request.machine());
    auto view = FleetView::Make({.own = store_,
                                 .own_samples = samples_,
                                 .now_of = now_of_,
                                 .peers = std::move(peers),
                                 .is_cancelled = caller.is_cancelled,
                                 .parent = caller.rpc},
                                std::move(filter), paths);
    if (!view.ok()) return view.status();
    return std::make_unique<ReadScope>(*std::move(view), fleet_.catalogues());
  }

 private:
  Store& store_;
  ReadableStore& samples_;
  Fleet& fleet_;
  const MachineNow now_of_;
  const Peers& peers_;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SERVICES_READ_SCOPE_H_
